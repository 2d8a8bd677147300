"""Does a checker tell a right claim from a wrong one of the same passage? By kind and language."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
from sklearn.metrics import roc_auc_score

from evaluation.arguments import add_checker_arguments, add_files_argument
from evaluation.contrast.data import ContrastPair, Split, packaged, read_pairs
from evaluation.judges import open_checker
from evaluation.measurement import Judged, judge
from evaluation.output import Report, failures, table
from proxy.config.load import load
from proxy.protocols import Checker

NAME = "contrast"
HELP = "contrast pairs: is the right claim of a passage supported, and the wrong one not?"

_FIGURES = ("accuracy", "right supported", "wrong not supported", "both", "auc")


@dataclass(frozen=True, slots=True)
class Measured:
    """Figures of one file's pairs, by kind; `all` is the whole file."""

    file: str
    checker: str
    unverified: int
    groups: Mapping[str, tuple[int, Mapping[str, float]]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """See `Command`."""
    add_checker_arguments(parser)
    add_files_argument(
        parser, "--data", "contrast pairs (JSON Lines) instead of the project's", required=False
    )
    parser.add_argument(
        "--split", choices=get_args(Split), default="dev", help="which of the project's pairs; default: dev"
    )


def run(options: argparse.Namespace) -> None:
    """All pairs are read before the work begins."""
    settings = load(options.config)
    files: Sequence[Path] = options.data or packaged(options.split)
    pairs = {path: read_pairs(path) for path in files}
    report = Report[Measured](options.json, _as_json, _as_markdown)

    async def measure_all() -> None:
        async with open_checker(settings, options.checker) as checker:
            for path, own in pairs.items():
                report.add(await _measure(checker, options.checker, path, own))

    asyncio.run(measure_all())
    report.end()


async def _measure(checker: Checker, name: str, path: Path, pairs: Sequence[ContrastPair]) -> Measured:
    claims = [claim for pair in pairs for claim in (pair.right, pair.wrong)]
    judged = await judge(checker, claims, len(claims), path.name)
    kinds = np.array([pair.kind for pair in pairs])
    groups = {"all": (len(pairs), _figures(judged, np.ones(len(pairs), dtype=np.bool_)))}
    for kind in sorted(set(kinds.tolist())):
        chosen = kinds == kind
        groups[kind] = (int(chosen.sum()), _figures(judged, chosen))
    return Measured(path.name, name, judged.unverified, groups)


def _figures(judged: Judged, chosen: Any) -> dict[str, float]:
    """Of the chosen pairs, shape (n,). A claim that the checker failed on is judged wrong."""
    called = (judged.called & ~judged.failed).reshape(-1, 2)[chosen]
    failed = judged.failed.reshape(-1, 2)[chosen]
    scores = judged.scores.reshape(-1, 2)[chosen]
    right, wrong = called[:, 0], ~called[:, 1] & ~failed[:, 1]
    truth = np.tile([True, False], len(scores))
    return {
        "accuracy": float(np.concatenate([right, wrong]).mean()),
        "right supported": float(right.mean()),
        "wrong not supported": float(wrong.mean()),
        "both": float((right & wrong).mean()),
        "auc": float(roc_auc_score(truth, scores.ravel())),
    }


def _as_json(measured: Measured) -> dict[str, Any]:
    return {
        "file": measured.file,
        "checker": measured.checker,
        "unverified": measured.unverified,
        "groups": [
            {"kind": kind, "pairs": count, **{name: round(figures[name], 4) for name in _FIGURES}}
            for kind, (count, figures) in measured.groups.items()
        ],
    }


def _as_markdown(files: Sequence[Measured]) -> str:
    rows = [
        [measured.file, kind, str(count), *(f"{figures[name]:.3f}" for name in _FIGURES)]
        for measured in files
        for kind, (count, figures) in measured.groups.items()
    ]
    text = table(["file", "kind", "pairs", *_FIGURES], rows)
    head = f"Checker `{files[0].checker}`. `both`: pairs of which both claims are judged right.\n\n"
    return head + text + failures(sum(measured.unverified for measured in files), "judged wrong")
