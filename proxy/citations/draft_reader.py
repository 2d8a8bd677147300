"""A draft as it is checked: without citations and signs that are not ours to keep, and its claims."""

from __future__ import annotations

from dataclasses import replace

from proxy.citations.attribution import assign, read_citations
from proxy.citations.warning import strip_warning
from proxy.claims.continuations import Read
from proxy.claims.segment import segment, segment_json
from proxy.types import Claim, Draft, ReplyFormat, UpstreamCitations


def reader(citations: UpstreamCitations, sign: str) -> Read:
    """How the text of a draft that may be edited is read.

    The upstream's own marks come out, and so does `sign` behind a claim; where citations are to be kept, the
    claims know what was cited for them.
    """

    def read(raw: str) -> tuple[str, tuple[Claim, ...]]:
        cited = read_citations(raw)
        text = strip_warning(cited.text, sign)
        claims = segment(text)
        kept = citations != "replace" and text == cited.text
        return text, assign(claims, cited) if kept else claims

    return read


def untouched(raw: str) -> tuple[str, tuple[Claim, ...]]:
    """The text as it is."""
    return raw, segment(raw)


def read_draft(draft: Draft, form: ReplyFormat, read: Read) -> tuple[Draft, tuple[Claim, ...]]:
    """A whole draft. JSON is never edited."""
    if form == "json":
        return replace(draft, editable=False), segment_json(draft.text)
    text, claims = (read if draft.editable else untouched)(draft.text)
    return replace(draft, text=text), claims
