"""The build: what it makes, what it reuses, and that nothing breaks the index that stands."""

from __future__ import annotations

import random
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from index_builder.build import build
from index_builder.vectors import SAMPLE, measure_threshold, sample_rows
from proxy.errors import ConfigError, SourceError
from proxy.retrieval import Corpus, open_corpus
from proxy.retrieval.generation import new_generation
from proxy.retrieval.index_files import open_index
from proxy.types import Passage, Vectors
from tests.corpora import ANIMALS, build_index, vectors_of, write_source
from tests.encoders import HashingEncoder

ROOT = Path(__file__).parents[2]
KILLS = 20


def opened(out: Path) -> Corpus:
    return open_corpus(open_index(out))


def texts_of(out: Path) -> list[str]:
    passages = opened(out).passages
    return [passages.passage(row).text for row in range(len(passages))]


def test_the_report_counts(tmp_path: Path) -> None:
    report = build_index(tmp_path / "index")
    assert (report.documents, report.passages, report.encoded, report.reused) == (5, 5, 5, 0)
    assert (report.broken, report.broken_count, report.ignored) == ((), 0, ())
    assert report.tokens > 50
    assert report.seconds > 0


def test_every_passage_has_its_own_vector(tmp_path: Path) -> None:
    texts = [f"Number {number} of many." for number in range(1300)]  # more than two blocks
    build_index(tmp_path / "index", texts)
    assert texts_of(tmp_path / "index") == texts
    assert np.allclose(vectors_of(opened(tmp_path / "index")), HashingEncoder().encode(texts))


def test_progress_hears_every_stage_to_its_end(tmp_path: Path) -> None:
    heard: list[tuple[str, int, int | None]] = []
    source = write_source(tmp_path / "a.jsonl")
    build(
        [str(source)],
        tmp_path / "index",
        encoder=HashingEncoder(),
        progress=lambda stage, done, total: heard.append((stage, done, total)),
    )
    assert list(dict.fromkeys(stage for stage, *_ in heard)) == ["reading", "encoding", "indexing"]
    last = {stage: (done, total) for stage, done, total in heard}
    assert last == {"reading": (5, None), "encoding": (5, 5), "indexing": (5, 5)}


def ids_of(out: Path) -> list[str]:
    passages = opened(out).passages
    return [passages.passage(row).id for row in range(len(passages))]


def test_passage_ids_depend_on_the_documents_and_the_settings_alone(tmp_path: Path) -> None:
    sentence = "The river rises in the hills and reaches the sea after {} miles. "
    texts = [
        "".join(sentence.format(number) for number in range(60)),
        "Short. Dr. Smith left at 5 p.m. sharp.",
    ]
    folders = [tmp_path / "here" / "docs", tmp_path / "there" / "other name"]
    for folder in folders:
        folder.mkdir(parents=True)
        for number, text in enumerate(texts):
            (folder / f"{number}.txt").write_text(text, encoding="utf-8")
    build([str(folders[0])], tmp_path / "a", encoder=HashingEncoder())
    (folders[1] / "00.txt").write_text("Something before it.", encoding="utf-8")
    build([str(folders[1])], tmp_path / "b", encoder=HashingEncoder("other", 32))
    build([str(folders[0])], tmp_path / "c", encoder=HashingEncoder(), words=50)
    assert len(ids_of(tmp_path / "a")) > 5
    assert [id_ for id_ in ids_of(tmp_path / "b") if id_ in ids_of(tmp_path / "a")] == ids_of(tmp_path / "a")
    assert len(ids_of(tmp_path / "b")) == len(ids_of(tmp_path / "a")) + 1
    assert ids_of(tmp_path / "a") != ids_of(tmp_path / "c")


def test_only_what_changed_is_encoded_again(tmp_path: Path) -> None:
    out = tmp_path / "index"
    build_index(out)
    before = vectors_of(opened(out))
    encoder = HashingEncoder()
    changed = [ANIMALS[0], "Ants carry fifty times their weight.", *ANIMALS[2:], "Bats are mammals."]
    report = build_index(out, changed, encoder=encoder)
    assert (report.passages, report.reused, report.encoded) == (6, 4, 2)
    assert [text for text in changed if text in encoder.encoded] == [changed[1], changed[5]]
    assert np.array_equal(vectors_of(opened(out))[[0, 2, 3, 4]], before[[0, 2, 3, 4]])
    assert texts_of(out) == changed


def test_nothing_is_reused_from_another_encoder_or_a_broken_index(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out = tmp_path / "index"
    build_index(out)
    assert build_index(out, encoder=HashingEncoder("other")).reused == 0
    assert build_index(out, encoder=HashingEncoder("other", 32)).reused == 0
    assert "because of the old index" not in caplog.text
    next(out.glob("*/digests.npy")).write_bytes(b"garbage")
    assert build_index(out, encoder=HashingEncoder("other", 32)).reused == 0
    assert "because of the old index" in caplog.text
    assert build_index(out, encoder=HashingEncoder("other", 32)).reused == 5


def test_only_the_current_generation_is_kept(tmp_path: Path) -> None:
    out = tmp_path / "index"
    for _ in range(3):
        build_index(out)
    leftover = out / "generation-0123456789abcdef"
    leftover.mkdir()
    build_index(out)
    assert [path.name for path in out.glob("generation-*")] == [open_index(out).manifest.generation]


def test_a_broken_document_is_skipped_and_reported(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "whole.txt").write_text(ANIMALS[0], encoding="utf-8")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 no more than that")
    (folder / "photo.png").write_bytes(b"\x89PNG")
    report = build([str(folder)], tmp_path / "index", encoder=HashingEncoder())
    assert [broken.source for broken in report.broken] == [str(folder / "broken.pdf")]
    assert (report.documents, report.broken_count, len(report.ignored)) == (1, 1, 1)
    assert open_index(tmp_path / "index").manifest.broken == 1


HIDING = """
import sys
from pathlib import Path
for library in ("pypdf", "docx", "mwxml", "mwparserfromhell"):
    sys.modules[library] = None
from index_builder.build import build
from tests.encoders import HashingEncoder
strict = sys.argv[3:] == ["strict"]
report = build(sys.argv[1:2], Path(sys.argv[2]), encoder=HashingEncoder(), strict=strict)
reasons = [f"{Path(broken.source).name}: {broken.reason}" for broken in report.broken]
print(report.documents, *reasons, sep="\\n")
"""


def test_without_the_extras_their_files_are_skipped_with_what_to_install(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in ("a.txt", "b.md", "c.html", "e.csv"):
        (folder / name).write_text(f"text\n{ANIMALS[0]}", encoding="utf-8")
    write_source(folder / "d.jsonl", ANIMALS[:1])
    for name in ("report.pdf", "letter.docx", "wiki.xml", "wiki.xml.bz2"):
        (folder / name).write_bytes(b"anything")
    command = [sys.executable, "-c", HIDING, str(folder), str(tmp_path / "index")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "5",
        "letter.docx: Word documents need an optional library: pip install 'vouch[docx]'",
        "report.pdf: PDF files need an optional library: pip install 'vouch[pdf]'",
        "wiki.xml: MediaWiki dumps need an optional library: pip install 'vouch[mediawiki]'",
        "wiki.xml.bz2: MediaWiki dumps need an optional library: pip install 'vouch[mediawiki]'",
    ]
    strict = subprocess.run([*command, "strict"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert strict.returncode
    assert "letter.docx can't be read: Word documents need" in strict.stderr


def test_strict_fails_and_leaves_the_old_index(tmp_path: Path) -> None:
    out = tmp_path / "index"
    build_index(out)
    before = open_index(out)
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7 no more than that")
    with pytest.raises(SourceError, match=r"broken\.pdf can't be read: .*--strict"):
        build([str(tmp_path / "index.jsonl"), str(broken)], out, encoder=HashingEncoder(), strict=True)
    assert open_index(out) == before
    assert len(list(out.glob("generation-*"))) == 1


def test_an_empty_folder_is_one_clear_line_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    with pytest.raises(SourceError, match="docs holds no documents"):
        build([str(tmp_path / "docs")], tmp_path / "index", encoder=HashingEncoder())
    (tmp_path / "docs" / "empty.txt").write_text(" \n", encoding="utf-8")
    with pytest.raises(SourceError, match=r"no text to index in .*docs.*empty\.txt"):
        build([str(tmp_path / "docs")], tmp_path / "index", encoder=HashingEncoder())
    assert [path.name for path in tmp_path.iterdir()] == ["docs"]


def test_an_index_among_its_own_sources_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(ANIMALS[0], encoding="utf-8")
    for _ in range(2):
        report = build([str(tmp_path)], tmp_path / "index", encoder=HashingEncoder())
        assert report.documents == 1


def test_two_builds_at_once(tmp_path: Path) -> None:
    out = tmp_path / "index"
    build_index(out)
    before = open_index(out)
    with new_generation(out), pytest.raises(ConfigError, match=f"Another build is writing to {out}"):
        build_index(out)
    assert open_index(out) == before
    build_index(out)


def test_folders_that_can_not_hold_an_index(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="file is a file, not a folder"):
        build_index(tmp_path / "file")
    with pytest.raises(ConfigError, match=r"Can't write an index to .*: Not a directory"):
        build([str(write_source(tmp_path / "a.jsonl"))], tmp_path / "file" / "x", encoder=HashingEncoder())
    photos = tmp_path / "photos"
    photos.mkdir()
    (photos / "me.png").touch()
    with pytest.raises(ConfigError, match="photos holds other files and no index"):
        build_index(photos)
    assert [path.name for path in photos.iterdir()] == ["me.png"]


@pytest.mark.parametrize("manifest", ['{"name": "App", "start_url": "/"}', "[]", "no JSON"])
def test_a_manifest_of_another_program_is_not_overwritten(tmp_path: Path, manifest: str) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "manifest.json").write_text(manifest)
    with pytest.raises(ConfigError, match="web holds other files and no index"):
        build_index(tmp_path / "web")
    assert [path.read_text() for path in (tmp_path / "web").iterdir()] == [manifest]


def test_a_copied_index_is_written_to_though_its_lock_was_left_behind(tmp_path: Path) -> None:
    build_index(tmp_path / "index")
    (tmp_path / "index" / ".vouch-lock").unlink()
    build_index(tmp_path / "index")


def test_a_full_disk_leaves_the_old_index(tmp_path: Path) -> None:
    out = tmp_path / "index"
    build_index(out)
    before = open_index(out)
    texts = [f"Number {number} of many." for number in range(2000)]
    source = write_source(tmp_path / "many.jsonl", texts)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(ConfigError, match=f"^Can't write an index to {out}: File too large"):
            build([str(source)], out, encoder=HashingEncoder())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert open_index(out) == before
    assert len(list(out.glob("generation-*"))) == 1


class Interrupting(HashingEncoder):
    """Ctrl-C, in the middle of encoding."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        raise KeyboardInterrupt


def test_ctrl_c_leaves_the_old_index_and_cleans_up(tmp_path: Path) -> None:
    out = tmp_path / "index"
    build_index(out)
    before = open_index(out)
    with pytest.raises(KeyboardInterrupt):
        build_index(out, ["Something new."], encoder=Interrupting())
    assert open_index(out) == before
    assert sorted(path.name for path in out.iterdir()) == sorted(
        [".vouch-lock", before.manifest.generation, "manifest.json"]
    )
    with pytest.raises(KeyboardInterrupt):
        build_index(tmp_path / "fresh", encoder=Interrupting())
    assert not (tmp_path / "fresh").exists()


def test_kill_9_at_any_moment_leaves_the_old_or_the_new_index(tmp_path: Path) -> None:
    texts = {
        size: [f"Version {size} says that {size + number} is a number." for number in range(size)]
        for size in (60, 90)
    }
    sources = [str(write_source(tmp_path / f"{size}.jsonl", texts[size])) for size in texts]
    out = tmp_path / "index"
    command = [sys.executable, "-m", "tests.index_builder.builds", str(out), *sources]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def built_for(seconds: float) -> float | None:
            """What a build took, None if it was killed before its end."""
            print(seconds, file=process.stdin, flush=True)
            answer = str(process.stdout.readline().strip())  # type: ignore[union-attr]
            if answer == "killed":
                return None
            took, status = answer.split()
            assert status == "0"
            return float(took)

        assert process.stdout.readline() == "ready\n"
        reach = min(built_for(60) or 0.0 for _ in range(3))
        moment = random.Random(9)
        kills, versions = 0, set()
        for _ in range(KILLS * 10):
            killed = built_for(moment.uniform(0, reach)) is None
            reach *= 1.2 if killed else 0.8  # so that some end in time, however busy the machine
            kills += killed
            now = texts_of(out)
            assert now == texts[len(now)]
            versions.add(len(now))
            if kills >= KILLS and versions == texts.keys():
                break
        process.stdin.close()
    assert process.returncode == 0
    assert kills >= KILLS
    assert versions == texts.keys()
    build_index(out)
    assert len(list(out.glob("generation-*"))) == 1


def test_a_threshold_keeps_what_is_true_and_drops_the_random() -> None:
    texts = [
        " ".join(
            f"topic{document}word{random.Random(document * 100 + number).randrange(9)}"
            for number in range(60)
        )
        for document in range(40)
    ]
    encoder = HashingEncoder(dimension=4096)
    threshold = measure_threshold(_passages(texts, same_document=False), encoder.encode(texts), encoder)
    assert 0 < threshold < 0.2
    alike = measure_threshold(_passages(texts, same_document=True), encoder.encode(texts), encoder)
    assert alike > threshold


def _passages(texts: Sequence[str], *, same_document: bool) -> list[Passage]:
    ids = ["d" if same_document else f"d{number}" for number in range(len(texts))]
    return [Passage(f"{number}", ids[number], "", "", text, "", 0, 0) for number, text in enumerate(texts)]


def test_a_sample_is_of_the_size_and_the_same_again() -> None:
    assert sample_rows(3) == [0, 1, 2]
    rows = sample_rows(10_000)
    assert rows == sample_rows(10_000) == sorted(set(rows))
    assert len(rows) == SAMPLE
    assert rows[-1] < 10_000
