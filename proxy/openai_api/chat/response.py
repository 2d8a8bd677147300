"""Builds a `chat.completion` object from an answer of the engine."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from proxy.aio import Step
from proxy.citations.history import appended, notice, summary
from proxy.citations.place import QUOTE_GAP, Annotated, Located, Reference, safe_url
from proxy.engine.delivery import Answer, Rendering
from proxy.engine.judging import shares, verdict_of
from proxy.text.alignment import common
from proxy.types import (
    Aggregation,
    Attempt,
    CorrectionStep,
    Draft,
    Evidence,
    Finding,
    Json,
    NoticePlace,
    Outcome,
    Usage,
    Verdict,
)
from proxy.upstream.completion import uncited

_WITH_REASON = frozenset({Verdict.CONTRADICTED, Verdict.UNSUPPORTED, Verdict.UNVERIFIED})
_SOURCES = ("citations", "search_results", "sources", "references")
"""Fields at the top of a reply in which upstreams name their sources."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice, ready for the wire. Cutting `content` at `cuts` never splits a marker. `content` is a
    string unless the upstream's was not. `notice` is what a client with status events shows at the end.
    `rewritten`: the content is not the upstream's, or its markers are not; `raw` is then without what the
    upstream said of them."""

    raw: Json
    content: Any
    cuts: tuple[int, ...]
    annotations: list[Json]
    references: list[Json]
    verification: Json
    notice: str = ""
    rewritten: bool = False


def choices(answer: Answer) -> list[Choice]:
    """The choices of an answer as the client gets them; unchecked choices are unchanged."""
    if not answer.outcomes:
        return [_unchecked(draft) for draft in answer.reply.drafts]
    shown = [choice(outcome, answer.rendering) for outcome in answer.outcomes]
    raw = answer.reply.raw
    told: Json = {}
    if any(each.rewritten for each in shown) and (theirs := [key for key in _SOURCES if raw.get(key)]):
        told["upstream_citations"] = {key: raw[key] for key in theirs}
    if answer.timeline:
        told["timeline"] = [step_object(step) for step in answer.timeline]
    return [replace(each, verification={**each.verification, **told}) for each in shown] if told else shown


def step_object(step: Step) -> Json:
    """A step of the request's time line, in seconds since the request came."""
    return {
        "phase": step.phase,
        "start": round(step.start, 4),
        **({"first": round(step.first, 4)} if step.first is not None else {}),
        "end": round(step.end, 4),
        **({"count": step.count} if step.count else {}),
    }


def _unchecked(draft: Draft) -> Choice:
    content = (draft.choice.get("message") or {}).get("content")
    return Choice(draft.choice, content, (), annotations=[], references=[], verification={})


def choice(outcome: Outcome, rendering: Rendering) -> Choice:
    """The best attempt with its markers."""
    attempt = outcome.answer
    draft = attempt.draft
    annotated = rendering.annotated(draft.text, attempt.findings, editable=draft.editable)
    untouched = (draft.choice.get("message") or {}).get("content")
    shown = draft.editable and bool(draft.text)
    said = _NOTICES[rendering.notice](outcome) if shown else ""
    in_text = said if rendering.notice == "text" else ""
    content = annotated.content + appended(annotated.content, in_text, rendering.warning)
    marked = bool(annotated.references) and rendering.style != "none"
    rewritten = shown and (marked or outcome.best > 0 or content != untouched)
    return Choice(
        raw=_uncited_choice(draft.choice) if rewritten else draft.choice,
        content=content if shown else untouched,
        cuts=annotated.cuts if draft.editable else (),
        annotations=[annotation(reference) for reference in annotated.references],
        references=[reference_object(reference) for reference in annotated.references],
        verification=verification(outcome, annotated, rendering.aggregation),
        notice=said if rendering.notice == "event" else "",
        rewritten=rewritten,
    )


def _uncited_choice(raw: Json) -> Json:
    message = {"message": uncited(raw["message"])} if raw.get("message") else {}
    return {**uncited(raw), **message}


def reply_fields(answer: Answer, rendered: Sequence[Choice]) -> Json:
    """The upstream's object beside its choices. Where a text was rewritten, what the upstream cites for its
    own markers is left out: a client would look up Vouch's markers in it."""
    raw = answer.reply.raw
    return uncited(raw) if any(choice.rewritten for choice in rendered) else raw


def _notice(outcome: Outcome) -> str:
    """What failed, could not be checked or was left out, where that has to be said."""
    answer = outcome.answer
    return notice(answer.draft.text, answer.findings, dropped=len(outcome.dropped))


def _status(outcome: Outcome) -> str:
    """The notice where it has to be said of what is left; else what was found and what became of the rest,
    which counts what was left out, too."""
    answer = outcome.answer
    return _notice(outcome) if notice(answer.draft.text, answer.findings) else _summary(outcome)


def _summary(outcome: Outcome) -> str:
    """What was found and what became of the rest."""
    answer = outcome.answer
    said = {finding.claim.text for finding in answer.findings}
    earlier = (finding for attempt in outcome.attempts[: outcome.best] for finding in attempt.nonfactual)
    dropped = outcome.dropped
    corrected = {finding.claim.text for finding in earlier} - said - {each.claim.text for each in dropped}
    return summary(answer.draft.text, answer.findings, corrected=len(corrected), dropped=len(dropped))


_NOTICES: Mapping[NoticePlace, Callable[[Outcome], str]] = {
    "text": _notice,
    "event": _status,
    "none": lambda _: "",
}


def completion(answer: Answer, rendered: list[Choice]) -> Json:
    """A `chat.completion`: the upstream's object with the checked choices, references and verification.

    With several choices, each has its own references and verification, with its own numbering; those at the
    top are those of the first choice.
    """
    several = len(rendered) > 1
    return {
        "id": new_id(),
        "created": int(time.time()),
        **reply_fields(answer, rendered),
        "object": "chat.completion",
        "choices": [_choice_object(index, choice, several) for index, choice in enumerate(rendered)],
        "usage": usage(answer),
        "references": rendered[0].references,
        "verification": rendered[0].verification,
    }


def message_fields(choice: Choice) -> Json:
    """The fields of the upstream's message beside its content."""
    message = choice.raw.get("message") or {}
    return {key: value for key, value in message.items() if key not in ("role", "content")}


def _choice_object(index: int, choice: Choice, several: bool) -> Json:
    fields = message_fields(choice)
    annotations = [*(fields.pop("annotations", None) or []), *choice.annotations]
    message = {
        "role": "assistant",
        "content": choice.content,
        "refusal": None,
        **fields,
        "annotations": annotations,
    }
    own = {"references": choice.references, "verification": choice.verification} if several else {}
    return {**choice.raw, "index": index, "message": message, "logprobs": logprobs(choice), **own}


def logprobs(choice: Choice) -> Json | None:
    """The upstream's log-probabilities, with every field that clients require."""
    given = choice.raw.get("logprobs")
    return {"content": None, "refusal": None, **given} if isinstance(given, dict) and given else None


def usage(answer: Answer) -> Json:
    """The usage of the call that wrote the text, as its provider reported it, and that of verification."""
    written_first = answer.writing == answer.reply.usage
    base = answer.reply.raw.get("usage") if written_first else None
    return {**(base or usage_object(answer.writing)), "verification": usage_object(answer.verification)}


def annotation(reference: Reference) -> Json:
    """OpenAI's `url_citation`, whose span is the reference's first marker."""
    start, end = reference.spans[0]
    return {
        "type": "url_citation",
        "url_citation": {
            "start_index": start,
            "end_index": end,
            "url": reference.url,
            "title": reference.title,
            "content": _text(reference),
        },
    }


def reference_object(reference: Reference) -> Json:
    """An entry of `references`. The texts and quotes of several passages of one document are joined."""
    passage = reference.evidence[0].passage
    return {
        "n": reference.n,
        "id": passage.id,
        "title": reference.title,
        "section": passage.section,
        "url": reference.url,
        "text": _text(reference),
        "quote": QUOTE_GAP.join(evidence.quote for evidence in reference.evidence),
        "highlights": [list(span) for span in _highlights(reference.evidence)],
        "score": max(_score(evidence) for evidence in reference.evidence),
        "spans": [list(span) for span in reference.spans],
    }


def verification(outcome: Outcome, annotated: Annotated, aggregation: Aggregation) -> Json:
    """`verification`: the verdict on each claim of the content, and the failed claims of each attempt.

    A claim with parts counts as its parts do, in the reply's verdict and in `shares`: RefChecker's rules
    (section 3.4) are over the smallest statements.
    """
    attempt = outcome.answer
    verdicts = [part.verdict for finding in attempt.findings for part in finding.parts or (finding,)]
    dropped = [finding.claim.text for finding in outcome.dropped]
    return {
        "status": attempt.status,
        "verdict": str(verdict_of(verdicts, aggregation)),
        "shares": {str(verdict): round(share, 4) for verdict, share in shares(verdicts).items()},
        "rounds": outcome.rounds,
        "correction": [_step_object(step) for step in outcome.correction],
        "claims": [claim_object(located) for located in annotated.claims],
        "attempts": [_attempt_object(earlier, attempt, annotated) for earlier in outcome.attempts],
        "best": outcome.best,
        **({"dropped": dropped} if outcome.trimmed else {}),
        **({"malformed": attempt.malformed} if attempt.malformed else {}),
        **({"task": attempt.task} if attempt.task else {}),
        **({"error": attempt.error} if attempt.error else {}),
    }


def _attempt_object(attempt: Attempt, answer: Attempt, annotated: Annotated) -> Json:
    """The failed claims of an attempt; of one that is not the answer, with what stands in their place."""
    if attempt.draft.text == answer.draft.text:
        return {"nonfactual": [_failed(finding) for finding in attempt.nonfactual]}
    places = _replaced(attempt.findings, annotated)
    return {
        "nonfactual": [
            {**_failed(finding), "replaced_by": list(place)}
            for finding, place in zip(attempt.findings, places, strict=True)
            if finding.verdict.nonfactual
        ]
    }


def _replaced(earlier: Sequence[Finding], annotated: Annotated) -> list[tuple[int, int]]:
    """Per claim of an earlier attempt, the span of the content that stands in its place; an empty span where
    it was left out. Claims that both have are matched by their text."""
    old = [finding.claim.text for finding in earlier]
    new = [located.finding.claim.text for located in annotated.claims]
    bounds = [(located.start, located.end) for located in annotated.claims]
    spans: list[tuple[int, int]] = []
    start = 0
    for first, end in [*common(old, new), (len(old), len(new))]:
        if first > len(spans):
            here = bounds[start][0] if start < len(bounds) else len(annotated.content)
            # As many claims as were replaced: the draft of a stream that was corrected ends where it failed.
            until = bounds[min(start + first - len(spans), end) - 1][1] if end > start else here
            spans += [(here, until)] * (first - len(spans))
        spans += bounds[end : end + (first < len(old))]
        start = end + 1
    return spans


def _step_object(step: CorrectionStep) -> Json:
    return {
        "round": step.round,
        "asked_for": step.asked_for,
        "claims": step.claims,
        "result": step.result,
        **({"detail": step.detail} if step.detail else {}),
    }


def claim_object(located: Located) -> Json:
    """A claim at its place in the content, with the quotes that it cites, its parts if it was split, and
    which of the upstream's citations for it were kept, dropped or added."""
    finding, offset = located.finding, located.start - located.finding.claim.start
    theirs, ours = set(finding.claim.cited), set(located.references)
    citations = {
        "kept": sorted(theirs & ours),
        "dropped": sorted(theirs - ours),
        "added": sorted(ours - theirs),
    }
    quotes = [
        {"n": n, "quote": evidence.quote, "highlights": [list(span) for span in evidence.highlights]}
        for n, evidence in located.evidence
    ]
    return {
        "start": located.start,
        "end": located.end,
        "text": finding.claim.text,
        "verdict": str(finding.verdict),
        "score": round(finding.score, 4),
        "references": list(located.references),
        **({"evidence": quotes} if quotes else {}),
        **({"reason": _reason(finding)} if finding.verdict in _WITH_REASON else {}),
        **({"citations": citations} if theirs else {}),
        **({"parts": [_part_object(part, offset) for part in finding.parts]} if finding.parts else {}),
    }


def _part_object(part: Finding, offset: int) -> Json:
    claim = part.claim
    triplet = claim.triplet and [claim.triplet.head, claim.triplet.relation, claim.triplet.tail]
    return {
        "start": claim.start + offset,
        "end": claim.end + offset,
        "text": claim.plain,
        **({"triplet": triplet} if triplet else {}),
        "verdict": str(part.verdict),
        "score": round(part.score, 4),
    }


def _text(reference: Reference) -> str:
    return "\n\n".join(evidence.passage.text for evidence in reference.evidence)


def _highlights(evidence: Sequence[Evidence]) -> Iterator[tuple[int, int]]:
    """The spans of the highlights in the joined quotes."""
    offset = 0
    for item in evidence:
        yield from ((start + offset, end + offset) for start, end in item.highlights)
        offset += len(item.quote) + len(QUOTE_GAP)


def _failed(finding: Finding) -> Json:
    """A nonfactual claim with the best passage that decided it."""
    nearest = finding.decisive
    passage = nearest.passage if nearest else None
    return {
        "text": finding.claim.text,
        "verdict": str(finding.verdict),
        "reason": _reason(finding),
        "missing": _missing(finding, nearest),
        "evidence": passage
        and {
            "id": passage.id,
            "title": passage.title,
            "url": safe_url(passage.url),
            "quote": nearest.quote if nearest else "",
        },
    }


def _reason(finding: Finding) -> str:
    """Why a claim failed or could not be checked."""
    judged = [part.decisive for part in finding.parts if part.verdict in _WITH_REASON]
    for evidence in (finding.decisive, *judged):
        if evidence and evidence.judgement and evidence.judgement.reason:
            return evidence.judgement.reason
    return "it was not checked" if finding.verdict is Verdict.UNVERIFIED else "no passage was found"


def _missing(finding: Finding, nearest: Evidence | None) -> list[str]:
    """The words of a failed claim that its nearest passage does not support; for a split claim, the failed
    parts."""
    if finding.parts:
        return [part.claim.plain for part in finding.parts if part.verdict.nonfactual]
    spans = nearest.judgement.missing if nearest and nearest.judgement else ()
    return [finding.claim.plain[start:end] for start, end in spans]


def new_id() -> str:
    """An id for a completion whose upstream gave none."""
    return f"chatcmpl-{uuid.uuid4().hex}"


def usage_object(spent: Usage) -> Json:
    """Tokens, as OpenAI counts them."""
    return {
        "prompt_tokens": spent.prompt_tokens,
        "completion_tokens": spent.completion_tokens,
        "total_tokens": spent.prompt_tokens + spent.completion_tokens,
    }


def _score(evidence: Evidence) -> float:
    return round(evidence.judgement.score if evidence.judgement else evidence.score, 4)
