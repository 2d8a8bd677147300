"""Tables of WikiRetr: agreement with people on claims (CEG Table 5), and recall of passages by retriever."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from evaluation.measurement import Judged
from evaluation.metrics import Estimates, Figures, Flags, Indexes, estimate, majority, rounded, share, shown
from evaluation.output import failures, table
from evaluation.wikiretr.data import Subset
from evaluation.wikiretr.passage_recall import Places, recall_figures


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


def agreement_as_json(compared: Compared) -> dict[str, Any]:
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


def agreement_as_markdown(compared: Sequence[Compared]) -> str:
    """A table per file."""
    return "\n".join(map(_agreement_table, compared))


def _agreement(name: str, human: Flags, called: Flags, resamples: int) -> Agreement:
    def figures(rows: Indexes) -> Figures:
        right = human[rows] == called[rows]
        return {
            "agreement": share(right),
            "recall.supported": share(right[human[rows]]),
            "recall.not_supported": share(right[~human[rows]]),
        }

    return Agreement(name, estimate(figures, len(human), resamples))


def _agreement_table(compared: Compared) -> str:
    rows = [[judge.judge, *judge.estimates.cells()] for judge in compared.judges]
    text = (
        f"{compared.file}: {compared.n:,} claims; always saying the same agrees on {compared.majority:.3f}."
    )
    header = ["judge", "agreement", "recall, supported", "recall, not supported"]
    return f"{text}\n\n{table(header, rows)}{failures(compared.unverified)}"


_PERCENT = ("recall@1", "recall@5", "recall@10")
_TIMES = ("p50, ms", "p99, ms")
_SHARES = ("precision@1", "precision@5", "precision@10")


@dataclass(frozen=True, slots=True)
class RetrieverFigures:
    """What one retriever came to. `times` are the median and the 99th percentile of the milliseconds of one
    claim's search, where they were taken."""

    retriever: str
    estimates: Estimates
    times: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Searched:
    """The retrievers over the claims of one file, and the corpus that they searched."""

    file: str
    n: int
    passages: int
    beside: int
    retrievers: tuple[RetrieverFigures, ...]


def retriever_figures(
    retriever: str, places: Places, resamples: int, times: tuple[float, float] | None = None
) -> RetrieverFigures:
    """The figures of a retriever that put the claims' passages there."""
    return RetrieverFigures(
        retriever, estimate(partial(recall_figures, places), len(places.right), resamples), times
    )


def searched_as_json(searched: Searched) -> dict[str, Any]:
    """One line of `--json`."""
    return {
        "file": searched.file,
        "n": searched.n,
        "passages": searched.passages,
        "beside": searched.beside,
        "retrievers": {
            retriever.retriever: retriever.estimates.as_json() | _times_as_json(retriever)
            for retriever in searched.retrievers
        },
    }


def _times_as_json(retriever: RetrieverFigures) -> dict[str, float]:
    names = ("p50_ms", "p99_ms")
    return {name: round(value, 2) for name, value in zip(names, retriever.times or (), strict=False)}


def searched_as_markdown(searched: Sequence[Searched]) -> str:
    """A table per file, and what must be known to read them."""
    return "\n".join(map(_searched_table, searched)) + (
        "\nA claim has one right passage, so precision at k can't be over 1/k where nothing is dropped. The "
        "figures of CEG's own Figure 3 and Table 6 could not be read where this was written, so none stand "
        "here. The paper's encoder is SimCSE, which `encoder.model` puts in the place of all-MiniLM-L6-v2.\n"
    )


def _searched_table(searched: Searched) -> str:
    text = f"{searched.file}: {searched.n:,} claims, {searched.passages:,} passages"
    text += f" and {searched.beside:,} beside them.\n\n" if searched.beside else ".\n\n"
    timed = any(retriever.times for retriever in searched.retrievers)
    rows = [
        [
            retriever.retriever,
            *retriever.estimates.cells(_PERCENT),
            *(shown(retriever.estimates.figures[name]) for name in _SHARES),
            f"{retriever.estimates.figures['returned']:.1f}",
            *(f"{value:.1f}" for value in retriever.times or ()),
        ]
        for retriever in searched.retrievers
    ]
    header = ["retriever", *_PERCENT, *_SHARES, "passages of 10", *(_TIMES if timed else ())]
    return text + table(header, rows)
