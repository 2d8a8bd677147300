"""Profiles: the same checked reply in the dress that another client looks for.

A profile works on the objects that `response.completion` and `stream.Chunks` make. It says which style its
marks should have, adds and leaves out fields, and may put text of its own behind the content.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from proxy.errors import RequestError
from proxy.openai_api.profile_fields import (
    markdown_footer,
    open_webui_events,
    open_webui_fields,
    perplexity_fields,
)
from proxy.types import CitationStyle, Json, ProfileName

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

    `style` is that of the marks where the request asks for none; without `signs` nothing stands behind
    claims that failed, unless the request asks for it. `fields` stand beside `references`, which may be left
    out, as may our annotations. `events` are the `event` of a chunk each, before the one that finishes. The
    `footer` ends the content.
    """

    style: CitationStyle | None = None
    signs: bool = True
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
    "none": Profile("none", signs=False, annotations=False, references=False),
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
