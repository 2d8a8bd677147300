"""Words that are weighed block by block are weighed as bm25s weighs them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index_builder import postings as module
from proxy.retrieval import open_corpus
from proxy.retrieval.index_files import open_index
from proxy.retrieval.lexical import open_postings, postings_of
from proxy.types import Passage
from tests.corpora import build_index

WORDS = "whale penguin cheetah octopus 企鹅 é 1900 the".split()
texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), min_size=1, max_size=12)


def passages_of(texts: list[str]) -> list[Passage]:
    return [
        Passage(f"d{row}-0", f"d{row}", f"Document {row}", "", text, "", 0, len(text))
        for row, text in enumerate(texts)
    ]


@settings(max_examples=25, deadline=None)
@given(texts, st.integers(1, 5))
def test_weights_are_those_of_bm25s(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], block: int
) -> None:
    out = tmp_path_factory.mktemp("index")
    texts = [f"{text} x" for text in texts]  # a document without text is broken
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK", block)
        build_index(out / "index", texts)
    ours, theirs = open_corpus(open_index(out / "index")).postings, postings_of(passages_of(texts))
    for word in (*WORDS, "document", "3"):
        assert dict(ours.best(word, 100)) == pytest.approx(dict(theirs.best(word, 100)), rel=1e-5)


def test_passages_of_stop_words_alone_have_no_words(tmp_path: Path) -> None:
    build_index(tmp_path / "index", ["the of and", "to"])
    found = open_corpus(open_index(tmp_path / "index")).postings
    assert found.best("the and to", 5) == []
    assert len(found.best("document", 5)) == 2


def test_unknown_words_have_no_number(tmp_path: Path) -> None:
    build_index(tmp_path / "index", ["whale penguin"])
    postings = open_postings(open_index(tmp_path / "index"))
    assert np.array_equal(postings.words.lookup(["whale", "unheard"]) >= 0, [True, False])
    assert (postings_of(passages_of(["whale"])).words.lookup(["unheard"]) == [-1]).all()
