"""`tune`: the fitted adapter learns minimal pairs that people wrote: all, and all but each fold."""

from __future__ import annotations

import hashlib
import logging
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from proxy.backends.checkers.builtin.claims import Lexicon
from proxy.backends.checkers.builtin.nli import ADAPTER
from proxy.backends.checkers.builtin.reading import Reading
from proxy.backends.checkers.builtin.windows import EvidenceReader
from training.lora import Settings, fit
from training.prepare import DATA_ROWS, Row, excerpted
from training.run import Run, read_rows, write_rows
from training.samples import SOURCES, Sample, Source

log = logging.getLogger("training")

FITTED = "fitted.safetensors"
TUNED = frozenset({"fever_symmetric", "wice"})
"""The sources that are learnt: pairs that differ in little, and whole pages, lest those be unlearnt."""
FOLDS = 5
_EPOCHS = 4
_RATE = 2e-4


def fold_of(sample: Sample) -> int:
    """The fold of a sample of `TUNED`; those of a group share one."""
    return int(hashlib.sha256(sample.group.encode()).hexdigest(), 16) % FOLDS


def fold_adapter(fold: int) -> str:
    """The file of the adapter that learnt all but a fold."""
    return f"adapter-{fold}.safetensors"


def tune(
    run: Run,
    data: Path,
    base: Path,
    settings: Settings,
    lexicon: Lexicon,
    sources: Sequence[Source] = SOURCES,
) -> Path:
    """Tunes the fitted adapter; returns the shipped one. What a fold's adapter says of the fold it has not
    seen is what the calibrated model is fitted on.

    Each epoch has every tuned row, and as many drawn of the labelled rows that the adapter was fitted on.
    """
    start = run.needed(FITTED, "fit")
    settings = tuning_settings(settings)
    tuned = list(_rows(data, lexicon, sources))
    known = read_rows(run.needed(DATA_ROWS, "data"))
    log.info("tune: %d rows", len(tuned))
    for name, fold in ((ADAPTER, None), *((fold_adapter(fold), fold) for fold in range(FOLDS))):
        own = [row for at, row in tuned if at != fold]
        rows = run.path(f"{Path(name).stem}.jsonl")
        write_rows(rows, [*own, *_drawn(known, len(own), settings)])
        fit(run, name, [rows], base, settings, start)
    return run.path(ADAPTER)


def tuning_settings(settings: Settings) -> Settings:
    """Those of the fit, but for the learning rate and the epochs."""
    return replace(settings, rate=_RATE, epochs=_EPOCHS)


def _rows(data: Path, lexicon: Lexicon, sources: Sequence[Source]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows to learn, each with its fold."""
    reading = Reading({"en": lexicon, "zh": lexicon}, EvidenceReader())
    for source in sources:
        for sample in source.read(data / source.path, source) if source.name in TUNED else ():
            pair, label = sample.pair, sample.verdict.value if sample.verdict else "not_supported"
            row = excerpted(Row(pair.claim, pair.evidence, label, source.name, pair.title), reading)
            if row is not None:
                yield fold_of(sample), row


def _drawn(rows: Sequence[Mapping[str, Any]], count: int, settings: Settings) -> Iterator[dict[str, Any]]:
    """Of the rows `count` for each epoch."""
    chance = random.Random(settings.seed)
    for epoch in range(settings.epochs):
        for row in chance.sample(rows, min(count, len(rows))):
            yield {**row, "epoch": epoch}
