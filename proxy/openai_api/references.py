"""`/v1/references/{id}`: a passage as JSON for programs, or as an HTML page for people."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from proxy.citations.place import safe_url, scheme_of
from proxy.errors import RequestError
from proxy.types import Json, Passage

MAX_AROUND = 5
"""The most passages that are shown on either side of one."""

Neighbours = tuple[Sequence[Passage], Sequence[Passage]]
"""The passages before and after one, in the document's order."""

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>{title}</title><style>
:root{{color-scheme:light dark;--text:#1c211f;--soft:#59635f;--paper:#fff;--line:#176b4d;--mark:#ffe58a}}
@media (prefers-color-scheme:dark){{
:root{{--text:#e6ebe8;--soft:#a3aea9;--paper:#141917;--line:#6fd0a6;--mark:#6b5600}}}}
body{{font:1rem/1.6 system-ui,"Noto Sans CJK SC",sans-serif;color:var(--text);background:var(--paper);
max-width:42rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}}
h1{{font-size:1.4rem;margin-bottom:0}}h2{{font-size:1rem;margin:0;color:var(--soft)}}
.around{{color:var(--soft);white-space:pre-wrap;padding-left:1.25rem}}
blockquote{{margin:1rem 0;padding-left:1rem;border-left:4px solid var(--line);white-space:pre-wrap}}
mark{{background:var(--mark);color:inherit}}a{{color:var(--line)}}small{{color:var(--soft)}}
</style></head>
<body><main><h1>{title}</h1>{body}</main></body></html>
"""


def passage_object(passage: Passage, around: Neighbours | None = None) -> Json:
    """All fields of a passage, and the passages `around` it where they are wanted."""
    before, after = around or ((), ())
    told = {
        "before": [passage_object(each) for each in before],
        "after": [passage_object(each) for each in after],
    }
    return {
        "object": "reference",
        "id": passage.id,
        "document_id": passage.document_id,
        "title": passage.title,
        "section": passage.section,
        "text": passage.text,
        "url": safe_url(passage.url),
        "start": passage.start,
        "end": passage.end,
        **(told if around is not None else {}),
    }


def wanted_around(given: str | None, usual: int) -> int:
    """How many passages are wanted on either side. Raises `RequestError` for anything but 0 to 5."""
    if given is None:
        return usual
    if not re.fullmatch(r"[0-9]", given) or int(given) > MAX_AROUND:
        raise RequestError(f"`around` must be a number from 0 to {MAX_AROUND}.", param="around")
    return int(given)


def passage_page(passage: Passage, quote: str = "", around: Neighbours = ((), ())) -> str:
    """An HTML page with the passage among those `around` it and, where its document has a URL, a link to it.

    `quote` is `START-END`, a span of the passage's text that is marked; anything else marks nothing.
    """
    before, after = around
    body = [
        f"<h2>{escape(passage.section)}</h2>" if passage.section else "",
        *(_neighbour(each, "before") for each in before),
        f"<blockquote>{_marked(passage.text, quote)}</blockquote>",
        *(_neighbour(each, "after") for each in after),
        f"<p>{_source(passage)}</p>",
        f"<small>{escape(passage.document_id)}, characters {passage.start} to {passage.end}</small>",
    ]
    return _PAGE.format(title=escape(passage.title or passage.document_id), body="\n".join(body))


def message_page(title: str, text: str) -> str:
    """An HTML page that says something to whoever followed a link."""
    return _PAGE.format(title=escape(title), body=f"<p>{escape(text)}</p>")


def _neighbour(passage: Passage, side: str) -> str:
    return f'<p class="around" data-side="{side}">{escape(passage.text)}</p>'


def _source(passage: Passage) -> str:
    """A link to the document, where a browser may open it; else its address, if it has one."""
    url = escape(passage.url)
    opens = scheme_of(passage.url) in ("http", "https")
    link = f'<a href="{url}" rel="noopener noreferrer">Open the source</a> <small>{url}</small>'
    return link if opens else url


def _marked(text: str, quote: str) -> str:
    """The text as HTML with the quote marked."""
    span = re.fullmatch(r"(\d{1,9})-(\d{1,9})", quote)
    start, end = (int(span[1]), int(span[2])) if span else (0, 0)
    if not start < end <= len(text):
        return escape(text)
    return f"{escape(text[:start])}<mark>{escape(text[start:end])}</mark>{escape(text[end:])}"
