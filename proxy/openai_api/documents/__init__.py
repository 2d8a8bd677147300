"""The documents that a RAG client put into a chat request, and what its claims are checked against: they, the
corpus, or both (`open_sources`).

documents = request_documents(body["messages"])

There is no standard for it: clients write passages into prompts in forms of their own. Each form has a
recogniser of its own; what none of them recognises is no document.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from proxy.config.settings import Retrieval
from proxy.engine.app_context import AppContext, Sources
from proxy.errors import RequestError
from proxy.openai_api.documents import announced, bracketed, numbered, records, tagged
from proxy.openai_api.documents.described import Found, labelled
from proxy.openai_api.documents.numbering import numbered_once
from proxy.retrieval.request_corpus import MergedRetriever
from proxy.text.markdown import Span
from proxy.types import Document, EvidenceSource, Passage, RetrievalMode

Message = Mapping[str, Any]

Recogniser = Callable[[str], list[Found]]

_MATERIAL: Sequence[Recogniser] = (
    records.passages,
    tagged.items,
    bracketed.passages,
    numbered.passages,
)
"""Forms of passages in a text that is material and nothing else. The first that finds any is the one."""

_STRUCTURED = frozenset({"search_result", "document", "resource", "tool_result", "json"})
"""Parts of a message's content, beside `text`, that may hold passages."""


def request_documents(messages: Sequence[Message]) -> tuple[Document, ...]:
    """What the messages bring along as reference material, in their order.

    - `tool` and `function` messages: all of their content; in several documents where it is structured.
    - `system` and `developer` messages: passages in a known form, and what a rule or a heading (`Context:`)
      says is material, if need be to the message's end. Nothing else: instructions are no evidence.
    - `user` messages: the same, but only where the material's end is marked, for the user's own words to stay
      out of it.
    - `assistant` messages: nothing.

    Args:
        messages: as a chat request has them; each is an object with a `role`.

    Returns:
        Documents with ids like `message-2-document-3`, both counted from 1. `text` is what was sent, less the
        white space around it; entities between tags are resolved. `number` is the client's own, at most one
        document's: passages of a message with one number and one name are joined, each a section; of other
        documents with one number the last one keeps it. None says the same as another without a number.
    """
    documents: list[list[Document]] = []
    tools = _tool_names(messages)
    for position, message in enumerate(messages, 1):
        passages = [passage for passage in _in_message(message) if passage.text.strip()]
        name = _tool_name(message, tools) or f"Message {position}"
        documents.append(
            [
                _document(passage, f"message-{position}-document-{count}", f"{name}, passage {count}")
                for count, passage in enumerate(passages, 1)
            ]
        )
    return numbered_once(documents) if any(documents) else ()


def _document(found: Found, identity: str, fallback: str) -> Document:
    by_number = "" if found.number is None else f"Document {found.number}"
    title = " ".join(found.title.split()) or found.url or by_number or fallback
    return Document(identity, title, found.text, found.url, number=found.number)


def _in_message(message: Message) -> list[Found]:
    read = _ROLES.get(message["role"])
    return [] if read is None else list(chain.from_iterable(map(read, _parts(message.get("content")))))


def _parts(content: Any) -> Iterator[Any]:
    """The texts of a message, and the parts of other kinds that may hold some."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, Mapping) and part.get("type") == "text":
                yield part.get("text")
            elif isinstance(part, Mapping) and part.get("type") in _STRUCTURED:
                yield part


def _in_result(part: Any) -> list[Found]:
    """All of a tool's result."""
    if not isinstance(part, str):
        return records.passages_of(part)
    passages = _passages(part)
    # A page that has a tag or a numbered line somewhere is not made of passages.
    structured = sum(passage.extent for passage in passages) * 2 >= len(part)
    return passages if structured else [Found(part.strip())]


def _in_instructions(part: Any) -> list[Found]:
    """What is material in a system message."""
    return _in_prompt(part, to_the_end=True)


def _in_question(part: Any) -> list[Found]:
    """What is material in a user's message."""
    return _in_prompt(part, to_the_end=False)


_ROLES: Mapping[str, Callable[[Any], list[Found]]] = {
    "tool": _in_result,
    "function": _in_result,
    "system": _in_instructions,
    "developer": _in_instructions,
    "user": _in_question,
}


def _in_prompt(part: Any, *, to_the_end: bool) -> list[Found]:
    """Material among other text. The first way that finds any is the one."""
    if not isinstance(part, str):
        return records.passages_of(part)
    if not _may_hold_material(part):
        return []
    ways: Sequence[Recogniser] = (
        _in_tags,
        bracketed.passages,
        lambda text: _regions(announced.fenced(text), to_the_end),
        lambda text: _regions(announced.headed(text), to_the_end),
        numbered.in_running_text,
    )
    return next(filter(None, (way(part) for way in ways)), [])


_LOCATED: Sequence[tuple[Recogniser, Callable[[str], list[Span]]]] = (
    (lambda text: _in_tags(text), tagged.spans),
    (bracketed.passages, bracketed.spans),
    (lambda text: _regions(announced.fenced(text), False), lambda text: _closed(announced.fenced(text))),
    (lambda text: _regions(announced.headed(text), False), lambda text: _closed(announced.headed(text))),
    (numbered.in_running_text, numbered.spans),
)
"""The ways of `_in_prompt` for a user's message, each with where its material stands."""


def material_spans(text: str) -> list[Span]:
    """Where the material of a user's message stands, with the tags or lines around it; empty without any."""
    if not _may_hold_material(text):
        return []
    return next((spans(text) for recognise, spans in _LOCATED if recognise(text)), [])


def _may_hold_material(text: str) -> bool:
    """Whether a text is more than a line of a person's own words."""
    return "\n" in text.strip() or "<" in text or "[" in text or ":" in text or "：" in text


def _closed(regions: Sequence[announced.Region]) -> list[Span]:
    return [region.span for region in regions if region.closed]


def _in_tags(text: str) -> list[Found]:
    return [passage for inner in tagged.regions(text) for passage in _tagged(inner)]


def _regions(regions: Sequence[announced.Region], to_the_end: bool) -> list[Found]:
    closed = (_passages(region.text) for region in regions if region.closed)
    rest = (_open(region.text) for region in regions if not region.closed and to_the_end)
    return list(chain.from_iterable(chain(closed, rest)))


def _open(text: str) -> list[Found]:
    """Material of which only the message's end is the end: its last passage may end before."""
    return numbered.in_running_text(text) or _passages(text)


def _tagged(text: str) -> list[Found]:
    return _first(text) or tagged.whole(text)


def _passages(text: str) -> list[Found]:
    """A text that is material in passages, or in one."""
    return _first(text) or [labelled(Found(text, extent=len(text)))]


def _first(text: str) -> list[Found]:
    return next(filter(None, (recognise(text) for recognise in _MATERIAL)), [])


def _tool_name(message: Message, tools: Mapping[str, str]) -> str:
    """The tool whose result a message is, "" where it is none or nobody says."""
    if message["role"] not in ("tool", "function"):
        return ""
    name = message.get("name") or tools.get(str(message.get("tool_call_id")))
    return name if isinstance(name, str) else ""


def _tool_names(messages: Sequence[Message]) -> dict[str, str]:
    """The function that each tool call was of."""
    calls = chain.from_iterable(_listed(message.get("tool_calls")) for message in messages)
    return {
        str(call.get("id")): call["function"]["name"]
        for call in calls
        if isinstance(call, Mapping)
        and isinstance(call.get("function"), Mapping)
        and isinstance(call["function"].get("name"), str)
    }


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


class RequestDocument(BaseModel):
    """A document sent with the request, to check against."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str = Field(min_length=1)
    id: str = ""
    title: str = ""
    url: str = ""
    number: int | None = Field(None, ge=1, le=1_000_000)

    def document(self, position: int) -> Document:
        """The document. Where it has no id or title, its position in the request (from 1) names it."""
        return Document(
            id=self.id or f"document-{position}",
            title=self.title or self.id or f"Document {self.number or position}",
            text=self.text,
            url=self.url,
            number=self.number,
        )


async def open_sources(
    context: AppContext,
    settings: Retrieval,
    source: EvidenceSource,
    mode: RetrievalMode,
    given: Sequence[RequestDocument] | None,
    messages: Sequence[Mapping[str, object]],
) -> Sources:
    """The sources of evidence. `given` are the documents of the request's options, if it has any; otherwise
    those in its messages count.

    `auto` reads the corpus, together with the documents where there are any. If those in the messages are too
    long together, the last ones are read; the chat is not refused.

    Raises `RequestError` where the documents are too long.
    """
    if source == "corpus":
        return Sources(context.retrievers[mode])
    documents = await asyncio.to_thread(_documents, given, messages)
    if source == "auto" and given is None:
        documents = _last_of(documents, settings.max_document_chars)
    if source == "auto" and not documents:
        return Sources(context.retrievers[mode])
    _require_short(documents, settings.max_document_chars)
    return await _with_documents(context, documents, mode, alone=source == "request")


async def _with_documents(
    context: AppContext, documents: Sequence[Document], mode: RetrievalMode, *, alone: bool
) -> Sources:
    corpus = await context.over_documents(documents, mode)
    numbers = {document.id: document.number for document in documents if document.number is not None}
    passages: dict[int, tuple[Passage, ...]] = {}
    for passage in corpus.passages:
        if (number := numbers.get(passage.document_id)) is not None:
            passages[number] = (*passages.get(number, ()), passage)
    retriever = corpus.retriever if alone else MergedRetriever([corpus.retriever, context.retrievers[mode]])
    return Sources(retriever, numbers, passages)


def _documents(
    given: Sequence[RequestDocument] | None, messages: Sequence[Mapping[str, object]]
) -> list[Document]:
    """The documents in `vouch.documents`, or else those found in the messages."""
    if given is None:
        return list(request_documents(messages))
    return [document.document(position) for position, document in enumerate(given, 1)]


def _last_of(documents: Sequence[Document], limit: int) -> list[Document]:
    """The last documents that have at most `limit` characters together, in their order."""
    kept: list[Document] = []
    for document in reversed(documents):
        limit -= len(document.text)
        if limit < 0:
            break
        kept.append(document)
    return kept[::-1]


def _require_short(documents: Sequence[Document], limit: int) -> None:
    if sum(len(document.text) for document in documents) > limit:
        raise RequestError(
            f"The documents are over {limit:,} characters together (retrieval.max_document_chars).",
            param="vouch.documents",
        )
