"""Dense indexes of every kind: how much of an exact scan they find, and what the user hears of a bad one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import faiss
import httpx
import numpy as np
import pytest

from index_builder.build import build
from proxy.__main__ import app
from proxy.cli.compose import load_library
from proxy.config.settings import Settings
from proxy.errors import BrokenIndexError, ConfigError
from proxy.retrieval import Corpus, open_corpus, retriever, search_thread
from proxy.retrieval.generation import Generation
from proxy.retrieval.index_files import DenseIndex, checksum, open_index
from proxy.retrieval.vector_index import (
    EXACT_MOST,
    RECALL,
    ExactScan,
    RefinedSearch,
    kind_for,
    make_index,
    recall_of,
    write_vector_index,
)
from proxy.retrieval.vector_table import HeldVectors
from proxy.types import DenseKind, RetrievalMode, Vectors
from tests.cli.test_cli import one_line, vouch
from tests.corpora import ANIMALS, vectors_of, write_source
from tests.encoders import HashingEncoder
from tests.packaged import packaged_encoder
from tests.serving import serving, settings_for

DATA = Path(__file__).parents[2] / "../shared/data"
KINDS: list[DenseKind] = ["ivf", "hnsw", "sq8", "fp16"]
TOPICS = ["harbour", "glacier", "violin", "orchard", "satellite", "cathedral", "volcano", "marathon"]
TEXTS = [
    f"The {TOPICS[number % 8]} number {number} was described in {1500 + number} by author {number % 37}."
    for number in range(400)
]


def unit(vectors: Any) -> Vectors:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def clustered(count: int, dimension: int = 96) -> Vectors:
    random = np.random.default_rng(count)
    centres = np.random.default_rng(0).standard_normal((40, dimension))
    return unit(centres[random.integers(40, size=count)] + random.standard_normal((count, dimension)))


def nothing(_done: int) -> None:
    """A progress that shows nothing."""


def manifest_of(path: Path) -> dict[str, Any]:
    return dict(json.loads((path / "manifest.json").read_text(encoding="utf-8")))


def built_with(out: Path, dense: Any, texts: Sequence[str] = TEXTS) -> Corpus:
    out.parent.mkdir(parents=True, exist_ok=True)
    source = write_source(out.parent / f"{out.name}.jsonl", texts)
    build([str(source)], out, encoder=HashingEncoder(), dense=dense)
    return open_corpus(open_index(out))


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An index of the same texts per kind."""
    folder = tmp_path_factory.mktemp("kinds")
    for kind in ("exact", *KINDS):
        built_with(folder / kind, kind)
    return {kind: folder / kind for kind in ("exact", *KINDS)}


@pytest.fixture(params=KINDS)
def path(request: pytest.FixtureRequest, indexes: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of an index of each kind, to be damaged."""
    return Path(shutil.copytree(indexes[request.param], tmp_path / "index"))


def test_recall_counts_what_is_as_near() -> None:
    exact = np.array([[0.9, 0.8], [0.7, 0.7]], np.float32)
    found = np.array([[0.9, 0.5], [0.7, 0.7]], np.float32)
    assert recall_of(found, exact) == 0.75
    assert recall_of(exact[:, :0], exact[:, :0]) == 1


def test_auto_is_exact_up_to_a_size() -> None:
    assert [kind_for("auto", count) for count in (1, EXACT_MOST, EXACT_MOST + 1)] == ["exact", "exact", "ivf"]
    assert kind_for("hnsw", 1) == "hnsw"
    assert kind_for("exact", 10 * EXACT_MOST) == "exact"


@pytest.mark.parametrize("kind", KINDS)
def test_a_search_finds_what_an_exact_scan_finds_with_its_cosines(kind: DenseKind, tmp_path: Path) -> None:
    vectors, queries = clustered(3000), clustered(200)
    generation = Generation(tmp_path, tmp_path)
    made = write_vector_index(generation, HeldVectors(vectors), queries, kind, nothing)
    assert made.kind == kind
    assert made.recall >= RECALL
    index = make_index(kind, vectors, nothing)
    for k in (1, 10, 100):
        cosines, rows = RefinedSearch(index, HeldVectors(vectors)).nearest(queries, k)
        assert rows.shape == cosines.shape == (200, k)
        assert np.all(np.diff(cosines, axis=1) <= 0)
        exact = np.einsum("qd,qkd->qk", queries, vectors[rows])
        assert np.allclose(cosines, exact, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 2, 5, 33, 150])
def test_a_small_corpus_is_found_whole(kind: DenseKind, count: int) -> None:
    vectors = clustered(count, 16)
    search = RefinedSearch(make_index(kind, vectors, nothing), HeldVectors(vectors))
    exact, _ = ExactScan(vectors).nearest(vectors, 1000)
    cosines, rows = search.nearest(vectors, 1000)
    assert np.allclose(cosines, exact, atol=1e-5)
    assert recall_of(cosines, exact) == 1
    assert all(sorted(found) == list(range(count)) for found in rows.tolist())
    assert search.nearest(vectors[:0], 3)[1].shape == (0, min(3, count))


def test_the_manifest_names_the_kind_and_what_it_finds(indexes: dict[str, Path]) -> None:
    assert manifest_of(indexes["exact"])["dense"] == {
        "kind": "exact",
        "effort": 0,
        "candidates": 0,
        "recall": 1.0,
        "dimensions": 0,
    }
    assert "dense.faiss" not in manifest_of(indexes["exact"])["files"]
    for kind in KINDS:
        manifest = manifest_of(indexes[kind])
        assert manifest["dense"]["kind"] == kind
        assert manifest["dense"]["effort"] > 0
        assert manifest["dense"]["recall"] >= RECALL
        assert manifest["files"]["dense.faiss"]["bytes"] > 0


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
@pytest.mark.parametrize("kind", KINDS)
async def test_retrieval_is_the_same_over_every_kind(
    indexes: dict[str, Path], kind: str, mode: RetrievalMode
) -> None:
    queries = [TEXTS[number] for number in range(0, 400, 20)]
    with search_thread() as thread:
        found = [
            await retriever(
                open_corpus(open_index(indexes[each])), HashingEncoder(), mode, thread=thread, threshold=0.9
            ).search(queries, 5)
            for each in ("exact", kind)
        ]
    for exact, ours, query in zip(*found, queries, strict=True):
        assert ours[0].passage.text == query
        assert [each.score for each in ours] == pytest.approx([each.score for each in exact], abs=1e-5)
        assert all(each.score >= 0.9 for each in ours)


def test_an_index_whose_manifest_names_no_kind_is_scanned(indexes: dict[str, Path], tmp_path: Path) -> None:
    path = Path(shutil.copytree(indexes["exact"], tmp_path / "old"))
    manifest = manifest_of(path)
    del manifest["dense"]
    (path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    index = open_index(path)
    assert index.manifest.dense == DenseIndex()
    assert isinstance(open_corpus(index).nearest, ExactScan)


def test_another_setting_makes_another_index_of_the_same_vectors(tmp_path: Path) -> None:
    out, encoder = tmp_path / "index", HashingEncoder()
    built_with(out, "exact")
    source = str(tmp_path / "index.jsonl")
    report = build([source], out, encoder=encoder, dense="ivf")
    assert (report.dense.kind, report.encoded, report.reused) == ("ivf", 0, 400)


def test_a_damaged_file_is_named(path: Path) -> None:
    [file] = path.glob("generation-*/dense.faiss")
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(BrokenIndexError, match=r"dense\.faiss is damaged: its checksum .*Rebuild"):
        open_index(path)
    file.write_bytes(whole[:-1])
    with pytest.raises(BrokenIndexError, match=r"dense\.faiss has [\d,]+ bytes instead of [\d,]+\. Rebuild"):
        open_index(path)
    file.unlink()
    with pytest.raises(BrokenIndexError, match=r"lacks its dense\.faiss\. Rebuild"):
        open_index(path)


def test_a_file_that_changes_after_it_was_verified_is_an_error(path: Path) -> None:
    index = open_index(path)
    [file] = path.glob("generation-*/dense.faiss")
    whole = file.read_bytes()
    for junk in (b"", b"no index of FAISS", whole[: len(whole) // 2]):
        file.unlink()
        file.write_bytes(junk)
        with pytest.raises(BrokenIndexError, match=r"dense\.faiss can't be read"):
            open_corpus(index)


def test_a_file_that_the_manifest_leaves_out_is_named(path: Path) -> None:
    manifest = manifest_of(path)
    del manifest["files"]["dense.faiss"]
    (path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(BrokenIndexError, match=r"has no dense\.faiss"):
        open_corpus(open_index(path))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"effort": 0}, "can't be searched with the effort 0"),
        ({"effort": 1 << 30}, "can't be searched with the effort"),
        ({"candidates": 0}, "and 0 candidates"),
        ({"kind": "quantum"}, r"manifest\.json is damaged at dense\.kind"),
        ({"kind": None}, r"manifest\.json is damaged at dense\.kind"),
    ],
)
def test_a_manifest_with_a_wrong_kind_or_effort(path: Path, change: dict[str, Any], said: str) -> None:
    manifest = manifest_of(path)
    manifest["dense"] |= change
    (path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(BrokenIndexError, match=said):
        open_corpus(open_index(path))


def test_a_file_of_another_kind_or_of_other_vectors_is_refused(path: Path) -> None:
    manifest = manifest_of(path)
    other = {"ivf": "hnsw", "hnsw": "sq8", "sq8": "ivf", "fp16": "ivf"}[manifest["dense"]["kind"]]
    index = open_index(path)
    [file] = path.glob("generation-*/dense.faiss")
    kind = manifest["dense"]["kind"]
    file.unlink()
    faiss.write_index(make_index(kind, clustered(400, 32), nothing), str(file))
    with pytest.raises(BrokenIndexError, match="of other vectors than those of this index"):
        open_corpus(index)
    manifest["dense"]["kind"] = other
    faiss.write_index(make_index(kind, clustered(400, 64), nothing), str(file))
    (path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    manifest["files"]["dense.faiss"] = {"bytes": file.stat().st_size, "sha256": checksum(file)}
    (path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(BrokenIndexError, match=f"holds no dense index of the kind {other}"):
        open_corpus(open_index(path))


def test_a_disk_that_is_full_is_an_os_error(tmp_path: Path) -> None:
    generation = Generation(tmp_path, tmp_path / "gone")
    with pytest.raises(OSError, match=r"dense\.faiss"):
        write_vector_index(generation, HeldVectors(clustered(50)), clustered(5), "ivf", nothing)


def test_recall_that_is_not_reached_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proxy.retrieval.vector_index.RECALL", 1.01)
    made = write_vector_index(
        Generation(tmp_path, tmp_path), HeldVectors(clustered(300)), clustered(5), "ivf", nothing
    )
    assert made.recall <= 1
    assert "of what an exact scan finds" in caplog.text


@pytest.mark.parametrize("kind", ["ivf", "hnsw"])
def test_a_user_chooses_the_kind_and_searches_over_http(kind: str, tmp_path: Path) -> None:
    """`vouch index --dense`, then `/v1/search`, with the packaged encoder."""
    write_source(tmp_path / "animals.jsonl", [*ANIMALS, *TEXTS[:60]])
    done = vouch("index", "animals.jsonl", "--out", "index", "--dense", kind, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"Vectors are searched by {kind}, which found " in done.stdout
    assert manifest_of(tmp_path / "index")["dense"]["kind"] == kind
    library = load_library(Settings.model_validate({"index": {"path": str(tmp_path / "index")}}))
    try:
        with serving(settings_for("http://127.0.0.1:1"), library) as url:
            for retrieval in ("dense", "hybrid"):
                body = {"query": "An octopus has three hearts.", "top_k": 3, "retrieval": retrieval}
                answer = httpx.post(f"{url}/search", json=body, timeout=60)
                assert answer.status_code == 200
                first = answer.json()["data"][0]
                assert (first["document_id"], "dense" in first["found_by"]) == ("d3", True)
    finally:
        library.close()


@pytest.mark.parametrize("kind", KINDS)
def test_cut_vectors_are_searched_and_ranked_again_by_whole_ones(kind: DenseKind, tmp_path: Path) -> None:
    vectors, queries = clustered(3000), clustered(200)
    for dimensions in (64, 16):
        made = write_vector_index(
            Generation(tmp_path, tmp_path), HeldVectors(vectors), queries, kind, nothing, dimensions
        )
        search = RefinedSearch(make_index(kind, vectors, nothing, dimensions), HeldVectors(vectors), 800)
        cosines, rows = search.nearest(queries, 10)
        assert np.allclose(cosines, np.einsum("qd,qkd->qk", queries, vectors[rows]), atol=1e-5)
        assert (made.kind, made.dimensions) == (kind, dimensions)
        exact, _ = ExactScan(vectors).nearest(queries, 10)
        assert made.recall >= recall_of(cosines, exact) - 0.15
    assert made.recall < 1, "a sixth of the dimensions does not find all"


def test_a_user_cuts_vectors_and_reads_what_that_finds(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_source(tmp_path / "animals.jsonl", [*ANIMALS, *TEXTS[:20]])

    def index(*options: str) -> str:
        app(["index", "animals.jsonl", "--out", "index", *options], standalone_mode=False)
        return capsys.readouterr().out

    said = index("--dense", "sq8", "--dimensions", "128")
    assert "searched by sq8 in their first 128 dimensions, which found " in said
    dense = manifest_of(tmp_path / "index")["dense"]
    assert f"{100 * dense['recall']:.1f}% of the first ten passages of an exact scan" in said
    monkeypatch.setenv("VOUCH_INDEX__DENSE", "fp16")
    monkeypatch.setenv("VOUCH_INDEX__DIMENSIONS", "96")
    said = index()
    assert "0 encoded" in said
    assert "by fp16 in their first 96 dimensions" in said
    with pytest.raises(ConfigError, match=r"index\.dimensions is 385, and the encoder's vectors have 384"):
        index("--dimensions", "385")
    with pytest.raises(ConfigError, match="an exact scan, which reads whole vectors"):
        index("--dense", "exact")
    monkeypatch.setenv("VOUCH_INDEX__DENSE", "auto")
    index()
    assert "index.dimensions is not used" in caplog.text
    assert manifest_of(tmp_path / "index")["dense"]["kind"] == "exact"


def test_a_wrong_kind_is_one_clear_line(tmp_path: Path) -> None:
    write_source(tmp_path / "animals.jsonl")
    done = vouch("index", "animals.jsonl", "--dense", "quantum", folder=tmp_path)
    assert done.returncode == 2
    assert "'quantum' is not one of" in " ".join(done.stderr.split())
    line = one_line(vouch("index", "animals.jsonl", folder=tmp_path, VOUCH_INDEX__DENSE="quantum"))
    assert "index.dense" in line


@pytest.mark.timeout(300)
def test_recall_over_real_passages(tmp_path: Path) -> None:
    """WikiRetr's claims over Wikipedia's passages, by the packaged encoder."""
    source = DATA / "corpora" / "wikipedia_en.jsonl"
    if not source.exists():
        pytest.skip("the measuring data are not beside the repository")
    lines = source.read_text(encoding="utf-8").splitlines()[:150]
    (tmp_path / "wiki.jsonl").write_text("\n".join(lines), encoding="utf-8")
    pairs = json.loads((DATA / "papers" / "wikiretr-gpt4.json").read_text(encoding="utf-8"))
    queries = packaged_encoder().encode([pair["claim"] for pair in pairs[:60]])
    for kind in KINDS:
        build([str(tmp_path / "wiki.jsonl")], tmp_path / "index", encoder=packaged_encoder(), dense=kind)
        corpus = open_corpus(open_index(tmp_path / "index"))
        exact, _ = ExactScan(vectors_of(corpus)).nearest(queries, 10)
        assert recall_of(corpus.nearest.nearest(queries, 10)[0], exact) >= 0.95
