"""Merges what several sources give for the settings, before defaults are filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from proxy.config.settings import Settings
from proxy.errors import ConfigError
from proxy.types import Json


class Spelled(dict[str, Any]):
    """A mapping whose keys are parts of variables' names. A variable's own value is a `dict`."""


def merge(under: Json, over: Mapping[str, Any], section: type[BaseModel] = Settings) -> Json:
    """What two sources give for a section: `under`, with the values of `over` in their place.

    Defaults are not filled in, so that what follows from other values is derived from the merged ones.
    """
    return {**under, **{key: _joined(section.model_fields.get(key), under, key, over[key]) for key in over}}


def _joined(field: FieldInfo | None, given: Json, key: str, over: Any) -> Any:
    """The value of a key of which `given` may hold one already: sections and mappings of names are merged, a
    list by index where `over` maps numbers. All else is replaced, free mappings too."""
    if field is None or not isinstance(over, Mapping):
        return over
    section = inner_section(field)
    under = given[key] if key in given else _default(field)
    if isinstance(under, list) and all(str(index).isdigit() for index in over):
        return _entries(under, over, section)
    if not isinstance(under, Mapping):
        return over
    if section:
        return merge(dict(under), over, section)
    if is_free(field):
        return _spelled(under, over)
    return {**under, **over}


def _entries(under: list[Any], over: Mapping[Any, Any], section: type[BaseModel] | None) -> list[Any]:
    """A list with the entries that `over` numbers changed, or added at its end."""
    entries = list(under)
    for index, value in sorted((int(index), value) for index, value in over.items()):
        if index > len(entries):
            raise ConfigError(
                f"There is no entry {index} in a list of {len(entries)}: entries are counted from 0."
            )
        entry = entries[index] if index < len(entries) else None
        if section and isinstance(entry, Mapping) and isinstance(value, Mapping):
            value = merge(dict(entry), value, section)
        entries[index : index + 1] = [value]
    return entries


def _spelled(under: Any, over: Any) -> Any:
    """A free mapping: the names of variables change single keys of it; any other value takes its place."""
    if not isinstance(over, Spelled) or not isinstance(under, Mapping):
        return over
    return {**under, **{key: _spelled(under.get(key), over[key]) for key in over}}


def _default(field: FieldInfo) -> Any:
    """What a key holds that no source gives: of a section nothing, as its own keys have their defaults."""
    default = field.get_default(call_default_factory=True)
    if isinstance(default, tuple):
        return [
            entry.model_dump(mode="json", exclude_unset=True) if isinstance(entry, BaseModel) else entry
            for entry in default
        ]
    return {} if isinstance(default, BaseModel) else default


def inner_section(field: FieldInfo) -> type[BaseModel] | None:
    """The section that a key holds, alone or as the entries of a list."""
    kinds = (field.annotation, *get_args(field.annotation))
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


def is_free(field: FieldInfo) -> bool:
    """Whether a key holds whatever another program takes, such as the parameters of a call."""
    return object in get_args(field.annotation)
