"""An LLM's altered evidence: read strictly, and held against the original."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from training.augment.diffs import changes
from training.augment.prompts import Mode

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
    decoder, at = json.JSONDecoder(), text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(value, dict):
                yield value
        at = text.find("{", end)


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
    at = evidence.find(segment)
    while at >= 0:
        yield at, at + len(segment)
        at = evidence.find(segment, at + len(segment))
