"""The steps of the command line, one function each."""

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

from proxy.checkers.builtin import builtin_weights as packaged
from proxy.checkers.builtin.claim_view import Lexicon
from proxy.checkers.builtin.nli import ADAPTERS, BASES, NLI, base_folder
from proxy.model_files import find_model, model_checksum
from proxy.types import LANGUAGES, Language
from training.calibrate import Reader, make_weights, render, word_weights
from training.lora import Settings
from training.lora import fit as fit_adapter
from training.prepare import (
    CHINESE_ROWS,
    DATA_ROWS,
    DRAWN_ROWS,
    MADE_ROWS,
    draw_english,
    prepare_chinese,
    prepare_data,
    prepare_made,
)
from training.run import Run, TrainingError, file_checksum, open_run, read_rows
from training.samples import CORPORA, Sample, Source
from training.tuning import FITTED, FOLDS, TUNINGS, fold_adapter, fold_of, tuning_settings
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
"""How the package's own adapters are fitted. Without dropout, which on a CPU takes as long as the rest."""
_CHINESE: Mapping[str, Any] = {"rank": 16, "alpha": 32.0, "epochs": 1}
"""What is otherwise for the Chinese one."""
ROWS: Mapping[Language, tuple[str, ...]] = {
    "en": (DATA_ROWS, MADE_ROWS),
    "zh": (CHINESE_ROWS, DRAWN_ROWS),
}
"""What the adapters are fitted on."""


def data(options: argparse.Namespace) -> None:
    """The step `data`."""
    prepare_data(open_run(options.run), options.data, _lexicon(options.data, "en"))


def augment(options: argparse.Namespace) -> None:
    """The step `augment`."""
    run = open_run(options.run)
    for language in _languages(options):
        lexicon = _lexicon(options.data, language)
        if language == "zh":
            prepare_chinese(run, options.data, lexicon)
        else:
            prepare_made(run, options.data, lexicon, settings_of(options, language).epochs)


def fit(options: argparse.Namespace) -> None:
    """The step `fit`."""
    run = open_run(options.run)
    for language in _languages(options):
        if language == "zh":
            draw_english(run)
        rows = [run.needed(name, "augment") for name in ROWS[language]]
        fit_adapter(run, FITTED[language], rows, _base(options, language), settings_of(options, language))


def tune(options: argparse.Namespace) -> None:
    """The step `tune`."""
    run = open_run(options.run)
    for language in _languages(options):
        lexicon = _lexicon(options.data, language)
        base, settings = _base(options, language), settings_of(options, language)
        tune_adapter(run, language, options.data, base, settings, lexicon)


def calibrate(options: argparse.Namespace) -> None:
    """The step `calibrate`. A language that is not asked for stays as the package has it."""
    run = open_run(options.run)
    readers = {language: _reader(run, options, language) for language in _languages(options)}
    came_of = {language: _came_of(run, options, language) for language in readers}
    weights = make_weights(options.data, readers, came_of, _packaged())
    run.path(WEIGHTS).write_text(render(weights), encoding="utf-8")
    log.info("calibrate: %s", run.path(WEIGHTS))


def _reader(run: Run, options: argparse.Namespace, language: Language) -> Reader:
    base = _base(options, language)
    shipped = NLI(base, run.needed(ADAPTERS[language], "tune"))
    folds = [NLI(base, run.needed(fold_adapter(language, fold), "tune")) for fold in range(FOLDS)]

    def reader(source: Source, sample: Sample) -> NLI:
        return folds[fold_of(sample)] if source.name in TUNINGS[language].sources else shipped

    return reader


def _came_of(run: Run, options: argparse.Namespace, language: Language) -> dict[str, Any]:
    settings = settings_of(options, language)
    rows = [run.needed(name, "augment") for name in ROWS[language]]
    return {
        "sha256": file_checksum(run.needed(ADAPTERS[language], "tune")),
        "base": {"name": _base_name(options, language), "sha256": model_checksum(_base(options, language))},
        "settings": asdict(settings),
        "tuning": asdict(tuning_settings(settings)),
        "rows": {path.name: file_checksum(path) for path in rows},
    }


def _packaged() -> dict[str, Any]:
    weights: dict[str, Any] = json.loads(
        resources.files(packaged.__package__).joinpath(WEIGHTS).read_text(encoding="utf-8")
    )
    return weights


def make(options: argparse.Namespace) -> None:
    """All steps up to the calibrated model."""
    for step in (data, augment, fit, tune, calibrate):
        step(options)


def export(options: argparse.Namespace) -> None:
    """The step `export`."""
    run = open_run(options.run)
    package = Path(str(resources.files(packaged.__package__)))
    steps = {**{ADAPTERS[language]: "tune" for language in _languages(options)}, WEIGHTS: "calibrate"}
    for name, step in steps.items():
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


def settings_of(options: argparse.Namespace, language: Language) -> Settings:
    """The shipped settings with what the command line says otherwise."""
    given: dict[str, Any] = {
        name: value for name in asdict(SHIPPED) if (value := getattr(options, name, None)) is not None
    }
    if "targets" in given:
        given["targets"] = tuple(given["targets"])
    return replace(SHIPPED, **{**(_CHINESE if language == "zh" else {}), **given})


def _languages(options: argparse.Namespace) -> tuple[Language, ...]:
    return (options.language,) if options.language else LANGUAGES


def _base_name(options: argparse.Namespace, language: Language) -> str:
    name: str = options.base if language == "en" else options.chinese_base
    return name


def _base(options: argparse.Namespace, language: Language) -> Path:
    name = _base_name(options, language)
    return base_folder(language) if name == BASES[language] else find_model(name)


def _lexicon(folder: Path, language: Language) -> Lexicon:
    corpus = folder / CORPORA[language]
    if not corpus.is_file():
        raise TrainingError(f"{corpus} is not there.")
    return Lexicon.of(*word_weights([row["text"] for row in read_rows(corpus)], language))
