"""Encodes the passages of sources on a Ray cluster, before a build that then finds all vectors there.

Encoding is nearly all of a build's work. Ray Data reads and cuts the files and encodes their passages, in
actors that load the model once; the vectors come back as they are ready and go to the journal of unfinished
builds (`unfinished`). The build that follows reads and cuts the sources again, in order, and takes the
vectors over. So it writes the same passages, ids and manifest as without Ray, and whatever ends a run, the
next one encodes only what is missing.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from index_builder.build import Progress
from index_builder.changes import expand_outside, old_index
from index_builder.documents import BrokenDocument, Document
from index_builder.readers import DUMPS, dump_parts, suffix
from index_builder.sources import File, Sources, documents, documents_of_part
from index_builder.unfinished import Journal
from index_builder.vectors import DIGEST_BYTES, OldVectors, digests_of, old_vectors
from proxy.errors import ConfigError, SourceError
from proxy.retrieval.chunks import WindowedEncoder, chunk, passage_tokens
from proxy.retrieval.corpus import encoded_text
from proxy.retrieval.generation import new_generation

_BLOCK = 128
"""Passages that are encoded in one call of an actor: what the death of a worker costs."""

_DIVIDING, _READING = 0.1, 0.4
"""Of a core, for finding the parts of a file, and for reading and cutting one. Stages that ask for the same
run in one process, and then one process reads all of a large file."""
_BLOCK_BYTES = 16_000_000
"""Of a block between two stages: what is passed on at once."""

_MOST_BLOCKS = 4096
_STORE_BYTES = 500_000_000
"""Shared memory of a cluster that is started here: blocks on their way."""

_MISSING = "--engine ray needs Ray ({} is missing): pip install 'vouch[ray]'."

_CONNECT = 5.0
"""Seconds within which the cluster must answer."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Ray cluster: how many workers encode, one core (or GPU) each, and its address, `HOST:PORT` or `auto`.
    Without an address one is started on this machine and ended afterwards."""

    workers: int
    address: str | None = None


def divide(batch: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A stage of Ray Data: files by `path` and `id`, to the same with a `part`: of a MediaWiki dump each of
    its parts, of any other file nothing, since it is read as a whole.

    Raises:
        FileNotFoundError: a file is not on the machine that is to read it.
    """
    for path, id_ in zip(batch["path"], batch["id"], strict=True):
        _require(Path(path))
        parts: Iterator[bytes] = iter((b"",))
        if suffix(Path(path)) in DUMPS:
            parts = dump_parts(Path(path))
        with suppress(SourceError):  # the build tells of it
            for part in parts:
                yield {"path": [path], "id": [id_], "part": np.array([part], dtype=object)}


def _require(path: Path) -> None:
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is not on the machine {socket.gethostname()}: all machines of the cluster must have the "
            "sources under the same paths"
        )


@dataclass(frozen=True, slots=True)
class CutFiles:
    """A stage of Ray Data: rows of files, or of their parts, to blocks of texts that are not encoded yet.

    `known` are the first halves of the digests of texts that are, ascending.
    """

    words: int
    max_tokens: int
    known: NDArray[np.uint64]

    def texts(self, batch: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Files by `path`, `id` and `part`, to blocks of `text`. A document that is broken is left out: the
        build tells of it.

        Raises:
            FileNotFoundError: a file is not on the machine that is to read it.
        """
        texts = self._cut(self._documents(batch))
        while block := list(islice(texts, _BLOCK)):
            keys = digests_of(block)[:, :8].copy().view("<u8").ravel()
            new = [text for text, known in zip(block, self._are_known(keys), strict=True) if not known]
            if new:
                yield {"text": np.array(new, dtype=object)}

    def _documents(self, batch: dict[str, Any]) -> Iterator[Document | BrokenDocument]:
        for path, id_, part in zip(batch["path"], batch["id"], batch["part"], strict=True):
            if part:
                yield from documents_of_part(part, Path(path))
                continue
            _require(Path(path))
            yield from documents(Sources((File(Path(path), id_),)))

    def _are_known(self, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        if not len(self.known):
            return np.zeros(len(keys), np.bool_)
        places = np.minimum(np.searchsorted(self.known, keys), len(self.known) - 1)
        same: NDArray[np.bool_] = self.known[places] == keys
        return same

    def _cut(self, read: Iterator[Document | BrokenDocument]) -> Iterator[str]:
        for document in read:
            if not isinstance(document, BrokenDocument):
                for passage in chunk(document, words=self.words, max_tokens=self.max_tokens):
                    yield encoded_text(passage)


class EncodeTexts:
    """A stage of Ray Data, an actor: it loads the model once. Texts to their digests and vectors."""

    def __init__(self, make_encoder: Callable[[], WindowedEncoder]) -> None:
        self._encoder = make_encoder()

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Blocks of `text` to `digest`, shape (texts, 16), and `vector`, shape (texts, dimension)."""
        texts = [str(text) for text in batch["text"]]
        return {"digest": digests_of(texts), "vector": self._encoder.encode(texts)}


def encode_with_ray(
    sources: Sequence[str],
    out: Path,
    encoder: WindowedEncoder,
    make_encoder: Callable[[], WindowedEncoder],
    cluster: Cluster,
    *,
    words: int,
    progress: Progress,
) -> int:
    """Puts the vectors of all passages that are not encoded yet into the journal of the index at `out`.
    Returns how many.

    Args:
        sources: as in `index_builder.sources.expand`; each machine must have them under the same paths.
        out: the index's folder, on this machine.
        encoder: tells what the vectors must be made with; it encodes nothing.
        make_encoder: makes the same encoder in an actor.
        cluster: where.
        words: words per passage, about, as in the build that follows.
        progress: called with the number of passages that came back.

    Raises:
        SourceError: a source does not exist, or is standard input; or the cluster failed.
        ConfigError: ray is not installed, the cluster can't be reached or is too small, or `out` can't be
            written.
    """
    files = [file for file in expand_outside(sources, out).files if file.path]
    if not files:
        raise SourceError("Standard input can't be read by a cluster; name files or folders.")
    require_cluster(cluster)
    with _connected(cluster) as ray:
        try:
            with new_generation(out) as generation, Journal(generation.index, encoder) as journal:
                old = old_index(out)
                tables = [*(old_vectors(old, encoder) if old else ()), journal.old]
                cut = CutFiles(words, passage_tokens(encoder), _known(tables))
                done = 0
                for batch in _encoded(ray, files, cut, make_encoder, cluster.workers):
                    digests = np.asarray(batch["digest"], np.uint8).reshape(-1, DIGEST_BYTES)
                    journal.append(digests, np.asarray(batch["vector"], np.float32))
                    done += len(digests)
                    progress("encoding", done, None)
                return done
        except ray.exceptions.RayError as error:
            reason = [type(error).__name__, *str(error).strip().splitlines()][-1]
            raise SourceError(
                f"Ray failed: {reason}. What came back is kept: run the same command again."
            ) from error


def _encoded(
    ray: Any, files: Sequence[File], cut: CutFiles, make_encoder: Callable[[], WindowedEncoder], workers: int
) -> Iterator[dict[str, Any]]:
    """The blocks that the actors encoded, as they come."""
    rows = [{"path": str(file.path and file.path.resolve()), "id": file.id} for file in files]
    files_of = ray.data.from_items(rows, override_num_blocks=min(len(rows), _MOST_BLOCKS))
    divided = files_of.map_batches(divide, batch_size=1, num_cpus=_DIVIDING)
    encoded = divided.map_batches(cut.texts, batch_size=1, num_cpus=_READING).map_batches(
        EncodeTexts,
        fn_constructor_args=(make_encoder,),
        compute=ray.data.ActorPoolStrategy(size=workers),
        batch_size=_BLOCK,
        num_cpus=1,
        num_gpus=int(ray.cluster_resources().get("GPU", 0) >= workers),
    )
    blocks: Iterator[dict[str, Any]] = iter(encoded.iter_batches(batch_size=None, batch_format="numpy"))
    return blocks


@contextmanager
def _connected(cluster: Cluster) -> Iterator[Any]:
    """Ray, with the cluster. One that was started here, or connected to here, is let go of at the end."""
    try:
        import ray
        import ray.data
    except ModuleNotFoundError as error:
        raise ConfigError(_MISSING.format(error.name)) from None
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.target_max_block_size = _BLOCK_BYTES
    started = not ray.is_initialized()
    try:
        if started:
            here: dict[str, Any] = {
                "num_cpus": cluster.workers + 1,
                "object_store_memory": _STORE_BYTES,
                "include_dashboard": False,
            }
            ray.init(
                address=cluster.address or "local",
                log_to_driver=False,
                logging_level=logging.ERROR,
                **({} if cluster.address else here),
            )
        cores = int(ray.cluster_resources().get("CPU", 0))
        if cores <= cluster.workers:
            raise ConfigError(
                f"The Ray cluster has {cores} cores, and --workers {cluster.workers} needs one more than "
                "that many: one reads."
            )
        yield ray
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        if started and not ray.is_initialized():
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise ConfigError(
                f"The Ray cluster at {cluster.address or 'this machine'} can't be used: {reason}"
            ) from error
        raise
    finally:
        if started:
            ray.shutdown()


def require_cluster(cluster: Cluster) -> None:
    """Raises `ConfigError` where Ray is not installed, or nobody listens at the cluster's address: Ray itself
    waits for a minute, and then may end the process."""
    if find_spec("ray") is None:
        raise ConfigError(_MISSING.format("ray"))
    address = cluster.address
    if address is None or address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal() or not 0 < int(port) <= 65535:
        raise ConfigError(
            f"--address {address} is no address of a Ray cluster: give HOST:PORT as `ray start` printed it, "
            "or `auto`, on a machine of the cluster."
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT).close()
    except OSError as error:
        raise ConfigError(
            f"No Ray cluster answers at {address} ({error.strerror or error}). Start one: ray start --head"
        ) from error


def _known(tables: Sequence[OldVectors]) -> NDArray[np.uint64]:
    """The first halves of the digests of the texts that are encoded, ascending."""
    return np.unique(np.concatenate([table.keys for table in tables]))
