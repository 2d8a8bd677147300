"""Passages that bear no claim out, made of a corpus's sentences: what does a larger corpus do to a search?"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence

from evaluation.metrics import SEED
from evaluation.retrieval import passage_of
from evaluation.rows import CorpusRow, DataError
from proxy.text.sentences import sentence_spans
from proxy.types import Passage

_LEAST_CHARACTERS = 20
"""A sentence with fewer says nothing that one would search for."""


def make_distractors(passages: Sequence[Passage], sought: Collection[int], count: int) -> list[Passage]:
    """`count` passages: each sentence of the passages that no claim was made of, then two such each.

    In random order; the title is that of the first sentence's passage. Fewer are the first of more, so that
    what was encoded for fewer still serves.

    Args:
        passages: the corpus.
        sought: rows of passages that claims were made from; a part of one would be as right as the whole.
        count: how many.

    Raises:
        DataError: too few sentences are left to make that many different ones.
    """
    sentences = [
        (passage.title, passage.text[start:end])
        for row, passage in enumerate(passages)
        if row not in sought
        for start, end in sentence_spans(passage.text)
        if end - start >= _LEAST_CHARACTERS
    ]
    if len(sentences) * (len(sentences) - 1) < 2 * count:
        raise DataError(
            f"The corpus has {len(sentences):,} sentences outside of the claims' own passages: too few for "
            f"{count:,} distractors."
        )
    chance = random.Random(SEED)
    chance.shuffle(sentences)
    combined: dict[tuple[int, ...], None] = dict.fromkeys((at,) for at in range(min(count, len(sentences))))
    while len(combined) < count:
        combined[tuple(chance.sample(range(len(sentences)), 2))] = None
    return [
        passage_of(f"distractor-{number}", _joined([sentences[at] for at in chosen]))
        for number, chosen in enumerate(combined)
    ]


def _joined(sentences: Sequence[tuple[str, str]]) -> CorpusRow:
    return CorpusRow(title=sentences[0][0], text=" ".join(text for _, text in sentences))
