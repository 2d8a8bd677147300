"""RefChecker's benchmark: human labels of models' responses, and how well a checker agrees with them."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from evaluation.arguments import add_checker_arguments, add_resamples_argument
from evaluation.cached_llm import Meter
from evaluation.datasets import DataError
from evaluation.judged_rows import JudgedRows, add_rows_out_argument
from evaluation.judges import add_limit_argument, add_llm_arguments, open_judge
from evaluation.measurement import Judged, judge
from evaluation.output import Report, failures
from evaluation.refchecker.data import (
    SETTINGS,
    Asked,
    Response,
    asked,
    checked,
    read_contexts,
    read_responses,
)
from evaluation.refchecker.figures import ALL, Rated, Scored, rate, rated_as_json, rated_as_markdown, score
from evaluation.refchecker.figures import scored_as_json as scored_as_json
from evaluation.refchecker.figures import scored_as_markdown as scored_as_markdown
from proxy.claims.decompose.locate import spelt
from proxy.config.load import load
from proxy.errors import ConfigError

NAME = "refchecker"
HELP = "RefChecker: claims and responses against people's labels, by setting; models' hallucination by people"

_MISSING = (
    "\nNothing was checked: the labels come without the contexts that the claims are held against. With "
    "--contexts FILE this table has accuracy and macro-F1 of claims, F1 and correlations of responses, and "
    "the copy rate.\n"
)
_NOTES = (
    "\nThe paper's own figures could not be read where this was written, so none stand here. Its "
    "response-level script leaves the model davinci001 out; all models that the folder holds are in here.\n"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """See `Command`."""
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="zero_context, noisy_context, accurate_context",
    )
    parser.add_argument(
        "--contexts", type=Path, metavar="FILE", help="setting, id, question and passages (JSON Lines)"
    )
    add_checker_arguments(parser)
    add_llm_arguments(parser)
    add_limit_argument(parser, "responses of each model and setting")
    add_resamples_argument(parser)
    add_rows_out_argument(parser)


def run(options: argparse.Namespace) -> None:
    """See `Command`. People's part needs no contexts; without these it is all there is."""
    if options.rows_out and not options.contexts:
        raise ConfigError("--rows-out needs --contexts: without these no claim is checked.")
    judged_rows = JudgedRows(options.rows_out)
    responses = read_responses(options.data, options.limit)
    questions = _questions(options.contexts, responses) if options.contexts else []
    human = Report[Rated](
        options.json,
        lambda rated: {"table": "human", **rated_as_json(rated)},
        lambda rated: rated_as_markdown(rated) + ("" if questions else _MISSING),
    )
    for rated in rate(responses):
        human.add(rated)
    human.end()
    if questions:
        claiming = len([response for response in responses if not response.abstained])
        _check(questions, claiming, options, judged_rows)


def _questions(path: Path, responses: Sequence[Response]) -> list[Asked]:
    questions = asked(responses, read_contexts(path))
    if not questions:
        raise DataError(
            f"{path}: none of its contexts has the setting and id of a response that claims something."
        )
    return questions


def _told(questions: Sequence[Asked]) -> Iterator[dict[str, Any]]:
    """What `pairs` of them are: a row a passage, with people's label of the claim over all passages."""
    for question in questions:
        response = question.response
        which = {"setting": response.setting, "id": response.id, "model": response.model}
        for claim, human in zip(response.claims, response.human, strict=True):
            for number in range(1, len(question.context.passages) + 1):
                yield {**which, "claim": spelt(claim), "passage": number, "label": human.value}


def _check(
    questions: Sequence[Asked], claiming: int, options: argparse.Namespace, judged_rows: JudgedRows
) -> None:
    settings = load(options.config)

    async def judge_all() -> tuple[Judged, Meter | None]:
        pairs = (pair for question in questions for pair in question.pairs())
        async with open_judge(settings, options) as opened:
            total = sum(question.count for question in questions)
            record = judged_rows.of(_told(questions))
            judged = await judge(opened.checker, pairs, total, "claims", record=record)
            return judged, opened.meter

    judged, meter = asyncio.run(judge_all())
    done = checked(questions, judged.verdicts)
    text = (
        f"\nChecker `{options.checker}`, {len(questions):,} of {claiming:,} responses that claim something "
    )
    text += "have a context; 95% bootstrap intervals in brackets.\n\n"
    report = Report[Scored](
        options.json,
        lambda scored: {"table": "checked", "checker": options.checker, **scored_as_json(scored)},
        lambda scored: text + scored_as_markdown(scored) + _NOTES + failures(judged.unverified),
    )
    for setting in (*SETTINGS, ALL):
        own = [entry for entry in done if setting in (entry.response.setting, ALL)]
        if own:
            report.add(score(setting, own, options.resamples))
    report.end(meter=meter)
