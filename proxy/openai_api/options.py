"""Request options (the `vouch` object), and how they resolve over preset and settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from proxy.config.checker_settings import LOCAL_CHECKERS, CheckerName
from proxy.config.presets import PRESETS, Preset
from proxy.config.settings import Settings
from proxy.config.wrong_values import nearest, problem
from proxy.engine.app_context import Model, Sources
from proxy.engine.delivery import DeliveryPolicy, Rendering, contradiction
from proxy.engine.reprompter import Options
from proxy.engine.verifier import Verifier
from proxy.errors import ModelNotFoundError, RequestError
from proxy.openai_api.documents import RequestDocument
from proxy.openai_api.profiles import PROFILES, Profile
from proxy.protocols import Checker
from proxy.types import (
    WARNING,
    Aggregation,
    CitationStyle,
    Correction,
    Evidence,
    EvidenceSource,
    Granularity,
    NoticePlace,
    OnUnsupported,
    PresetName,
    ProfileName,
    RegenerationMode,
    ReplyFormat,
    RetrievalMode,
    StreamMode,
    Task,
    UpstreamCitations,
)

T = TypeVar("T")


class RequestOptions(BaseModel):
    """The `vouch` object of a request. A key that is left out has the value of the preset that the request
    names, or else its configured one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    preset: PresetName | None = None
    max_rounds: int | None = Field(None, ge=0, le=10)
    top_k: int | None = Field(None, ge=1, le=100)
    checker: CheckerName | None = None
    retrieval: RetrievalMode | None = None
    deadline: float | None = Field(None, gt=0)
    profile: ProfileName | None = None
    citation_style: CitationStyle | None = None
    fail_closed: bool | None = None
    granularity: Granularity | None = None
    aggregation: Aggregation | None = None
    evidence: EvidenceSource | None = None
    regeneration: RegenerationMode | None = None
    on_unsupported: OnUnsupported | None = None
    citations: UpstreamCitations | None = None
    mark_nonfactual: str | None = Field(None, max_length=64)
    notice: bool | None = None
    skip_tasks: bool | None = None
    stream_mode: StreamMode | None = None
    correction: Correction | None = None
    progress: bool | None = None
    documents: tuple[RequestDocument, ...] | None = Field(None, min_length=1, max_length=1000)


def parse_options(given: Any) -> RequestOptions:
    """Parses the `vouch` object. For an unknown key, raises `RequestError` that suggests the nearest one."""
    if given is None:
        return RequestOptions()
    if not isinstance(given, Mapping):
        raise RequestError("`vouch` must be an object.", param="vouch")
    try:
        return RequestOptions.model_validate(given)
    except ValidationError as error:
        detail = error.errors()[0]
        param = ".".join(["vouch", *map(str, detail["loc"])])
        if detail["type"] != "extra_forbidden":
            raise RequestError(f"{param} {problem([detail])}.", param=param) from None
        nested = len(detail["loc"]) > 1
        known = list((RequestDocument if nested else RequestOptions).model_fields)
        hint = nearest(str(detail["loc"][-1]), known)
        raise RequestError(f"Unknown option {param}. {hint}", param=param) from None


@dataclass(frozen=True, slots=True)
class ResolvedOptions:
    """The options of one request, resolved over the settings."""

    settings: Settings
    options: RequestOptions = field(default_factory=RequestOptions)
    named: ProfileName | None = None
    """The profile that the request names."""

    @property
    def profile(self) -> Profile:
        """The profile that shapes the reply."""
        return PROFILES[self.named or self.settings.citation.profile]

    @property
    def style(self) -> CitationStyle:
        """How citation markers are written."""
        configured = self.settings.citation.style
        usual: CitationStyle = "brackets" if configured == "auto" else configured
        own = self.profile.style if self.named or configured == "auto" else None
        return self.options.citation_style or own or usual

    @property
    def preset(self) -> Preset:
        """The preset that the request names, or else the configured one."""
        return PRESETS[self.options.preset or self.settings.preset]

    @property
    def fail_closed(self) -> bool:
        """Whether a reply that can't be checked is an error. A preset that a request names never lifts what
        is configured."""
        closed = self.settings.verification.fail_closed
        configured = self._configured(closed, lambda preset: preset.fail_closed)
        return _either(self.options.fail_closed, configured or self.preset.fail_closed)

    @property
    def deadline(self) -> float:
        """Seconds for all checking of one reply."""
        return _either(self.options.deadline, self.settings.verification.deadline)

    @property
    def evidence(self) -> EvidenceSource:
        """Where evidence comes from."""
        return self.options.evidence or self.settings.retrieval.evidence

    @property
    def retrieval(self) -> RetrievalMode:
        """How passages are searched."""
        return self.options.retrieval or self.settings.retrieval.mode

    @property
    def rounds(self) -> int:
        """The maximum number of re-prompts."""
        configured = self.settings.regeneration.max_rounds
        return self._resolved(self.options.max_rounds, configured, lambda preset: preset.max_rounds)

    @property
    def on_unsupported(self) -> OnUnsupported:
        """What happens to a claim that still fails at the end. A preset that a request names never keeps what
        is configured to be dropped. A request that names a warning marker asks for it to be shown."""
        if self.options.on_unsupported is not None:
            return self.options.on_unsupported
        configured = self.settings.regeneration.on_unsupported
        if self._configured(configured, lambda preset: preset.on_unsupported) == "drop":
            return "drop"
        resolved: OnUnsupported = self._resolved(None, configured, lambda preset: preset.on_unsupported)
        return "mark" if resolved == "keep" and self.options.mark_nonfactual else resolved

    @property
    def warning(self) -> str:
        """The warning marker behind claims that failed; empty for none.

        Dropping marks what it can't drop (a heading, say). An explicit `mark` marks even where no marker is
        configured.
        """
        if self.on_unsupported == "keep":
            return ""
        warning = _either(self.options.mark_nonfactual, self.settings.citation.mark_nonfactual)
        if self.options.on_unsupported == "mark" and self.options.mark_nonfactual is None:
            return warning or WARNING
        return warning

    @property
    def known_warnings(self) -> tuple[str, ...]:
        """Every warning marker that an earlier reply may contain, whatever this request asks for."""
        markers = {WARNING, self.settings.citation.mark_nonfactual, self.options.mark_nonfactual or ""}
        return tuple(sorted(markers - {""}, key=len, reverse=True))

    @property
    def notice(self) -> bool:
        """Whether a line says that most of a reply failed, or that it could not be checked."""
        configured = self.settings.citation.notice
        return self._resolved(self.options.notice, configured, lambda preset: preset.notice)

    @property
    def skips_tasks(self) -> bool:
        """Whether replies to the task prompts of chat UIs (titles, tags) stay unchecked."""
        return _either(self.options.skip_tasks, self.settings.verification.skip_tasks)

    def pipeline_options(self, reply_format: ReplyFormat, task: Task | None = None) -> Options:
        """The pipeline's options: how the reply is corrected. `task` is what the request asks for, if that
        stays unchecked."""
        return Options(
            max_rounds=self.rounds,
            mode=self._resolved(
                self.options.regeneration,
                self.settings.regeneration.mode,
                lambda preset: preset.regeneration,
            ),
            on_unsupported=self.on_unsupported,
            deadline=self.deadline,
            format=reply_format,
            warning=self.warning,
            fallback=self._resolved(
                None, self.settings.regeneration.fallback, lambda preset: preset.fallback
            ),
            quote=self.settings.regeneration.quote,
            task=task,
        )

    @property
    def checker_name(self) -> CheckerName:
        """The name of the checker."""
        return _either(self.options.checker, self.settings.checker.name)

    def checker(self, model: Model) -> Checker:
        """The checker. Raises `RequestError` where none of that name is configured."""
        name = self.checker_name
        if name not in model.checkers:
            raise RequestError(
                f"The checker {name!r} is not configured here; there are {', '.join(model.checkers)}.",
                param="vouch.checker",
            )
        return model.checkers[name]

    def verifier(self, model: Model, sources: Sources) -> Verifier:
        """The verifier that checks the claims. Raises `RequestError`."""
        settings, options = self.settings, self.options
        return Verifier(
            retriever=sources.retriever,
            checker=self.checker(model),
            extractor=model.extractors.get(_either(options.granularity, settings.claims.granularity)),
            top_k=_either(options.top_k, settings.retrieval.top_k),
            max_claims=settings.verification.max_claims,
            aggregation=_either(options.aggregation, settings.claims.aggregation),
            citations=_either(options.citations, settings.citation.upstream),
            early_exit=self.checker_name in LOCAL_CHECKERS,
            documents=sources.passages,
        )

    def policy(self, request: Streaming, model: Model, rendering: Rendering) -> DeliveryPolicy:
        """The delivery policy. A reply that must not be edited, or that is not streamed, is sent as a whole.
        Raises `RequestError` where options contradict each other."""
        mode, correction = self._stream_mode(request, model)
        if mode == "passthrough":
            rendering = replace(rendering, style="none", warning="", notice="none")
        return DeliveryPolicy(
            mode=mode,
            rendering=rendering,
            corrections=self.rounds if correction == "sentences" and mode == "sentence" else 0,
            fail_closed=self.fail_closed,
            progress=_either(self.options.progress, self.settings.streaming.progress),
            max_reply_bytes=model.max_reply_bytes,
        )

    def rendering(
        self, sources: Sources, url_of: Callable[[Evidence], str], *, stream: bool = False
    ) -> Rendering:
        """How the reply is shown. In a stream, a client with status events gets the notice as one."""
        place: NoticePlace = "event" if stream and self.profile.status is not None else "text"
        return Rendering(
            url_of=url_of,
            style=self.style,
            numbers=sources.numbers,
            warning=self.warning,
            notice=place if self.notice else "none",
            aggregation=_either(self.options.aggregation, self.settings.claims.aggregation),
        )

    def _stream_mode(self, request: Streaming, model: Model) -> tuple[StreamMode, Correction]:
        """The stream mode, never `auto`, and the correction that goes with it.

        The request takes precedence: a configured mode or correction that contradicts its options is ignored,
        and so is the correction of a preset. What the operator configured for safety (`fail_closed`,
        `on_unsupported: drop`) always holds.
        """
        options, preset = self.options, PRESETS[self.options.preset] if self.options.preset else None
        self._refuse(
            contradiction(
                options.stream_mode or (preset.stream_mode if preset else "auto"),
                options.correction or "none",
                options.on_unsupported or ("drop" if preset and preset.on_unsupported == "drop" else "keep"),
                fail_closed=_either(options.fail_closed, preset is not None and preset.fail_closed),
                rounds=options.max_rounds,
                marked=bool(options.mark_nonfactual or options.notice),
            )
        )
        if options.on_unsupported == "keep" and options.mark_nonfactual:
            self._refuse("on_unsupported 'keep' leaves claims unmarked, but `mark_nonfactual` names a marker")
        if options.regeneration and options.correction == "sentences":
            self._refuse(
                "correction 'sentences' corrects a reply while it is written, but `regeneration` rewrites it "
                "at its end"
            )
        mode, correction = self._wanted(model)
        if mode == "passthrough" and request.editable:
            self._refuse(contradiction(mode, "none", self._unmarked, fail_closed=self.fail_closed))
            return mode, "none"
        if not request.stream or not request.editable:
            return "buffer", "none"
        if mode == "auto" and request.calls_tools and self.options.correction is None:
            return "buffer", "none"
        self._refuse(contradiction(mode, correction, self.on_unsupported, fail_closed=self.fail_closed))
        if mode == "auto":
            dropping = self.on_unsupported == "drop"
            by_sentence = not dropping and (correction == "sentences" or not self.rounds)
            mode = "sentence" if by_sentence else "buffer"
        return mode, correction

    def _wanted(self, model: Model) -> tuple[StreamMode, Correction]:
        """The mode and the correction, once what is configured has given way to the request's options."""
        options, configured, rounds = self.options, self.settings.streaming, self.options.max_rounds
        named = options.stream_mode is not None or options.preset is not None
        mode: StreamMode = self._resolved(
            options.stream_mode, model.stream_mode or configured.mode, lambda preset: preset.stream_mode
        )
        if not named and contradiction(
            mode,
            options.correction or "none",
            self._unmarked,
            fail_closed=self.fail_closed,
            rounds=rounds if mode == "passthrough" else None,
            marked=bool(options.mark_nonfactual or options.notice) or options.on_unsupported == "mark",
        ):
            mode = "auto"
        correction: Correction = self._resolved(
            options.correction, configured.correction, lambda preset: preset.correction
        )
        ruled_out = options.regeneration or contradiction(
            mode, correction, self.on_unsupported, rounds=rounds if rounds == 0 else None
        )
        if options.correction is None and ruled_out:
            correction = "none"
        if not named and mode == "sentence" and rounds and correction == "none":
            mode = "auto"
        return mode, correction

    @property
    def _unmarked(self) -> OnUnsupported:
        """`on_unsupported`, where passing text through takes the place of marking what failed."""
        return "drop" if self.on_unsupported == "drop" else "keep"

    def _resolved(self, requested: T | None, configured: T | None, of_preset: Callable[[Preset], T]) -> T:
        """The request's own value, else that of the preset it names, else the configured one."""
        if requested is not None:
            return requested
        if self.options.preset is not None:
            return of_preset(PRESETS[self.options.preset])
        return self._configured(configured, of_preset)

    def _configured(self, configured: T | None, of_preset: Callable[[Preset], T]) -> T:
        """The configured value, else that of the configured preset."""
        return of_preset(PRESETS[self.settings.preset]) if configured is None else configured

    def _refuse(self, reason: str) -> None:
        if reason:
            raise RequestError(f"Options of `vouch` contradict each other: {reason}.", param="vouch")


class Streaming(Protocol):
    """The properties of a request that decide when its reply may be sent."""

    @property
    def stream(self) -> bool:
        """Whether the client streams."""
        ...

    @property
    def editable(self) -> bool:
        """Whether the reply's text may be edited."""
        ...

    @property
    def choices(self) -> int:
        """The number of choices requested."""
        ...

    @property
    def calls_tools(self) -> bool:
        """Whether the reply may call tools."""
        ...


def _either(requested: T | None, configured: T) -> T:
    return configured if requested is None else requested


def find_model(models: Mapping[str, Model], name: str | None) -> Model:
    """The model of that name, with or without its provider, or the first where no name is given. Raises
    `ModelNotFoundError`."""
    if name is None:
        return next(iter(models.values()))
    named = [models[name]] if name in models else [each for each in models.values() if each.full_name == name]
    if not named:
        raise ModelNotFoundError(_unknown(models, name), param="model")
    return named[0]


def _unknown(models: Mapping[str, Model], name: str) -> str:
    """Why there is no model of that name: behind a known one it has a wrong profile, or it is unknown."""
    model, _, profile = name.rpartition("@")
    if model in models or any(each.full_name == model for each in models.values()):
        return f"The model {model!r} has no profile {profile!r}. There are {', '.join(PROFILES)}."
    return f"The model {name!r} does not exist. There are {', '.join(models)}."
