"""`vouch check`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from index_builder.readers.text import decode
from proxy.cli.compose import compose
from proxy.config.load import load
from proxy.config.settings import Settings
from proxy.engine.app_context import AppContext, Sources
from proxy.errors import RequestError, SourceError
from proxy.openai_api.chat.response import Choice
from proxy.openai_api.options import ResolvedOptions
from proxy.openai_api.text_check import check_text
from proxy.types import Evidence, Json, Verdict

MAX_CHARACTERS = 10_000_000

COLOURS = {
    Verdict.SUPPORTED: "green",
    Verdict.CONTRADICTED: "bold red",
    Verdict.UNSUPPORTED: "red",
    Verdict.UNVERIFIED: "yellow",
    Verdict.NOT_CHECKABLE: "dim",
}

NONFACTUAL_EXIT = 3


def run(text: str, config: Path | None, overrides: dict[str, Any], question: str, as_json: bool) -> None:
    """Prints what became of the text's claims. Exits with 3 when a claim is nonfactual."""
    settings = load(config, overrides)
    if text == "-":
        text = from_stdin()
    if not text.strip():
        raise RequestError("There is no text to check: give one, or pipe one in.")
    if len(text) > MAX_CHARACTERS:
        raise RequestError(f"The text is over {MAX_CHARACTERS:,} characters; check it in parts.")
    parts = compose(settings)
    checked = asyncio.run(check(parts, settings, text, question))
    wire = {key: getattr(checked, key) for key in ("content", "references", "verification")}
    if as_json:
        print(json.dumps(wire, ensure_ascii=False, indent=2))
    else:
        show(Console(highlight=False, soft_wrap=True), checked)
    if any(Verdict(claim["verdict"]).nonfactual for claim in checked.verification["claims"]):
        sys.exit(NONFACTUAL_EXIT)


def from_stdin() -> str:
    """The text on standard input, in any encoding that files of text may have. Of one that is too long, a
    part that is too long. Raises `SourceError` where it is no text."""
    try:
        return decode(sys.stdin.buffer.read(4 * MAX_CHARACTERS + 4))
    except SourceError as error:
        raise SourceError(f"What is on standard input is {error.message}.") from error


async def check(parts: AppContext, settings: Settings, text: str, question: str) -> Choice:
    """The text as the proxy would return it, were it an upstream's reply; there is nobody to re-prompt."""
    model = next(iter(parts.models.values()))
    sources = Sources(parts.retrievers[settings.retrieval.mode])
    try:
        checked = await check_text(text, question, model, ResolvedOptions(settings), sources, _own_route)
    finally:
        await parts.close()
    return checked.choice


def _own_route(evidence: Evidence) -> str:
    return f"/v1/references/{evidence.passage.id}"


def show(console: Console, checked: Choice) -> None:
    """What became of each claim, the references, and a count.

    On a terminal the text coloured by verdict, and under it the claims that failed, with the reason.
    Elsewhere one line of plain text a claim.
    """
    claims = checked.verification["claims"]
    lines = list(_lines(checked))
    if console.is_terminal:
        text = Text(checked.content)
        for claim in claims:
            text.stylize(COLOURS[Verdict(claim["verdict"])], claim["start"], claim["end"])
        console.print(text)
        console.print()
        lines = [line for claim, line in zip(claims, lines, strict=True) if "reason" in claim]
    for line in lines:
        console.print(line)
    if lines:
        console.print()
    for reference in checked.references:
        console.print(reference_line(reference))
    console.print(
        counted({verdict: sum(claim["verdict"] == verdict for claim in claims) for verdict in Verdict})
    )
    if error := checked.verification.get("error"):
        console.print(Text(f"Checking stopped: {error}", "yellow"))


def counted(counts: Mapping[Verdict, int]) -> Text:
    """`2 supported, 1 contradicted`."""
    summary = [Text(f"{count} {verdict}", COLOURS[verdict]) for verdict, count in counts.items() if count]
    return Text(", ").join(summary) if summary else Text("There is nothing to check.", "dim")


def claim_line(verdict: str, text: str, remarks: str) -> Text:
    """`contradicted: The claim. (why)`"""
    line = Text(f"{verdict}: ", COLOURS[Verdict(verdict)]).append(" ".join(text.split()), "default")
    return line.append(f" ({' '.join(remarks.split())})", "default") if remarks else line


def _lines(checked: Choice) -> Iterator[Text]:
    """One line a claim: the verdict, the claim with its markers and, where it failed, why."""
    verification = checked.verification
    failed = iter(verification["attempts"][verification["best"]]["nonfactual"])
    for claim in verification["claims"]:
        verdict = Verdict(claim["verdict"])
        markers = "".join(f"[{number}]" for number in claim["references"])
        remarks = [claim["reason"]] if "reason" in claim else []
        if verdict.nonfactual:
            remarks += _failed_remarks(next(failed))
        yield claim_line(verdict, claim["text"] + markers, "; ".join(remarks))


def _failed_remarks(failed: Json) -> Iterator[str]:
    if failed["missing"]:
        yield f"not borne out: {', '.join(failed['missing'])}"
    if failed["evidence"]:
        yield f"{failed['evidence']['title']} says “{failed['evidence']['quote']}”"


def reference_line(reference: Json) -> Text:
    """`[1] Title: "the evidence sentence"` and, where there is one, the address."""
    line = Text().append(f"[{reference['n']}] ", "cyan")
    line.append(reference["title"], "bold")
    line.append(f": “{' '.join(reference['quote'].split())}”")
    if not reference["url"].startswith("/"):
        line.append(f" {reference['url']}", "dim")
    return line
