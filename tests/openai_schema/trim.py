"""Cuts what the tests need out of OpenAI's OpenAPI description.

python -m tests.openai_schema.trim openapi.yml > tests/openai_schema/schemas.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOTS = (
    "CreateChatCompletionResponse",
    "CreateChatCompletionStreamResponse",
    "CreateCompletionResponse",
    "CreateEmbeddingResponse",
    "ErrorResponse",
    "ListModelsResponse",
    "Model",
    "Response",
    "ResponseStreamEvent",
)
_SAID = frozenset({"description", "example", "examples", "title", "externalDocs", "x-oaiMeta"})
_NAMES = frozenset({"properties", "mapping", "schemas"})
"""Below these every key is a name, not a keyword."""


def trimmed(description: dict[str, Any]) -> dict[str, Any]:
    """The schemas that the roots need, without what is said of them.

    `nullable`, which OpenAPI 3.1 no longer knows and the description still has here and there, is put as 3.1
    puts it.
    """
    schemas = description["components"]["schemas"]
    needed: set[str] = set()
    waiting = list(ROOTS)
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += _references(schemas[name])
    return {"components": {"schemas": {name: _bare(schemas[name]) for name in sorted(needed)}}}


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(reference := schema.get("$ref"), str):
            yield reference.rpartition("/")[2]
        schema = list(schema.values())
    if isinstance(schema, list):
        for one in schema:
            yield from _references(one)


def _bare(schema: Any, *, names: bool = False) -> Any:
    if isinstance(schema, list):
        return [_bare(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    bare = {
        key: _bare(value, names=not names and key in _NAMES)
        for key, value in schema.items()
        if names or (key not in _SAID and not key.startswith("x-"))
    }
    nullable = not names and bare.pop("nullable", False)
    return {"anyOf": [bare, {"type": "null"}]} if nullable else bare


def main(path: str) -> None:
    """Writes them to standard output."""
    description = yaml.load(Path(path).read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    json.dump(trimmed(description), sys.stdout, indent=1, ensure_ascii=False)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
