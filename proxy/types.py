"""The values that pass between the rooms of Vouch, in order of appearance.

All offsets are Unicode code points, end exclusive; all scores are floats in [0, 1] unless said otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

Json = dict[str, Any]
Vectors = NDArray[np.float32]
Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = get_args(Language)
RetrievalMode = Literal["dense", "lexical", "hybrid"]
DenseKind = Literal["exact", "ivf", "hnsw", "sq8", "fp16"]
DenseChoice = Literal["auto", "exact", "ivf", "hnsw", "sq8", "fp16"]
CitationStyle = Literal["brackets", "markdown", "none"]
Granularity = Literal["sentence", "sub_sentence", "triplet"]
Aggregation = Literal["strict", "soft", "major"]
EvidenceSource = Literal["auto", "corpus", "request", "both"]
RegenerationMode = Literal["whole", "claims"]
OnUnsupported = Literal["keep", "mark", "drop"]
UpstreamCitations = Literal["replace", "verify", "merge"]
ReplyFormat = Literal["markdown", "json"]
StreamMode = Literal["auto", "sentence", "buffer", "passthrough"]
Correction = Literal["none", "sentences"]
PresetName = Literal["reader", "strict", "report", "papers"]
ProfileName = Literal["openai", "perplexity", "open_webui", "markdown", "none"]
PromptName = Literal["ceg", "ceg_yes_no", "refchecker", "citecheck"]
Status = Literal["ok", "partial", "skipped"]
CorrectionKind = Literal["whole", "claims", "sentences", "quote"]
CorrectionResult = Literal["helped", "not_better", "unreadable", "leaked", "timeout", "upstream_error"]
NoticePlace = Literal["none", "text", "event"]
NLILabel = Literal["entailment", "neutral", "contradiction"]
Precision = Literal["auto", "bf16", "fp32"]
Size = Literal["small", "base"]
"""The sizes of the checker `nli`."""
DeviceName = Literal["auto", "cpu", "cuda", "mps"]

WARNING = " ⚠️"
"""The warning marker where none is configured. Screen readers say "warning"."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that LLM calls cost, as the providers count them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens, self.completion_tokens + other.completion_tokens
        )

    def __sub__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens - other.prompt_tokens, self.completion_tokens - other.completion_tokens
        )


@dataclass(frozen=True, slots=True)
class Chat:
    """One conversation on its way to an upstream.

    `body` is the client's request without the keys and markers of Vouch; `body["messages"]` always exists.
    Keys that Vouch does not know are forwarded unchanged. `question` is the plain text of the last user turn.
    `api_key` is the client's own bearer token, for upstreams that are configured to be called with it.
    """

    body: Json
    question: str = ""
    api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Draft:
    """One reply text of the upstream LLM.

    `text` is empty where the model said nothing (a tool call, say). `choice` is the wire object that
    carried it; only `openai_api` and `upstream` look inside.
    """

    text: str
    choice: Json = field(repr=False)
    editable: bool = True
    """False where the text must come back untouched: beside tool calls, or with log-probabilities."""
    index: int = 0
    """The index of the choice in the reply."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of an upstream: a draft per choice, its cost, and the wire object as received."""

    drafts: tuple[Draft, ...]
    usage: Usage
    raw: Json = field(repr=False)


@dataclass(frozen=True, slots=True)
class ChoiceDelta:
    """What one chunk of a streamed reply adds to one of its choices.

    `content` is text as the upstream wrote it. `fields` are the other fields of the wire's delta (reasoning,
    tool calls), without `role`, `content` and `annotations`, which Vouch writes itself.
    """

    index: int
    content: str = ""
    fields: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReplyChunk:
    """One chunk of a streamed reply. `raw` is the wire object, for `openai_api` and `upstream` alone."""

    deltas: tuple[ChoiceDelta, ...]
    raw: Json = field(repr=False)


class Verdict(StrEnum):
    """The result of checking a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNSUPPORTED = "unsupported"
    """No passage supports or contradicts it."""
    NOT_CHECKABLE = "not_checkable"
    """A greeting, a question, code, an opinion: nothing that a document could support."""
    UNVERIFIED = "unverified"
    """The check itself failed or ran out of time."""

    @property
    def nonfactual(self) -> bool:
        """CEG's word: the claim was checked and failed (contradicted or unsupported)."""
        return self in (Verdict.CONTRADICTED, Verdict.UNSUPPORTED)


@dataclass(frozen=True, slots=True)
class Triplet:
    """Subject, relation and object of a claim (RefChecker section 3.1), in the claim's own words."""

    head: str
    relation: str
    tail: str


HEADING_LEVELS = 7
"""Six of Markdown, and a line in bold."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A span of a draft that can be checked on its own: `draft[start:end] == text`.

    A marker for the claim belongs at `end`. `plain` is the text without Markdown, and without
    what only says where in the material it is from (`claims.material`), for retrieval and checking.
    A claim that is not `checkable` (question, greeting, offer, opinion, meta-sentence) is reported, but never
    checked. `triplet` is set where a part of a sentence was extracted as one; `plain` then spells it out.
    `cited` are the numbers that the upstream itself cites for the claim. `row`: it is a row of a table; then
    `plain` has the headings too, and `values` each of several values with them (`Paris, People: 2 million`;
    `Paris, Founded: 250 BC`). `level` is its place in the outline of the draft: 1 to `HEADING_LEVELS` for
    a heading, the largest first; more for text, by the column of its line or list mark. `opens`: what stands
    deeper, up to the next claim of its level, may be about it (a heading, an item of a list).
    """

    start: int
    end: int
    text: str
    plain: str
    checkable: bool = True
    triplet: Triplet | None = None
    cited: tuple[int, ...] = ()
    row: bool = False
    values: tuple[str, ...] = ()
    level: int = HEADING_LEVELS + 1
    opens: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """What a claim needs to be understood. `before`: text that precedes it. `topic`: the heading that it
    stands under, which belongs to what it says (`Paris: Population: 2 million`). Empty where it needs none.
    """

    before: str = ""
    topic: str = ""


NO_CONTEXT = Context()


@dataclass(frozen=True, slots=True)
class Extraction:
    """The parts of a sentence, in the order of the draft; none where the sentence is one claim.

    `malformed` counts outputs of the extractor that could not be parsed. `error` says why it failed.
    """

    parts: tuple[Claim, ...] = ()
    malformed: int = 0
    usage: Usage = Usage()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """One document of the corpus, or of a request, as plain text.

    `id` is unique in its corpus and the same each time it is read. `number` is the number that a client gave
    to a document of its request, if any. `sections` are pairs of the offset in `text` where a section begins,
    ascending, and its heading; headings are not part of `text`. `title` is never empty; `url` may be.
    """

    id: str
    title: str
    text: str
    url: str = ""
    sections: tuple[tuple[int, str], ...] = ()
    number: int | None = None


MAX_SECTION = 200
"""Characters that the headings of a section have at most: what is longer is a text."""

_PLACE = re.compile(r"(?:.*, )?(?:page|row|line|entry) \d+")


@dataclass(frozen=True, slots=True)
class Passage:
    """About 100 words of one document of the corpus: what is indexed, retrieved and cited.

    `text` is the document's plain text at `start:end`. `id` is stable: it depends only on the document's
    id and the text.
    """

    id: str
    document_id: str
    title: str
    section: str
    text: str
    url: str
    start: int
    end: int

    @property
    def heading(self) -> str:
        """What the text stands under, as its document shows it: the title, and in a second line the headings
        of its section. `page 2` or `row 3` is a place in a file, and heads nothing."""
        section = " ".join(self.section[-MAX_SECTION:].split())
        if not section or _PLACE.fullmatch(section) or section == self.title.strip():
            return self.title
        return f"{self.title}\n{section}"

    @property
    def searched(self) -> str:
        """What is searched by its words. Title and headings name what a text calls "it"."""
        return f"{self.heading} {self.text}"


PAGE_BREAK = "\n\f\n"
"""Separates passages that are read as one text."""


@dataclass(frozen=True, slots=True)
class Page:
    """A passage's text and its heading: its title, which may be empty, and in a second line its section."""

    text: str
    title: str = ""

    def headings(self) -> tuple[str, ...]:
        """The lines of the heading, without those that the text begins with."""
        lines = (line.strip() for line in self.title.splitlines())
        return tuple(line for line in lines if not line or not self.text.lstrip().startswith(line))

    def titled(self) -> str:
        """The headings, then the text."""
        return "\n".join((*self.headings(), self.text))


@dataclass(frozen=True, slots=True)
class Pair:
    """One question to a checker: does `evidence` fully support `claim`?

    `claim` is plain text. `context` is the text that a claim needs to be understood (the sentence before,
    say), empty for a claim that stands alone. `question` is the user's. `evidence` is the text of one
    passage, `title` its heading (see `Page`). `others` are further passages that are to support the claim
    together with it. `topic`: see `Context`.
    """

    claim: str
    evidence: str
    context: str = ""
    question: str = ""
    title: str = ""
    others: tuple[Page, ...] = ()
    topic: str = ""

    @classmethod
    def of(
        cls, claim: Claim, evidence: Sequence[Evidence], context: Context = NO_CONTEXT, question: str = ""
    ) -> Pair:
        """A claim with one passage, or with several that are to support it together (CEG, section 3.3)."""
        first, *others = (Page(item.passage.text, item.passage.heading) for item in evidence)
        return cls(
            claim.plain, first.text, context.before, question, first.title, tuple(others), context.topic
        )

    @property
    def statement(self) -> str:
        """What is to be supported: the claim, under its topic."""
        return f"{self.topic} {self.claim}" if self.topic else self.claim

    def alone(self) -> tuple[Pair, ...]:
        """One pair per passage, each with the claim and that passage only."""
        return (
            replace(self, others=()),
            *(replace(self, evidence=page.text, title=page.title, others=()) for page in self.others),
        )

    def joined(self) -> Pair:
        """The claim and all passages as one text, each under its title; the pair itself where it has one."""
        if not self.others:
            return self
        pages = (Page(self.evidence, self.title), *self.others)
        text = PAGE_BREAK.join(page.titled() for page in pages if page.text.strip())
        return replace(self, evidence=text, title="", others=())


@dataclass(frozen=True, slots=True)
class Judgement:
    """A checker's answer to one pair.

    `verdict` is SUPPORTED, CONTRADICTED, UNSUPPORTED or, where the check failed, UNVERIFIED. `score` is
    the probability that the evidence fully supports the claim (1 or 0 from a checker without probabilities);
    an UNVERIFIED judgement has score 0. `quote` is the span of `Pair.evidence` that decided it, or None.
    `carrying` are the spans of `Pair.evidence` that match the claim; `missing` are the spans of `Pair.claim`
    that no evidence supports. Both are empty from a checker that does not report them. For a pair with
    `others`, `quote` and `carrying` are meaningless. `reason` is the checker's reasoning, or what failed.
    `veto` names the rule that overruled the model's verdict; the score stays the model's.
    """

    verdict: Verdict
    score: float = 0.0
    quote: tuple[int, int] | None = None
    reason: str = ""
    usage: Usage = Usage()
    carrying: tuple[tuple[int, int], ...] = ()
    missing: tuple[tuple[int, int], ...] = ()
    veto: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage retrieved for a claim, with its retrieval score and, once checked, the judgement.

    `score` is the cosine similarity in [-1, 1]; 0 for a passage that only the lexical search found. `bm25` is
    the score of the lexical search, not bounded; 0 for a passage that it did not find.
    `judgement.quote` is a span of `passage.text`.
    """

    passage: Passage
    score: float
    judgement: Judgement | None = None
    bm25: float = 0.0

    @property
    def quote(self) -> str:
        """The evidence sentence, or the whole passage where the checker named none."""
        span = self.judgement.quote if self.judgement else None
        return self.passage.text[slice(*span)] if span else self.passage.text

    @property
    def highlights(self) -> tuple[tuple[int, int], ...]:
        """Spans of `quote` that match the claim."""
        if self.judgement is None:
            return ()
        offset = self.judgement.quote[0] if self.judgement.quote else 0
        return tuple((start - offset, end - offset) for start, end in self.judgement.carrying)


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim, its verdict, and the evidence it was checked against, best first.

    `cited` are the passages that support it: never empty where the verdict is SUPPORTED, else empty.
    """

    claim: Claim
    verdict: Verdict
    score: float = 0.0
    evidence: tuple[Evidence, ...] = ()
    cited: tuple[Evidence, ...] = ()
    usage: Usage = Usage()
    """The cost of all judgements of the claim."""
    parts: tuple[Finding, ...] = ()
    """The findings of its parts, where the claim was split."""
    claimed: tuple[Evidence, ...] = ()
    """Passages that the upstream cites but that do not support the claim, where such citations are kept."""

    @property
    def decisive(self) -> Evidence | None:
        """The passage whose own judgement is the verdict; of several, the one that retrieval ranks first.

        The checker's score would rank them wrongly: a passage that has all but one number of the claim scores
        lower than a passage about something else.
        """
        deciding = (
            item for item in self.evidence if item.judgement and item.judgement.verdict is self.verdict
        )
        return next(deciding, None)


@dataclass(frozen=True, slots=True)
class Task:
    """What a chat UI asks the model for to use itself: `name` is "a title for the chat", say. `as_json` says
    whether it wants JSON; otherwise it wants a few words."""

    name: str
    as_json: bool


@dataclass(frozen=True, slots=True)
class Attempt:
    """One draft of the loop with its findings, in the order of the draft."""

    draft: Draft
    usage: Usage
    findings: tuple[Finding, ...] = ()
    error: str = ""
    """Why some or all claims could not be checked."""
    malformed: int = 0
    """How many outputs of the extractor could not be parsed."""
    task: str = ""
    """What the request asked for, where the reply stays unchecked for that (a title for the chat, say)."""

    @property
    def status(self) -> Status:
        """`ok`: every checkable claim was checked; `skipped`: none was; `partial`: some were."""
        verdicts = {finding.verdict for finding in self.findings}
        if self.task:
            return "skipped"
        if Verdict.UNVERIFIED not in verdicts:
            return "ok"
        return "partial" if verdicts - {Verdict.UNVERIFIED, Verdict.NOT_CHECKABLE} else "skipped"

    @property
    def nonfactual(self) -> tuple[Finding, ...]:
        """The findings of claims that were checked and failed."""
        return tuple(finding for finding in self.findings if finding.verdict.nonfactual)


@dataclass(frozen=True, slots=True)
class CorrectionStep:
    """One request for a correction, and what came of it.

    `round` counts from 1. `asked_for` is what was to be written: the `whole` reply, the `claims` that failed,
    or single `sentences`; a `quote` asks no model. `claims` is how many had
    failed. `result` is `helped`, `not_better`, `unreadable` (no answer in it: empty, in another form, a
    refusal), `leaked` (pieces of the prompt, or talk about the correction), `timeout` or `upstream_error`;
    `detail` says more.
    """

    round: int
    asked_for: CorrectionKind
    claims: int
    result: CorrectionResult
    detail: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of the loop for one choice: all attempts in order, and the index of the best."""

    attempts: tuple[Attempt, ...]
    best: int
    usage: Usage = Usage()
    """The cost of checking and re-prompting: all calls but the one that wrote the first draft."""
    trimmed: Attempt | None = None
    """The best attempt without the claims that failed, where those are dropped."""
    correction: tuple[CorrectionStep, ...] = ()
    """Every request for a correction, in order."""

    @property
    def rounds(self) -> int:
        """How often a correction was asked for."""
        return max((step.round for step in self.correction), default=0)

    @property
    def answer(self) -> Attempt:
        """The attempt that the client gets."""
        return self.trimmed or self.attempts[self.best]

    @property
    def dropped(self) -> tuple[Finding, ...]:
        """The failed claims that were taken out of the best attempt; a failed heading stays."""
        if self.trimmed is None:
            return ()
        left = {finding.claim.text for finding in self.trimmed.findings}
        failed = self.attempts[self.best].nonfactual
        return tuple(finding for finding in failed if finding.claim.text not in left)
