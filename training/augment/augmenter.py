"""Asks one LLM to alter the evidence of one supported row, reads its answer strictly, and verifies it."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evaluation.datasets import Row
from proxy.errors import UpstreamError, UpstreamTimeoutError
from proxy.protocols import LLM
from proxy.types import Chat, Json, Language, Usage
from proxy.upstream.retry import pause, retry_after
from training.augment.differences import changes
from training.augment.prompts import Mode, again, messages

MAX_EVIDENCE_CHARS = 12_000
"""Longer evidence is passed over: the model would have to write all of it."""
_ASKED_AT_MOST = 2
_CALLED_AT_MOST = 5
_LONGEST_WAIT = 60.0
_SAID = 2_000
_NOTHING = Usage()
KINDS: dict[Mode, str] = {"revise": "llm_revised", "delete": "llm_deleted"}


class Origin(Row):
    """A row to make others of."""

    id: str = ""
    lang: Language | None = None
    source: str = ""

    @property
    def key(self) -> str:
        """Its id; without one, a digest of its text."""
        return self.id or hashlib.sha256(f"{self.claim}\0{self.evidence}".encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Task:
    """A row and what to do with its evidence."""

    origin: Origin
    mode: Mode
    language: Language

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from the others: the row and the kind of what is made."""
        return self.origin.key, KINDS[self.mode]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A row, or the reason why there is none. `failed`: the model could not be asked; it may be, later."""

    row: Json | None = None
    reason: str = ""
    said: str = ""
    usage: Usage = _NOTHING
    answers: int = 0
    malformed: int = 0
    failed: bool = False

    @property
    def kind(self) -> str:
        """`written`, `skipped` for good, or `failed` for now."""
        if self.row:
            return "written"
        return "failed" if self.failed else "skipped"


@dataclass(frozen=True, slots=True)
class Augmenter:
    """Asks `llm`. `timeout` is that of a call, in seconds; `jitter` is in [0, 1)."""

    llm: LLM
    timeout: float
    least_fluency: float
    jitter: Callable[[], float]

    async def alter(self, task: Task) -> Outcome:
        """What comes of a task. An answer that can't be used is asked for once more.

        Raises `UpstreamError` where the model refuses us (401, 403, 404): it would every time.
        """
        origin = task.origin
        if len(origin.evidence) > MAX_EVIDENCE_CHARS:
            return Outcome(reason=f"its evidence is longer than {MAX_EVIDENCE_CHARS} characters")
        chat = messages(origin.claim, origin.evidence, task.mode, task.language)
        usage, said, problem, malformed = Usage(), "", "", 0
        for answered in range(_ASKED_AT_MOST):
            try:
                said, cost = await self._call(chat)
            except UpstreamError as error:
                if error.status in (401, 403, 404):
                    raise
                return Outcome(None, error.message, said[:_SAID], usage, answered, malformed, failed=True)
            usage += cost
            altered = read(said)
            if isinstance(altered, str):
                malformed += 1
                problem = altered
            elif not altered.groups:
                reason = "the model finds nothing in the evidence that bears the claim out"
                return Outcome(None, reason, said[:_SAID], usage, answered + 1, malformed)
            else:
                problem = fault(altered, origin.evidence, task.mode, self.least_fluency) or ""
                if not problem:
                    return Outcome(_row(task, altered), "", "", usage, answered + 1, malformed)
            chat = again(chat, said, problem, task.language)
        return Outcome(None, problem, said[:_SAID], usage, _ASKED_AT_MOST, malformed)

    async def _call(self, chat: list[Json]) -> tuple[str, Usage]:
        """The model's words; called again after what passes: a broken line, a time-out, 429 and 5xx."""
        attempt = 0
        while True:
            try:
                async with asyncio.timeout(self.timeout):
                    reply = await self.llm.complete(Chat({"messages": chat}))
                return (reply.drafts[0].text if reply.drafts else ""), reply.usage
            except (UpstreamError, TimeoutError) as raised:
                error = _as_upstream(raised, self.timeout)
                attempt += 1
                wait = _wait(attempt, error, self.jitter()) if attempt < _CALLED_AT_MOST else None
                if wait is None:
                    raise error from raised
            await asyncio.sleep(wait)


def _as_upstream(error: UpstreamError | TimeoutError, timeout: float) -> UpstreamError:
    if isinstance(error, UpstreamError):
        return error
    return UpstreamTimeoutError(f"the model did not answer within {timeout:g} s")


def _wait(attempt: int, error: UpstreamError, jitter: float) -> float | None:
    """Seconds until the next call; None: no use. A batch is patient where a reply's reader is not."""
    wanted = retry_after(error)
    if (error.status == 429 or isinstance(error, UpstreamTimeoutError)) and wanted <= _LONGEST_WAIT:
        return max(wanted, jitter * 2.0**attempt)
    return pause(attempt, error, jitter)


def _row(task: Task, altered: Alteration) -> Json:
    origin, kind = task.origin, KINDS[task.mode]
    question = {"question": origin.question} if origin.question else {}
    return {
        "id": f"{origin.key}-{kind}",
        "origin": origin.key,
        "claim": origin.claim,
        "evidence": altered.evidence,
        "label": "not_supported",
        "lang": task.language,
        "source": origin.source,
        "kind": kind,
        "segments": list(altered.segments),
        "fluency": altered.fluency,
        **question,
    }


_FIELDS = {"groups"}
_NEAR = 24
"""Code points to either side of a segment that may be changed with it."""
_MENDED = 0.5
"""What a deletion may put in, against what it takes out."""


class Alteration(BaseModel):
    """What the model answered. `chosen` counts groups from 1; no groups: nothing bears the claim out."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    groups: list[list[str]]
    chosen: int = 0
    evidence: str = ""
    fluency: float = Field(default=0.0, ge=0.0, le=5.0)

    @property
    def segments(self) -> Sequence[str]:
        """Those of the chosen group."""
        return self.groups[self.chosen - 1]


def read(answer: str) -> Alteration | str:
    """The one object with `groups` that an answer holds; else what is wrong with it."""
    found = [value for value in _objects(answer) if value.keys() >= _FIELDS]
    if len(found) != 1:
        return 'there must be one JSON object with "groups"' + (", not several" if found else "")
    try:
        return Alteration.model_validate(found[0])
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}"


def fault(altered: Alteration, evidence: str, mode: Mode, least_fluency: float) -> str | None:
    """What is wrong with the alteration of a text; None where it is sound.

    Sound is: segments are of the text; all of the chosen ones are gone; nothing is changed but them and
    what is next to them; a deletion puts in no more than half of what it takes out; and it reads well.
    """
    if not 1 <= altered.chosen <= len(altered.groups) or not altered.segments:
        return '"chosen" must be the number of a group that has segments'
    for segment in (segment for group in altered.groups for segment in group):
        if not segment.strip() or segment not in evidence:
            return f"this segment is not in the documents word for word: {segment[:80]!r}"
    if "".join(altered.evidence.split()) == "".join(evidence.split()):
        return "the documents are not changed"
    for segment in altered.segments:
        if segment in altered.evidence:
            return f"this segment of the chosen group is still there: {segment[:80]!r}"
    if problem := _misplaced(altered, evidence, mode):
        return problem
    if altered.fluency < least_fluency:
        return f"its fluency is {altered.fluency:g}, below {least_fluency:g}"
    return None


def _objects(text: str) -> Iterator[dict[str, object]]:
    """The JSON objects that stand in a text, outermost only."""
    decoder, start = json.JSONDecoder(), text.find("{")
    while start >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            if isinstance(value, dict):
                yield value
        start = text.find("{", end)


def _misplaced(altered: Alteration, evidence: str, mode: Mode) -> str | None:
    """What the alteration does beyond the chosen segments."""
    allowed = [span for segment in altered.segments for span in _spans(segment, evidence)]
    taken = put = 0
    for change in changes(evidence.rstrip(), altered.evidence.rstrip()):
        if not any(low - _NEAR <= change.start and change.end <= high + _NEAR for low, high in allowed):
            where = evidence[max(0, change.start - 10) : change.end + 10]
            return f"the documents are changed away from the segments, at {where[:80]!r}"
        taken, put = taken + change.end - change.start, put + len(change.new)
    size = sum(high - low for low, high in allowed)
    if mode == "delete" and put > _MENDED * taken:
        return "a deletion must not put anything else in"
    if put > 2 * size + _NEAR:
        return "the revised segments are much longer than they were"
    return None


def _spans(segment: str, evidence: str) -> Iterator[tuple[int, int]]:
    start = evidence.find(segment)
    while start >= 0:
        yield start, start + len(segment)
        start = evidence.find(segment, start + len(segment))
