"""`vouch index`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from index_builder.build import Report, build
from index_builder.ray_engine import Cluster, encode_with_ray, require_cluster
from index_builder.sending import send
from index_builder.sources import STDIN, expand, shortened
from proxy.cli.compose import make_encoder, use_runtime
from proxy.cli.progress import shown
from proxy.config.load import load
from proxy.config.settings import Settings
from proxy.errors import RequestError, SourceError
from proxy.retrieval.chunks import WindowedEncoder
from proxy.retrieval.milvus.milvus_search import milvus_place

SHOWN = 20
"""Broken documents that are named; the others are counted."""


def run(
    sources: Sequence[str],
    config: Path | None,
    overrides: dict[str, Any],
    *,
    update: bool = False,
    strict: bool = False,
    cluster: Cluster | None = None,
) -> None:
    """Builds, and says what came of it. With a `cluster` the passages are encoded there before."""
    if update and STDIN in sources:
        raise SourceError("Standard input has no date of change, so --update needs files or folders.")
    if update and cluster:
        raise RequestError("--update reads only what has changed, here: leave --engine ray out.")
    settings = load(config, overrides)
    expand(sources)  # a wrong path is known before the encoder loads
    if cluster:
        require_cluster(cluster)
    encoder = load_encoder(settings)
    if cluster is not None:
        with shown() as progress:
            encode_with_ray(
                sources,
                Path(settings.index.path),
                encoder,
                partial(make_encoder, settings.encoder),
                cluster,
                words=settings.index.words,
                progress=progress,
            )
    report = build_index(sources, settings, encoder, update=update, strict=strict)
    show(Console(highlight=False, soft_wrap=True), report, settings)


def load_encoder(settings: Settings) -> WindowedEncoder:
    """The encoder, and what else a build needs of the process. Raises `ConfigError`."""
    logging.getLogger("pypdf").setLevel(logging.ERROR)
    use_runtime(settings.runtime)
    return make_encoder(settings.encoder)


def build_index(
    sources: Sequence[str],
    settings: Settings,
    encoder: WindowedEncoder,
    *,
    update: bool = False,
    strict: bool = False,
) -> Report:
    """One build as the settings say, its progress shown on standard error. With `retrieval.store: milvus` the
    index goes there too."""
    out, in_milvus = Path(settings.index.path), settings.retrieval.store == "milvus"
    place = milvus_place(settings.retrieval.milvus) if in_milvus else None
    try:
        if place is not None:
            place.connection.ranks_words()  # a server that can't be reached is known before hours of encoding
        with shown() as progress:
            report = build(
                sources,
                out,
                encoder=encoder,
                words=settings.index.words,
                # What Milvus searches needs no other index.
                dense="exact" if in_milvus and settings.index.dense == "auto" else settings.index.dense,
                dimensions=settings.index.dimensions,
                update=update,
                strict=strict,
                progress=progress,
            )
            if place is not None:
                send(out, place, progress)
        return report
    finally:
        if place is not None:
            place.close()


def show(console: Console, report: Report, settings: Settings) -> None:
    """The report, in a few lines."""
    for broken in report.broken[:SHOWN]:
        console.print(Text(f"skipped {broken.source}: {broken.reason}", "yellow"))
    if report.broken_count:
        console.print(
            Text(f"{report.broken_count:,} documents could not be read and were skipped.", "yellow")
        )
    if report.ignored:
        count = len(report.ignored)
        kinds = "file of another kind was" if count == 1 else "files of other kinds were"
        console.print(Text(f"{count:,} {kinds} left out: {shortened(report.ignored)}.", "dim"))
    console.print(
        f"{report.documents:,} documents, {report.passages:,} passages: {report.encoded:,} encoded, "
        f"{report.reused:,} reused, in {report.seconds:.1f} s"
    )
    if report.read < report.documents:
        were = "was" if report.read == 1 else "were"
        console.print(f"Of the documents {report.read:,} {were} read, those of files that had changed")
    if report.dense.kind != "exact":
        cut = f" in their first {report.dense.dimensions} dimensions" if report.dense.dimensions else ""
        console.print(
            f"Vectors are searched by {report.dense.kind}{cut}, which found "
            f"{100 * report.dense.recall:.1f}% of the first ten passages of an exact scan"
        )
    console.print(f"The index is at {settings.index.path}")
    if settings.retrieval.store == "milvus":
        milvus = settings.retrieval.milvus
        console.print(f"and in Milvus at {milvus.uri.rpartition('@')[2]}, by the name {milvus.collection}")
