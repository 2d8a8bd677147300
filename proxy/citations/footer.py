"""The list of sources under a reply, for whoever sees its text and nothing else; and out again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from proxy.citations.markers import marks
from proxy.text.markdown import Span, blocks

_HEAD = "\n\n---\n\n"
_ENTRY = re.compile(r"- \[(\d{1,3})\] (?:\[[^\[\]\n]+\]\([^\s()]+\)|[^\[\]\n]+)")
_SPECIAL = re.compile(r"[\\`*_\[\]<>|~$&]")
_MARK = re.compile(r"\[{1,2}(\d{1,3})\]")
_MAX_NUMBER = 999
"""The highest that is known as a mark when it comes back."""


@dataclass(frozen=True, slots=True)
class Source:
    """A line of the list: the number of its marks, and where its title leads, if a browser can open that."""

    n: int
    title: str
    url: str


def footer(content: str, sources: Sequence[Source]) -> str:
    """What stands behind `content`, whose marks are those of all the sources: a ruler and a list.

    Empty where there is nothing to list, and where a list would not be one, or would change how the content
    is read: behind code that was never closed.
    """
    if not sources or max(source.n for source in sources) > _MAX_NUMBER:
        return ""
    text = _HEAD + "\n".join(map(_entry, sources))
    same = blocks(content + text)[: -len(sources)] == blocks(content)
    return text if same else ""


def footer_span(text: str) -> Span | None:
    """Where our footer stands in a text that has come back, or None.

    It ends the text, but for white space, and lists exactly the numbers that are marked above. So a list
    that the model itself wrote in the very same form stays, unless it is of the same numbers as our marks.
    """
    start = text.rfind(_HEAD)
    if start < 0:
        return None
    entries = [_ENTRY.fullmatch(line) for line in text[start + len(_HEAD) :].rstrip().split("\n")]
    listed = [int(entry.group(1)) for entry in entries if entry]
    if len(listed) < len(entries) or set(listed) != _marked(text[:start]):
        return None
    return start, len(text)


def _entry(source: Source) -> str:
    title = _SPECIAL.sub(_entity, " ".join(source.title.split()))
    opens = source.url.startswith(("http://", "https://"))
    return f"- [{source.n}] [{title}]({source.url})" if opens else f"- [{source.n}] {title}"


def _entity(special: re.Match[str]) -> str:
    """Not a backslash before it: `\\[` begins a formula."""
    return f"&#{ord(special.group())};"


def _marked(text: str) -> set[int]:
    """The numbers of the marks that stand as citations."""
    found = (_MARK.match(text, *span) for run in marks(text) for span in run.each)
    return {int(mark.group(1)) for mark in found if mark}
