"""Writes what ships: the adapter in float16, its manifest, and the small base model beside it."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from proxy.checkers.nli.weights import Manifest
from training.plan import read_plan
from training.recipes import Recipe
from training.run import CALIBRATION, TRAINED, Run, read_json

log = logging.getLogger(__name__)


def export(recipe: Recipe, base: Path, run: Run, folder: Path) -> Path:
    """Writes the weights of a run into a folder, and returns it.

    Raises `TrainingError` where an earlier step was not done.
    """
    manifest = Manifest(
        base=recipe.base,
        hidden=recipe.settings.hidden,
        window_tokens=recipe.settings.served_tokens,
        most_windows=recipe.settings.served_windows,
        pruning=recipe.settings.pruning,
        calibration=read_json(run.needed(CALIBRATION, "calibrate")),
        sources=tuple(read_plan(run).sources),
    )
    adapter = run.needed(TRAINED, "fit")
    folder.mkdir(parents=True, exist_ok=True)
    if recipe.size == "small" and base.resolve() != (folder / recipe.base).resolve():
        shutil.copytree(base, folder / recipe.base, dirs_exist_ok=True)
    shutil.copyfile(adapter, folder / "adapter.safetensors")
    (folder / "manifest.json").write_text(manifest.model_dump_json(indent=1) + "\n", encoding="utf-8")
    log.info("export: %s", folder)
    return folder
