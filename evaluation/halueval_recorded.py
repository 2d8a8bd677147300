"""CEG's record of GPT-3.5 played back: its accuracy, and its verdicts beside those of a checker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.halueval import Recorded
from evaluation.halueval_prompt import read_pick
from evaluation.llm_evidence import Given, passage, verify
from evaluation.metrics import Figures, Flags, Indexes, share
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
        for texts in ([one.text for one in questions], [one.last_text for one in questions])
    ]
    before, after = (np.array([one == 1 for one in own], dtype=np.bool_) for own in picked)
    return Choices(
        right=(_flags(one.res for one in questions), _flags(one.last_res for one in questions)),
        read=(before, after),
        malformed=(picked[0].count(None), picked[1].count(None)),
    )


def accuracies(found: Choices, rows: Indexes) -> Figures:
    """Accuracy before and after, as recorded and as read here: what can't be read is never right."""
    (before, after), (read_before, read_after) = found.right, found.read
    return {
        "recorded.before": share(before[rows]),
        "recorded.after": share(after[rows]),
        "recorded.gain": share(after[rows]) - share(before[rows]),
        "read.before": share(read_before[rows]),
        "read.after": share(read_after[rows]),
        "read.gain": share(read_after[rows]) - share(read_before[rows]),
    }


async def check(checker: Checker, recorded: Recorded) -> tuple[Finding, ...]:
    """What the checker says of the segments of the first reasoning, each by its recorded passage.

    Raises `CheckError`.
    """
    claims = tuple(_claims(recorded.segmented_response))
    held = [
        (Evidence(passage(title, text), 1.0),)
        for claim, (_, text, title) in zip(claims, recorded.ret_knowledges, strict=True)
        if claim.checkable
    ]
    return await verify(claims, recorded.question, checker, Given(held), 1)


def agreement(tags: Flags, called: Flags, rows: Indexes) -> Figures:
    """How often the checker says what the record says, of all segments and of each kind; shape (n,) each."""
    same = tags[rows] == called[rows]
    return {
        "agreement": share(same),
        "agreement_on.factual": share(same[tags[rows]]),
        "agreement_on.nonfactual": share(same[~tags[rows]]),
    }


def called_factual(found: Sequence[Finding]) -> Flags:
    """Which segments pass, shape (n,): CEG's prompt calls one factual that there is nothing to judge in."""
    passing = (Verdict.SUPPORTED, Verdict.NOT_CHECKABLE)
    return np.array([one.verdict in passing for one in found], dtype=np.bool_)


def _claims(segments: Sequence[str]) -> Iterator[Claim]:
    at = 0
    for text in segments:
        yield Claim(at, at + len(text), text, text, is_checkable(text))
        at += len(text) + 1


def _flags(values: Iterator[int]) -> Flags:
    return np.array([value == 1 for value in values], dtype=np.bool_)
