"""Tables of documents: .csv and .tsv. The header names `text` and maybe `id`, `title`, `url`, `section`."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from index_builder.documents import MAX_BYTES, BrokenDocument, Document
from index_builder.readers.encodings import encoding_of_file
from index_builder.readers.rows import row_document
from proxy.errors import SourceError


def read_csv(path: Path, id_: str) -> Iterator[Document | BrokenDocument]:
    """One document a row, separated by comma, or by semicolon where the header holds that and no comma."""
    return _read(path, id_, "")


def read_tsv(path: Path, id_: str) -> Iterator[Document | BrokenDocument]:
    """One document a row, separated by tabs."""
    return _read(path, id_, "\t")


def _read(path: Path, id_: str, delimiter: str) -> Iterator[Document | BrokenDocument]:
    # The limit is the process's (131,072 characters), not a reader's, and a document is often longer.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_BYTES))
    encoding = encoding_of_file(path)
    with path.open(encoding=encoding, errors="replace", newline="") as file:
        if not delimiter:
            header = file.readline(MAX_BYTES)
            delimiter = ";" if ";" in header and "," not in header else ","
            file.seek(0)
        rows = csv.reader(file, delimiter=delimiter)
        columns = _columns(rows)
        for row in rows:
            if not any(row):
                continue
            try:
                fields = dict(zip(columns, row, strict=False))
                yield row_document(fields, f"{id_}#{rows.line_num}", path.stem)
            except SourceError as error:
                yield BrokenDocument(f"{path}:{rows.line_num}", error.message)


def _columns(rows: Iterator[list[str]]) -> list[str]:
    columns = [name.strip().lower() for name in next(rows, [])]
    if not any(columns):
        raise SourceError("holds no header")
    if "text" not in columns:
        raise SourceError(f"no column `text`; its columns are {', '.join(columns)[:200]}")
    return columns
