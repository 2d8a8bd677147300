"""What the claims of one chat are held against: the corpus, the documents of the request, or both."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from proxy.config.settings import Retrieval
from proxy.engine.context import AppContext, Sources
from proxy.errors import RequestError
from proxy.openai_api.documents import request_documents
from proxy.openai_api.options import RequestDocument, RequestOptions
from proxy.retrieval.request_corpus import MergedRetriever
from proxy.types import Document, EvidenceSource, Passage, RetrievalMode


async def open_sources(
    context: AppContext,
    settings: Retrieval,
    options: RequestOptions,
    messages: Sequence[Mapping[str, object]],
) -> Sources:
    """As the request asks, else as configured. `documents` without a word on `evidence` mean those alone.

    Raises `RequestError` where they are too long.
    """
    mode = options.retrieval or settings.mode
    asked = options.evidence or ("request" if options.documents else settings.evidence)
    if asked == "corpus":
        return Sources(context.retrievers[mode])
    documents = await asyncio.to_thread(_documents, options.documents, messages)
    _require_short(documents, settings.max_document_chars)
    return await _with_documents(context, documents, mode, asked)


async def _with_documents(
    context: AppContext, documents: Sequence[Document], mode: RetrievalMode, asked: EvidenceSource
) -> Sources:
    brought = await context.over_documents(documents, mode)
    numbers = {one.id: one.number for one in documents if one.number is not None}
    passages: dict[int, tuple[Passage, ...]] = {}
    for passage in brought.passages:
        if (number := numbers.get(passage.document_id)) is not None:
            passages[number] = (*passages.get(number, ()), passage)
    both = asked == "both"
    retriever = MergedRetriever([brought.retriever, context.retrievers[mode]]) if both else brought.retriever
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
