"""What is wrong with a value, in plain words, out of pydantic's errors: in the settings and in requests."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from pydantic_core import ErrorDetails

MAX_SHOWN = 60
"""Characters of a wrong value that a message repeats."""


def problem(details: Sequence[ErrorDetails], *, secret: bool = False) -> str:
    """The rest of a sentence that begins with the key: `must be a whole number, not 'many'`.

    `details` are the errors of one value; one that may have several types has an error for each. A `secret`
    value is not repeated.
    """
    first = details[0]
    if first["type"] == "missing":
        return "is missing"
    wanted = [
        _WANTED[detail["type"]].format(**detail.get("ctx", {}))
        for detail in details
        if detail["type"] in _WANTED
    ]
    if not wanted:
        return first["msg"].removeprefix("Value error, ")
    return f"must be {' or '.join(wanted)}" + ("" if secret else f", not {shown(first['input'])}")


def nearest(key: str, known: Sequence[str], asking: str = "Did you mean") -> str:
    """A question for the nearest of the `known` keys, or all of them where none is near."""
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    if near:
        return f"{asking} {near[0]!r}?"
    return f"There are {', '.join(known)}." if asking[0].isupper() else f"there are {', '.join(known)}"


def shown(value: object) -> str:
    """A value for a message: itself if it is short and plain."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    if value is None:
        return "null"
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


_WANTED: Mapping[str, str] = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "text",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping of names to values",
    "model_type": "a section with keys of its own",
    "literal_error": "{expected}",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "too_short": "a list with at least {min_length} entry",
    "too_long": "a list with at most {max_length} entries",
    "string_too_long": "at most {max_length} characters long",
    "finite_number": "a finite number",
}
"""What a value must be, by the type of pydantic's error."""
