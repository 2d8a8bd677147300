"""FELM's ChatGPT answers with human labels and the passages that CEG retrieved, and how they are checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, model_validator

from evaluation.datasets import DataError, explain
from evaluation.retrievers import Given, passage, verify
from proxy.claims.checkable import is_checkable
from proxy.claims.context import contexts
from proxy.engine import judging
from proxy.protocols import Checker
from proxy.types import Claim, Evidence, Finding, Pair

How = Literal["each", "joined"]
"""`each`: as the proxy checks, each passage alone and, where none decides, joined (CEG section 3.3).
`joined`: as CEG's published code does, one check over all of them."""


class Found(BaseModel):
    """A retrieved passage."""

    model_config = ConfigDict(frozen=True)

    title: str
    content: str


class Search(BaseModel):
    """What was found for a segment, best first: passages, cosines, and a 1, 0 or -1 for each.

    The file does not say which model the last are of nor what 0 and -1 stand for; 1 goes with passages that
    bear the segment out.
    """

    model_config = ConfigDict(frozen=True)

    res: tuple[Found, ...]
    dis: tuple[float, ...]
    tag: tuple[Literal[-1, 0, 1], ...]

    @model_validator(mode="after")
    def _aligned(self) -> Search:
        if not self.res or not len(self.res) == len(self.dis) == len(self.tag):
            raise ValueError("`res`, `dis` and `tag` must be as long as each other, and not empty")
        return self


class Row(BaseModel):
    """A segment of an answer as CEG's file has it; `tag` is people's label, true where it is right."""

    model_config = ConfigDict(frozen=True)

    question: str
    response: str
    tag: bool
    ress: Search


_ROWS = TypeAdapter(list[Row])


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment, whether people call it right, its passages best first, and their recorded 1, 0 or -1."""

    claim: Claim
    factual: bool
    evidence: tuple[Evidence, ...]
    recorded: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Response:
    """An answer in its segments."""

    question: str
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which passages count: the first k, of these only those over the threshold and always the first."""

    k: int
    threshold: float | None = None

    def of(self, evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
        """The passages that count, in their order.

        CEG's code also drops the first, and then asks the model without any document; here no claim is
        judged by what a model remembers.
        """
        first, *rest = evidence[: self.k]
        return (first, *(hit for hit in rest if self.threshold is None or hit.score > self.threshold))


def read_felm(path: Path, limit: int | None = None) -> list[Response]:
    """The answers of a file, the first `limit` of them. Raises `DataError`."""
    try:
        rows = _ROWS.validate_json(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror}.") from error
    except ValidationError as error:
        raise DataError(f"{path}: {explain(error)}.") from None
    if not rows:
        raise DataError(f"{path} is empty: it must hold a list of segments.")
    by_question: dict[str, list[Row]] = {}
    for row in rows:
        by_question.setdefault(row.question, []).append(row)
    responses = [Response(question, tuple(_segments(own))) for question, own in by_question.items()]
    return responses[:limit]


async def check_each(checker: Checker, response: Response, selection: Selection) -> tuple[Finding, ...]:
    """The findings of an answer's segments as the proxy comes to them. Raises `CheckError`."""
    claims = [segment.claim for segment in response.segments]
    held = [selection.of(segment.evidence) for segment in response.segments if segment.claim.checkable]
    given = Given(claims, response.question, held)
    return await verify(claims, response.question, checker, given, selection.k)


async def check_joined(checker: Checker, response: Response, selection: Selection) -> tuple[Finding, ...]:
    """The same with one check a segment, over its passages as one text. Raises `CheckError`."""
    claims = [segment.claim for segment in response.segments]
    asked = [
        (
            segment.claim,
            Pair.of(segment.claim, selection.of(segment.evidence), context, response.question),
        )
        for segment, context in zip(response.segments, contexts(claims, response.question), strict=True)
        if segment.claim.checkable
    ]
    judgements = await checker.check([pair for _, pair in asked]) if asked else ()
    by_claim = {
        claim: Finding(claim, judgement.verdict, judgement.score, usage=judgement.usage)
        for (claim, _), judgement in zip(asked, judgements, strict=True)
    }
    return tuple(by_claim.get(claim) or judging.unchecked(claim) for claim in claims)


def _segments(rows: Sequence[Row]) -> Iterator[Segment]:
    """The segments with their places in the answer, as far as these are known: a space apart."""
    start = 0
    for row in rows:
        text = row.response
        claim = Claim(start, start + len(text), text, text, is_checkable(text))
        start += len(text) + 1
        passages = zip(row.ress.res, row.ress.dis, strict=True)
        evidence = tuple(Evidence(passage(hit.title, hit.content), score) for hit, score in passages)
        yield Segment(claim, row.tag, evidence, row.ress.tag)
