"""CEG Table 5: how often a checker agrees with people on claims that models made of Wikipedia passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.estimates import Estimates, estimate
from evaluation.judging import Judged
from evaluation.markdown import failures, rounded, table
from evaluation.metrics import Figures, Flags, Indexes, majority, share
from evaluation.wikiretr import Subset


@dataclass(frozen=True, slots=True)
class Agreement:
    """One judge beside people."""

    judge: str
    estimates: Estimates


@dataclass(frozen=True, slots=True)
class Compared:
    """The judges of one file, the checker first. `majority` is the agreement of always saying the same."""

    file: str
    n: int
    majority: float
    unverified: int
    judges: tuple[Agreement, ...]


def compare(subset: Subset, judged: Judged, checker: str, resamples: int) -> Compared:
    """The checker's verdicts on the claims, and those of the file's models, beside people's."""
    called = {checker: judged.called, **subset.models}
    return Compared(
        file=subset.name,
        n=len(subset.pairs),
        majority=majority(subset.human),
        unverified=judged.unverified,
        judges=tuple(_agreement(name, subset.human, flags, resamples) for name, flags in called.items()),
    )


def as_json(compared: Compared) -> dict[str, Any]:
    """One line of `--json`."""
    ours, *models = compared.judges
    return {
        "file": compared.file,
        "checker": ours.judge,
        "n": compared.n,
        "majority": rounded(compared.majority),
        "unverified": compared.unverified,
        **ours.estimates.as_json(),
        "models": {model.judge: model.estimates.as_json() for model in models},
    }


def as_markdown(compared: Sequence[Compared]) -> str:
    """A table per file."""
    return "\n".join(map(_table, compared))


def _agreement(name: str, human: Flags, called: Flags, resamples: int) -> Agreement:
    def figures(rows: Indexes) -> Figures:
        right = human[rows] == called[rows]
        return {
            "agreement": share(right),
            "recall.supported": share(right[human[rows]]),
            "recall.not_supported": share(right[~human[rows]]),
        }

    return Agreement(name, estimate(figures, len(human), resamples))


def _table(compared: Compared) -> str:
    rows = [[one.judge, *one.estimates.cells()] for one in compared.judges]
    text = (
        f"{compared.file}: {compared.n:,} claims; always saying the same agrees on {compared.majority:.3f}."
    )
    header = ["judge", "agreement", "recall, supported", "recall, not supported"]
    return f"{text}\n\n{table(header, rows)}{failures(compared.unverified)}"
