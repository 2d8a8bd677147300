"""What a request asks for, and what is configured where it doesn't say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from proxy.citations.warning import WARNING
from proxy.config.settings import Settings
from proxy.engine.context import Model
from proxy.engine.pipeline import Options
from proxy.engine.reply_stream import DeliveryPolicy
from proxy.engine.verifier import Verifier
from proxy.errors import RequestError
from proxy.openai_api.chat.request import ChatRequest, RequestOptions
from proxy.openai_api.chat.response import Rendering
from proxy.openai_api.evidence import Sources
from proxy.openai_api.profiles import PROFILES, Profile
from proxy.protocols import Checker
from proxy.types import CitationStyle, OnUnsupported, Passage, ProfileName, ReplyFormat, StreamMode

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ResolvedOptions:
    """The options of one request over the settings."""

    settings: Settings
    options: RequestOptions = field(default_factory=RequestOptions)
    named: ProfileName | None = None
    """The profile that the request names."""

    @property
    def profile(self) -> Profile:
        """How the reply is dressed."""
        return PROFILES[self.named or self.settings.citation.profile]

    @property
    def style(self) -> CitationStyle:
        """That of its marks."""
        configured = self.settings.citation.style
        usual: CitationStyle = "brackets" if configured == "auto" else configured
        own = self.profile.style if self.named or configured == "auto" else None
        return self.options.citation_style or own or usual

    @property
    def fail_closed(self) -> bool:
        """Whether a reply that can't be checked is refused."""
        return _either(self.options.fail_closed, self.settings.verification.fail_closed)

    @property
    def deadline(self) -> float:
        """Seconds for all checking."""
        return _either(self.options.deadline, self.settings.verification.deadline)

    @property
    def rounds(self) -> int:
        """Re-prompts at most."""
        return _either(self.options.max_rounds, self.settings.regeneration.max_rounds)

    @property
    def on_unsupported(self) -> OnUnsupported:
        """What becomes of a claim that fails in the end."""
        return _either(self.options.on_unsupported, self.settings.regeneration.on_unsupported)

    @property
    def correcting(self) -> bool:
        """Whether a stream is corrected on its way."""
        return _either(self.options.correction, self.settings.streaming.correction) == "prefix"

    @property
    def sign(self) -> str:
        """What stands behind claims that failed; nothing, unless somebody wants it.

        What was to be dropped and can't be (a heading) is marked, and so is what still fails in a stream
        that is corrected.
        """
        if self.options.mark_nonfactual is None and not self.profile.signs:
            return ""
        sign = _either(self.options.mark_nonfactual, self.settings.citation.mark_nonfactual)
        return sign or ("" if self.on_unsupported == "keep" and not self.correcting else WARNING)

    def pipeline_options(self, reply_format: ReplyFormat) -> Options:
        """How the reply is revised."""
        configured, asked = self.settings.regeneration, self.options
        return Options(
            max_rounds=self.rounds,
            mode=_either(asked.regeneration, configured.mode),
            on_unsupported=self.on_unsupported,
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

    def manner(self, request: ChatRequest, model: Model, dress: Rendering) -> DeliveryPolicy:
        """How the reply is let go. What may not be touched, or is to be read as a whole, waits for its end;
        so does a reply to a client that doesn't stream."""
        correcting = request.stream and self.correcting
        wanted = _either(self.options.stream_mode, model.stream_mode or self.settings.streaming.mode)
        auto: StreamMode = "sentence" if correcting or not self.rounds else "buffer"
        mode = auto if wanted == "auto" else wanted
        untouched = request.format == "json" or request.wants_logprobs
        dropping = self.on_unsupported == "drop"
        unchecked = mode == "passthrough" and self.fail_closed
        if not request.stream or untouched or dropping or unchecked:
            mode = "buffer"
        if mode == "passthrough":
            dress = replace(dress, style="none", sign="")
        return DeliveryPolicy(
            mode=mode,
            dress=dress,
            corrections=self.rounds if correcting and mode == "sentence" and request.choices == 1 else 0,
            prefill=model.prefill,
            fail_closed=self.fail_closed,
            progress=_either(self.options.progress, self.settings.streaming.progress),
            max_size=model.max_reply,
        )

    def dress(self, sources: Sources, url_of: Callable[[Passage], str]) -> Rendering:
        """How the reply shows."""
        settings, asked = self.settings, self.options
        return Rendering(
            url_of=url_of,
            style=self.style,
            numbers=sources.numbers,
            sign=self.sign,
            aggregation=_either(asked.aggregation, settings.claims.aggregation),
        )


def _either(asked: T | None, configured: T) -> T:
    return configured if asked is None else asked
