"""`/v1/references/{id}`: a passage as JSON for programs, or as an HTML page for people."""

from __future__ import annotations

from html import escape
from urllib.parse import urlsplit

from proxy.citations.place import safe_url
from proxy.types import Json, Passage

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>body{{font:1rem/1.6 system-ui,sans-serif;max-width:42rem;margin:3rem auto;padding:0 1rem}}
blockquote{{margin:1rem 0;padding-left:1rem;border-left:4px solid #8a8;white-space:pre-wrap}}
small{{color:#666}}</style></head>
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


def passage_page(passage: Passage) -> str:
    """An HTML page with the passage and, where its document has a URL, a link to it."""
    url = escape(passage.url)
    opens = urlsplit(passage.url).scheme.lower() in ("http", "https")
    return _PAGE.format(
        title=escape(passage.title or passage.document_id),
        section=escape(passage.section),
        text=escape(passage.text),
        link=f'<a href="{url}">{url}</a>' if opens else url,
        document=escape(passage.document_id),
        start=passage.start,
        end=passage.end,
    )
