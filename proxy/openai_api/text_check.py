"""Request and response of `/v1/check`: a text checked as if an upstream had written it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pydantic import BaseModel, ConfigDict, Field

from proxy.config.checker_settings import CheckerName
from proxy.engine.app_context import AppContext, Model, Sources
from proxy.engine.pipeline import Pipeline
from proxy.errors import RequestError
from proxy.openai_api.bodies import validated
from proxy.openai_api.chat.response import Choice, choice, usage_object
from proxy.openai_api.documents import RequestDocument, open_sources
from proxy.openai_api.options import RequestOptions, ResolvedOptions
from proxy.types import (
    Aggregation,
    CitationStyle,
    Draft,
    Evidence,
    EvidenceSource,
    Granularity,
    Json,
    Outcome,
    RetrievalMode,
    UpstreamCitations,
    Usage,
)

MAX_CHARACTERS = 1_000_000
"""A longer text is refused: no reader waits for so many claims in one answer."""


class TextCheckOptions(BaseModel):
    """The `vouch` object: the options of a chat that have a meaning for a text that nobody rewrites."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    checker: CheckerName | None = None
    deadline: float | None = Field(None, gt=0)
    top_k: int | None = Field(None, ge=1, le=100)
    retrieval: RetrievalMode | None = None
    evidence: EvidenceSource | None = None
    granularity: Granularity | None = None
    aggregation: Aggregation | None = None
    citations: UpstreamCitations | None = None
    citation_style: CitationStyle | None = None
    mark_nonfactual: str | None = Field(None, max_length=64)


class TextCheckRequest(BaseModel):
    """The body. `model` names the model whose checker is used."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str = Field(min_length=1, max_length=MAX_CHARACTERS)
    question: str = Field("", max_length=MAX_CHARACTERS)
    documents: tuple[RequestDocument, ...] | None = Field(None, min_length=1, max_length=1000)
    model: str | None = None
    vouch: TextCheckOptions = TextCheckOptions()


@dataclass(frozen=True, slots=True)
class CheckedText:
    """The text with its markers, its verdicts and references, and what checking it cost."""

    choice: Choice
    usage: Usage

    def wire(self) -> Json:
        """The response. Offsets are code points of `content`."""
        return {
            "object": "text.check",
            "content": self.choice.content,
            "references": self.choice.references,
            "verification": self.choice.verification,
            "usage": usage_object(self.usage),
        }


def parse_text_check(body: Json) -> TextCheckRequest:
    """Parses the body. Raises `RequestError` that names the parameter."""
    check = validated(TextCheckRequest, body, {"vouch": TextCheckOptions, "documents": RequestDocument})
    if not check.text.strip():
        raise RequestError("`text` is empty: there is nothing to check.", param="text")
    return check


async def sources_of(context: AppContext, options: ResolvedOptions, check: TextCheckRequest) -> Sources:
    """What the claims are checked against. Raises `RequestError` where the documents are too long."""
    settings = options.settings.retrieval
    if sum(len(document.text) for document in check.documents or ()) > settings.max_document_chars:
        raise RequestError(
            f"The documents are over {settings.max_document_chars:,} characters together "
            "(retrieval.max_document_chars).",
            param="documents",
        )
    return await open_sources(context, settings, options.evidence, options.retrieval, check.documents, [])


def options_of(check: TextCheckRequest) -> RequestOptions:
    """The options of a request, as a chat has them."""
    return RequestOptions(**check.vouch.model_dump())


async def check_text(
    text: str,
    question: str,
    model: Model,
    options: ResolvedOptions,
    sources: Sources,
    url_of: Callable[[Evidence], str],
) -> CheckedText:
    """The text as it would be returned, were it an upstream's reply; there is nobody to re-prompt.

    Raises `RequestError` where the options name a checker that is not configured.
    """
    pipeline = Pipeline(model.llm, options.verifier(model, sources), options.pipeline_options("markdown"))
    attempt = await pipeline.check(Draft(text, {"message": {"content": text}}), Usage(), question)
    rendering = replace(options.rendering(sources, url_of), notice="none")
    spent = sum((finding.usage for finding in attempt.findings), Usage())
    return CheckedText(choice(Outcome((attempt,), 0), rendering), spent)
