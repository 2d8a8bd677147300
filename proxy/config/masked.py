"""The settings as they may be printed: without secrets, also where no type says that a value is one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from proxy.config.merge import is_free
from proxy.config.settings import Settings
from proxy.types import Json

MASK = "**********"
"""What is printed in the place of a secret, as pydantic does."""

_CREDENTIALS = re.compile(r"//[^/@\s]+@")
_QUERY = re.compile(r"([?&][\w-]{0,40}(?:key|token|secret|sig)[\w-]{0,40}=)[^&\s'\"]+", re.IGNORECASE)
_SECRET = re.compile(
    r"key(?!word)|secret|token|passw|passphrase|authoriz|credential|cookie|bearer|pwd|jwt|authenti|signature|(?:^|[-_])(?:auth|sig)(?:$|[-_])",
    re.IGNORECASE,
)
_NUMBER_OF_TOKENS = re.compile(r"tokens|token_?ids?$", re.IGNORECASE)
_HEADERS = re.compile(r"headers$", re.IGNORECASE)


class FromVariable(str):
    """Text in which the value of an environment variable has taken the place of `${NAME}`."""

    __slots__ = ()


def dump(settings: Settings) -> str:
    """The settings as YAML, with secrets and the credentials in addresses masked."""
    text = yaml.safe_dump(_printed(settings), sort_keys=False, allow_unicode=True)
    return _QUERY.sub(rf"\1{MASK}", _CREDENTIALS.sub(f"//{MASK}@", text))


def _printed(section: BaseModel) -> Json:
    """The values of a section; pydantic masks those that are secrets by their type."""
    tree = section.model_dump(mode="json")
    for key, field in type(section).model_fields.items():
        value = getattr(section, key)
        if isinstance(value, BaseModel):
            tree[key] = _printed(value)
        elif isinstance(value, tuple):
            tree[key] = [
                _printed(entry) if isinstance(entry, BaseModel) else plain
                for entry, plain in zip(value, tree[key], strict=True)
            ]
        elif is_free(field):
            tree[key] = to_jsonable_python(_masked(value))
    return tree


def _masked(value: Any, key: str = "", *, hidden: bool = False) -> Any:
    """A value in a free mapping, masked where the key, or one further out, is called as credentials are.

    A number of tokens, as in `max_tokens`, is no secret, nor is the id of one.
    """
    if isinstance(value, list | tuple):
        inside = hidden or bool(_HEADERS.search(key))
        return [_masked(inner, key, hidden=inside) for inner in value]
    called = bool(_SECRET.search(key))
    if isinstance(value, Mapping):
        inside = hidden or called or bool(_HEADERS.search(key))
        return {name: _masked(inner, str(name), hidden=inside) for name, inner in value.items()}
    if isinstance(value, int | float) and _NUMBER_OF_TOKENS.search(key):
        called = False
    secret = hidden or called or isinstance(value, FromVariable)
    return MASK if secret and value is not None and not isinstance(value, bool) else value
