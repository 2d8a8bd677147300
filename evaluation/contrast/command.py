"""Does a checker tell a right claim from a wrong one of the same passage? By kind and language."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.arguments import add_checker_arguments, add_files_argument
from evaluation.contrast.data import DEV, HELD_OUT, ContrastGroup, read_groups
from evaluation.datasets import Label
from evaluation.judged_rows import JudgedRows, add_rows_out_argument
from evaluation.judges import add_limit_argument, open_checker
from evaluation.measurement import Judged, judge, picked
from evaluation.metrics import Figures, Flags, contradiction, nested, share, shown, two_way
from evaluation.output import Report, failures, table
from proxy.config.load import load
from proxy.errors import ConfigError

NAME = "contrast"
HELP = "contrast pairs: is the right claim of a passage supported, and the wrong one not?"

ALL, COPIED, REWORDED = "all", "copied", "reworded"
_LIKE = 0.5
"""The likeness to its passage from which a claim counts as copied."""
Labels = NDArray[np.str_]
_COLUMNS = {
    "accuracy": "claims judged right",
    "balanced_accuracy": "balanced accuracy",
    "auc": "AUC",
    "ranked": "right above wrong",
    "contradicted.precision": "precision, contradicted",
    "contradicted.recall": "recall, contradicted",
    "ece": "ECE",
}


@dataclass(frozen=True, slots=True)
class Part:
    """The figures of the claims of one language and kind, or of `all` of either, or of one form."""

    language: str
    kind: str
    pairs: int
    claims: int
    figures: Figures


@dataclass(frozen=True, slots=True)
class Contrast:
    """A checker's figures over these files. It failed on `unverified` claims: these count as judged wrong."""

    files: tuple[str, ...]
    checker: str
    parts: tuple[Part, ...]
    unverified: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """See `Command`."""
    add_checker_arguments(parser)
    add_files_argument(
        parser, "--data", "contrast pairs (JSON Lines) instead of the project's", required=False
    )
    parser.add_argument("--held-out", action="store_true", help="the project's held-out pairs instead")
    add_limit_argument(parser, "groups of each file")
    add_rows_out_argument(parser)


def run(options: argparse.Namespace) -> None:
    """All pairs are read, and the place to write is tried, before the work begins."""
    if options.data and options.held_out:
        raise ConfigError("--held-out measures on the project's pairs, --data on others: give one of them.")
    settings = load(options.config)
    files: Sequence[Path] = options.data or (HELD_OUT if options.held_out else DEV)
    groups = [group for path in files for group in read_groups(path, options.limit)]
    pairs = [row.pair() for group in groups for row in group.rows]
    record = JudgedRows(options.rows_out).of(_told(groups))

    async def judge_all() -> Judged:
        async with open_checker(settings, options.checker) as checker:
            return await judge(checker, pairs, len(pairs), "contrast pairs", record=record)

    judged = asyncio.run(judge_all())
    report = Report(options.json, _as_json, _as_markdown)
    report.add(
        Contrast(
            tuple(path.name for path in files),
            options.checker,
            tuple(measure(groups, judged)),
            judged.unverified,
        )
    )
    report.end()


def measure(groups: Sequence[ContrastGroup], judged: Judged) -> Iterator[Part]:
    """The figures of all languages where there are several, and of each: the whole, by form, kind by kind.

    `judged` has the right claims of the first group, then its wrong ones, then those of the next group.
    """
    rows = [row for group in groups for row in group.rows]
    languages = np.array([group.language for group in groups for _ in group.rows])
    kinds = np.array([group.kind for group in groups for _ in group.rows])
    forms = np.array([COPIED if row.likeness() >= _LIKE else REWORDED for row in rows])
    names = sorted(set(languages.tolist()))
    for language in [ALL, *names] if len(names) > 1 else names:
        own = (languages == language) | (language == ALL)
        yield _part(language, ALL, groups, own, judged)
        for tags in (forms, kinds):
            for tag in sorted(set(tags[own].tolist())):
                yield _part(language, tag, groups, own & (tags == tag), judged)


def _told(groups: Sequence[ContrastGroup]) -> Iterator[dict[str, Any]]:
    for group in groups:
        which = {"group": group.name, "kind": group.kind, "language": group.language}
        yield from ({**which, "claim": row.claim, "label": row.label} for row in group.rows)


def _part(language: str, kind: str, groups: Sequence[ContrastGroup], chosen: Flags, judged: Judged) -> Part:
    """The figures of the chosen claims, flags of shape (claims,)."""
    own = picked(judged, chosen)
    labels: list[Label] = []
    above: list[bool] = []
    scored = zip(chosen.tolist(), judged.scores.tolist(), strict=True)
    for group in groups:
        mine = [(row, score) for row, (wanted, score) in zip(group.rows, scored, strict=False) if wanted]
        labels += [row.label for row, _ in mine]
        right = [score for row, score in mine if row.supported]
        wrong = [score for row, score in mine if not row.supported]
        above += [higher > lower for higher, lower in product(right, wrong)]
    figures = {**_figures(np.array(labels), own), "ranked": share(np.array(above))}
    return Part(language, kind, len(above), len(labels), figures)


def _figures(labels: Labels, judged: Judged) -> Figures:
    """Of claims with these labels, shape (n,). A failed check is wrong whatever the label."""
    supported = labels == "supported"
    called = np.where(judged.failed, ~supported, judged.called)
    told = labels != "not_supported"
    truth = (labels == "contradicted")[told]
    contradicted = contradiction(truth, judged.contradicted[told], judged.doubt[told])
    return {
        **two_way(supported, called, judged.scores),
        **{f"contradicted.{name}": value for name, value in contradicted.items()},
    }


def _as_json(contrast: Contrast) -> dict[str, Any]:
    return {
        "files": contrast.files,
        "checker": contrast.checker,
        "unverified": contrast.unverified,
        "groups": [
            {
                "language": part.language,
                "kind": part.kind,
                "pairs": part.pairs,
                "claims": part.claims,
                **nested(part.figures),
            }
            for part in contrast.parts
        ],
    }


def _as_markdown(done: Sequence[Contrast]) -> str:
    return "\n".join(map(_table, done))


def _table(contrast: Contrast) -> str:
    rows = [
        [
            part.language,
            part.kind,
            f"{part.pairs:,}",
            f"{part.claims:,}",
            *(shown(part.figures[name]) for name in _COLUMNS),
        ]
        for part in contrast.parts
    ]
    head = f"Checker `{contrast.checker}`, {', '.join(contrast.files)}.\n\n"
    text = table(["language", "kind", "pairs", "claims", *_COLUMNS.values()], rows)
    return head + text + failures(contrast.unverified, "judged wrong")
