"""`vouch check --cited`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from index_builder.documents import BrokenDocument
from index_builder.readers import suffix
from index_builder.readers.rows import row_document
from index_builder.sources import documents as source_documents
from proxy.citations.faithfulness import CitationReport
from proxy.citations.report import CitationOptions, check_citations, numbered
from proxy.cli.check import COLOURS, MAX_CHARACTERS, NONFACTUAL_EXIT, claim_line, counted, from_stdin
from proxy.cli.compose import open_checker
from proxy.config.load import load
from proxy.config.settings import Settings
from proxy.errors import RequestError, SourceError
from proxy.openai_api.citation_check import report_object
from proxy.types import Document, Json, Verdict

_LINES = (".jsonl", ".ndjson")


def run(
    text: str,
    documents: Sequence[str],
    config: Path | None,
    overrides: dict[str, Any],
    question: str,
    as_json: bool,
) -> None:
    """Prints which statements their citations fully support. Exits with 3 when one is not."""
    settings = load(config, overrides)
    numbered_documents = read_documents(documents)
    answer = from_stdin() if text == "-" else text
    if not answer.strip():
        raise RequestError("There is no answer to check: give one, or pipe one in.")
    if len(answer) > MAX_CHARACTERS:
        raise RequestError(f"The answer is over {MAX_CHARACTERS:,} characters; check it in parts.")
    report = asyncio.run(check(settings, answer, numbered_documents, question))
    wire = report_object(report, answer)
    if as_json:
        print(json.dumps(wire, ensure_ascii=False, indent=2))
    else:
        show(Console(highlight=False, soft_wrap=True), answer, wire)
    if not report.faithful:
        sys.exit(NONFACTUAL_EXIT)


async def check(
    settings: Settings, answer: str, documents: Sequence[Document], question: str
) -> CitationReport:
    """The report. Raises `ConfigError` where the configured checker can't be had."""
    options = CitationOptions(
        max_statements=settings.verification.max_claims,
        top_k=settings.retrieval.top_k,
        deadline=settings.verification.deadline,
    )
    async with open_checker(settings, settings.checker.name) as checker:
        return await check_citations(answer, documents, checker, question, options)


def show(console: Console, answer: str, wire: Json) -> None:
    """What is wrong with each statement, and the figures.

    On a terminal under the answer, coloured by verdict; elsewhere one line of plain text a statement.
    """
    if console.is_terminal:
        text = Text(answer)
        for statement in wire["statements"]:
            text.stylize(COLOURS[Verdict(statement["verdict"])], statement["start"], statement["end"])
        console.print(text)
        console.print()
    for statement in wire["statements"]:
        remarks = _remarks(statement)
        if remarks or not console.is_terminal:
            console.print(claim_line(statement["verdict"], statement["text"], remarks))
    if wire["citation_recall"] is None:
        console.print(Text("There is nothing to check.", "dim"))
        return
    figures = ("recall", "precision", "f1")
    console.print("Citation " + ", ".join(f"{name} {wire[f'citation_{name}']:.2f}" for name in figures))
    console.print(counted({verdict: wire["counts"][verdict] for verdict in Verdict}))
    if error := wire.get("error"):
        console.print(Text(f"Not all could be checked: {error}", "yellow"))


def _remarks(statement: Json) -> str:
    """What is wrong with a statement's citations; empty where all is well."""
    if statement["verdict"] == Verdict.NOT_CHECKABLE:
        return ""
    superfluous = [citation["n"] for citation in statement["citations"] if citation["superfluous"]]
    remarks = (
        statement["reason"] if statement["verdict"] != Verdict.SUPPORTED else "",
        f"not covered: {', '.join(statement['uncovered'])}" if statement["uncovered"] else "",
        f"supported by {_markers(statement['missing_citations'])}" if statement["missing_citations"] else "",
        f"superfluous: {_markers(superfluous)}" if superfluous else "",
    )
    return "; ".join(filter(None, remarks))


def _markers(numbers: Sequence[int]) -> str:
    return "".join(f"[{number}]" for number in numbers)


def read_documents(sources: Sequence[str]) -> tuple[Document, ...]:
    """The documents in the order of the sources, sorted within a folder, numbered from 1.

    A row of a `.jsonl` file may give its own `number`.

    Raises:
        SourceError: a document can't be read. It is not skipped, since the others would get wrong numbers.
        RequestError: two documents have the same number.
    """
    return numbered([document for source in sources for document in _read(source)])


def _read(source: str) -> Iterator[Document]:
    path = Path(source)
    if suffix(path) in _LINES and path.is_file():
        yield from _rows(path)
        return
    for document in source_documents([source]):
        if isinstance(document, BrokenDocument):
            raise SourceError(
                f"{document.source}: {document.reason}. All documents are needed to number them."
            )
        yield document


def _rows(path: Path) -> Iterator[Document]:
    with path.open("rb") as file:
        for place, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                yield _row(json.loads(line), f"{path.name}#{place}")
            except SourceError as error:
                raise SourceError(f"{path}:{place}: {error.message}.") from error
            except (ValueError, RecursionError) as error:
                raise SourceError(f"{path}:{place}: not valid JSON: {error}.") from error


def _row(row: object, id_: str) -> Document:
    number = row.get("number") if isinstance(row, Mapping) else None
    if isinstance(row, Mapping):
        row = {key: value for key, value in row.items() if key != "number"}
    document = row_document(row, id_, title="")  # the file's name says nothing of one of its rows
    if number is None:
        return document
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise SourceError("`number` is not a whole number from 1")
    return replace(document, number=number)
