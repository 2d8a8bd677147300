"""`/v1/citations/check`: one answer that cites, held against the documents that it cites."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

from proxy.citations.report import CitationOptions, check_citations
from proxy.config.settings import Settings
from proxy.engine.context import AppContext
from proxy.openai_api.chat.request import RequestOptions
from proxy.openai_api.citation_check import CheckRequest, report_object
from proxy.openai_api.models import find_model
from proxy.openai_api.options import ResolvedOptions
from proxy.server.limits import ConcurrencyLimit
from proxy.types import Json

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CitationService:
    """Checks citations with the parts there are, in the places that chats have too."""

    parts: AppContext
    settings: Settings
    gate: ConcurrencyLimit

    async def check(self, request: CheckRequest) -> Json:
        """The response. Raises `RequestError`, `NotFoundError`, `OverloadedError`."""
        begun = time.perf_counter()
        model = find_model(self.parts.models, request.model)
        documents = request.numbered_documents(self.settings.retrieval.max_document_chars)
        asked = ResolvedOptions(self.settings, RequestOptions(**request.vouch.model_dump()))
        checker = asked.checker(model)
        options = CitationOptions(
            max_statements=self.settings.verification.max_claims,
            top_k=request.vouch.top_k or self.settings.retrieval.top_k,
            deadline=asked.deadline,
        )
        async with self.gate.place():
            report = await check_citations(request.answer, documents, checker, request.question, options)
        log.info(
            "citations: %d statements, %d fully supported, %.0f ms",
            len(report.checkable),
            sum(one.recalled for one in report.checkable),
            1000 * (time.perf_counter() - begun),
        )
        return report_object(report, request.answer)
