"""CEG Table 5: how often a checker agrees with people on claims that models made of Wikipedia passages."""

from __future__ import annotations

import argparse
import asyncio
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.compose import open_checker
from evaluation.judging import Judged, judge, pooled
from evaluation.markdown import failures, nested, print_json, rounded, shown, table
from evaluation.metrics import Figures, Flags, Indexes, Interval, intervals, majority, share
from evaluation.options import add_checker_arguments, add_files_argument, add_resamples_argument
from evaluation.wikiretr import Subset, joined, read_subset
from proxy.config import load

NAME = "wikiretr"
HELP = "agreement with people on WikiRetr's claims, beside the models that its files hold (CEG Table 5)"


@dataclass(frozen=True, slots=True)
class Agreement:
    """One judge beside people: the figures with their 95% intervals."""

    judge: str
    figures: Figures
    intervals: dict[str, Interval]


@dataclass(frozen=True, slots=True)
class Compared:
    """The judges of one file, the checker first. `majority` is the agreement of always saying the same."""

    file: str
    n: int
    majority: float
    unverified: int
    judges: tuple[Agreement, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """See `Command`."""
    add_files_argument(parser, "--data", "WikiRetr subsets with human_eval (JSON)")
    add_checker_arguments(parser)
    add_resamples_argument(parser)


def run(options: argparse.Namespace) -> None:
    """See `Command`. Several files are also shown as one."""
    settings = load(options.config)
    subsets = [read_subset(path) for path in options.data]

    async def judge_all() -> list[Judged]:
        async with open_checker(settings, options.checker) as checker:
            return [await judge(checker, one.pairs, len(one.pairs), one.name) for one in subsets]

    judged = asyncio.run(judge_all())
    if len(subsets) > 1:
        subsets.append(joined("all", subsets))
        judged.append(pooled(judged))
    done = [
        _compare(subset, own, options.checker, options.resamples)
        for subset, own in zip(subsets, judged, strict=True)
    ]
    if options.json:
        for one in done:
            print_json(_as_json(one))
    else:
        sys.stdout.write("\n".join(map(_as_markdown, done)))


def _compare(subset: Subset, judged: Judged, checker: str, resamples: int) -> Compared:
    called = {checker: judged.called, **subset.models}
    return Compared(
        file=subset.name,
        n=len(subset.pairs),
        majority=majority(subset.human),
        unverified=judged.unverified,
        judges=tuple(_agreement(name, subset.human, flags, resamples) for name, flags in called.items()),
    )


def _agreement(name: str, human: Flags, called: Flags, resamples: int) -> Agreement:
    def figures(rows: Indexes) -> Figures:
        right = human[rows] == called[rows]
        return {
            "agreement": share(right),
            "recall.supported": share(right[human[rows]]),
            "recall.not_supported": share(right[~human[rows]]),
        }

    everything = np.arange(len(human))
    return Agreement(name, figures(everything), intervals(figures, len(human), resamples))


def _as_json(compared: Compared) -> dict[str, Any]:
    ours, *models = compared.judges
    return {
        "file": compared.file,
        "checker": ours.judge,
        "n": compared.n,
        "majority": rounded(compared.majority),
        "unverified": compared.unverified,
        **_fields(ours),
        "models": {model.judge: _fields(model) for model in models},
    }


def _fields(agreement: Agreement) -> dict[str, Any]:
    return {**nested(agreement.figures), "intervals": nested(agreement.intervals)}


def _as_markdown(compared: Compared) -> str:
    rows = [
        [one.judge, *(shown(value, one.intervals.get(name)) for name, value in one.figures.items())]
        for one in compared.judges
    ]
    text = (
        f"{compared.file}: {compared.n:,} claims; always saying the same agrees on {compared.majority:.3f}."
    )
    header = ["judge", "agreement", "recall, supported", "recall, not supported"]
    return f"{text}\n\n{table(header, rows)}{failures(compared.unverified)}"
