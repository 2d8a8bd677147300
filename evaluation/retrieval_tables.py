"""The figures of searches for WikiRetr's passages, as JSON and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from evaluation.estimates import Estimates, estimate
from evaluation.markdown import shown, table
from evaluation.retrieval import Places, figures

_PERCENT = ("recall@1", "recall@5", "recall@10")
_SHARES = ("precision@1", "precision@5", "precision@10")


@dataclass(frozen=True, slots=True)
class Found:
    """What one retriever came to."""

    retriever: str
    estimates: Estimates


@dataclass(frozen=True, slots=True)
class Searched:
    """The retrievers over the claims of one file, and the corpus that they searched."""

    file: str
    n: int
    passages: int
    distractors: int
    retrievers: tuple[Found, ...]


def found(retriever: str, places: Places, resamples: int) -> Found:
    """The figures of a retriever that put the claims' passages there."""
    return Found(retriever, estimate(partial(figures, places), len(places.right), resamples))


def as_json(searched: Searched) -> dict[str, Any]:
    """One line of `--json`."""
    return {
        "file": searched.file,
        "n": searched.n,
        "passages": searched.passages,
        "distractors": searched.distractors,
        "retrievers": {one.retriever: one.estimates.as_json() for one in searched.retrievers},
    }


def as_markdown(searched: Sequence[Searched]) -> str:
    """A table per file, and what must be known to read them."""
    return "\n".join(map(_table, searched)) + (
        "\nA claim has one right passage, so precision at k can't be over 1/k where nothing is dropped. The "
        "figures of CEG's own Figure 3 and Table 6 could not be read where this was written, so none stand "
        "here. The paper's encoder is SimCSE, which `encoder.model` puts in the place of all-MiniLM-L6-v2.\n"
    )


def _table(searched: Searched) -> str:
    text = f"{searched.file}: {searched.n:,} claims, {searched.passages:,} passages"
    text += f" and {searched.distractors:,} distractors.\n\n" if searched.distractors else ".\n\n"
    rows = [
        [
            one.retriever,
            *one.estimates.cells(_PERCENT),
            *(shown(one.estimates.figures[name]) for name in _SHARES),
            f"{one.estimates.figures['returned']:.1f}",
        ]
        for one in searched.retrievers
    ]
    return text + table(["retriever", *_PERCENT, *_SHARES, "passages of 10"], rows)
