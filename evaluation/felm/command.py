"""CEG Tables 2 and 4: does the checker find factual errors in ChatGPT's answers, by number of passages?"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np

from evaluation.arguments import add_checker_arguments, add_resamples_argument, finite
from evaluation.arguments import counted as number
from evaluation.cached_llm import Meter
from evaluation.felm.data import How, Response, Selection, check_each, check_joined, read_felm
from evaluation.felm.figures import counted, figures
from evaluation.judges import Judge, add_limit_argument, add_llm_arguments, in_order, open_judge
from evaluation.metrics import Estimates, Flags, estimate
from evaluation.output import failures, print_json, table
from proxy.config.load import load
from proxy.protocols import Checker
from proxy.types import Finding, Verdict

NAME = "felm"
HELP = "factual errors found in FELM's answers of ChatGPT, by passages (CEG Tables 2 and 4)"

_KS = tuple(range(1, 11))
_THRESHOLDS = (0.6,)
_COLUMNS = {
    "f1": "F1",
    "precision": "precision",
    "recall_nonfactual": "recall, nonfactual",
    "recall_factual": "recall, factual",
    "balanced_accuracy": "balanced accuracy",
}
_LEVELS = ("segment", "response")
_PAPER = (
    "CEG, FELM world knowledge, segments: 54.4 of 100 nonfactual ones found (as wizwand.com lists the "
    "paper; the other columns of its Tables 2 and 4 could not be read where this was written). What "
    "differs: CEG asks GPT-3.5 about all passages at once, and it answers Factual where there is nothing to "
    "judge; these are CEG's own passages (Wikipedia, SimCSE), so the corpus is the same.\n"
)

_Check = Callable[[Checker, Response, Selection], Awaitable[tuple[Finding, ...]]]
_CHECKS: Mapping[How, _Check] = {"each": check_each, "joined": check_joined}


@dataclass(frozen=True, slots=True)
class Wrongs:
    """Which verdicts count as a factual error found."""

    name: str
    verdicts: frozenset[Verdict]


_NOT_BORNE_OUT = Wrongs("", frozenset({Verdict.CONTRADICTED, Verdict.UNSUPPORTED, Verdict.UNVERIFIED}))
"""CEG's nonfactual. A segment that could not be checked is never one that is borne out."""
_CONTRADICTED = Wrongs(", contradicted only", frozenset({Verdict.CONTRADICTED}))


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table: who judged, over which passages, and what that came to."""

    judge: str
    selection: Selection | None
    estimates: Estimates
    unverified: int = 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """See `Command`."""
    parser.add_argument(
        "--data", type=Path, required=True, metavar="FILE", help="CEG's case_FELM_WK_topk10.json"
    )
    add_checker_arguments(parser)
    add_llm_arguments(parser)
    add_limit_argument(parser, "answers")
    parser.add_argument("--k", type=number, nargs="+", default=_KS, help="passages; default: 1 to 10")
    parser.add_argument(
        "--threshold", type=finite, nargs="*", default=_THRESHOLDS, help="also only over these; default: 0.6"
    )
    parser.add_argument(
        "--how",
        choices=get_args(How),
        default="each",
        help="each passage and then all joined, as the proxy, or only joined, as CEG's code; default: each",
    )
    add_resamples_argument(parser)


def run(options: argparse.Namespace) -> None:
    """See `Command`."""
    settings = load(options.config)
    responses = read_felm(options.data, options.limit)
    selections = [Selection(k, threshold) for threshold in (None, *options.threshold) for k in options.k]

    async def check_all() -> tuple[list[list[tuple[Finding, ...]]], Meter | None]:
        async with open_judge(settings, options) as judge:
            return [
                await _check(judge, responses, selection, options) for selection in selections
            ], judge.meter

    found, meter = asyncio.run(check_all())
    lines = [
        *(
            _line(options, responses, wrongs, *pair)
            for wrongs in (_NOT_BORNE_OUT, _CONTRADICTED)
            for pair in zip(selections, found, strict=True)
        ),
        *_baselines(options, responses),
    ]
    if options.json:
        for line in lines:
            print_json(_as_json(options, line, responses, meter))
    else:
        sys.stdout.write(_as_markdown(options, lines, responses, found, meter))


async def _check(
    judge: Judge, responses: Sequence[Response], selection: Selection, options: argparse.Namespace
) -> list[tuple[Finding, ...]]:
    async def check(response: Response) -> tuple[Finding, ...]:
        return await _CHECKS[options.how](judge.checker, response, selection)

    shown_as = f"k = {selection.k}" + (f", over {selection.threshold}" if selection.threshold else "")
    return await in_order(responses, check, options.concurrency, shown_as)


def _line(
    options: argparse.Namespace,
    responses: Sequence[Response],
    wrongs: Wrongs,
    selection: Selection,
    findings: Sequence[tuple[Finding, ...]],
) -> Line:
    called = [
        np.array([finding.verdict in wrongs.verdicts for finding in own], dtype=np.bool_) for own in findings
    ]
    unverified = sum(finding.verdict is Verdict.UNVERIFIED for own in findings for finding in own)
    return _measured(options, f"{options.checker}{wrongs.name}", selection, responses, called, unverified)


def _baselines(options: argparse.Namespace, responses: Sequence[Response]) -> list[Line]:
    """The file's own verdicts of passages, at each k, and always saying that there is an error."""
    recorded = [
        _measured(
            options,
            "recorded",
            Selection(k),
            responses,
            [_unsupported(response, k) for response in responses],
        )
        for k in options.k
    ]
    always = [np.ones(len(response.segments), dtype=np.bool_) for response in responses]
    return [*recorded, _measured(options, "always nonfactual", None, responses, always)]


def _unsupported(response: Response, k: int) -> Flags:
    return np.array([1 not in segment.recorded[:k] for segment in response.segments], dtype=np.bool_)


def _measured(
    options: argparse.Namespace,
    judge: str,
    selection: Selection | None,
    responses: Sequence[Response],
    called: Sequence[Flags],
    unverified: int = 0,
) -> Line:
    wrong = [np.array([not segment.factual for segment in own.segments], dtype=np.bool_) for own in responses]
    levels = counted(wrong, called)
    estimates = estimate(partial(figures, levels), len(responses), options.resamples)
    return Line(judge, selection, estimates, unverified)


def _as_json(
    options: argparse.Namespace, line: Line, responses: Sequence[Response], meter: Meter | None
) -> dict[str, Any]:
    return {
        "file": str(options.data),
        "judge": line.judge,
        "how": options.how if line.judge.startswith(options.checker) else None,
        "k": line.selection.k if line.selection else None,
        "threshold": line.selection.threshold if line.selection else None,
        "responses": len(responses),
        "segments": sum(len(response.segments) for response in responses),
        "unverified": line.unverified,
        **line.estimates.as_json(),
        "llm": meter.as_json() if meter and line.judge.startswith(options.checker) else None,
    }


def _as_markdown(
    options: argparse.Namespace,
    lines: Sequence[Line],
    responses: Sequence[Response],
    findings: Sequence[Sequence[tuple[Finding, ...]]],
    meter: Meter | None,
) -> str:
    segments = [segment for own in responses for segment in own.segments]
    unasked = sum(not segment.claim.checkable for segment in segments)
    wrong = sum(not segment.factual for segment in segments)
    text = (
        f"{options.data}: {len(responses):,} answers, {len(segments):,} segments, {wrong:,} of them "
        f"nonfactual; {unasked:,} say nothing that could be checked and count as factual. Checker "
        f"`{options.checker}`, `--how {options.how}`; 95% bootstrap intervals over the answers in brackets.\n"
    )
    for level in _LEVELS:
        names = [f"{level}.{name}" for name in _COLUMNS]
        rows = [[*_place(line), *line.estimates.cells(names)] for line in lines]
        text += f"\nBy {level}:\n\n" + table(["judge", "k", "threshold", *_COLUMNS.values()], rows)
    verdicts = [finding.verdict for selection in findings for own in selection for finding in own]
    text += failures(verdicts.count(Verdict.UNVERIFIED)).replace("pairs", f"{len(verdicts):,} checks")
    return text + f"\n{_PAPER}" + (meter.as_markdown() if meter else "")


def _place(line: Line) -> list[str]:
    if line.selection is None:
        return [line.judge, "–", "–"]
    threshold = line.selection.threshold
    return [line.judge, str(line.selection.k), "none" if threshold is None else f"{threshold:g}"]
