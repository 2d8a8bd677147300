"""What each step of the command line does."""

from __future__ import annotations

import argparse
import json
import logging
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from importlib import resources
from pathlib import Path
from typing import Any

from proxy.backends.checkers.builtin import model as packaged
from proxy.backends.checkers.builtin.claims import Lexicon
from proxy.backends.checkers.builtin.nli import ADAPTER, NLI
from proxy.backends.models import find_model, model_checksum
from training.calibrate import make_weights, render
from training.lexicon import word_weights
from training.lora import Settings
from training.lora import fit as fit_adapter
from training.prepare import CORPUS, DATA_ROWS, MADE_ROWS, prepare_data, prepare_made
from training.run import TrainingError, file_checksum, open_run, read_rows
from training.samples import Sample, Source
from training.tuning import FITTED, FOLDS, TUNED, fold_adapter, fold_of, tuning_settings
from training.tuning import tune as tune_adapter

log = logging.getLogger("training")

WEIGHTS = "weights.json"

_SUPPORT = "rows accuracy balanced_accuracy recall_supported recall_not_supported auc ece".split()
_CONTRADICTION = "rows contradicted rule_recall rule_precision recall precision".split()

SHIPPED = Settings(
    rank=32,
    alpha=64.0,
    dropout=0.0,
    hidden_dropout=0.0,
    rate=5e-4,
    epochs=2,
    batch_tokens=2048,
    longest=192,
    seed=7,
)
"""How the package's own adapter is fitted. Without dropout, which on a CPU takes as long as all the rest."""


def data(options: argparse.Namespace) -> None:
    """The step `data`."""
    prepare_data(open_run(options.run), options.data, _lexicon(options.data))


def augment(options: argparse.Namespace) -> None:
    """The step `augment`."""
    epochs = settings_of(options).epochs
    prepare_made(open_run(options.run), options.data, _lexicon(options.data), epochs)


def fit(options: argparse.Namespace) -> None:
    """The step `fit`."""
    run = open_run(options.run)
    rows = [run.needed(DATA_ROWS, "data"), run.needed(MADE_ROWS, "augment")]
    fit_adapter(run, FITTED, rows, find_model(options.base), settings_of(options))


def tune(options: argparse.Namespace) -> None:
    """The step `tune`."""
    run, base = open_run(options.run), find_model(options.base)
    tune_adapter(run, options.data, base, settings_of(options), _lexicon(options.data))


def calibrate(options: argparse.Namespace) -> None:
    """The step `calibrate`."""
    run = open_run(options.run)
    adapter = run.needed(ADAPTER, "tune")
    rows = [run.needed(DATA_ROWS, "data"), run.needed(MADE_ROWS, "augment")]
    base, settings = find_model(options.base), settings_of(options)
    shipped = NLI(base, adapter)
    folds = [NLI(base, run.needed(fold_adapter(fold), "tune")) for fold in range(FOLDS)]

    def reader(source: Source, sample: Sample) -> NLI:
        return folds[fold_of(sample)] if source.name in TUNED else shipped

    came_of = {
        "sha256": file_checksum(adapter),
        "base": {"name": options.base, "sha256": model_checksum(base)},
        "settings": asdict(settings),
        "tuning": asdict(tuning_settings(settings)),
        "rows": {path.name: file_checksum(path) for path in rows},
    }
    weights = make_weights(options.data, reader, came_of)
    run.path(WEIGHTS).write_text(render(weights), encoding="utf-8")
    log.info("calibrate: %s", run.path(WEIGHTS))


def make(options: argparse.Namespace) -> None:
    """All steps up to the calibrated model."""
    for step in (data, augment, fit, tune, calibrate):
        step(options)


def export(options: argparse.Namespace) -> None:
    """The step `export`."""
    run = open_run(options.run)
    package = Path(str(resources.files(packaged.__package__)))
    for name, step in ((ADAPTER, "tune"), (WEIGHTS, "calibrate")):
        shutil.copyfile(run.needed(name, step), package / name)
        log.info("export: %s", package / name)


def report(options: argparse.Namespace) -> None:
    """The step `report`: the figures as Markdown, by cross validation."""
    weights = json.loads(open_run(options.run).needed(WEIGHTS, "calibrate").read_text(encoding="utf-8"))
    languages: Mapping[str, Any] = weights["languages"]
    support = {language: model["figures"] for language, model in languages.items()}
    against = {
        language: (model["contradiction"] or {}).get("figures", {}) for language, model in languages.items()
    }
    sys.stdout.write(f"{_table(_SUPPORT, support)}\n{_table(_CONTRADICTION, against)}")


def _table(columns: Sequence[str], figures: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """Figures by language and source as a table."""
    names = [name.replace("_", " ") for name in columns]
    lines = [f"| | {' | '.join(names)} |", "|---" * (len(columns) + 1) + "|"]
    lines += [
        f"| {source} ({language}) | {' | '.join(f'{row[name]:g}' for name in columns)} |"
        for language, sources in figures.items()
        for source, row in sources.items()
    ]
    return "\n".join(lines) + "\n"


def settings_of(options: argparse.Namespace) -> Settings:
    """The shipped settings with what the command line says otherwise."""
    given: dict[str, Any] = {
        name: value for name in asdict(SHIPPED) if (value := getattr(options, name, None)) is not None
    }
    if "targets" in given:
        given["targets"] = tuple(given["targets"])
    return replace(SHIPPED, **given)


def _lexicon(folder: Path) -> Lexicon:
    corpus = folder / CORPUS
    if not corpus.is_file():
        raise TrainingError(f"{corpus} is not there.")
    idf, rarest = word_weights([row["text"] for row in read_rows(corpus)], "en")
    return Lexicon({word: float(value) for value, words in idf.items() for word in words.split()}, rarest)
