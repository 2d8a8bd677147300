"""`vouch index --engine ray`: the same index as without, though a worker dies midway."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from index_builder.build import build, silent
from index_builder.ray_engine import encode_with_ray
from proxy.errors import ConfigError, SourceError
from proxy.retrieval.index_files import read_manifest
from proxy.types import Vectors
from tests.encoders import HashingEncoder

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: pip install 'ray[data]'")
pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # Ray's own
    pytest.mark.timeout(300),
]


class Watched(HashingEncoder):
    """A slow encoder that says which process it is in."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def encode(self, texts: Any) -> Vectors:
        (self._folder / str(os.getpid())).touch()
        time.sleep(0.3)
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
    return folder


def kill_one(folder: Path, killed: list[int]) -> None:
    """Kills a worker once two have begun to encode."""
    until = time.monotonic() + 120
    while len(pids := sorted(int(each.name) for each in folder.iterdir())) < 2:
        if time.monotonic() > until:
            return
        time.sleep(0.02)
    os.kill(pids[0], signal.SIGKILL)
    killed.append(pids[0])


@needs_ray
def test_an_index_made_with_ray_is_the_same_though_a_worker_dies(tmp_path: Path) -> None:
    import ray

    sources = write_sources(tmp_path / "docs")
    begun = tmp_path / "begun"
    begun.mkdir()
    killed: list[int] = []
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000)
    try:
        threading.Thread(target=kill_one, args=(begun, killed), daemon=True).start()
        encoded = encode_with_ray(
            [str(sources)],
            tmp_path / "ray",
            HashingEncoder(),
            partial(Watched, begun),
            words=100,
            workers=2,
            address=None,
            progress=silent,
        )
        again = encode_with_ray(
            [str(sources)],
            tmp_path / "ray",
            HashingEncoder(),
            partial(Watched, begun),
            words=100,
            workers=2,
            address=None,
            progress=silent,
        )
    finally:
        ray.shutdown()
    assert killed, "a worker was killed while it encoded"
    assert len(list(begun.iterdir())) >= 3, "another took its place"
    assert again == 0, "what came back is not encoded again"
    with_ray = build([str(sources)], tmp_path / "ray", encoder=HashingEncoder())
    local = build([str(sources)], tmp_path / "local", encoder=HashingEncoder())
    assert with_ray.encoded == 0
    assert encoded == local.encoded == local.passages
    made, expected = (asdict(read_manifest(tmp_path / name)) for name in ("ray", "local"))
    for each in (made, expected):
        del each["generation"], each["created"]
    assert made == expected, "the checksums of all files are the same too"


def test_without_ray_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install 'vouch\[ray\]'"):
        encode_with_ray(
            ["-"],
            tmp_path / "index",
            HashingEncoder(),
            HashingEncoder,
            words=100,
            workers=1,
            address=None,
            progress=silent,
        )


@needs_ray
def test_standard_input_and_a_cluster_that_is_not_there_are_refused(tmp_path: Path) -> None:
    for sources, address, error, message in (
        ("-", None, SourceError, "Standard input can't be read by a cluster"),
        (str(write_sources(tmp_path / "docs", 1, 1)), "127.0.0.1:1", ConfigError, "can't be used"),
    ):
        with pytest.raises(error, match=message):
            encode_with_ray(
                [sources],
                tmp_path / "index",
                HashingEncoder(),
                HashingEncoder,
                words=100,
                workers=1,
                address=address,
                progress=silent,
            )
