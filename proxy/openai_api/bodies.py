"""Reads request bodies, and their fields; what is wrong is refused by name."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from proxy.config.wrong_values import nearest, problem
from proxy.errors import BodyTooLargeError, RequestError
from proxy.types import Json
from proxy.upstream.safe_json import STRING

T = TypeVar("T")
Model = TypeVar("Model", bound=BaseModel)

MOST_VALUES = 500_000
"""Values of one body: what it takes to make more of them holds up every other request."""
MOST_KEYS = 10_000
"""Keys of a body, and of each object directly in it."""


def parse_body(body: bytes) -> Json:
    """The JSON object in a request body. Raises `RequestError`, and `BodyTooLargeError` where it has more
    than `MOST_VALUES` values or `MOST_KEYS` keys."""
    if _separators(body) > MOST_VALUES and _separators(STRING.sub(b"", body)) > MOST_VALUES:
        raise BodyTooLargeError(f"The body has over {MOST_VALUES:,} values. Ask in several requests.")
    try:
        tree = json.loads(body.decode("utf-8"), parse_constant=_refuse_constant, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise RequestError(f"The body is not valid UTF-8 (byte {error.start}).") from None
    except (ValueError, RecursionError) as error:
        raise RequestError(f"The body is not valid JSON: {error}.") from None
    if not isinstance(tree, dict):
        raise RequestError(f"The body must be a JSON object, not {kind_of(tree)}.")
    for name, value in (("The body", tree), *((f"`{key}`", value) for key, value in tree.items())):
        if isinstance(value, dict) and len(value) > MOST_KEYS:
            raise BodyTooLargeError(f"{name[:100]} has over {MOST_KEYS:,} keys.")
    if b"\\ud" in body.lower():
        _refuse_lone_surrogates(tree)
    return tree


def _separators(body: bytes) -> int:
    """At least one less than the values of a JSON text; those in strings count too."""
    return body.count(b",") + body.count(b"[") + body.count(b"{")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"the number {digits[:30]} is too large")
    return number


def _refuse_lone_surrogates(tree: Json) -> None:
    """JSON can contain half of a surrogate pair ("\\ud800"), which can't be encoded for an upstream."""
    try:
        json.dumps(tree, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise RequestError("The body holds half a surrogate pair (\\ud800 to \\udfff alone).") from None


def validated(kind: type[Model], body: Json, sections: Mapping[str, type[BaseModel]]) -> Model:
    """The body as `kind`. `sections` are the models of its keys that hold objects, for the names in messages.

    Raises `RequestError` that names the parameter and, for an unknown key, the nearest one that is known.
    """
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        detail = error.errors()[0]
        path = detail["loc"]
        param = ".".join(map(str, path))
        if detail["type"] != "extra_forbidden":
            raise RequestError(f"{param} {problem([detail])}.", param=param) from None
        known = list(sections.get(str(path[0]) if len(path) > 1 else "", kind).model_fields)
        raise RequestError(f"Unknown key {param}. {nearest(str(path[-1]), known)}", param=param) from None


_KINDS: dict[type[Any], str] = {
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    dict: "an object",
    list: "a list",
    type(None): "null",
}


def kind_of(value: Any) -> str:
    """The name of a value's type in error messages."""
    return _KINDS.get(type(value), type(value).__name__)


def expect(value: Any, kind: type[T], param: str) -> T:
    """The value. Raises `RequestError` where it has another type."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise RequestError(f"`{param}` must be {_KINDS[kind]}, not {kind_of(value)}.", param=param)
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
    """The entry of `known` under `value`. Raises `RequestError` that lists the known values."""
    if isinstance(value, str) and value in known:
        return known[value]
    message = f"`{param}` is {value!r}; Vouch takes {', '.join(known)} here."
    raise RequestError(message, param=param)
