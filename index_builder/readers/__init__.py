"""One reader per family of formats, each a function from a path to documents."""

from __future__ import annotations

from pathlib import Path

from index_builder.documents import Reader
from index_builder.readers.docx import read_docx
from index_builder.readers.html import read_html
from index_builder.readers.jsonl import read_json, read_jsonl
from index_builder.readers.markdown import read_markdown
from index_builder.readers.mediawiki import read_dump
from index_builder.readers.pdf import read_pdf
from index_builder.readers.table import read_csv, read_tsv
from index_builder.readers.text import read_text

READERS: dict[str, Reader] = {
    ".bz2": read_dump,
    ".csv": read_csv,
    ".docx": read_docx,
    ".htm": read_html,
    ".html": read_html,
    ".json": read_json,
    ".jsonl": read_jsonl,
    ".markdown": read_markdown,
    ".md": read_markdown,
    ".ndjson": read_jsonl,
    ".pdf": read_pdf,
    ".tsv": read_tsv,
    ".txt": read_text,
    ".xml": read_dump,
}


def suffix(path: Path) -> str:
    """What decides which reader a file gets."""
    return path.suffix.lower()
