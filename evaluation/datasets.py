"""Labelled rows and corpora as files hold them, strictly validated.

This is the one place where a labelled row becomes a `Pair`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from proxy.claims.context import contexts
from proxy.errors import VouchError
from proxy.types import Claim, Pair

Label = Literal["supported", "contradicted", "unsupported", "not_supported"]
"""`not_supported` where the source does not tell contradicted from unsupported."""

_TITLE = re.compile(r"\A(?:\(meta data\) TITLE|Title): ([^\n]*)\n+")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class DataError(VouchError):
    """A file of rows is missing, empty, or has a line that can't be used."""


class Line(BaseModel):
    """One object of a JSON Lines file. Keys that we don't know are left out."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Row(Line):
    """A labelled pair. Evidence may begin with a line that names its title.

    A row's own `title` is not read: in some sources it is that of the page which the claim is from.
    """

    id: str | int | None = None
    claim: str
    evidence: str
    label: Label
    question: str | None = None

    @property
    def supported(self) -> bool:
        """The two-way label."""
        return self.label == "supported"

    def pair(self) -> Pair:
        """The row as the proxy would ask it, the claim being the only one of its reply. A title that leads
        the evidence is taken out of it."""
        match = _TITLE.match(self.evidence)
        question = self.question or ""
        return Pair(
            self.claim,
            self.evidence[match.end() :] if match else self.evidence,
            context_alone(self.claim, question),
            question,
            title=match[1] if match else "",
        )


def context_alone(claim: str, question: str) -> str:
    """The context of a claim that is the only one of its reply: the question, where the claim needs one to be
    understood (a short answer, say), and nothing otherwise."""
    return contexts([Claim(0, len(claim), claim, claim)], question)[0].before


class CorpusRow(Line):
    """A passage of a corpus."""

    title: str
    text: str


AnyLine = TypeVar("AnyLine", bound=Line)


def read_rows(path: Path, limit: int | None = None) -> Iterator[Row]:
    """The rows of a file, one at a time; the first `limit` of them. Raises `DataError`."""
    return islice(read_lines(path, Row), limit)


def read_corpus(path: Path) -> Iterator[CorpusRow]:
    """The passages of a corpus, one at a time. Raises `DataError`."""
    return read_lines(path, CorpusRow)


def read_lines(path: Path, kind: type[AnyLine]) -> Iterator[AnyLine]:
    """The lines of a JSON Lines file, blank ones left out. Raises `DataError` with the file and the line."""
    if not path.is_file():
        raise DataError(f"{path}: there is no such file.")
    empty = True
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                text = line.removeprefix(_BYTE_ORDER_MARK).strip()
                if text:
                    empty = False
                    yield _parsed(text, kind, f"{path}:{number}")
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror}.") from error
    if empty:
        raise DataError(f"{path} is empty: it must hold one JSON object a line.")


def explain(error: ValidationError) -> str:
    """The first thing wrong, with the key that it is in."""
    detail = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in detail["loc"])
    return f"{key}: {detail['msg']}" if key else detail["msg"]


def _parsed(text: bytes, kind: type[AnyLine], place: str) -> AnyLine:
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise DataError(f"{place}: {explain(error)}.") from None
