"""References as the clients of other services look for them.

Each function takes `references`, as `response.reference_object` makes them.

Profiles: the same checked reply in the dress that another client looks for.

A profile works on the objects that `response.completion` and `stream.Chunks` make. It says which style its
marks should have, adds and leaves out fields, and may put text of its own behind the content.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from proxy.citations.history import Source, footer
from proxy.errors import RequestError
from proxy.text.sentences import CITATION
from proxy.types import CitationStyle, Json, ProfileName

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


HEADER = "x-vouch-profile"
"""The request header that names a profile."""

_ALIAS = "@"
_ENVELOPE = ("id", "object", "created", "model", "usage")


def _nothing(_references: Sequence[Json]) -> Json:
    return {}


def _no_footer(_content: str, _references: Sequence[Json]) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Profile:
    """What a reply looks like to one kind of client.

    `style` is that of the marks where the request asks for none; without `warnings` nothing stands behind
    claims that failed, unless the request asks for it. `fields` stand beside `references`, which may be left
    out, as may our annotations. `events` are the `event` of a chunk each, before the one that finishes. The
    `footer` ends the content.
    """

    style: CitationStyle | None = None
    warnings: bool = True
    annotations: bool = True
    references: bool = True
    fields: Callable[[Sequence[Json]], Json] = _nothing
    events: Callable[[Sequence[Json]], list[Json]] = lambda _references: []
    footer: Callable[[str, Sequence[Json]], str] = _no_footer

    def whole(self, completion: Json) -> Json:
        """A `chat.completion` in this dress. Of several choices each has its own footer and fields; those at
        the top are the first's."""
        choices = [self._choice(choice, completion["references"]) for choice in completion["choices"]]
        return {**self._dressed(completion), "choices": choices}

    def streamed(self, chunks: Iterable[Json], content: str) -> Iterator[Json]:
        """The last chunks of a choice, of which the very last finishes it, in this dress. `content` is all of
        the choice's, whenever it was sent."""
        for chunk in chunks:
            yield from self._finish(chunk, content) if "references" in chunk else [chunk]

    def _finish(self, chunk: Json, content: str) -> list[Json]:
        choice, references = chunk["choices"][0], chunk["references"]
        events = self.events(references) if choice["index"] == 0 else []
        footer = self.footer(content, references)
        last = {**choice, "delta": self._said(choice["delta"], references)}
        return [
            *(_chunk(chunk, {}) | {"event": event} for event in events),
            *([_chunk(chunk, {"content": footer})] if footer else []),
            {**self._dressed(chunk), "choices": [last]},
        ]

    def _choice(self, choice: Json, references: Sequence[Json]) -> Json:
        own = choice.get("references", references)
        message = self._said(choice["message"], own)
        content = message.get("content")
        if isinstance(content, str):
            message["content"] = content + self.footer(content, own)
        return {**(self._dressed(choice) if "references" in choice else choice), "message": message}

    def _dressed(self, holder: Json) -> Json:
        """What carries references, with the fields beside them."""
        kept = {key: value for key, value in holder.items() if self.references or key != "references"}
        return {**kept, **self.fields(holder["references"])}

    def _said(self, message: Json, references: Sequence[Json]) -> Json:
        """A message or delta. Annotations of the upstream's own stay."""
        if self.annotations:
            return dict(message)
        ours = {reference["url"] for reference in references}
        theirs = [one for one in message.get("annotations") or () if _url(one) not in ours]
        bare = {key: value for key, value in message.items() if key != "annotations"}
        return {**bare, "annotations": theirs} if theirs else bare


PROFILES: Mapping[ProfileName, Profile] = {
    "openai": Profile(),
    "perplexity": Profile("brackets", annotations=False, fields=perplexity_fields),
    "open_webui": Profile(
        "brackets",
        annotations=False,
        fields=open_webui_fields,
        events=open_webui_events,
    ),
    "markdown": Profile("markdown", footer=markdown_footer),
    "none": Profile("none", warnings=False, annotations=False, references=False),
}
"""Every profile by its name."""


def choose_profile(
    asked: ProfileName | None, header: str | None, alias: ProfileName | None
) -> ProfileName | None:
    """The profile that a request names: in its body, else in its header, else behind the model's name; None
    where it names none. Raises `RequestError` for a header that is no profile's name."""
    given = (header or "").strip()
    if asked is not None or not given:
        return asked or alias
    named = _named(given)
    if named is None:
        near = difflib.get_close_matches(given, PROFILES, n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(PROFILES)}."
        raise RequestError(f"{HEADER}: there is no profile {given!r}. {hint}", param=HEADER)
    return named


def split_alias(model: str) -> tuple[str, ProfileName | None]:
    """A model's name and the profile behind it: `NAME@markdown`. Another `@` is part of the name."""
    name, _, suffix = model.rpartition(_ALIAS)
    profile = _named(suffix) if name else None
    return (name, profile) if profile else (model, None)


def _named(text: str) -> ProfileName | None:
    return next((name for name in PROFILES if name == text), None)


def _chunk(like: Json, delta: Json) -> Json:
    """Another chunk of the same stream and choice."""
    choice = {"index": like["choices"][0]["index"], "delta": delta, "finish_reason": None}
    return {**{key: like[key] for key in _ENVELOPE if key in like}, "choices": [choice]}


def _url(annotation: Json) -> object:
    return (annotation.get("url_citation") or {}).get("url")
