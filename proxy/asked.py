"""What a request asks for, and what is configured where it doesn't say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from proxy.errors import RequestError
from proxy.openai_api.request import RequestOptions
from proxy.openai_api.response import Dress
from proxy.parts import Model
from proxy.pipeline import Options
from proxy.settings import Settings
from proxy.sources import Sources
from proxy.steps.signs import SIGN
from proxy.types import Checker, Passage, ReplyFormat
from proxy.verify import Verifier

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of one request over the settings."""

    settings: Settings
    options: RequestOptions = field(default_factory=RequestOptions)

    @property
    def fail_closed(self) -> bool:
        """Whether a reply that can't be checked is refused."""
        return _either(self.options.fail_closed, self.settings.verification.fail_closed)

    @property
    def deadline(self) -> float:
        """Seconds for all checking."""
        return _either(self.options.deadline, self.settings.verification.deadline)

    @property
    def sign(self) -> str:
        """What stands behind claims that failed; nothing, unless somebody wants it. What was to be dropped and
        can't be (a heading) is marked."""
        sign = _either(self.options.mark_nonfactual, self.settings.citation.mark_nonfactual)
        on_unsupported = _either(self.options.on_unsupported, self.settings.regeneration.on_unsupported)
        return sign or ("" if on_unsupported == "keep" else SIGN)

    def pipeline_options(self, reply_format: ReplyFormat) -> Options:
        """How the reply is revised."""
        configured, asked = self.settings.regeneration, self.options
        return Options(
            max_rounds=_either(asked.max_rounds, configured.max_rounds),
            mode=_either(asked.regeneration, configured.mode),
            on_unsupported=_either(asked.on_unsupported, configured.on_unsupported),
            deadline=self.deadline,
            format=reply_format,
            sign=self.sign,
        )

    def checker(self, model: Model) -> Checker:
        """Who checks. Raises `RequestError` where there is no checker of that name."""
        name = _either(self.options.checker, self.settings.checker.name)
        if name not in model.checkers:
            raise RequestError(
                f"The checker {name!r} is not configured here; there are {', '.join(model.checkers)}.",
                param="vouch.checker",
            )
        return model.checkers[name]

    def verifier(self, model: Model, sources: Sources) -> Verifier:
        """How claims are checked. Raises `RequestError`."""
        settings, asked = self.settings, self.options
        return Verifier(
            retriever=sources.retriever,
            checker=self.checker(model),
            extractor=model.extractors.get(_either(asked.granularity, settings.claims.granularity)),
            top_k=_either(asked.top_k, settings.retrieval.top_k),
            max_claims=settings.verification.max_claims,
            aggregation=_either(asked.aggregation, settings.claims.aggregation),
            citations=_either(asked.citations, settings.citation.upstream),
            documents=sources.passages,
        )

    def dress(self, sources: Sources, url_of: Callable[[Passage], str]) -> Dress:
        """How the reply shows."""
        settings, asked = self.settings, self.options
        return Dress(
            url_of=url_of,
            style=_either(asked.citation_style, settings.citation.style),
            numbers=sources.numbers,
            sign=self.sign,
            aggregation=_either(asked.aggregation, settings.claims.aggregation),
        )


def _either(asked: T | None, configured: T) -> T:
    return configured if asked is None else asked
