"""`tune`: a fitted adapter learns labelled sets that rules don't make: all rows, and all but each fold."""

from __future__ import annotations

import hashlib
import logging
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from proxy.checkers.builtin.claim_view import Lexicon
from proxy.checkers.builtin.evidence_windows import EvidenceReader
from proxy.checkers.builtin.nli import ADAPTERS
from proxy.checkers.builtin.pair_view import Reading
from proxy.types import Language
from training.lora import Settings, fit
from training.prepare import CHINESE_ROWS, DATA_ROWS, Row, excerpted
from training.run import Run, read_rows, write_rows
from training.samples import SOURCES, Sample, Source

log = logging.getLogger("training")

FITTED: Mapping[Language, str] = {"en": "fitted-en.safetensors", "zh": "fitted-zh.safetensors"}
FOLDS = 5
_EPOCHS = 4
_RATE = 2e-4


@dataclass(frozen=True, slots=True)
class Tuning:
    """What a language's adapter learns last: the rows of `sources`, and for each of them in each epoch
    `again` drawn of those that it was fitted on, in the file `known`: lest they be unlearnt."""

    sources: frozenset[str]
    known: str
    again: float


TUNINGS: Mapping[Language, Tuning] = {
    "en": Tuning(frozenset({"fever_symmetric", "wice"}), DATA_ROWS, 1.0),
    "zh": Tuning(frozenset({"citecheck"}), CHINESE_ROWS, 0.5),
}
"""In English pairs that differ in little, and whole pages; in Chinese citations."""


def fold_of(sample: Sample) -> int:
    """The fold of a tuned sample; those of a group share one."""
    return int(hashlib.sha256(sample.group.encode()).hexdigest(), 16) % FOLDS


def fold_adapter(language: Language, fold: int) -> str:
    """The file of the adapter that learnt all but a fold."""
    return f"adapter-{language}-{fold}.safetensors"


def tune(
    run: Run,
    language: Language,
    data: Path,
    base: Path,
    settings: Settings,
    lexicon: Lexicon,
    sources: Sequence[Source] = SOURCES,
) -> Path:
    """Tunes the fitted adapter; returns the shipped one. What a fold's adapter says of the fold it has not
    seen is what the calibrated model is fitted on."""
    start, tuning = run.needed(FITTED[language], "fit"), TUNINGS[language]
    settings = tuning_settings(settings)
    named = [source for source in sources if source.language == language and source.name in tuning.sources]
    tuned = list(_rows(data, lexicon, named))
    known = read_rows(run.needed(tuning.known, "data"))
    log.info("tune: %s: %d rows", language, len(tuned))
    adapters = [(ADAPTERS[language], None), *((fold_adapter(language, fold), fold) for fold in range(FOLDS))]
    for name, fold in adapters:
        own = [row for index, row in tuned if index != fold]
        rows = run.path(f"{Path(name).stem}.jsonl")
        write_rows(rows, [*own, *_drawn(known, int(tuning.again * len(own)), settings)])
        fit(run, name, [rows], base, settings, start)
    return run.path(ADAPTERS[language])


def tuning_settings(settings: Settings) -> Settings:
    """Those of the fit, but for the learning rate and the epochs."""
    return replace(settings, rate=_RATE, epochs=_EPOCHS)


def _rows(data: Path, lexicon: Lexicon, sources: Sequence[Source]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows to learn, each with its fold."""
    reading = Reading({"en": lexicon, "zh": lexicon}, EvidenceReader(), always_before=True)
    for source in sources:
        for sample in source.read(data / source.path, source):
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
