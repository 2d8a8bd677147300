"""Encodes the passages of sources on a Ray cluster, before a build that then finds all vectors there.

Encoding is nearly all of a build's work. Here Ray Data reads and cuts files and encodes their passages, in
actors that load the model once; the vectors come back as they are ready and go to the journal of unfinished
builds (`unfinished`). The build that follows reads and cuts the sources again, in order, and takes the
vectors over. So it writes the same passages, ids and manifest as without Ray, and whatever ends a run, the
next one encodes only what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from index_builder.build import Progress
from index_builder.changes import expand_outside, old_index
from index_builder.documents import BrokenDocument
from index_builder.sources import File, Sources, documents
from index_builder.unfinished import Journal
from index_builder.vectors import DIGEST_BYTES, OldVectors, digests_of, old_vectors
from proxy.errors import ConfigError, SourceError
from proxy.retrieval.chunks import WindowedEncoder, chunk, passage_tokens
from proxy.retrieval.corpus import encoded_text
from proxy.retrieval.generation import new_generation

_BLOCK = 512
"""Passages that are encoded in one call of an actor: what the death of a worker costs."""


class CutFiles:
    """A stage of Ray Data: rows of files to blocks of texts that are not encoded yet."""

    def __init__(self, words: int, max_tokens: int, known: NDArray[np.uint64]) -> None:
        self._words = words
        self._max_tokens = max_tokens
        self._known = known

    def __call__(self, batch: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Files by `path` and `id`, to blocks of `text`. A document that is broken is left out: the build
        tells of it."""
        files = tuple(File(Path(path), id_) for path, id_ in zip(batch["path"], batch["id"], strict=True))
        texts = self._texts(Sources(files))
        while block := list(islice(texts, _BLOCK)):
            keys = digests_of(block)[:, :8].copy().view("<u8").ravel()
            new = [text for text, key in zip(block, keys, strict=True) if not self._is_known(key)]
            if new:
                yield {"text": np.array(new, dtype=object)}

    def _texts(self, sources: Sources) -> Iterator[str]:
        for document in documents(sources):
            if not isinstance(document, BrokenDocument):
                for passage in chunk(document, words=self._words, max_tokens=self._max_tokens):
                    yield encoded_text(passage)

    def _is_known(self, key: np.uint64) -> bool:
        place = int(np.searchsorted(self._known, key))
        return place < len(self._known) and self._known[place] == key


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
    *,
    words: int,
    workers: int,
    address: str | None,
    progress: Progress,
) -> int:
    """Puts the vectors of all passages that are not encoded yet into the journal of the index at `out`.
    Returns how many.

    Args:
        sources: as in `index_builder.sources.expand`; each machine must have them under the same paths.
        out: the index's folder, on this machine.
        encoder: tells what the vectors must be made with; it encodes nothing.
        make_encoder: makes the same encoder in an actor.
        words: words per passage, about, as in the build that follows.
        workers: actors that encode; each on a GPU of its own where the cluster has as many.
        address: of the cluster (`HOST:6379`, `auto`, `ray://HOST:10001`); None starts one on this machine.
        progress: called with the number of passages that came back.

    Raises:
        SourceError: a source does not exist, or is standard input; or the cluster failed.
        ConfigError: ray is not installed, the cluster can't be reached, or `out` can't be written.
    """
    try:
        import ray
        import ray.data
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"--engine ray needs Ray ({error.name} is missing): pip install 'vouch[ray]'."
        ) from None
    files = [file for file in expand_outside(sources, out).files if file.path]
    if not files:
        raise SourceError("Standard input can't be read by a cluster; name files or folders.")
    started = not ray.is_initialized()
    if started:
        try:
            ray.init(
                address=address, log_to_driver=False, include_dashboard=False if address is None else None
            )
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            raise ConfigError(f"The Ray cluster {address or ''} can't be used: {error}") from error
    try:
        with new_generation(out) as generation, Journal(generation.index, encoder) as journal:
            old = old_index(out)
            tables = [*(old_vectors(old, encoder) if old else ()), journal.old]
            cut = CutFiles(words, passage_tokens(encoder), _known(tables))
            gpus = int(ray.cluster_resources().get("GPU", 0) >= workers)
            rows = [{"path": str(file.path and file.path.resolve()), "id": file.id} for file in files]
            encoded = (
                ray.data.from_items(rows, override_num_blocks=min(len(rows), 4096))
                .map_batches(cut.__call__, batch_size=1)
                .map_batches(
                    EncodeTexts,
                    fn_constructor_args=(make_encoder,),
                    concurrency=workers,
                    batch_size=_BLOCK,
                    num_gpus=gpus,
                )
            )
            done = 0
            for batch in encoded.iter_batches(batch_size=None, batch_format="numpy"):
                journal.append(
                    np.asarray(batch["digest"], np.uint8).reshape(-1, DIGEST_BYTES),
                    np.asarray(batch["vector"], np.float32),
                )
                done += len(batch["digest"])
                progress("encoding", done, None)
            return done
    except ray.exceptions.RayError as error:
        reason = str(error).strip().splitlines()
        raise SourceError(
            f"Ray failed: {reason[-1] if reason else type(error).__name__}. What came back is kept: run the "
            "same command again."
        ) from error
    finally:
        if started:
            ray.shutdown()


def _known(tables: Sequence[OldVectors]) -> NDArray[np.uint64]:
    """The first halves of the digests of the texts that are encoded, ascending."""
    return np.unique(np.concatenate([table.keys for table in tables]))
