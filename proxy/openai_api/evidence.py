"""What the claims of one chat are held against: the corpus, the documents of the request, or both."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from proxy.config.settings import Retrieval
from proxy.engine.context import AppContext
from proxy.errors import RequestError
from proxy.openai_api.chat.request import ChatRequest, RequestDocument
from proxy.openai_api.documents import request_documents
from proxy.protocols import Retriever
from proxy.retrieval.request_corpus import MergedRetriever
from proxy.types import Document, EvidenceSource, Passage, RetrievalMode


@dataclass(frozen=True, slots=True)
class Sources:
    """A retriever; the numbers that the client gave its documents, by id; and their passages by number."""

    retriever: Retriever
    numbers: Mapping[str, int] = field(default_factory=dict)
    passages: Mapping[int, tuple[Passage, ...]] = field(default_factory=dict)


async def open_sources(parts: AppContext, settings: Retrieval, request: ChatRequest) -> Sources:
    """As the request asks, else as configured. `documents` without a word on `evidence` mean those alone.

    Raises `RequestError` where they are too long.
    """
    options = request.options
    mode = options.retrieval or settings.mode
    asked = options.evidence or ("request" if options.documents else settings.evidence)
    if asked == "corpus":
        return Sources(parts.retrievers[mode])
    documents = await asyncio.to_thread(_documents, options.documents, request.chat.body["messages"])
    _require_short(documents, settings.max_document_chars)
    return await _brought(parts, documents, mode, asked)


async def _brought(
    parts: AppContext, documents: Sequence[Document], mode: RetrievalMode, asked: EvidenceSource
) -> Sources:
    brought = await parts.over_documents(documents, mode)
    numbers = {one.id: one.number for one in documents if one.number is not None}
    passages: dict[int, tuple[Passage, ...]] = {}
    for passage in brought.passages:
        if (number := numbers.get(passage.document_id)) is not None:
            passages[number] = (*passages.get(number, ()), passage)
    both = asked == "both"
    retriever = MergedRetriever([brought.retriever, parts.retrievers[mode]]) if both else brought.retriever
    return Sources(retriever, numbers, passages)


def _documents(
    given: Sequence[RequestDocument] | None, messages: Sequence[Mapping[str, object]]
) -> list[Document]:
    """Those of `vouch.documents`, or else those that the messages hold."""
    if given is None:
        return list(request_documents(messages))
    return [one.document(place) for place, one in enumerate(given, 1)]


def _require_short(documents: Sequence[Document], limit: int) -> None:
    if sum(len(one.text) for one in documents) > limit:
        raise RequestError(
            f"The documents are over {limit:,} characters together (retrieval.max_document_chars).",
            param="vouch.documents",
        )
