"""`/v1/references/{id}`: a passage as JSON for programs, or as an HTML page for people."""

from __future__ import annotations

import re
from html import escape
from urllib.parse import urlsplit

from proxy.citations.place import safe_url
from proxy.types import Json, Passage

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>body{{font:1rem/1.6 system-ui,sans-serif;max-width:42rem;margin:3rem auto;padding:0 1rem}}
blockquote{{margin:1rem 0;padding-left:1rem;border-left:4px solid #8a8;white-space:pre-wrap}}
mark{{background:#ffe58a;color:#000}}small{{color:#666}}</style></head>
<body><h1>{title}</h1><h2>{section}</h2><blockquote>{text}</blockquote>
<p>{link}</p><small>{document}, characters {start} to {end}</small></body></html>
"""


def passage_object(passage: Passage) -> Json:
    """All fields of a passage."""
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
    }


def passage_page(passage: Passage, quote: str = "") -> str:
    """An HTML page with the passage and, where its document has a URL, a link to it.

    `quote` is `START-END`, a span of the passage's text that is marked; anything else marks nothing.
    """
    url = escape(passage.url)
    opens = urlsplit(passage.url).scheme.lower() in ("http", "https")
    return _PAGE.format(
        title=escape(passage.title or passage.document_id),
        section=escape(passage.section),
        text=_marked(passage.text, quote),
        link=f'<a href="{url}" rel="noopener noreferrer">{url}</a>' if opens else url,
        document=escape(passage.document_id),
        start=passage.start,
        end=passage.end,
    )


def _marked(text: str, quote: str) -> str:
    """The text as HTML with the quote marked."""
    span = re.fullmatch(r"(\d{1,9})-(\d{1,9})", quote)
    start, end = (int(span[1]), int(span[2])) if span else (0, 0)
    if not start < end <= len(text):
        return escape(text)
    return f"{escape(text[:start])}<mark>{escape(text[start:end])}</mark>{escape(text[end:])}"
