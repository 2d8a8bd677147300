"""Reads a request's body into a model of pydantic's; what is wrong is refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from proxy.config.wrong_values import nearest, problem
from proxy.errors import RequestError
from proxy.types import Json

T = TypeVar("T", bound=BaseModel)


def validated(kind: type[T], body: Json, sections: Mapping[str, type[BaseModel]]) -> T:
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
