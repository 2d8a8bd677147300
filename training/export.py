"""Writes what ships: the adapter in float16, its manifest, and the small base model beside it."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping
from pathlib import Path

from proxy.checkers.nli.weights import Manifest
from training.fit import rows_learnt
from training.plan import read_plan
from training.recipes import Recipe
from training.run import BEGUN, BEGUN_MANIFEST, CALIBRATION, TRAINED, Run, read_json

log = logging.getLogger(__name__)


def export(recipe: Recipe, base: Path, run: Run, folder: Path) -> Path:
    """Writes the weights of a run into a folder, and returns it. The manifest says what all passes learnt:
    those that led to the weights that the run began with, and the run.

    Raises `TrainingError` where an earlier step was not done.
    """
    manifest = Manifest(
        base=recipe.base,
        hidden=recipe.settings.hidden,
        window_tokens=recipe.settings.served_tokens,
        most_windows=recipe.settings.served_windows,
        pruning=recipe.settings.pruning,
        calibration=read_json(run.needed(CALIBRATION, "calibrate")),
        sources=_sources(run),
    )
    adapter = run.needed(TRAINED, "fit")
    folder.mkdir(parents=True, exist_ok=True)
    if recipe.size == "small" and base.resolve() != (folder / recipe.base).resolve():
        shutil.copytree(base, folder / recipe.base, dirs_exist_ok=True)
    shutil.copyfile(adapter, folder / "adapter.safetensors")
    (folder / "manifest.json").write_text(manifest.model_dump_json(indent=1) + "\n", encoding="utf-8")
    log.info("export: %s", folder)
    return folder


def _sources(run: Run) -> tuple[Mapping[str, str | int], ...]:
    """The sources of all passes. Of a run that ended early, `rows` is the share that it reached."""
    plan, learnt = read_plan(run), rows_learnt(run)
    share = min(1.0, learnt / plan.rows)
    own = [{**source, "rows": round(int(source["rows"]) * share)} for source in plan.sources]
    if not run.path(BEGUN).exists():
        return tuple(own)
    before: list[dict[str, str | int]] = []
    if run.path(BEGUN_MANIFEST).exists():
        before = read_json(run.path(BEGUN_MANIFEST))["sources"]
    number = max((int(source.get("pass", 1)) for source in before), default=1) + 1
    return (*before, *({**source, "pass": number} for source in own))
