"""Figures of `halueval`: of a model that was asked, and of CEG's recorded run of GPT-3.5.

The recorded run has its own accuracy, and its verdicts on segments are compared with a checker's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from evaluation.cached_llm import Meter
from evaluation.halueval.data import Recorded
from evaluation.halueval.loop import Chosen
from evaluation.halueval.prompts import read_pick
from evaluation.metrics import Estimates, Figures, Flags, Indexes, estimate, share
from evaluation.output import failures, table
from evaluation.retrievers import Given, passage, verify
from proxy.claims.checkable import is_checkable
from proxy.protocols import Checker
from proxy.types import Claim, Evidence, Finding, Verdict


@dataclass(frozen=True, slots=True)
class Choices:
    """Per question whether the right answer was chosen, before and after, and whether that could be read.

    All of shape (n,). `right` is as recorded, `read` as `read_pick` reads the same texts.
    """

    right: tuple[Flags, Flags]
    read: tuple[Flags, Flags]
    malformed: tuple[int, int]


def choices(questions: Sequence[Recorded]) -> Choices:
    """What the record says was chosen. In it the right answer always came first."""
    picked = [
        [read_pick(text).choice for text in texts]
        for texts in (
            [question.text for question in questions],
            [question.last_text for question in questions],
        )
    ]
    before, after = (np.array([pick == 1 for pick in own], dtype=np.bool_) for own in picked)
    return Choices(
        right=(
            _set_flags(question.res for question in questions),
            _set_flags(question.last_res for question in questions),
        ),
        read=(before, after),
        malformed=(picked[0].count(None), picked[1].count(None)),
    )


def accuracies(chosen: Choices, rows: Indexes) -> Figures:
    """Accuracy before and after, as recorded and as read here: what can't be read is never right."""
    (before, after), (read_before, read_after) = chosen.right, chosen.read
    return {
        "recorded.before": share(before[rows]),
        "recorded.after": share(after[rows]),
        "recorded.gain": share(after[rows]) - share(before[rows]),
        "read.before": share(read_before[rows]),
        "read.after": share(read_after[rows]),
        "read.gain": share(read_after[rows]) - share(read_before[rows]),
    }


async def check_recorded(checker: Checker, recorded: Recorded) -> tuple[Finding, ...]:
    """What the checker says of the segments of the first reasoning, each by its recorded passage.

    Raises `CheckError`.
    """
    claims = tuple(_claims(recorded.segmented_response))
    held = [
        (Evidence(passage(title, text), 1.0),)
        for claim, (_, text, title) in zip(claims, recorded.ret_knowledges, strict=True)
        if claim.checkable
    ]
    given = Given(claims, recorded.question, held)
    return await verify(claims, recorded.question, checker, given, 1)


def agreement(tags: Flags, called: Flags, rows: Indexes) -> Figures:
    """How often the checker says what the record says, of all segments and of each kind; shape (n,) each."""
    same = tags[rows] == called[rows]
    return {
        "agreement": share(same),
        "agreement_on.factual": share(same[tags[rows]]),
        "agreement_on.nonfactual": share(same[~tags[rows]]),
    }


def called_factual(findings: Sequence[Finding]) -> Flags:
    """Which segments pass, shape (n,): CEG's prompt calls one factual that there is nothing to judge in."""
    passing = (Verdict.SUPPORTED, Verdict.NOT_CHECKABLE)
    return np.array([finding.verdict in passing for finding in findings], dtype=np.bool_)


def _claims(segments: Sequence[str]) -> Iterator[Claim]:
    start = 0
    for text in segments:
        yield Claim(start, start + len(text), text, text, is_checkable(text))
        start += len(text) + 1


def _set_flags(values: Iterator[int]) -> Flags:
    return np.array([value == 1 for value in values], dtype=np.bool_)


_PAPER = (
    "CEG: 69.45 of 100 right on HaluEval QA (as wizwand.com lists the paper; the other rows of its Table 3 "
    "could not be read where this was written). What differs: CEG retrieves from Wikipedia, the right answer "
    "always comes first there, and an answer that does not say `Answer 1` counts as the second one.\n"
)
_ASKED_COLUMNS = {
    "first": "before",
    "last": "after",
    "best": "after, best round",
    "gain": "gain",
    "right_first": "after, right one first",
    "right_second": "after, right one second",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What asking came to. Accuracies: before checking, after the last round, in the round that the proxy
    would keep, and the last split by where the right answer stood. What can't be read is never right."""

    n: int
    estimates: Estimates
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class Replayed:
    """What the record comes to. Accuracies over questions, agreement over segments."""

    n: int
    segments: int
    estimates: Estimates
    counts: dict[str, int]


def measure_asked(done: Sequence[Chosen], resamples: int) -> Asked:
    """The figures of questions, one or more."""
    first = _flags([entry.right(0) for entry in done])
    last = _flags([entry.right(-1) for entry in done])
    best = _flags([entry.right(entry.best) for entry in done])
    leading = _flags([entry.right_at == 1 for entry in done])

    def of(rows: Indexes) -> Figures:
        return {
            "first": share(first[rows]),
            "last": share(last[rows]),
            "best": share(best[rows]),
            "gain": share(last[rows]) - share(first[rows]),
            "right_first": share(last[rows][leading[rows]]),
            "right_second": share(last[rows][~leading[rows]]),
        }

    counts = {
        "asked_again": sum(len(entry.choices) > 1 for entry in done),
        "malformed_first": sum(entry.choices[:1] == (None,) for entry in done),
        "malformed_last": sum(entry.choices[-1:] == (None,) for entry in done),
        "failed": sum(not entry.choices for entry in done),
        "mended": int((~first & last).sum()),
        "spoilt": int((first & ~last).sum()),
        "claims": sum(entry.checked for entry in done),
        "unverified": sum(entry.unverified for entry in done),
    }
    return Asked(len(done), estimate(of, len(done), resamples), counts)


def measure_recorded(
    questions: Sequence[Recorded], checked: Sequence[tuple[Finding, ...]], resamples: int
) -> Replayed:
    """The figures of a record, and of the findings of its segments."""
    chosen = choices(questions)
    tags = _flags([tag == 1 for question in questions for tag in question.tags])
    findings = [finding for own in checked for finding in own]
    called = called_factual(findings)
    before, after = chosen.right
    by_question = estimate(partial(accuracies, chosen), len(questions), resamples)
    by_segment = estimate(partial(agreement, tags, called), len(tags), resamples)
    counts = {
        "asked_again": sum(question.text_rege is not None for question in questions),
        "malformed_before": chosen.malformed[0],
        "malformed_after": chosen.malformed[1],
        "mended": int((~before & after).sum()),
        "spoilt": int((before & ~after).sum()),
        "tagged_factual": int(tags.sum()),
        "called_factual": int(called.sum()),
        "not_checkable": sum(finding.verdict is Verdict.NOT_CHECKABLE for finding in findings),
        "unverified": sum(finding.verdict is Verdict.UNVERIFIED for finding in findings),
    }
    return Replayed(len(questions), len(tags), by_question.beside(by_segment), counts)


def asked_as_json(asked: Asked, meter: Meter) -> dict[str, Any]:
    """One line of `--json`."""
    return {"n": asked.n, **_fields(asked), "llm": meter.as_json()}


def asked_as_markdown(asked: Asked, meter: Meter) -> str:
    """The table, and what must be known to read it."""
    counts = asked.counts
    text = table([*_ASKED_COLUMNS.values()], [asked.estimates.cells(_ASKED_COLUMNS)])
    text += (
        f"\n{counts['asked_again']:,} of {asked.n:,} were asked again: {counts['mended']:,} came right, "
        f"{counts['spoilt']:,} went wrong. No choice could be read in {counts['malformed_first']:,} answers "
        f"before and {counts['malformed_last']:,} after; {counts['failed']:,} calls for a first answer "
        "failed. All of these count as not right.\n"
    )
    text += failures(counts["unverified"]).replace("pairs", f"{counts['claims']:,} claims")
    return f"{text}\n{_PAPER}{meter.as_markdown()}"


def recorded_as_json(replayed: Replayed, meter: Meter | None) -> dict[str, Any]:
    """One line of `--json`."""
    return {
        "n": replayed.n,
        "segments": replayed.segments,
        **_fields(replayed),
        "llm": meter.as_json() if meter else None,
    }


def recorded_as_markdown(replayed: Replayed, checker: str, meter: Meter | None) -> str:
    """Both tables, and what must be known to read them."""
    counts = replayed.counts
    rows = [
        [name, *replayed.estimates.cells(f"{key}.{when}" for when in ("before", "after", "gain"))]
        for key, name in (("recorded", "as recorded"), ("read", "as read here"))
    ]
    text = table(["GPT-3.5's choices", "before", "after", "gain"], rows)
    text += (
        f"\n{counts['asked_again']:,} of {replayed.n:,} were asked again: {counts['mended']:,} came right, "
        f"{counts['spoilt']:,} went wrong. No choice can be read in {counts['malformed_before']:,} answers "
        f"before and {counts['malformed_after']:,} after; CEG's code takes them for the second answer.\n\n"
    )
    names = ("agreement", "agreement_on.factual", "agreement_on.nonfactual")
    header = ["checker", "agreement", "on factual", "on nonfactual"]
    text += table(header, [[checker, *replayed.estimates.cells(names)]])
    text += (
        f"\nOf {replayed.segments:,} segments GPT-3.5 calls {counts['tagged_factual']:,} factual and "
        f"`{checker}` {counts['called_factual']:,}, of which {counts['not_checkable']:,} say nothing that "
        "could be checked. GPT-3.5's are no truth: nobody has labelled these segments.\n"
    )
    text += failures(counts["unverified"]).replace("pairs", "segments")
    return f"{text}\n{_PAPER}" + (meter.as_markdown() if meter else "")


def _fields(measured: Asked | Replayed) -> dict[str, Any]:
    return {**measured.estimates.as_json(), **measured.counts}


def _flags(values: Sequence[bool]) -> Flags:
    return np.array(values, dtype=np.bool_)
