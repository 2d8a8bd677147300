"""Reads `config.yaml` and the environment into frozen `Settings`.

Errors name the key, or the environment variable, and say what it may be.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from proxy.config.masked import FromVariable
from proxy.config.merge import Spelled, inner_section, merge
from proxy.config.settings import Settings
from proxy.config.wrong_values import nearest, problem, shown
from proxy.errors import ConfigError
from proxy.types import Json

PREFIX = "VOUCH_"
CONFIG_VARIABLE = "VOUCH_CONFIG"
DEFAULT_FILE = Path("config.yaml")

MAX_ERRORS = 5

_SERVICE_LINK = re.compile(
    r"VOUCH_(?:[A-Z0-9]+_)*?"
    r"(?:SERVICE_HOST=|SERVICE_PORT(?:_[A-Z0-9]+)*=|PORT_\d+_(?:TCP|UDP|SCTP)(?:_[A-Z]+)?=|PORT=(?:tcp|udp|sctp)://)"
)
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def load(
    path: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Settings:
    """The effective settings. Later sources win: defaults, file, `VOUCH_SECTION__KEY` variables, `overrides`.

    What no source gives has its default, or follows from what they give together.

    Args:
        path: the file. Without it, the one that `VOUCH_CONFIG` names, or `config.yaml` in the current folder
            if there is one.
        overrides: a tree of the file's shape, from the command line.
        environ: the environment variables.

    Raises:
        ConfigError: a setting is unknown or wrong, or the file can't be read.
    """
    path = path or (Path(environ[CONFIG_VARIABLE]) if environ.get(CONFIG_VARIABLE) else None)
    if path is None and DEFAULT_FILE.is_file():
        path = DEFAULT_FILE
    tree: Json = {}
    for source in (read(path) if path else {}, from_environment(environ), overrides or {}):
        tree = merge(tree, source)
    return validate(resolve(tree, environ), str(path) if path else "the settings", environ)


def read(path: Path) -> Json:
    """The sections in a YAML file. Raises `ConfigError`."""
    try:
        tree = _Loader(path.read_text(encoding="utf-8")).get_single_data()
    except FileNotFoundError:
        raise ConfigError(f"No such file: {path}. Name one with --config.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"Can't read {path}: {error}") from error
    except RecursionError:
        raise ConfigError(f"{path} is not valid YAML for settings: it is nested too deeply.") from None
    except (yaml.YAMLError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"{path} is not valid YAML: {reason}") from error
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise ConfigError(
            f"{path} must hold sections (server:, upstreams:, …), but its content is {shown(tree)}."
        )
    return tree


class _Loader(yaml.SafeLoader):
    """A loader that refuses a mapping with the same key twice, of which YAML would keep the last, and a value
    that contains itself."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._open: list[str] = []

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Whatever comes next, unless it refers to a value that it is a part of."""
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) and event.anchor in self._open:
            line = event.start_mark.line + 1 if event.start_mark else "?"
            raise yaml.YAMLError(f"*{event.anchor} in line {line} refers to a value that it is a part of")
        self._open.append(getattr(event, "anchor", None) or "")
        node = super().compose_node(parent, index)
        self._open.pop()
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """The mapping as it is written, before keys are merged into it."""
        node = super().compose_mapping_node(anchor)
        seen: dict[str, yaml.Node] = {}
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            first = seen.setdefault(key.value, key)
            if first is not key:
                lines = f"lines {first.start_mark.line + 1} and {key.start_mark.line + 1}"
                raise yaml.YAMLError(f"the key {key.value} is there twice, in {lines}; keep one")
        return node


def from_environment(environ: Mapping[str, str]) -> Json:
    """The tree that the variables spell: `VOUCH_SERVER__PORT=9000` is `{"server": {"port": 9000}}`.

    Values are read as YAML. A number names an entry of a list: `VOUCH_UPSTREAMS__0__API_BASE`.
    """
    tree = Spelled()
    for name, value in sorted(environ.items()):
        if not _is_setting(name, value):
            continue
        *parents, key = path_of(name)
        node: Json = tree
        for parent in parents:
            node = node.setdefault(parent, Spelled())
            if not isinstance(node, dict):
                raise ConfigError(
                    f"{name} sets a key of a section that another variable sets as a whole. Unset one."
                )
        try:
            node[key] = _Loader(value).get_single_data()
        except (yaml.YAMLError, ValueError, RecursionError):
            node[key] = value
    return tree


def _is_setting(name: str, value: str) -> bool:
    """Whether a variable sets a setting. Kubernetes gives each pod variables that are called after the
    services of its namespace: for one that is named vouch, or vouch-web, they begin as ours do."""
    if not name.startswith(PREFIX) or name == CONFIG_VARIABLE:
        return False
    return not _SERVICE_LINK.match(f"{name}={value}")


def path_of(variable: str) -> tuple[str, ...]:
    """The keys that an environment variable leads to: `VOUCH_SERVER__PORT` to `("server", "port")`."""
    return tuple(variable.removeprefix(PREFIX).lower().split("__"))


def resolve(tree: Any, environ: Mapping[str, str], path: str = "") -> Any:
    """The tree with `${NAME}` and `${NAME:-default}` in its strings replaced by environment variables."""
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
            f"{path} refers to the environment variable {name}, which is not set. Set it, or edit {path}."
        )

    text = _REFERENCE.sub(value_of, tree)
    used = any(environ.get(match[1]) for match in _REFERENCE.finditer(tree))
    return FromVariable(text) if used else text


def validate(
    tree: Json, source: str = "the settings", environ: Mapping[str, str] = MappingProxyType({})
) -> Settings:
    """The settings of a merged tree.

    Raises:
        ConfigError: names up to five wrong keys, each by the variable of `environ` that set it, if one did.
    """
    try:
        return Settings.model_validate(tree)
    except ValidationError as error:
        variables = {path_of(name): name for name, value in environ.items() if _is_setting(name, value)}
        raise ConfigError(
            f"In {source}: " + "; ".join(explain(error.errors(), variables)[:MAX_ERRORS])
        ) from None


def explain(errors: Sequence[ErrorDetails], variables: Mapping[tuple[str, ...], str]) -> list[str]:
    """One sentence per wrong key, out of pydantic's errors.

    `variables` are the names of the environment variables by the path of keys that they set.
    """
    wrong: dict[tuple[str, ...], list[ErrorDetails]] = {}
    for detail in errors:
        wrong.setdefault(_section(detail["loc"])[0], []).append(detail)
    # Pydantic leaves wrong entries out of a list, and may then find the list too short.
    parents = {path[:length] for path in wrong for length in range(len(path))}
    return [
        f"{_name(path, variables)} {_problem(path, details, variables)}".strip()
        for path, details in wrong.items()
        if path not in parents or details[0]["type"] != "too_short"
    ]


def _problem(
    path: tuple[str, ...], details: Sequence[ErrorDetails], variables: Mapping[tuple[str, ...], str]
) -> str:
    """What is wrong with the value at `path`. One that may have several types has an error for each."""
    first = details[0]
    if first["type"] == "extra_forbidden":
        return f"is an unknown key; {_known(path, first, variables)}"
    if first["type"] == "missing" and len(path) < len(first["loc"]):
        return "has too few entries"
    return problem(details, secret=any("key" in part for part in path))


def _known(path: tuple[str, ...], detail: ErrorDetails, variables: Mapping[tuple[str, ...], str]) -> str:
    """What may have been meant; for a key that is the end of a variable's name, the name of another one."""
    fields = list(_section(detail["loc"])[1].model_fields)
    if path not in variables:
        return nearest(path[-1], fields, "did you mean")
    variable, known = variables[path], variables_of(Settings)
    if len(path) > 1:
        known = [_sibling(variable, key) for key in fields]
    same_key = [name for name in known if name.endswith(f"__{path[-1].upper()}")]
    near = same_key or difflib.get_close_matches(variable, known, n=1, cutoff=0.65)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"


def _sibling(variable: str, key: str) -> str:
    return f"{variable.rpartition('__')[0]}__{key.upper()}"


def variables_of(section: type[BaseModel], prefix: str = PREFIX) -> list[str]:
    """The environment variables that set the values of a section and of those in it, and `VOUCH_CONFIG`."""
    names = [CONFIG_VARIABLE] if prefix == PREFIX else []
    for key, field in section.model_fields.items():
        name = f"{prefix}{key.upper()}"
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            names += variables_of(kind, f"{name}__")
        else:
            names.append(name)
    return names


def _section(location: tuple[int | str, ...]) -> tuple[tuple[str, ...], type[BaseModel]]:
    """The keys that an error's location names, and the section that holds the last of them.

    Pydantic also puts the type that it tried into a location, as in `("retrieval", "threshold", "float")`:
    whatever follows a plain value is left out.
    """
    path: list[str] = []
    section: type[BaseModel] = Settings
    for part in location:
        path.append(str(part))
        if isinstance(part, int):
            continue
        field = section.model_fields.get(part)
        if field is None:
            break
        inner = inner_section(field)
        if inner is None:
            break
        section = inner
    return tuple(path), section


def _name(path: tuple[str, ...], variables: Mapping[tuple[str, ...], str]) -> str:
    """The key for a message, with the environment variable that set it."""
    names = (variables[path[:length]] for length in range(len(path), 0, -1) if path[:length] in variables)
    key = ".".join(path)
    variable = next(names, None)
    return f"{variable} ({key})" if variable else key
