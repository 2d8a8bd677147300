"""References as the clients of other services look for them.

Each function takes `references`, as `response.reference_object` makes them.
"""

from __future__ import annotations

from collections.abc import Sequence

from proxy.citations.footer import Source, footer
from proxy.text.sentences import CITATION
from proxy.types import Json

_MAX_POSITION = 1000
"""The highest number that has a place in `citations`: clients number documents up to a million."""


def perplexity_fields(references: Sequence[Json]) -> Json:
    """`citations` and `search_results` of Perplexity's API (docs.perplexity.ai, Sonar API, chat completions).

    Clients take the mark `[n]` for the one at position n - 1. So where numbers are left out, because the
    client numbered its documents and not all are cited, the places between are empty. Our passages have no
    `date`.
    """
    by_number = {one["n"]: one for one in references if one["n"] <= _MAX_POSITION}
    numbers = range(1, max(by_number, default=0) + 1)
    results = [_result(by_number[n]) if n in by_number else {"title": "", "url": ""} for n in numbers]
    return {"citations": [result["url"] for result in results], "search_results": results}


def open_webui_fields(references: Sequence[Json]) -> Json:
    """`sources`, for Open WebUI where a reply is not streamed, or the browser asked for it directly."""
    sources = _sources(references)
    return {"sources": sources} if sources else {}


def open_webui_events(references: Sequence[Json]) -> list[Json]:
    """An event for each source: Open WebUI's server takes them out of the stream and keeps them."""
    return [{"type": "source", "data": source} for source in _sources(references)]


def markdown_footer(content: str, references: Sequence[Json]) -> str:
    """The list of sources behind a content that has marks; none behind one that may not be touched."""
    marked = all(CITATION.fullmatch(content, *one["spans"][0]) for one in references)
    sources = [Source(one["n"], one["title"], one["url"]) for one in references]
    return footer(content, sources) if marked else ""


def _sources(references: Sequence[Json]) -> list[Json]:
    """Sources as Open WebUI keeps them (its docs, "Events"; `Citations.svelte`, `ContentRenderer.svelte`).

    It counts the different `metadata.source` and `metadata.name` to find the one that `[n]` stands for, so
    each source has one document. What has no address came with the request, where Open WebUI itself had put
    it: it is in its list already, under the same number.
    """
    return [_source(one) for one in references if _opens(one["url"])]


def _result(reference: Json) -> Json:
    snippet = reference["quote"] or reference["text"]
    return {"title": reference["title"], "url": reference["url"], "snippet": snippet}


def _source(reference: Json) -> Json:
    title, url = reference["title"], reference["url"]
    return {
        "source": {"id": url, "name": title, "url": url},
        "document": [reference["text"]],
        "metadata": [{"source": url, "name": title, "source_url": url}],
        "distances": [reference["score"]],
    }


def _opens(url: str) -> bool:
    return url.startswith(("http://", "https://"))
