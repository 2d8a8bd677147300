"""Profiles: one checked reply in the formats that different clients expect.

A profile changes the objects that `response.completion` and `stream.Chunks` make. It sets the style of the
markers, adds and removes fields, and may append a footer to the content. The functions here take `references`
as `response.reference_object` makes them.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from proxy.citations.history import Source, footer
from proxy.citations.place import QUOTE_GAP
from proxy.errors import RequestError
from proxy.text.sentences import CITATION
from proxy.types import CitationStyle, Json, ProfileName

_MAX_POSITION = 1000
"""The highest number that gets a position in `citations`: clients number documents up to a million."""


def perplexity_fields(references: Sequence[Json]) -> Json:
    """`citations` and `search_results` of Perplexity's API (docs.perplexity.ai, Sonar API, chat completions).

    Clients look the marker `[n]` up at index n - 1. So where numbers are missing, because the client numbered
    its documents and not all are cited, the entries in between are empty. Passages have no `date`.
    """
    by_number = {reference["n"]: reference for reference in references if reference["n"] <= _MAX_POSITION}
    numbers = range(1, max(by_number, default=0) + 1)
    results = [_result(by_number[n]) if n in by_number else {"title": "", "url": ""} for n in numbers]
    return {"citations": [result["url"] for result in results], "search_results": results}


def open_webui_fields(references: Sequence[Json]) -> Json:
    """`sources` of Open WebUI, for a reply that is not streamed or that the browser requests directly."""
    sources = _sources(references)
    return {"sources": sources} if sources else {}


def open_webui_events(references: Sequence[Json]) -> list[Json]:
    """One event per source: Open WebUI's server takes them out of the stream and stores them."""
    return [{"type": "source", "data": source} for source in _sources(references)]


def open_webui_status(text: str, done: bool) -> Json:
    """The status that Open WebUI shows above a reply (its docs, "Events"): what is being done, or, once that
    is `done`, what came of it. Nothing is shown for an empty text."""
    return {
        "type": "status",
        "data": {"description": text, "done": done, **({} if text else {"hidden": True})},
    }


def markdown_footer(content: str, references: Sequence[Json]) -> str:
    """The list of sources to append to a content with markers; empty for content that has none."""
    marked = all(CITATION.fullmatch(content, *reference["spans"][0]) for reference in references)
    sources = [Source(reference["n"], reference["title"], reference["url"]) for reference in references]
    return footer(content, sources) if marked else ""


def _sources(references: Sequence[Json]) -> list[Json]:
    """Sources as Open WebUI keeps them (its docs, "Events"; `Citations.svelte`, `ContentRenderer.svelte`).

    It counts distinct `metadata.source` and `metadata.name` to resolve `[n]`, so each source has one
    document. A reference without a web address came with the request, from Open WebUI itself: it is in its
    list already, under the same number.
    """
    return [_source(reference) for reference in references if _opens(reference["url"])]


def _result(reference: Json) -> Json:
    snippet = reference["quote"] or reference["text"]
    return {"title": reference["title"], "url": reference["url"], "snippet": snippet}


def _source(reference: Json) -> Json:
    title, url, page = reference["title"], reference["url"], reference.get(_PAGE)
    return {
        "source": {"id": url, "name": title, "url": url, **({"embed_url": page} if page else {})},
        "document": [_with_bold_quote(reference["text"], reference["quote"])],
        # without `external` it lists the address in place of the name
        "metadata": [{"source": url, "name": title, "source_url": url, "external": True}],
        "distances": [reference["score"]],
    }


def _with_bold_quote(text: str, quote: str) -> str:
    """The passage as Markdown with the evidence sentence in bold, as Open WebUI shows it. Only where a bold
    piece can begin and end: between spaces, in one line and without asterisks (CommonMark, section 6.2)."""
    start = text.find(quote)
    end = start + len(quote)
    spaced = text[max(0, start - 1) : start].strip() == "" and text[end : end + 1].strip() == ""
    if start < 0 or not spaced or quote != quote.strip() or quote in ("", text) or set(quote) & set("*\n"):
        return text
    return f"{text[:start]}**{quote}**{text[end:]}"


_PAGE = "page"
"""In a reference that is about to become a source: the address of our page with the passage."""


def _with_page(reference: Json, page_of: Callable[[str, tuple[int, int] | None], str]) -> Json:
    """The reference with the address of its page, on which its quote (of several, the first) is marked."""
    quote = reference["quote"].partition(QUOTE_GAP)[0]
    start = reference["text"].find(quote) if quote else -1
    return {**reference, _PAGE: page_of(reference["id"], (start, start + len(quote)) if start >= 0 else None)}


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
    """The format of a reply for one kind of client.

    Attributes:
        style: the style of the markers where the request asks for none.
        annotations: whether the annotations of Vouch are kept.
        references: whether `references` is kept.
        fields: makes the fields beside `references`.
        events: makes events for references; each becomes the `event` of a chunk before the references' first
            markers.
        status: makes the event that shows a status, given its text and whether it is the last; None where the
            client has no such event.
        footer: makes the text that is appended to the content.
    """

    style: CitationStyle | None = None
    annotations: bool = True
    references: bool = True
    fields: Callable[[Sequence[Json]], Json] = _nothing
    events: Callable[[Sequence[Json]], list[Json]] = lambda _references: []
    status: Callable[[str, bool], Json] | None = None
    footer: Callable[[str, Sequence[Json]], str] = _no_footer

    def whole(self, completion: Json) -> Json:
        """A `chat.completion` in this profile. With several choices, each has its own footer and fields; the
        fields at the top are those of the first."""
        choices = [self._choice(choice, completion["references"]) for choice in completion["choices"]]
        return {**self._with_fields(completion), "choices": choices}

    def streamed(self, chunks: Iterable[Json], content: str) -> Iterator[Json]:
        """The last chunks of a choice in this profile, ending with the finish chunk. `content` is the whole
        content of the choice, whenever it was sent."""
        for chunk in chunks:
            yield from self._finish(chunk, content) if "references" in chunk else [chunk]

    def _finish(self, chunk: Json, content: str) -> list[Json]:
        choice, references = chunk["choices"][0], chunk["references"]
        footer = self.footer(content, references)
        last = {**choice, "delta": self._message(choice["delta"], references)}
        return [
            *([_chunk_like(chunk, {"content": footer})] if footer else []),
            {**self._with_fields(chunk), "choices": [last]},
        ]

    def _choice(self, choice: Json, references: Sequence[Json]) -> Json:
        own = choice.get("references", references)
        message = self._message(choice["message"], own)
        content = message.get("content")
        if isinstance(content, str):
            message["content"] = content + self.footer(content, own)
        return {**(self._with_fields(choice) if "references" in choice else choice), "message": message}

    def _with_fields(self, holder: Json) -> Json:
        """The object that holds `references`, with the profile's fields beside them. Where the upstream's own
        are still there, its text and the markers in it are untouched: then they stay."""
        kept = {key: value for key, value in holder.items() if self.references or key != "references"}
        fields = self.fields(holder["references"])
        return kept if fields.keys() & kept.keys() else {**kept, **fields}

    def _message(self, message: Json, references: Sequence[Json]) -> Json:
        """A message or delta. The upstream's own annotations stay."""
        if self.annotations:
            return dict(message)
        ours = {reference["url"] for reference in references}
        theirs = [each for each in message.get("annotations") or () if _url(each) not in ours]
        bare = {key: value for key, value in message.items() if key != "annotations"}
        return {**bare, "annotations": theirs} if theirs else bare


def embedding(profile: Profile, page_of: Callable[[str, tuple[int, int] | None], str]) -> Profile:
    """The profile, if it is Open WebUI's, with `embed_url` in its sources: what a chip opens beside the chat
    (`Citations.svelte`, `ChatControls/Embeds.svelte`). `page_of` gives the address of a passage's page by its
    id and the span to mark; empty where there is none."""

    def paged(references: Sequence[Json]) -> list[Json]:
        return [_with_page(reference, page_of) for reference in references]

    if profile.fields is not open_webui_fields:
        return profile
    return replace(
        profile,
        fields=lambda references: open_webui_fields(paged(references)),
        events=lambda references: open_webui_events(paged(references)),
    )


PROFILES: Mapping[ProfileName, Profile] = {
    "openai": Profile(),
    "perplexity": Profile("brackets", annotations=False, fields=perplexity_fields),
    "open_webui": Profile(
        "brackets",
        annotations=False,
        fields=open_webui_fields,
        events=open_webui_events,
        status=open_webui_status,
    ),
    "markdown": Profile("markdown", footer=markdown_footer),
    "none": Profile("none", annotations=False, references=False),
}
"""Every profile by its name."""


def choose_profile(
    requested: ProfileName | None, header: str | None, alias: ProfileName | None
) -> ProfileName | None:
    """The profile that a request names in its body, else in its header, else behind the model's name; None
    where it names none. Raises `RequestError` where the header names no known profile."""
    given = (header or "").strip()
    if requested is not None or not given:
        return requested or alias
    profile = _named(given)
    if profile is None:
        near = difflib.get_close_matches(given, PROFILES, n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(PROFILES)}."
        raise RequestError(f"{HEADER}: there is no profile {given!r}. {hint}", param=HEADER)
    return profile


def named(model: str, profile: ProfileName) -> str:
    """The model's name with a profile behind it."""
    return f"{model}{_ALIAS}{profile}"


def split_alias(model: str) -> tuple[str, ProfileName | None]:
    """A model's name and the profile behind it: `NAME@markdown`. Another `@` is part of the name."""
    name, _, suffix = model.rpartition(_ALIAS)
    profile = _named(suffix) if name else None
    return (name, profile) if profile else (model, None)


def _named(text: str) -> ProfileName | None:
    return next((name for name in PROFILES if name == text), None)


def _chunk_like(like: Json, delta: Json) -> Json:
    """Another chunk of the same stream and choice."""
    choice = {"index": like["choices"][0]["index"], "delta": delta, "finish_reason": None}
    return {**{key: like[key] for key in _ENVELOPE if key in like}, "choices": [choice]}


def _url(annotation: Json) -> object:
    return (annotation.get("url_citation") or {}).get("url")
