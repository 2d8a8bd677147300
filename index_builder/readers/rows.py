"""Rows of tables and JSON objects: `id`, `title`, `text`, `url`, `section`, all but `text` optional."""

from __future__ import annotations

from collections.abc import Mapping

from index_builder.documents import Document
from proxy.errors import SourceError


def row_document(row: object, id_: str, title: str) -> Document:
    """The document of one row, whose keys count in any case; `id_` and `title` stand in for missing ones.

    Raises:
        SourceError: the row is not an object, it has no text, or one of the fields is of another type.
    """
    if not isinstance(row, Mapping):
        raise SourceError(f"not an object but {type(row).__name__}")
    fields = {str(key).strip().lower(): value for key, value in row.items()}
    text = fields.get("text")
    if not isinstance(text, str) or not text.strip():
        raise SourceError("`text` is missing or empty")
    section = _plain(fields, "section")
    return Document(
        id=_plain(fields, "id") or id_,
        title=_plain(fields, "title") or title,
        text=text,
        url=_plain(fields, "url"),
        sections=((0, section),) if section else (),
    )


def _plain(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise SourceError(f"`{name}` is neither text nor a number")
    return str(value).strip()
