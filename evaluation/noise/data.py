"""Pairs with more text than they need: other text around the evidence, irrelevant passages beside it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from evaluation.datasets import CorpusRow, DataError, read_corpus
from proxy.types import Page, Pair

Place = Literal["after", "before"]

AROUND = 50_000
"""Bytes of other text, half of it before the evidence and half after."""


def read_noise(path: Path) -> list[CorpusRow]:
    """The passages of a corpus that have text. Raises `DataError`."""
    corpus = [row for row in read_corpus(path) if row.text.strip()]
    if len({row.title for row in corpus}) < 2:
        raise DataError(f"{path}: passages of at least two titles are needed, to put one among the others.")
    return corpus


def surrounded(pair: Pair, corpus: Sequence[CorpusRow], chance: random.Random) -> Pair:
    """The pair, its evidence between paragraphs of other titles: `AROUND` bytes in UTF-8 or some more."""
    before, after = ("\n\n".join(_other_text(pair.title, corpus, chance)) for _ in range(2))
    return replace(pair, evidence=f"{before}\n\n{pair.evidence}\n\n{after}")


@dataclass(frozen=True, slots=True)
class Added:
    """So many irrelevant passages before or after the evidence: apart, each with its title, as the proxy puts
    together what it checks together; or else as paragraphs of one text, under the title of the evidence."""

    passages: int
    place: Place
    apart: bool

    def to(self, pair: Pair, corpus: Sequence[CorpusRow], chance: random.Random) -> Pair:
        """The pair with random passages of the corpus."""
        own = Page(pair.evidence, pair.title)
        others = [Page(row.text, row.title) for row in chance.choices(corpus, k=self.passages)]
        pages = [own, *others] if self.place == "after" else [*others, own]
        if self.apart:
            first, *rest = pages
            return replace(pair, evidence=first.text, title=first.title, others=tuple(rest))
        return replace(pair, evidence="\n\n".join(page.text for page in pages))


def _other_text(title: str, corpus: Sequence[CorpusRow], chance: random.Random) -> Iterator[str]:
    held = 0
    while held < AROUND // 2:
        row = chance.choice(corpus)
        if row.title != title:
            held += len(row.text.encode())
            yield row.text
