"""The settings under `limits:`: what one request, and one key, may take."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from proxy.config.checker_settings import CheckerName, Section
from proxy.types import (
    Aggregation,
    CitationStyle,
    Correction,
    EvidenceSource,
    Granularity,
    OnUnsupported,
    PresetName,
    ProfileName,
    RegenerationMode,
    RetrievalMode,
    StreamMode,
    UpstreamCitations,
)

Fixed = Literal["fixed"]


class OptionLimits(Section):
    """`limits.options`: what a request may choose in `vouch`.

    null: anything; a number: up to that; a list: one of these; `fixed`: nothing, what is configured holds.
    """

    preset: Fixed | tuple[PresetName, ...] | None = None
    max_rounds: Annotated[int, Field(ge=0, le=10)] | Fixed | None = 3
    top_k: Annotated[int, Field(ge=1, le=100)] | Fixed | None = 20
    checker: Fixed | tuple[CheckerName, ...] | None = None
    retrieval: Fixed | tuple[RetrievalMode, ...] | None = None
    deadline: Annotated[float, Field(gt=0)] | Fixed | None = 600.0
    profile: Fixed | tuple[ProfileName, ...] | None = None
    citation_style: Fixed | tuple[CitationStyle, ...] | None = None
    fail_closed: Fixed | None = None
    granularity: Fixed | tuple[Granularity, ...] | None = None
    aggregation: Fixed | tuple[Aggregation, ...] | None = None
    evidence: Fixed | tuple[EvidenceSource, ...] | None = None
    regeneration: Fixed | tuple[RegenerationMode, ...] | None = None
    on_unsupported: Fixed | tuple[OnUnsupported, ...] | None = None
    citations: Fixed | tuple[UpstreamCitations, ...] | None = None
    mark_nonfactual: Fixed | None = None
    notice: Fixed | None = None
    skip_tasks: Fixed | None = None
    stream_mode: Fixed | tuple[StreamMode, ...] | None = None
    correction: Fixed | tuple[Correction, ...] | None = None
    progress: Fixed | None = None
    documents: Annotated[int, Field(ge=1)] | Fixed | None = 1000


class KeyLimits(Section):
    """`limits.key`: what all requests of one key together may take."""

    concurrency: int = Field(16, ge=1)
    requests_per_minute: int | None = Field(None, ge=1)
    tokens_per_minute: int | None = Field(None, ge=1)


class Limits(Section):
    """What one request may take, whatever it asks for, and what one key may take. As the limits of a single
    key: what is other for it than for all."""

    upstream_calls: int = Field(100, ge=1)
    upstream_tokens: int | None = Field(None, ge=1)
    choices: int = Field(128, ge=1, le=128)
    key: KeyLimits = KeyLimits()
    options: OptionLimits = OptionLimits()

    def overridden(self, by: Limits | None) -> Limits:
        """These, with what is set in `by` in their place."""
        if by is None:
            return self
        return self.model_copy(
            update={
                **{name: getattr(by, name) for name in by.model_fields_set},
                "key": self.key.model_copy(update=_given(by.key)),
                "options": self.options.model_copy(update=_given(by.options)),
            }
        )


def _given(section: Section) -> dict[str, object]:
    return {name: getattr(section, name) for name in section.model_fields_set}
