"""Request and response of `/v1/citations/check`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from proxy.citations.faithfulness import Citation, CitationReport, Statement
from proxy.citations.report import numbered
from proxy.config.checker_settings import CheckerName
from proxy.errors import RequestError
from proxy.openai_api.bodies import validated
from proxy.openai_api.chat.response import usage_object
from proxy.openai_api.documents import RequestDocument
from proxy.types import Document, Json, Status, Verdict


class CheckOptions(BaseModel):
    """The `vouch` object of the request. A key that is left out has its configured value."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    checker: CheckerName | None = None
    deadline: float | None = Field(None, gt=0)
    top_k: int | None = Field(None, ge=1, le=100)


class CheckRequest(BaseModel):
    """The body. `model` names the model whose checker is used."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    answer: str = Field(min_length=1)
    documents: tuple[RequestDocument, ...] = Field(max_length=1000)
    question: str = ""
    model: str | None = None
    vouch: CheckOptions = CheckOptions()

    def numbered_documents(self, max_chars: int) -> tuple[Document, ...]:
        """The documents, each with a number. Raises `RequestError` where their total length is too large."""
        if sum(len(document.text) for document in self.documents) > max_chars:
            message = (
                f"The documents are over {max_chars:,} characters together (retrieval.max_document_chars)."
            )
            raise RequestError(message, param="documents")
        return numbered([document.document(position) for position, document in enumerate(self.documents, 1)])


def parse_check(body: Json) -> CheckRequest:
    """Parses the body. Raises `RequestError` that names the parameter."""
    return validated(CheckRequest, body, _SECTIONS)


_SECTIONS: dict[str, type[BaseModel]] = {"vouch": CheckOptions, "documents": RequestDocument}


def report_object(report: CitationReport, answer: str) -> Json:
    """The response. Offsets are code points of `answer`; each `text` is a slice of it, with its markers."""
    counts = [
        (verdict, sum(statement.verdict is verdict for statement in report.statements)) for verdict in Verdict
    ]
    return {
        "object": "citation.check",
        "status": _status(report),
        "citation_recall": _rounded(report.recall),
        "citation_precision": _rounded(report.precision),
        "citation_f1": _rounded(report.f1),
        "statements": [_statement_object(statement, answer) for statement in report.statements],
        "counts": {
            "statements": len(report.checkable),
            "citations": sum(len(statement.citations) for statement in report.checkable),
            **{str(verdict): count for verdict, count in counts},
        },
        "usage": usage_object(report.usage),
        **({"error": report.error} if report.error else {}),
    }


def _statement_object(statement: Statement, answer: str) -> Json:
    return {
        "start": statement.start,
        "end": statement.end,
        "text": answer[statement.start : statement.end],
        "verdict": str(statement.verdict),
        "score": round(statement.score, 4),
        "cited": [citation.number for citation in statement.citations],
        "citations": [_citation_object(citation) for citation in statement.citations],
        "missing_citations": list(statement.missing),
        "uncovered": list(statement.uncovered),
        "reason": statement.reason,
    }


def _citation_object(citation: Citation) -> Json:
    return {
        "n": citation.number,
        "supports": citation.supports,
        "superfluous": citation.superfluous,
        **({} if citation.exists else {"error": f"no document [{citation.number}]"}),
    }


def _status(report: CitationReport) -> Status:
    """`ok`: every checkable statement was checked; `skipped`: none was; `partial`: some were."""
    unverified = [statement for statement in report.checkable if statement.verdict is Verdict.UNVERIFIED]
    if not unverified and not report.error:
        return "ok"
    return "partial" if any(_was_judged(statement) for statement in report.checkable) else "skipped"


def _was_judged(statement: Statement) -> bool:
    """Whether the checker judged any document for the statement."""
    alone = (citation.supports for citation in statement.citations if citation.exists)
    return bool(statement.missing) or any(supports is not None for supports in alone)


def _rounded(figure: float | None) -> float | None:
    return None if figure is None else round(figure, 4)
