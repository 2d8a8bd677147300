"""Values of a request's body that must be of a kind."""

from __future__ import annotations

from typing import Any, TypeVar

from proxy.errors import RequestError
from proxy.types import Json

T = TypeVar("T")

_NAMES: dict[type[Any], str] = {
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    dict: "an object",
    list: "a list",
    type(None): "null",
}


def kind_of(value: Any) -> str:
    """What a value is called in messages."""
    return _NAMES.get(type(value), type(value).__name__)


def expect(value: Any, kind: type[T], param: str) -> T:
    """The value. Raises `RequestError` where it is of another kind."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise RequestError(f"`{param}` must be {_NAMES[kind]}, not {kind_of(value)}.", param=param)
    return value


def optional(body: Json, key: str, kind: type[T], prefix: str = "") -> T | None:
    """The field, or None where it is missing or null. Raises `RequestError`."""
    value = body.get(key)
    return None if value is None else expect(value, kind, f"{prefix}{key}")


def required(item: Json, key: str, kind: type[T], param: str) -> T:
    """A field of the object at `param`. Raises `RequestError`."""
    if key not in item:
        raise RequestError(f"`{param}.{key}` is missing.", param=f"{param}.{key}")
    return expect(item[key], kind, f"{param}.{key}")


def chosen(value: Any, known: dict[str, T], param: str) -> T:
    """What `value` stands for. Raises `RequestError` that lists what there is."""
    if isinstance(value, str) and value in known:
        return known[value]
    message = f"`{param}` is {value!r}; Vouch takes {', '.join(known)} here."
    raise RequestError(message, param=param)
