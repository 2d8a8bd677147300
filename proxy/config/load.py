"""config.yaml and the environment to frozen `Settings`. Everything wrong is named, with what to do."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from proxy.config.settings import Settings
from proxy.errors import ConfigError
from proxy.types import Json

PREFIX = "VOUCH_"
CONFIG_VARIABLE = "VOUCH_CONFIG"
DEFAULT_FILE = Path("config.yaml")

_CREDENTIALS = re.compile(r"//[^/@\s]+@")
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def load(
    path: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Settings:
    """The effective settings: defaults, under the file, under `VOUCH_SECTION__KEY`, under `overrides`.

    Without `path` the file is the one that `VOUCH_CONFIG` names, else `config.yaml` in the current folder
    where there is one. `overrides` has the shape of the file. Raises `ConfigError`.
    """
    path = path or (Path(environ[CONFIG_VARIABLE]) if environ.get(CONFIG_VARIABLE) else None)
    if path is None and DEFAULT_FILE.is_file():
        path = DEFAULT_FILE
    tree = merge(Settings().model_dump(mode="json"), read(path) if path else {})
    tree = merge(tree, from_environment(environ))
    tree = merge(tree, overrides or {})
    return validate(resolve(tree, environ), source=str(path) if path else "the settings")


def read(path: Path) -> Json:
    """The mapping in a YAML file."""
    try:
        tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"No such file: {path}. Name one with --config.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"Can't read {path}: {error}") from error
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"{path} is not valid YAML: {reason}") from error
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise ConfigError(f"{path} must hold sections (server:, upstreams:, …), not a {type(tree).__name__}.")
    return tree


def from_environment(environ: Mapping[str, str]) -> Json:
    """`VOUCH_SERVER__PORT=9000` to `{"server": {"port": 9000}}`; values are read as YAML.

    A number addresses a list: `VOUCH_UPSTREAMS__0__API_BASE`.
    """
    tree: Json = {}
    for name, value in sorted(environ.items()):
        if not name.startswith(PREFIX) or name == CONFIG_VARIABLE:
            continue
        *parents, key = name.removeprefix(PREFIX).lower().split("__")
        node = tree
        for parent in parents:
            node = node.setdefault(parent, {})
            if not isinstance(node, dict):
                raise ConfigError(f"{name} sets a key inside a value that another variable sets.")
        try:
            node[key] = yaml.safe_load(value)
        except yaml.YAMLError:
            node[key] = value
    return tree


def merge(under: Any, over: Any) -> Any:
    """`over` laid upon `under`: mappings key by key, a list by index where `over` maps indices."""
    if isinstance(under, list) and isinstance(over, Mapping) and all(str(key).isdigit() for key in over):
        merged = list(under)
        for index, value in sorted((int(key), value) for key, value in over.items()):
            if index > len(merged):
                raise ConfigError(f"There is no entry {index} in a list of {len(merged)}.")
            merged[index : index + 1] = [merge(merged[index], value) if index < len(merged) else value]
        return merged
    if isinstance(under, Mapping) and isinstance(over, Mapping):
        return {**under, **{key: merge(under[key], over[key]) if key in under else over[key] for key in over}}
    return over


def resolve(tree: Any, environ: Mapping[str, str], path: str = "") -> Any:
    """`${NAME}` and `${NAME:-default}` in strings filled in from the environment."""
    if isinstance(tree, Mapping):
        return {
            key: resolve(value, environ, f"{path}.{key}" if path else str(key)) for key, value in tree.items()
        }
    if isinstance(tree, list):
        return [resolve(value, environ, f"{path}.{index}") for index, value in enumerate(tree)]
    if not isinstance(tree, str):
        return tree

    def value_of(match: re.Match[str]) -> str:
        name, default = match.groups()
        if environ.get(name):
            return environ[name]
        if default is not None:
            return default
        raise ConfigError(
            f"{path} needs the environment variable {name}, which is not set. Set it, or edit {path}."
        )

    return _REFERENCE.sub(value_of, tree)


def validate(tree: Json, source: str = "the settings") -> Settings:
    """Settings out of a merged tree; the first thing wrong is named."""
    try:
        return Settings.model_validate(tree)
    except ValidationError as error:
        lines = [explain(detail) for detail in error.errors()]
        raise ConfigError(f"In {source}: " + "; ".join(lines[:5])) from None


def explain(detail: ErrorDetails) -> str:
    """One pydantic error as a sentence that names the key and, for an unknown one, the nearest there is."""
    path = ".".join(str(part) for part in detail["loc"])
    if detail["type"] == "extra_forbidden":
        known = fields_at(Settings, detail["loc"][:-1])
        near = difflib.get_close_matches(str(detail["loc"][-1]), known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
        return f"unknown key {path!r}; {hint}"
    message = detail["msg"].removeprefix("Value error, ")
    return f"{path}: {message}" if path else message


def fields_at(model: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    """Names of the fields of the section that `path` leads to."""
    for part in path:
        if isinstance(part, int):
            continue
        annotation = model.model_fields[part].annotation
        candidates = [annotation, *getattr(annotation, "__args__", ())]
        model = next(c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel))
    return list(model.model_fields)


def dump(settings: Settings) -> str:
    """The settings as YAML, secrets and credentials in URLs masked."""
    text = yaml.safe_dump(settings.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    return _CREDENTIALS.sub("//**********@", text)
