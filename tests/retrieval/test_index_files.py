"""The index on disk: what opens, and what the user hears when it does not."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.errors import BrokenIndexError
from proxy.retrieval import open_corpus
from proxy.retrieval.chunks import SPLITTER
from proxy.retrieval.generation import Generation
from proxy.retrieval.index_files import ArrayWriter, Index, map_array, open_index
from proxy.retrieval.lexical import HeldWords, MappedWords, open_postings, tokens
from proxy.retrieval.passages import HeldPassages, PassageTable, StoredPassages, read_passages, write_passages
from proxy.types import Passage
from tests.corpora import ANIMALS, build_index
from tests.encoders import HashingEncoder

DATA_FILES = [
    "passages.jsonl",
    "offsets.npy",
    "keys.npy",
    "vectors.npy",
    "digests.npy",
    "bm25-weights.npy",
    "bm25-rows.npy",
    "bm25-starts.npy",
    "bm25-words.json",
    "bm25-words.npy",
    "bm25-parameters.json",
    "bm25-lengths.npy",
    "documents.npy",
    "files.npy",
]


NOT_SERVED: dict[str, tuple[str, tuple[int, ...]]] = {
    "digests.npy": ("u1", (5, 16)),
    "bm25-lengths.npy": ("<i4", (5,)),
    "documents.npy": ("<u8", (5, 7)),
    "files.npy": ("<u8", (1, 2)),
}
"""What only builds read: type and shape."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("built") / "index"
    build_index(out)
    return out


@pytest.fixture
def path(built: Path, tmp_path: Path) -> Path:
    """A copy of the index, to be damaged."""
    return Path(shutil.copytree(built, tmp_path / "index"))


def data_file(path: Path, name: str) -> Path:
    return next(path.glob(f"generation-*/{name}"))


def edit_manifest(path: Path, **changes: Any) -> None:
    manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    (path / "manifest.json").write_text(json.dumps(manifest | changes), encoding="utf-8")


def test_the_manifest_describes_the_index(built: Path) -> None:
    manifest = open_index(built).manifest
    assert (manifest.format, manifest.encoder, manifest.dimension, manifest.normalised) == (
        2,
        "hashing",
        64,
        True,
    )
    assert (manifest.documents, manifest.passages, manifest.broken) == (5, 5, 0)
    assert (manifest.splitter, manifest.words, manifest.max_tokens) == (SPLITTER, 100, 200)
    assert manifest.tokens > 50
    assert sorted(manifest.files) == sorted(DATA_FILES)
    assert manifest.created.endswith("+00:00")


def test_passages_are_found_by_row_and_by_id(built: Path) -> None:
    passages = open_corpus(open_index(built)).passages
    assert len(passages) == len(ANIMALS)
    for row, text in enumerate(ANIMALS):
        passage = passages.passage(row)
        assert passage.text == text
        assert passage.document_id == f"d{row}"
        assert passages.get(passage.id) == passage
    assert passages.get("no such id") is None


def test_no_folder(tmp_path: Path) -> None:
    missing = tmp_path / "nowhere"
    expected = f"No index at {missing}. Build one with: vouch index SOURCE --out {missing}"
    with pytest.raises(BrokenIndexError, match=f"^{re.escape(expected)}$"):
        open_index(missing)


def test_a_folder_or_file_that_is_no_index(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello", encoding="utf-8")
    for path in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(BrokenIndexError, match=r"^No index at .*Build one with"):
            open_index(path)


@pytest.mark.parametrize(
    "raw", [b"", b"{}", b"[1]", b"null", b"\xff\xfe", b'{"format": 1', b"[" * 100_000, b"\0" * 100]
)
def test_a_manifest_that_is_none(path: Path, raw: bytes) -> None:
    (path / "manifest.json").write_bytes(raw)
    with pytest.raises(
        BrokenIndexError, match=r"manifest\.json is not an index's manifest\. Rebuild it with"
    ):
        open_index(path)


def test_a_format_of_another_version(path: Path) -> None:
    edit_manifest(path, format=1)
    with pytest.raises(BrokenIndexError, match=r"has format 1, and this version of Vouch reads 2\. Rebuild"):
        open_index(path)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"passages": "five"}, "passages"),
        ({"files": {"vectors.npy": {"bytes": 3}}}, r"files\.vectors\.npy\.sha256"),
        ({"encoder": None}, "encoder"),
    ],
)
def test_a_manifest_with_a_wrong_value(path: Path, changes: dict[str, Any], named: str) -> None:
    edit_manifest(path, **changes)
    with pytest.raises(BrokenIndexError, match=rf"manifest\.json is damaged at {named}\. Rebuild"):
        open_index(path)


@pytest.mark.parametrize(
    "changes", [{"passages": 0}, {"normalised": False}, {"generation": "../../elsewhere"}]
)
def test_a_manifest_of_no_use(path: Path, changes: dict[str, Any]) -> None:
    edit_manifest(path, **changes)
    with pytest.raises(BrokenIndexError, match=r"describes no index that can be used\. Rebuild"):
        open_index(path)


@pytest.mark.parametrize("name", DATA_FILES)
def test_every_damaged_file_is_named(path: Path, name: str) -> None:
    file = data_file(path, name)
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(BrokenIndexError, match=rf"{name} is damaged: its checksum .*Rebuild"):
        open_index(path)
    file.write_bytes(whole[:-1])
    with pytest.raises(BrokenIndexError, match=rf"{name} has [\d,]+ bytes instead of [\d,]+\. Rebuild"):
        open_index(path)
    file.unlink()
    with pytest.raises(BrokenIndexError, match=rf"lacks its {name}\. Rebuild"):
        open_index(path)


@pytest.mark.parametrize("name", sorted({*DATA_FILES} - {*NOT_SERVED, "bm25-words.npy"}))
def test_a_file_that_the_manifest_leaves_out_is_named(path: Path, name: str) -> None:
    manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    del manifest["files"][name]
    edit_manifest(path, files=manifest["files"])
    with pytest.raises(BrokenIndexError, match=f"has no {name}"):
        open_corpus(open_index(path))


@pytest.mark.parametrize("name", [name for name in DATA_FILES if name.endswith(".npy")])
def test_arrays_are_never_unpickled(path: Path, name: str) -> None:
    index = open_index(path)
    np.save(data_file(path, name), np.array([{"a": 1}], dtype=object), allow_pickle=True)
    if name in NOT_SERVED:
        with pytest.raises(BrokenIndexError, match=name):
            map_array(index.file(name), *NOT_SERVED[name])
    else:
        bm25s_own = name.startswith("bm25") and name != "bm25-words.npy"
        with pytest.raises(BrokenIndexError, match="bm25 files" if bm25s_own else name):
            open_corpus(index)


def test_words_are_mapped_and_those_of_an_older_index_are_read(path: Path) -> None:
    mapped = open_postings(open_index(path))
    assert isinstance(mapped.words, MappedWords)
    manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    del manifest["files"]["bm25-words.npy"]
    edit_manifest(path, files=manifest["files"])
    held = open_postings(open_index(path))
    assert isinstance(held.words, HeldWords)
    words = sorted({word for text in ANIMALS for word in tokens(text)})
    assert words
    for word in [*words, "unheard", "鲸"]:
        assert mapped.words.ids([word, "of"]) == held.words.ids([word, "of"])
        assert mapped.best(word, 5) == held.best(word, 5)


def test_words_of_other_passages_are_refused(path: Path, tmp_path: Path) -> None:
    index = open_index(path)
    build_index(tmp_path / "other", ANIMALS[:2])
    for file in tmp_path.glob("other/generation-*/bm25-*"):
        data_file(path, file.name).write_bytes(file.read_bytes())
    with pytest.raises(BrokenIndexError, match="another number of passages"):
        open_corpus(index)


def test_an_index_without_words_can_be_opened(tmp_path: Path) -> None:
    build_index(tmp_path / "index", ["!!! ???"])
    edit_manifest(tmp_path / "index", passages=1)
    assert open_corpus(open_index(tmp_path / "index")).postings.best("whale", 3) == []


def test_another_sentence_splitter_is_a_warning(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    open_index(path)
    assert not caplog.messages
    edit_manifest(path, splitter="punkt-0")
    open_index(path)
    [message] = caplog.messages
    assert f"made with the sentence splitter punkt-0, and this version of Vouch has {SPLITTER}" in message


def test_an_index_that_knows_no_headings_is_a_warning(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    manifest = json.loads((path / "manifest.json").read_text())
    del manifest["analyzer"]
    (path / "manifest.json").write_text(json.dumps(manifest))
    assert open_index(path).manifest.analyzer == ""
    assert "read the words of passages otherwise" in caplog.messages[0]


def test_arrays_of_another_shape_are_refused(path: Path) -> None:
    index = open_index(path)
    np.save(data_file(path, "vectors.npy"), np.zeros((5, 32), "<f4"))
    with pytest.raises(BrokenIndexError, match=r"float32 of shape \(5, 32\), not float32 of \(5, 64\)"):
        open_corpus(index)


def test_a_line_that_is_no_passage_is_an_error(path: Path) -> None:
    index = open_index(path)
    lines = data_file(path, "passages.jsonl")
    lines.write_bytes(b"x" * lines.stat().st_size)
    with pytest.raises(BrokenIndexError, match="no passage in line 3"):
        StoredPassages(index).passage(2)


@pytest.mark.parametrize(("name", "dimension"), [("other", 64), ("hashing", 32)])
def test_another_encoder_is_refused_with_what_to_do(built: Path, name: str, dimension: int) -> None:
    index = open_index(built)
    index.require(HashingEncoder())
    with pytest.raises(BrokenIndexError) as caught:
        index.require(HashingEncoder(name, dimension))
    assert f"with the encoder hashing (64 dimensions), but {name} ({dimension} dimensions)" in str(
        caught.value
    )
    assert f"set encoder.model to hashing, or rebuild it: vouch index SOURCE --out {built}" in str(
        caught.value
    )


def test_an_open_index_outlives_the_build_that_replaces_it(path: Path) -> None:
    corpus = open_corpus(open_index(path))
    build_index(path, ["Something else."])
    assert [corpus.passages.passage(row).text for row in range(5)] == ANIMALS
    assert open_corpus(open_index(path)).passages.passage(0).text == "Something else."


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
drawn_passages = st.lists(
    st.builds(Passage, text, text, text, text, text, text, st.integers(0, 9), st.integers(0, 9)),
    min_size=1,
    max_size=20,
    unique_by=lambda passage: passage.id,
)


@settings(max_examples=60, deadline=None)
@given(drawn_passages)
def test_passages_come_back_as_they_went(
    built: Path, tmp_path_factory: pytest.TempPathFactory, passages: list[Passage]
) -> None:
    generation = Generation(tmp_path_factory.mktemp("out"), tmp_path_factory.mktemp("generation"))
    assert write_passages(generation, passages) == len(passages)
    assert list(read_passages(generation.file("passages.jsonl"))) == passages
    stored = StoredPassages(_index_over(generation, len(passages), built))
    tables: list[PassageTable] = [stored, HeldPassages(passages)]
    for table in tables:
        assert len(table) == len(passages)
        assert [table.passage(row) for row in range(len(passages))] == passages
        assert [table.get(passage.id) for passage in passages] == passages
        assert table.around("no such id", 2) == ([], [])
    for passage in passages:
        before, after = stored.around(passage.id, 2)
        assert (list(before), list(after)) == tuple(map(list, tables[1].around(passage.id, 2)))
        run = [*before, passage, *after]
        assert {each.document_id for each in run} == {passage.document_id}
        first = passages.index(run[0])
        assert passages[first : first + len(run)] == run


def _index_over(generation: Generation, passages: int, built: Path) -> Index:
    manifest = open_index(built).manifest
    return Index(
        generation.folder.parent,
        replace(manifest, generation=generation.folder.name, passages=passages),
    )


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 300), max_size=6))
def test_arrays_grow_row_by_row(tmp_path_factory: pytest.TempPathFactory, sizes: list[int]) -> None:
    path = tmp_path_factory.mktemp("array") / "a.npy"
    blocks = [np.random.default_rng(size).random((size, 3)).astype("<f4") for size in sizes]
    with ArrayWriter(path, "<f4", (3,)) as writer:
        for block in blocks:
            writer.append(block)
    assert np.array_equal(np.load(path), np.concatenate([np.empty((0, 3), "<f4"), *blocks]))
    if sum(sizes):
        assert np.array_equal(map_array(path, "<f4", (None, 3)), np.load(path))
