"""Noise: is a wrong claim still seen in much other text, and do irrelevant passages change a score?"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from evaluation.arguments import add_checker_arguments, add_count_argument
from evaluation.contrast.data import DEV, ContrastGroup, read_groups
from evaluation.datasets import CorpusRow, DataError, read_rows
from evaluation.judges import open_checker
from evaluation.measurement import Judged, judge
from evaluation.metrics import SEED, rounded, shown
from evaluation.noise.data import AROUND, Added, Place, read_noise, surrounded
from evaluation.output import Report, failures, table
from proxy.config.load import load
from proxy.text.scripts import language_of
from proxy.types import Pair

NAME = "noise"
HELP = "wrong claims in 50 KB of other text, and scores beside irrelevant passages"

_COUNT = 100
_ADDED = tuple(
    Added(passages, place, apart)
    for apart in (True, False)
    for passages in (1, 4, 20)
    for place in get_args(Place)
)
_TOLD_BY = 100
"""Passages that tell the language of a corpus."""
_PLANTED, _MOVED = 4, 1 + len(_ADDED)
_P95 = 95


@dataclass(frozen=True, slots=True)
class Planted:
    """`n` contrast pairs with their passage alone, and with other text around it.

    `recall` is the share of the wrong claims that were not called supported, `false_alarms` that of the
    right ones.
    """

    n: int
    recall_alone: float
    recall: float
    false_alarms_alone: float
    false_alarms: float


@dataclass(frozen=True, slots=True)
class Moved:
    """How far the scores of `n` supported claims move beside irrelevant passages (`Added`).

    Absolute differences; `max_supported` is the greatest of the claims that the checker supports without
    them. And the share of claims whose verdict changes between supported and not.
    """

    passages: int
    place: Place
    apart: bool
    n: int
    mean: float
    p95: float
    max: float
    max_supported: float
    verdicts_changed: float


@dataclass(frozen=True, slots=True)
class Noise:
    """A checker's two tables. It failed on `unverified` pairs: these count as not supported."""

    file: str
    corpus: str
    checker: str
    planted: Planted
    moved: tuple[Moved, ...]
    unverified: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """See `Command`."""
    parser.add_argument(
        "--corpus", type=Path, required=True, metavar="FILE", help="passages that the noise is drawn from"
    )
    parser.add_argument(
        "--data", type=Path, required=True, metavar="FILE", help="labelled rows; the supported ones are used"
    )
    add_checker_arguments(parser)
    add_count_argument(parser, "claims for each figure", _COUNT)


def run(options: argparse.Namespace) -> None:
    """See `Command`."""
    settings = load(options.config)
    corpus = read_noise(options.corpus)
    contrasted = _contrasted(corpus, options.count)
    supported = _supported(options.data, options.count)

    async def measure() -> tuple[Judged, Judged]:
        async with open_checker(settings, options.checker) as checker:
            pairs = _planted_pairs(contrasted, corpus)
            planted = await judge(checker, pairs, _PLANTED * len(contrasted), "wrong claims")
            pairs = _moved_pairs(supported, corpus)
            return planted, await judge(checker, pairs, _MOVED * len(supported), "irrelevant passages")

    planted, moved = asyncio.run(measure())
    report = Report(options.json, _as_json, _as_markdown)
    report.add(
        Noise(
            file=str(options.data),
            corpus=str(options.corpus),
            checker=options.checker,
            planted=_planted(planted),
            moved=tuple(_moved(moved)),
            unverified=planted.unverified + moved.unverified,
        )
    )
    report.end()


def _supported(path: Path, count: int) -> list[Pair]:
    pairs = [row.pair() for row in read_rows(path) if row.supported]
    if not pairs:
        raise DataError(f"{path}: no row is labelled supported, so there is no score to watch.")
    return random.Random(SEED).sample(pairs, min(count, len(pairs)))


def _contrasted(corpus: Sequence[CorpusRow], count: int) -> list[ContrastGroup]:
    """Some of the project's contrast pairs in the language of the corpus."""
    language = language_of(" ".join(row.text for row in corpus[:_TOLD_BY]))
    groups = [group for path in DEV for group in read_groups(path) if group.language == language]
    return random.Random(SEED).sample(groups, min(count, len(groups)))


def _planted_pairs(groups: Sequence[ContrastGroup], corpus: Sequence[CorpusRow]) -> Iterator[Pair]:
    """The right claim and the wrong one, with their passage, then with other text around it."""
    chance = random.Random(SEED)
    for group in groups:
        right, wrong = group.right[0].pair(), group.wrong[0].pair()
        noisy = surrounded(right, corpus, chance)
        yield from (right, wrong, noisy, replace(noisy, claim=wrong.claim))


def _planted(judged: Judged) -> Planted:
    refused = ~judged.called.reshape(-1, _PLANTED)
    right, wrong, right_in_noise, wrong_in_noise = refused.mean(axis=0).tolist()
    return Planted(len(refused), wrong, wrong_in_noise, right, right_in_noise)


def _moved_pairs(supported: Sequence[Pair], corpus: Sequence[CorpusRow]) -> Iterator[Pair]:
    """Each pair alone, then beside passages as in `_ADDED`: `_MOVED` pairs a claim."""
    chance = random.Random(SEED)
    for pair in supported:
        yield pair
        yield from (added.to(pair, corpus, chance) for added in _ADDED)


def _moved(judged: Judged) -> Iterator[Moved]:
    scores, called = judged.scores.reshape(-1, _MOVED), judged.called.reshape(-1, _MOVED)
    for index, added in enumerate(_ADDED, 1):
        gaps = np.abs(scores[:, index] - scores[:, 0])
        yield Moved(
            passages=added.passages,
            place=added.place,
            apart=added.apart,
            n=len(gaps),
            mean=float(gaps.mean()),
            p95=float(np.percentile(gaps, _P95)),
            max=float(gaps.max()),
            max_supported=float(gaps[called[:, 0]].max(initial=0.0)),
            verdicts_changed=float((called[:, index] != called[:, 0]).mean()),
        )


def _as_json(noise: Noise) -> dict[str, Any]:
    return {
        "file": noise.file,
        "corpus": noise.corpus,
        "checker": noise.checker,
        "planted": _rounded(noise.planted),
        "irrelevant": [_rounded(moved) for moved in noise.moved],
        "unverified": noise.unverified,
    }


def _rounded(figures: Planted | Moved) -> dict[str, Any]:
    return {
        name: rounded(value) if isinstance(value, float) else value for name, value in asdict(figures).items()
    }


def _as_markdown(done: Sequence[Noise]) -> str:
    return "\n".join(map(_tables, done))


def _tables(noise: Noise) -> str:
    planted = noise.planted
    rows = [
        ["alone", shown(planted.recall_alone), shown(planted.false_alarms_alone)],
        [f"in {AROUND:,} bytes of other text", shown(planted.recall), shown(planted.false_alarms)],
    ]
    text = f"Checker `{noise.checker}`. {planted.n:,} wrong claims, and right ones of the same passages:\n\n"
    text += table(["evidence", "recall", "false alarms"], rows)
    claims = f"{noise.moved[0].n:,} supported claims"
    text += f"\n{claims}; how far their scores move beside irrelevant passages:\n\n"
    text += table(
        [
            "passages",
            "where",
            "as",
            "mean",
            "95th percentile",
            "most",
            "most if supported alone",
            "verdicts changed",
        ],
        [
            [
                str(moved.passages),
                f"{moved.place} the evidence",
                "passages" if moved.apart else "one text",
                *map(shown, _gaps(moved)),
            ]
            for moved in noise.moved
        ],
    )
    return text + failures(noise.unverified)


def _gaps(moved: Moved) -> tuple[float, ...]:
    return moved.mean, moved.p95, moved.max, moved.max_supported, moved.verdicts_changed
