"""HaluEval QA without an LLM: scores of right and hallucinated answers, given the knowledge."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any, get_args

import numpy as np

from evaluation.arguments import add_checker_arguments, add_resamples_argument
from evaluation.cached_llm import Meter
from evaluation.halueval_qa.data import (
    Form,
    Question,
    claims,
    figures,
    lengths,
    read_questions,
    with_others_knowledge,
)
from evaluation.judged_rows import JudgedRows, add_rows_out_argument
from evaluation.judges import add_limit_argument, add_llm_arguments, open_judge
from evaluation.measurement import Judged, judge
from evaluation.metrics import Estimates, Flags, Floats, estimate, rounded, shown
from evaluation.output import Report, failures, table
from proxy.config.load import load
from proxy.protocols import Checker

NAME = "halueval-qa"
HELP = "HaluEval QA: does the right answer score higher than the hallucinated one, given its knowledge?"

_KNOWLEDGE = ("own", "another's")
_LABELS = ("right", "hallucinated")
_NOTE = (
    "\nForm `reduced`: each answer cut down to the words that its question lacks. Equally long: answers with "
    "as many words in that form. A judge that knows nothing comes to 0.5; what a row over another question's "
    "knowledge and the length alone come to is what style gives away. HaluEval's own figures are of LLMs "
    "asked yes or no, and do not compare.\n"
)


@dataclass(frozen=True, slots=True)
class Told:
    """How well one judge tells right from hallucinated answers: of all `n` questions, and of the `close` ones
    whose answers are equally long.

    `accuracy` is of the verdicts over both answers, at the shipped threshold; NaN for the length.
    """

    judge: str
    form: Form
    knowledge: str
    n: int
    estimates: Estimates
    close: int
    estimates_close: Estimates
    accuracy: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """See `Command`."""
    parser.add_argument("--data", type=Path, required=True, metavar="FILE", help="HaluEval QA (JSON Lines)")
    add_checker_arguments(parser)
    add_llm_arguments(parser)
    add_limit_argument(parser, "questions")
    add_resamples_argument(parser)
    add_rows_out_argument(parser)


def run(options: argparse.Namespace) -> None:
    """See `Command`."""
    settings = load(options.config)
    questions = read_questions(options.data, options.limit)
    judged_rows = JudgedRows(options.rows_out)
    knowledge = dict(zip(_KNOWLEDGE, (questions, with_others_knowledge(questions)), strict=True))

    async def judge_all() -> tuple[dict[tuple[Form, str], Judged], Meter | None]:
        async with open_judge(settings, options) as opened:
            judged = {
                (form, whose): await _judge(opened.checker, form, whose, asked, judged_rows)
                for form in get_args(Form)
                for whose, asked in knowledge.items()
            }
            return judged, opened.meter

    judged, meter = asyncio.run(judge_all())
    unverified = sum(judgement.unverified for judgement in judged.values())
    report = Report[Told](
        options.json,
        lambda told: {"file": str(options.data), **_as_json(told)},
        lambda told: _as_markdown(told) + failures(unverified),
    )
    for told in _told(options.checker, questions, judged, options.resamples):
        report.add(told)
    report.end(meter=meter)


async def _judge(
    checker: Checker, form: Form, whose: str, questions: Sequence[Question], out: JudgedRows
) -> Judged:
    pairs = [pair for question in questions for pair in claims(question, form)]
    which = {"form": form, "knowledge": whose}
    rows = (
        {**which, "claim": pair.claim, "label": label}
        for pair, label in zip(pairs, cycle(_LABELS), strict=False)
    )
    return await judge(checker, pairs, len(pairs), f"{form}, {whose} knowledge", record=out.of(rows))


def _told(
    checker: str, questions: Sequence[Question], judged: dict[tuple[Form, str], Judged], resamples: int
) -> Iterator[Told]:
    words = {form: lengths(questions, form) for form in get_args(Form)}
    close = np.diff(words["reduced"], axis=1)[:, 0] == 0
    for (form, whose), own in judged.items():
        right = own.called.reshape(-1, 2) == np.array([True, False])
        yield _scored(checker, form, whose, own.scores.reshape(-1, 2), close, float(right.mean()), resamples)
    for form, counts in words.items():
        yield _scored("shorter answer", form, "none", -counts.astype(np.float64), close, np.nan, resamples)


def _scored(
    judge_name: str, form: Form, whose: str, scores: Floats, close: Flags, accuracy: float, resamples: int
) -> Told:
    near = scores[close]
    return Told(
        judge=judge_name,
        form=form,
        knowledge=whose,
        n=len(scores),
        estimates=estimate(partial(figures, scores), len(scores), resamples),
        close=len(near),
        estimates_close=estimate(partial(figures, near), len(near), resamples),
        accuracy=accuracy,
    )


def _as_json(told: Told) -> dict[str, Any]:
    return {
        "judge": told.judge,
        "form": told.form,
        "knowledge": told.knowledge,
        "n": told.n,
        **told.estimates.as_json(),
        "accuracy": rounded(told.accuracy),
        "close": {"n": told.close, **told.estimates_close.as_json()},
    }


def _as_markdown(told: Sequence[Told]) -> str:
    near = f"equally long ({told[0].close:,})"
    header = [
        "judge",
        "form",
        "knowledge",
        "pairwise",
        "AUC",
        "accuracy",
        f"pairwise, {near}",
        f"AUC, {near}",
    ]
    rows = [
        [
            entry.judge,
            entry.form,
            entry.knowledge,
            *entry.estimates.cells(),
            shown(entry.accuracy),
            *entry.estimates_close.cells(),
        ]
        for entry in told
    ]
    text = f"{told[0].n:,} questions; 95% bootstrap intervals in brackets.\n\n"
    return text + table(header, rows) + _NOTE
