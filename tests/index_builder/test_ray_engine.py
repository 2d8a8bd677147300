"""`vouch index --engine ray`: the same index as without, though a worker dies midway."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

from index_builder.build import build, silent
from index_builder.ray_engine import Cluster, CutFiles, _known, divide, encode_with_ray
from index_builder.readers import mediawiki
from index_builder.unfinished import Journal
from proxy.__main__ import app
from proxy.errors import ConfigError, RequestError, SourceError
from proxy.retrieval.index_files import read_manifest
from proxy.types import Vectors
from tests.cli.test_cli import vouch
from tests.corpora import dump, page, write_source
from tests.encoders import HashingEncoder

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: pip install 'ray[data]'")
pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # Ray's own
    pytest.mark.timeout(900),
]


class Watched(HashingEncoder):
    """An encoder that says which process it is in. The first two wait until one of them is killed."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def encode(self, texts: Sequence[str]) -> Vectors:
        (self._folder / str(os.getpid())).touch()
        until = time.monotonic() + 600
        while not (self._folder / "killed").exists() and time.monotonic() < until:
            time.sleep(0.02)
        return super().encode(texts)


def write_sources(folder: Path, files: int = 8, documents: int = 400) -> Path:
    folder.mkdir()
    for file in range(files):
        rows = [
            {"id": f"f{file}-{row}", "title": f"T{row % 7}", "text": f"Text {row} of file {file}. " * 5}
            for row in range(documents)
        ]
        (folder / f"{file}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (folder / "broken.jsonl").write_text("{not json", encoding="utf-8")
    pages = [page(number, f"Page {number}", f"Page {number} is short.") for number in range(20)]
    (folder / "wiki.xml").write_text(dump(*pages), encoding="utf-8")
    return folder


def kill_one(folder: Path) -> None:
    """Kills a worker once two have begun to encode."""
    until = time.monotonic() + 600
    while len(pids := sorted(folder.glob("[0-9]*"))) < 2 and time.monotonic() < until:
        time.sleep(0.02)
    if len(pids) == 2:
        os.kill(int(pids[0].name), signal.SIGKILL)
        (folder / "killed").write_text(pids[0].name, encoding="ascii")


@needs_ray
def test_an_index_made_with_ray_is_the_same_though_a_worker_dies(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "docs")
    begun = tmp_path / "begun"
    begun.mkdir()

    def encode() -> int:
        return encode_with_ray(
            [str(sources)],
            tmp_path / "ray",
            HashingEncoder(),
            partial(Watched, begun),
            Cluster(2),
            words=100,
            progress=silent,
        )

    killer = threading.Thread(target=kill_one, args=(begun,))
    killer.start()
    encoded = encode()
    killer.join()
    assert (begun / "killed").exists(), "a worker was killed while it encoded"
    assert len(list(begun.glob("[0-9]*"))) >= 3, "another took its place"
    assert encode() == 0, "what came back is not encoded again"
    with_ray = build([str(sources)], tmp_path / "ray", encoder=HashingEncoder())
    local = build([str(sources)], tmp_path / "local", encoder=HashingEncoder())
    assert with_ray.encoded == 0
    assert encoded == local.encoded == local.passages
    made, expected = (asdict(read_manifest(tmp_path / name)) for name in ("ray", "local"))
    for each in (made, expected):
        del each["generation"], each["created"]
    assert made == expected, "the checksums of all files are the same too"


@needs_ray
def test_the_command_line_encodes_on_a_cluster_of_this_machine(tmp_path: Path) -> None:
    source = write_source(tmp_path / "docs.jsonl", [f"The lighthouse number {n} is red." for n in range(40)])
    out = tmp_path / "index"
    done = vouch(
        "index", str(source), "--out", str(out), "--engine", "ray", "--workers", "1", folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "40 passages: 0 encoded, 40 reused" in done.stdout
    assert read_manifest(out).passages == 40


def test_without_ray_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install 'vouch\[ray\]'"):
        encode_with_ray(
            [str(write_sources(tmp_path / "docs", 1, 1))],
            tmp_path / "index",
            HashingEncoder(),
            HashingEncoder,
            Cluster(1),
            words=100,
            progress=silent,
        )


@needs_ray
@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:{free}", "No Ray cluster answers at 127.0.0.1:"),
        ("ray://127.0.0.1:10001", "is no address of a Ray cluster"),
        ("somewhere", "is no address of a Ray cluster"),
    ],
)
def test_a_cluster_that_is_not_there_is_one_line(address: str, said: str, tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        free = listener.getsockname()[1]
    source = write_source(tmp_path / "docs.jsonl", ["A lighthouse."])
    given = ["--engine", "ray", "--address", address.format(free=free)]
    with pytest.raises(ConfigError, match=said):
        app(["index", str(source), "--out", str(tmp_path / "index"), *given], standalone_mode=False)
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--address", "127.0.0.1:6379"], "add --engine ray"),
        (["--workers", "3"], "add --engine ray"),
        (["--engine", "ray", "--update"], "leave --engine ray out"),
    ],
)
def test_options_that_do_not_go_together_are_said(given: list[str], said: str, tmp_path: Path) -> None:
    source = write_source(tmp_path / "docs.jsonl", ["A lighthouse."])
    with pytest.raises(RequestError, match=said):
        app(["index", str(source), "--out", str(tmp_path / "index"), *given], standalone_mode=False)
    assert not (tmp_path / "index").exists()


def test_standard_input_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="Standard input can't be read by a cluster"):
        encode_with_ray(
            ["-"],
            tmp_path / "index",
            HashingEncoder(),
            HashingEncoder,
            Cluster(1),
            words=100,
            progress=silent,
        )


def test_a_machine_without_the_sources_says_so_and_known_texts_are_left_out(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "docs", 1, 600)
    (tmp_path / "index").mkdir()
    with Journal(tmp_path / "index", HashingEncoder()) as journal:
        cut = CutFiles(100, 256, _known([journal.old]))
    (batch,) = divide({"path": [str(sources / "0.jsonl")], "id": ["0.jsonl"]})
    blocks = list(cut.texts(batch))
    assert [len(block["text"]) for block in blocks] == [128, 128, 128, 128, 88]
    gone = {"path": [str(sources / "gone.jsonl")], "id": ["gone.jsonl"]}
    with pytest.raises(FileNotFoundError, match="must have the sources under the same paths"):
        list(divide(gone))
    with pytest.raises(FileNotFoundError, match="must have the sources under the same paths"):
        list(cut.texts({**gone, "part": [b""]}))


def test_the_parts_of_a_dump_are_read_apart_to_the_same_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = [page(n, f"Page  {n}", f"Text of page {n}. " * (n % 40)) for n in range(200)]
    (tmp_path / "wiki.xml").write_text(dump(*pages), encoding="utf-8")
    (tmp_path / "index").mkdir()
    with Journal(tmp_path / "index", HashingEncoder()) as journal:
        cut = CutFiles(100, 256, _known([journal.old]))
    file = {"path": [str(tmp_path / "wiki.xml")], "id": ["wiki.xml"]}
    whole = [text for block in cut.texts({**file, "part": [b""]}) for text in block["text"]]
    monkeypatch.setattr(mediawiki, "_PART_BYTES", 100_000)
    parts = list(divide(file))
    assert len(parts) > 1
    apart = [text for part in parts for block in cut.texts(part) for text in block["text"]]
    assert len(whole) > 200
    assert apart == whole
