"""Corpora as the rules take them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evaluation.rows import CorpusRow, Share, read_corpus, share_of
from proxy.text.sentences import sentence_spans
from training.swaps import Passage


def passages_of(path: Path, *shares: Share) -> list[Passage]:
    """The passages of a corpus whose articles are for that; other pages than articles are left out."""
    return [
        Passage(
            row.title,
            row.text,
            tuple(row.text[start:end].strip() for start, end in sentence_spans(row.text)),
        )
        for row in read_corpus(path)
        if _usable(row, shares)
    ]


def _usable(row: CorpusRow, shares: Sequence[Share]) -> bool:
    return ":" not in row.title and share_of(row.title) in shares
