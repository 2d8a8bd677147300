"""What both re-prompts are made of: the documents they show, blocks between marks, the turns they append."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, zip_longest

from proxy.text.delimiters import LENGTH
from proxy.types import Chat, Finding, Json, Language, Passage

Block = tuple[str, str]
"""What a line with the mark says after it, and the text that follows the line."""

MAX_EVIDENCE_CHARS = 12_000
"""Of all documents in one re-prompt together, code points. The claims are never cut: they are the draft's."""

_STREAMING = frozenset({"stream", "stream_options"})


@dataclass(frozen=True, slots=True)
class Document:
    """What a re-prompt shows of a passage. `title` is one line."""

    title: str
    text: str


def documents(findings: Iterable[Finding], max_chars: int) -> Iterator[Document]:
    """The best passage of every claim, then the second of every claim, and so on while there is room.

    `max_chars` bounds all titles and texts together, in code points; the last text is cut to fit.
    """
    ranks = zip_longest(*((evidence.passage for evidence in finding.evidence) for finding in findings))
    passages: dict[str, Passage] = {}
    for passage in chain.from_iterable(ranks):
        if passage is not None:
            passages.setdefault(passage.text, passage)
    left = max_chars
    for text, passage in passages.items():
        title = " ".join(passage.title.split())
        left -= len(title)
        if left <= 0:
            return
        yield Document(title, text[:left])
        left -= len(text)


def written(mark: str, blocks: Iterable[Block], end: str) -> str:
    """The blocks, each behind a line that names its kind, and the line that ends them."""
    return "\n".join((*(f"=== {mark} {kind}\n{text}" for kind, text in blocks), f"=== {mark} {end}"))


def read_blocks(text: str, mark: str) -> Iterator[Block]:
    """The blocks in a text. `mark` is in no kind and no block, so that nothing inside can end one."""
    for block in f"\n{text}".split(f"\n=== {mark} ")[1:]:
        kind, _, content = block.partition("\n")
        yield kind, content


def opening_patterns(openings: Mapping[Language, str]) -> dict[Language, re.Pattern[str]]:
    """Patterns of a re-prompt's first line, `{mark}` in it as their only group."""
    return {
        language: re.compile(re.escape(opening).replace(re.escape("{mark}"), f"([0-9a-f]{{{LENGTH}}})"))
        for language, opening in openings.items()
    }


def with_turns(chat: Chat, draft: str, message: str) -> Chat:
    """The chat with the draft as the assistant's turn and one user turn more.

    Messages are appended, never altered: providers cache prefixes. One choice is asked for, not streamed;
    every other key of the body stays. `chat` itself is left as it is.
    """
    turns: list[Json] = [{"role": "assistant", "content": draft}, {"role": "user", "content": message}]
    body = {key: value for key, value in chat.body.items() if key not in _STREAMING}
    return replace(chat, body={**body, "messages": [*chat.body["messages"], *turns], "n": 1})
