"""`vouch check --cited`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from proxy.citations.faithfulness import CitationReport
from proxy.citations.report import CitationOptions, check_citations
from proxy.cli.check import COLOURS, MAX_CHARACTERS, NONFACTUAL_EXIT
from proxy.cli.cited_documents import read_documents
from proxy.cli.lone_checker import open_checker
from proxy.config.load import load
from proxy.config.settings import Settings
from proxy.errors import RequestError
from proxy.openai_api.citation_check import report_object
from proxy.types import Document, Json, Verdict


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
    found = read_documents(documents)
    answer = sys.stdin.read(MAX_CHARACTERS + 1) if text == "-" else text
    if not answer.strip():
        raise RequestError("There is no answer to check: give one, or pipe one in.")
    if len(answer) > MAX_CHARACTERS:
        raise RequestError(f"The answer is over {MAX_CHARACTERS:,} characters; check it in parts.")
    report = asyncio.run(check(settings, answer, found, question))
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
    """The answer coloured by verdict, what is wrong with each statement, and the figures."""
    text = Text(answer)
    for one in wire["statements"]:
        text.stylize(COLOURS[Verdict(one["verdict"])], one["start"], one["end"])
    console.print(text)
    console.print()
    for one in wire["statements"]:
        if remarks := _remarks(one):
            console.print(Text(f"{one['verdict']}: ", COLOURS[Verdict(one["verdict"])]), end="")
            console.print(Text(f"“{' '.join(one['text'].split())}” {remarks}"))
    if wire["citation_recall"] is None:
        console.print(Text("There is nothing to check.", "dim"))
        return
    figures = ("recall", "precision", "f1")
    console.print("Citation " + ", ".join(f"{name} {wire[f'citation_{name}']:.2f}" for name in figures))
    counts = [(verdict, wire["counts"][verdict]) for verdict in Verdict]
    console.print(Text(", ").join(Text(f"{count} {name}", COLOURS[name]) for name, count in counts if count))
    if error := wire.get("error"):
        console.print(Text(f"Not all could be checked: {error}", "yellow"))


def _remarks(one: Json) -> str:
    """What is to be done about a statement; nothing where all is well."""
    if one["verdict"] == Verdict.NOT_CHECKABLE:
        return ""
    superfluous = [citation["n"] for citation in one["citations"] if citation["superfluous"]]
    remarks = (
        one["reason"] if one["verdict"] != Verdict.SUPPORTED else "",
        f"not covered: {', '.join(one['uncovered'])}" if one["uncovered"] else "",
        f"borne out by {_marks(one['missing_citations'])}" if one["missing_citations"] else "",
        f"superfluous: {_marks(superfluous)}" if superfluous else "",
    )
    return "; ".join(filter(None, remarks))


def _marks(numbers: Sequence[int]) -> str:
    return "".join(f"[{number}]" for number in numbers)
