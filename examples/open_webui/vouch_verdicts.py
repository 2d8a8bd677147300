"""
title: Vouch verdicts
description: Shows above each reply what Vouch found for each statement, with its evidence.
version: 1.1.0
required_open_webui_version: 0.6.0
licence: Apache-2.0
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Awaitable, Callable, Iterator
from html import escape
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, Field

Json = dict[str, Any]
Emit = Callable[[Json], Awaitable[None]]

CORRECTED = "↻"
SIGNS = {"supported": "✓", "contradicted": "✗", "unsupported": "?", "unverified": "…"}
"""The verdicts that are shown, with their signs. What can't be checked is left out."""

STYLE = """
:root{color-scheme:light dark;--text:#1c211f;--soft:#59635f;--good:#12633f;--good-back:#e2f4ea;--bad:#a11622;
--bad-back:#fde7e8;--open:#7a4b00;--open-back:#fdf1d8;--late:#4d4a80;--late-back:#ececf8;--mark:#ffe58a}
@media (prefers-color-scheme:dark){:root{--text:#e6ebe8;--soft:#a3aea9;--good:#84dcb0;--good-back:#16352a;
--bad:#ff9aa0;--bad-back:#43191d;--open:#f3c36f;--open-back:#3b2d12;--late:#b9b6f0;--late-back:#2a2945;
--mark:#6b5600}}
body{margin:0;font:14px/1.5 system-ui,"Noto Sans CJK SC",sans-serif;color:var(--text);overflow-wrap:anywhere}
ol{list-style:none;margin:.35rem 0 0;padding:0}li{margin:0 0 .35rem}summary{cursor:pointer}
li>details{border-radius:.3rem;padding:.15rem .5rem;border-left:4px solid}
#all>summary{color:var(--soft);padding:.1rem 0}.count{margin-right:.6rem;white-space:nowrap}
.count.supported{color:var(--good)}.count.contradicted{color:var(--bad)}.count.unsupported{color:var(--open)}
.count.unverified{color:var(--late)}
details.supported{background:var(--good-back);border-color:var(--good)}
details.contradicted{background:var(--bad-back);border-color:var(--bad);border-left-style:double}
details.unsupported{background:var(--open-back);border-color:var(--open);border-left-style:dashed}
details.unverified{background:var(--late-back);border-color:var(--late);border-left-style:dotted}
b{margin-right:.35rem}p{margin:.3rem 0;color:var(--soft)}del{color:var(--soft)}
blockquote{margin:.3rem 0;padding-left:.6rem;border-left:3px solid currentColor;white-space:pre-wrap}
mark{background:var(--mark);color:inherit}a{color:inherit}
"""

SCRIPT = (
    "const tell=()=>parent.postMessage({type:'iframe:height',"
    "height:Math.ceil(document.body.getBoundingClientRect().height)},'*');"
    "addEventListener('toggle',tell,true);addEventListener('resize',tell);tell();"
)
"""Tells Open WebUI how high the frame has to be. It is the only script that may run in it."""


class Filter:
    """Asks Vouch for what Open WebUI shows best, and puts the verdicts above the reply, where it has embeds.

    They are an embed of the message, not part of its text, so the next turn sends the reply as it was.
    """

    class Valves(BaseModel):
        """What an administrator sets."""

        priority: int = Field(0, description="Filters with a lower number run first.")
        details: bool = Field(True, description="Show each statement with its evidence above the reply.")
        status: bool = Field(
            True, description="Let Vouch say above the reply how many statements were found."
        )
        most: int = Field(100, ge=1, le=1000, description="The most statements that are shown.")

    def __init__(self) -> None:
        self.valves = self.Valves()

    def inlet(self, body: Json, __metadata__: Json | None = None) -> Json:
        """Asks for the profile `open_webui`, unless the request has options of its own."""
        if (__metadata__ or {}).get("task"):
            return body
        given = body.get("vouch")
        ours = {"profile": "open_webui", **({} if self.valves.status else {"notice": False})}
        return {**body, "vouch": {**ours, **(given if isinstance(given, dict) else {})}}

    async def stream(self, event: Json, __event_emitter__: Emit | None = None) -> Json:
        """Shows the verdicts once the last chunk brings them. The chunk itself goes on unchanged."""
        verification = event.get("verification")
        if __event_emitter__ is None or not isinstance(verification, dict):
            return event
        if self.valves.details and (
            shown := page(verification, event.get("references") or [], self.valves.most)
        ):
            await __event_emitter__({"type": "embeds", "data": {"embeds": [shown]}})
        return event


def page(verification: Json, references: list[Json], most: int = 100) -> str:
    """The statements with their verdicts and evidence, as a page of its own; "" where there are none.

    It is one line with the number of each verdict, which opens to the statements. It is open where one
    failed.
    All that the model and the documents say is escaped, and nothing but our own script may run.
    """
    cited = {reference["n"]: reference for reference in references}
    failures = iter(
        [] if verification.get("dropped") else nonfactual(verification, verification.get("best", 0))
    )
    items = [f"<li>{before(failure)}</li>" for failure in corrected(verification)]
    verdicts = ["corrected"] * len(items)
    for claim in verification.get("claims", []):
        failure = next(failures, {}) if claim["verdict"] in ("contradicted", "unsupported") else {}
        if claim["verdict"] in SIGNS:
            items.append(f"<li>{statement(claim, failure, cited)}</li>")
            verdicts.append(claim["verdict"])
    if not items:
        return ""
    left = f"<p>{len(items) - most} more are not shown.</p>" if len(items) > most else ""
    opened = " open" if set(verdicts) - {"supported", "corrected"} else ""
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><title>Verdicts</title>'
        f'<style>{STYLE}</style></head><body><details id="all"{opened}><summary>{counts(verdicts)}</summary>'
        f"<ol>{''.join(items[:most])}</ol>{left}</details>"
        f"<script>{SCRIPT}</script></body></html>"
    )


def counts(verdicts: list[str]) -> str:
    """How many statements have each verdict."""
    return " ".join(
        f'<span class="count {verdict}">{sign} {verdicts.count(verdict)} {verdict}</span>'
        for verdict, sign in {**SIGNS, "corrected": CORRECTED}.items()
        if verdict in verdicts
    )


def nonfactual(verification: Json, index: int) -> list[Json]:
    """The failed claims of an attempt."""
    attempts = verification.get("attempts", [])
    return list(attempts[index]["nonfactual"]) if index < len(attempts) else []


def corrected(verification: Json) -> Iterator[Json]:
    """What failed in earlier drafts and was replaced, each once."""
    seen: set[str] = set()
    for index in range(verification.get("best", 0)):
        for failure in nonfactual(verification, index):
            if failure.get("replaced_by") and failure["text"] not in seen:
                seen.add(failure["text"])
                yield failure


def statement(claim: Json, failure: Json, cited: dict[int, Json]) -> str:
    """A statement that opens to its evidence."""
    verdict, numbers = claim["verdict"], "".join(f"[{n}]" for n in claim["references"])
    head = f'<b title="{verdict}" aria-label="{verdict}">{SIGNS[verdict]}</b>{plain(claim["text"])} {numbers}'
    quotes = {each["n"]: {"quote": each["quote"]} for each in claim.get("evidence") or []}
    own = [(n, {**cited[n], **quotes.get(n, {})}) for n in claim["references"] if n in cited]
    found = "".join(evidence(f"[{n}] ", reference) for n, reference in own)
    why = claim.get("reason") or failure.get("reason")
    body = found + (f"<p>{escape(str(why))}</p>" if why else "") + nearest(failure)
    return f'<details class="{verdict}"><summary>{head}</summary>{body}</details>'


def plain(text: str) -> str:
    """A statement without the marks of bold text, escaped."""
    return escape(text.replace("**", ""))


def before(failure: Json) -> str:
    """What was written first, struck through, with the reason."""
    reason = f"<p>{escape(str(failure.get('reason', '')))}</p>{nearest(failure)}"
    head = f'<b title="corrected" aria-label="corrected">{CORRECTED}</b><del>{plain(failure["text"])}</del>'
    return f'<details class="unverified"><summary>{head}</summary>{reason}</details>'


def nearest(failure: Json) -> str:
    """The passage that came nearest to a claim that failed, and the words that it does not support."""
    missing = ", ".join(escape(str(word)) for word in failure.get("missing") or [])
    words = f"<p>Nothing bears out: {missing}</p>" if missing else ""
    return words + (evidence("Nearest: ", failure["evidence"]) if failure.get("evidence") else "")


def evidence(label: str, reference: Json) -> str:
    """A title with a link, and the quote marked in its passage."""
    title, url = escape(reference.get("title", "")), reference.get("url", "")
    name = (
        f'<a href="{escape(url)}" target="_blank" rel="noopener noreferrer">{title}</a>'
        if opens(url)
        else title
    )
    text, quote = reference.get("text") or reference.get("quote", ""), reference.get("quote", "")
    start, found, end = text.partition(quote) if quote else (text, "", "")
    marked = f"<mark>{escape(found)}</mark>" if found else ""
    return f"<p>{label}{name}</p><blockquote>{escape(start)}{marked}{escape(end)}</blockquote>"


def opens(url: str) -> bool:
    """Whether a browser may follow the address."""
    try:
        return urlsplit(url).scheme.lower() in ("http", "https")
    except ValueError:
        return False
