"""Corrects the sentences of a stream before they are sent.

What was sent stays. So a sentence that fails is asked for again at once, and alone (CEG, section 3.4, asks
for the whole reply). What comes takes its place once it holds; else a quotation of the evidence may. The rest
of the reply stays as it is, and is read and checked meanwhile.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from proxy.claims.segment import segment
from proxy.correction.single import MAX_SENTENCES, quoted
from proxy.correction.splice import spliced
from proxy.engine.delivery import CheckedText
from proxy.engine.reprompter import GOES_ON, Answered, Options, Reprompter, report
from proxy.engine.verifier import Verifier
from proxy.protocols import LLM
from proxy.types import (
    Attempt,
    Chat,
    Claim,
    CorrectionKind,
    CorrectionStep,
    Draft,
    Finding,
    Outcome,
    Usage,
    Verdict,
)

_UNKNOWN = "what the answer says could not be checked"


@dataclass(frozen=True, slots=True)
class _Place:
    """A text so far, the claims before a sentence of it, and where this stands."""

    text: str
    before: tuple[Finding, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Replacement:
    """What stands in place of a claim, and its findings, from offset 0."""

    text: str
    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Whether something of it is supported, and nothing fails or could not be checked."""
        verdicts = {finding.verdict for finding in self.findings}
        return Verdict.SUPPORTED in verdicts and verdicts <= {Verdict.SUPPORTED, Verdict.NOT_CHECKABLE}


class StreamCorrections:
    """The corrections of one choice. `options.deadline` are the seconds for all of them.

    Args:
        llm: corrects its sentences.
        verifier: checks what comes.
        options: how often and in which ways a sentence is asked for, and whether evidence is quoted.
        chat: the chat that the reply answers.
        rounds: how often a sentence is asked for at most, of at most `MAX_SENTENCES` sentences; 0: never.
    """

    def __init__(self, llm: LLM, verifier: Verifier, options: Options, chat: Chat, rounds: int) -> None:
        self._llm = llm
        self._verifier = verifier
        self._options = options
        self._chat = chat
        self._rounds = rounds
        self._left = options.deadline
        self._asked_for = 0
        self._made: dict[Claim, _Replacement | None] = {}
        self._steps: list[CorrectionStep] = []
        self._spent = Usage()

    async def put_into(self, checked: CheckedText) -> CheckedText:
        """The text with what stands in place of the claims that failed. Raises nothing."""
        for index, finding in enumerate(checked.findings):
            if finding.verdict.nonfactual and finding.claim not in self._made:
                self._made[finding.claim] = None
                self._made[finding.claim] = await self._replacement(checked, index)
        text, findings = self._replaced(checked.text, checked.findings)
        return replace(checked, text=text, findings=findings)

    def outcome(self, first: Attempt) -> Outcome:
        """The outcome of the choice, whose whole reply as the model wrote it is the first attempt."""
        spent = sum((finding.usage for finding in first.findings), self._spent)
        text, findings = self._replaced(first.draft.text, first.findings)
        if text == first.draft.text:
            return Outcome((first,), 0, spent, correction=tuple(self._steps))
        sent = replace(first, draft=replace(first.draft, text=text), findings=findings)
        return Outcome((first, sent), 1, spent, correction=tuple(self._steps))

    async def _replacement(self, checked: CheckedText, index: int) -> _Replacement | None:
        """What the model writes in place of a claim that failed, else a quotation; None: the claim stays."""
        text, before = self._replaced(checked.text, checked.findings[:index])
        finding = _moved(checked.findings[index], len(text) - len(checked.text))
        place = _Place(text, before, finding.claim.start, finding.claim.end)
        first = Attempt(Draft(text, {}), Usage(), (finding,))
        if self._rounds and self._asked_for < MAX_SENTENCES and self._left > 0:
            self._asked_for += 1
            begun = time.perf_counter()
            found = await self._corrected(first, place)
            self._left -= time.perf_counter() - begun
            if found is not None:
                return found
        quote = quoted(finding) if self._options.quote else None
        if quote is None:
            return None
        draft = await asyncio.to_thread(spliced, first.draft, [finding], {1: quote})
        if draft is None:
            return None
        said, _ = await self._tried(self._rounds, "quote", place, Answered(draft), time.perf_counter())
        return said if said is not None and said.holds else None

    async def _corrected(self, first: Attempt, place: _Place) -> _Replacement | None:
        """What the model writes in the place, once it holds."""
        until = asyncio.get_running_loop().time() + self._left
        asking = Reprompter(self._llm, self._options, self._chat, until)
        attempt, standing = first, place
        for number in range(1, self._rounds + 1):
            begun = time.perf_counter()
            answered = await asking.reprompted(attempt, "claims")
            said, result = await self._tried(number, "claims", standing, answered, begun)
            if result == "helped" or result not in GOES_ON | {"unreadable", "leaked"}:
                return said if result == "helped" else None
            failed = tuple(finding for finding in said.findings if finding.verdict.nonfactual) if said else ()
            if said is None or answered.draft is None or not failed:
                break
            standing = replace(standing, text=answered.draft.text, end=standing.start + len(said.text))
            attempt = replace(
                first,
                draft=answered.draft,
                findings=tuple(_moved(finding, standing.start) for finding in failed),
            )
        if not self._options.fallback:
            return None
        begun = time.perf_counter()
        answered = await asking.by_sentence(first)
        said, result = await self._tried(self._rounds, "sentences", place, answered, begun)
        return said if result == "helped" else None

    async def _tried(
        self, number: int, kind: CorrectionKind, place: _Place, answered: Answered, begun: float
    ) -> tuple[_Replacement | None, str]:
        """What an answer puts in the place, and what came of it. Records the step."""
        self._spent += answered.usage
        said, result, detail = None, answered.result, answered.detail
        if answered.draft is not None:
            said = await self._checked(answered.draft.text, place)
            self._spent += sum((finding.usage for finding in said.findings), Usage())
            unknown = any(finding.verdict is Verdict.UNVERIFIED for finding in said.findings)
            result = "helped" if said.holds else "not_better"
            detail = _UNKNOWN if unknown and not said.holds else ""
        step = CorrectionStep(number, kind, 1, result, detail, time.perf_counter() - begun)
        self._steps.append(step)
        report(step)
        return said, result

    async def _checked(self, text: str, place: _Place) -> _Replacement:
        """What a text has in the place, checked."""
        end = place.end + len(text) - len(place.text)
        claims = await asyncio.to_thread(segment, text)
        own = [claim for claim in claims if place.start <= claim.start and claim.end <= end]
        prior = [finding.claim for finding in place.before]
        until = asyncio.get_running_loop().time() + self._options.deadline
        verified = await self._verifier.verify(own, self._chat.question, until, prior)
        findings = tuple(_moved(finding, -place.start) for finding in verified.findings)
        return _Replacement(text[place.start : end], findings)

    def _replaced(self, text: str, findings: Sequence[Finding]) -> tuple[str, tuple[Finding, ...]]:
        """A text and its findings with what stands in place of some."""
        pieces: list[str] = []
        moved: list[Finding] = []
        position = shift = 0
        for finding in findings:
            claim, said = finding.claim, self._made.get(finding.claim)
            if said is None:
                moved.append(_moved(finding, shift))
                continue
            pieces += [text[position : claim.start], said.text]
            moved += [_moved(each, claim.start + shift) for each in said.findings]
            position = claim.end
            shift += len(said.text) - (claim.end - claim.start)
        return "".join([*pieces, text[position:]]), tuple(moved)


def _moved(finding: Finding, shift: int) -> Finding:
    """The finding at a place further on."""
    if not shift:
        return finding
    claim = replace(finding.claim, start=finding.claim.start + shift, end=finding.claim.end + shift)
    return replace(finding, claim=claim, parts=tuple(_moved(part, shift) for part in finding.parts))
