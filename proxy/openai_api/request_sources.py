"""What the claims of one chat are checked against: the corpus, the documents of the request, or both."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field

from proxy.config.settings import Retrieval
from proxy.engine.app_context import AppContext, Sources
from proxy.errors import RequestError
from proxy.openai_api.documents import request_documents
from proxy.retrieval.request_corpus import MergedRetriever
from proxy.types import Document, EvidenceSource, Passage, RetrievalMode


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
