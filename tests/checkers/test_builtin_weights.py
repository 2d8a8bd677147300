"""The weights of the built-in checker: a file that can't be used is said so at start."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest

from proxy.checkers.builtin.builtin_weights import load_weights
from proxy.errors import ConfigError


@pytest.mark.parametrize("broken", ["", "{", "[]", "{}", '{"seed": 7, "languages": {}}'])
def test_broken_weights_are_a_config_error(tmp_path: Path, broken: str) -> None:
    file = tmp_path / "weights.json"
    file.write_text(broken)
    with pytest.raises(ConfigError, match="weights"):
        load_weights(file)


def test_missing_weights_are_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"weights.*No such file"):
        load_weights(tmp_path / "none.json")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.0])
def test_a_weight_that_is_no_number_or_scale_is_a_config_error(tmp_path: Path, value: float) -> None:
    weights = json.loads(
        resources.files("proxy.checkers.builtin").joinpath("weights.json").read_text(encoding="utf-8")
    )
    weights["languages"]["en"]["model"]["regression"]["scales"][0] = value
    file = tmp_path / "weights.json"
    file.write_text(json.dumps(weights))
    with pytest.raises(ConfigError):
        load_weights(file)
