"""`--update`: only what has changed is read, cut and encoded, and what is found is as after a whole build."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from index_builder import update as module
from index_builder.build import Report, build
from index_builder.sources import expand, with_files
from proxy.cli import index
from proxy.errors import BrokenIndexError, SourceError
from proxy.retrieval import Corpus, open_corpus
from proxy.retrieval.index_files import FORMAT, PARTED, open_index
from proxy.retrieval.rankings import DenseRanking, HybridRanking, LexicalRanking
from tests.cli.test_cli import vouch
from tests.corpora import ANIMALS, write_source
from tests.encoders import HashingEncoder
from tests.index_builder.test_changes import wait_until_settled

COUNT = 40


class Folder:
    """A folder of documents and the index of it. Files look as if they had been written long ago."""

    def __init__(self, path: Path) -> None:
        self.docs = path / "docs"
        self.docs.mkdir()
        self.out = path / "index"
        self.encoder = HashingEncoder()
        self.clock = 1_000_000_000

    def write(self, name: str, text: str) -> None:
        (self.docs / name).write_text(text, encoding="utf-8")

    def build(self, *, update: bool = True, out: Path | None = None) -> Report:
        self.encoder = HashingEncoder()
        return build([str(self.docs)], out or self.out, encoder=self.encoder, update=update)

    def corpus(self) -> Corpus:
        return open_corpus(open_index(self.out))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.setattr("index_builder.changes.SETTLED", -1.0)  # nothing writes here while a build reads
    made = Folder(tmp_path)
    for number in range(COUNT):
        made.write(f"{number:02}.txt", f"Entry {number} tells of the {ANIMALS[number % 5].lower()}")
    made.build(update=False)
    return made


def hits(corpus: Corpus, query: str, k: int = 8) -> list[tuple[str, float, float]]:
    """What the hybrid search finds: texts, cosines and BM25 scores."""
    dense = DenseRanking(corpus.vectors, HashingEncoder(), -1.0, corpus.nearest)
    [found] = HybridRanking(dense, LexicalRanking(corpus.postings)).rank([query], k)
    return [(corpus.passages.passage(hit.row).text, round(hit.cosine, 4), hit.bm25) for hit in found]


def same_as_a_whole_build(folder: Folder, tmp_path: Path) -> None:
    """All documents are found by their own text, first, and nothing else is there."""
    whole = folder.build(update=False, out=tmp_path / "whole")
    made, updated = open_corpus(open_index(tmp_path / "whole")), folder.corpus()
    manifest = open_index(folder.out).manifest
    assert (len(updated.passages), manifest.documents, manifest.tokens) == (
        len(made.passages),
        whole.documents,
        whole.tokens,
    )
    for path in sorted(folder.docs.iterdir()):
        text = path.read_text(encoding="utf-8")
        assert hits(updated, text, 1)[0][:2] == hits(made, text, 1)[0][:2]
    found = hits(updated, "entry whale", 1000)
    assert sorted(text for text, *_ in found) == sorted(text for text, *_ in hits(made, "entry whale", 1000))


def test_only_what_changed_is_read_and_encoded(folder: Folder, tmp_path: Path) -> None:
    base = open_index(folder.out).manifest.generation
    folder.write("03.txt", "Entry 3 is about axolotls now.")
    folder.write("99.txt", "Entry 99 is new: the narwhal has one tooth.")
    (folder.docs / "07.txt").unlink()
    report = folder.build()
    assert (report.read, report.encoded, report.documents) == (2, 2, COUNT)
    assert len(folder.encoder.encoded) == 2
    manifest = open_index(folder.out).manifest
    assert (manifest.format, manifest.parts[0].generation) == (PARTED, base)
    assert [part.passages for part in manifest.parts] == [COUNT, 2]
    assert hits(folder.corpus(), "axolotls")[0][0] == "Entry 3 is about axolotls now."
    assert not any("Entry 7 " in text for text, *_ in hits(folder.corpus(), "Entry 7 tells", 1000))
    same_as_a_whole_build(folder, tmp_path)


def test_an_unchanged_folder_is_left_alone_and_a_touched_file_costs_nothing(folder: Folder) -> None:
    before = open_index(folder.out).manifest.generation
    assert folder.build().read == 0
    assert open_index(folder.out).manifest.generation == before
    folder.write("05.txt", (folder.docs / "05.txt").read_text(encoding="utf-8"))
    report = folder.build()
    assert (report.read, report.encoded, report.passages) == (1, 0, COUNT)
    assert [part.passages for part in open_index(folder.out).manifest.parts] == [COUNT]


def test_updates_add_up_until_they_are_compacted(folder: Folder, tmp_path: Path) -> None:
    for number in range(3):
        folder.write(f"x{number}.txt", f"Extra {number} of the quetzal.")
        assert folder.build().encoded == 1
        assert [part.passages for part in open_index(folder.out).manifest.parts] == [COUNT, number + 1]
    folder.write("x1.txt", "Extra 1 is of the kakapo.")
    (folder.docs / "x2.txt").unlink()
    assert folder.build().passages == COUNT + 2
    same_as_a_whole_build(folder, tmp_path)
    for number in range(10):
        folder.write(f"y{number}.txt", f"More {number} of the tapir.")
    report = folder.build()
    manifest = open_index(folder.out).manifest
    assert (manifest.format, manifest.parts, report.encoded) == (FORMAT, (), 10)
    assert len(list(folder.out.glob("generation-*"))) == 1
    same_as_a_whole_build(folder, tmp_path)


def test_any_sequence_of_updates_finds_what_a_whole_build_finds(folder: Folder, tmp_path: Path) -> None:
    moment = random.Random(4)
    for step in range(6):
        for _ in range(3):
            name = f"{moment.randrange(50):02}.txt"
            if moment.random() < 0.3:
                (folder.docs / name).unlink(missing_ok=True)
            else:
                folder.write(name, f"Entry of step {step}: {moment.choice(ANIMALS)} {moment.random()}")
        folder.build()
    same_as_a_whole_build(folder, tmp_path)


def test_one_line_of_a_large_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("index_builder.changes.SETTLED", -1.0)
    texts = [f"Line {number} of a file." for number in range(COUNT)]
    source, out = write_source(tmp_path / "a.jsonl", texts), tmp_path / "index"
    build([str(source)], out, encoder=HashingEncoder())
    write_source(source, [*texts[:9], "Line nine is another.", *texts[10:-1]])
    report = build([str(source)], out, encoder=HashingEncoder(), update=True)
    assert (report.read, report.encoded, report.passages) == (COUNT - 1, 1, COUNT - 1)
    assert [part.passages for part in open_index(out).manifest.parts] == [COUNT, 1]
    corpus = open_corpus(open_index(out))
    passage = corpus.passages.passage(COUNT)
    assert passage.text == "Line nine is another."
    assert corpus.passages.get(passage.id) == passage
    removed = corpus.passages.passage(9)
    assert corpus.passages.get(removed.id) is None
    assert corpus.passages.around(removed.id, 2) == ([], [])


def test_a_file_that_could_not_be_read_is_tried_again(folder: Folder) -> None:
    (folder.docs / "b.pdf").write_bytes(b"%PDF-1.7 no more than that")
    for _ in range(2):
        report = folder.build()
        assert (report.broken_count, report.read, report.passages) == (1, 0, COUNT)
    folder.write("03.txt", "")
    assert folder.build().passages == COUNT - 1
    with pytest.raises(SourceError, match="--strict"):
        build([str(folder.docs)], folder.out, encoder=HashingEncoder(), update=True, strict=True)


def test_ids_that_other_files_have_get_a_number(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": "x", "text": "One."}), encoding="utf-8")
    read = with_files(expand([str(tmp_path)]), taken=lambda id_: id_ in ("x", "x#2"))
    assert [getattr(document, "id", None) for _, document in read] == ["x#3"]


def test_other_settings_build_everything_anew(folder: Folder, caplog: pytest.LogCaptureFixture) -> None:
    report = build([str(folder.docs)], folder.out, encoder=HashingEncoder("other"), update=True)
    assert (report.read, report.encoded) == (COUNT, COUNT)
    assert "can't be updated" in caplog.text


def test_nothing_is_left(folder: Folder) -> None:
    for path in folder.docs.iterdir():
        path.write_text(" ", encoding="utf-8")
    with pytest.raises(SourceError, match="no text to index"):
        folder.build()
    assert open_index(folder.out).manifest.passages == COUNT


def test_what_is_nearest_of_all_may_be_removed(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COMPACT", 0.95)
    for number in range(COUNT - 2):
        (folder.docs / f"{number:02}.txt").unlink()
    folder.build()
    corpus = folder.corpus()
    for k in (1, 2, 5):
        cosines, rows = corpus.nearest.nearest(HashingEncoder().encode([ANIMALS[0], "Entry 39"]), k)
        assert rows.shape == cosines.shape == (2, min(k, 2))
        assert set(rows.ravel().tolist()) <= {COUNT - 2, COUNT - 1}
    assert len(corpus.passages) == 2


@pytest.mark.parametrize("rows", [[5, 3], [-1], [COUNT + 1], [3, 3]])
def test_rows_that_make_no_sense_are_a_broken_index(folder: Folder, rows: list[int]) -> None:
    (folder.docs / "07.txt").unlink()
    folder.build()
    made = open_index(folder.out)
    np.save(made.file("removed.npy"), np.array(rows, "<i8"))
    with pytest.raises(BrokenIndexError, match=r"checksum|bytes instead"):
        open_index(folder.out)
    with pytest.raises(BrokenIndexError, match="no ascending rows"):
        open_corpus(made)


def test_a_user_updates_an_index(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for number, text in enumerate([*ANIMALS, *ANIMALS]):
        (docs / f"{number}.txt").write_text(f"{number}: {text}", encoding="utf-8")
    wait_until_settled(docs)
    index.run([str(docs)], None, {"index": {"path": str(tmp_path / "index")}})
    (docs / "new.txt").write_text("The aye-aye taps on wood to find larvae.", encoding="utf-8")
    done = vouch("index", str(docs), "--out", "index", "--update", folder=tmp_path)
    assert "11 documents, 11 passages: 1 encoded, 10 reused" in done.stdout, done.stderr
    assert "Of the documents 1 was read" in done.stdout
    [(row, _)] = open_corpus(open_index(tmp_path / "index")).postings.best("aye", 5)
    assert row == 10
    done = vouch("index", "-", "--out", "index", "--update", folder=tmp_path)
    assert done.returncode == 2
    assert "--update needs files or folders" in " ".join(done.stderr.split())
