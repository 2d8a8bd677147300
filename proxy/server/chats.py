"""Answers chats of every API, checked or unchecked, whole or streamed, and bounds how many run at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any

from starlette.responses import JSONResponse, Response

from proxy.aio import ASKER, Ending, Gate, closing
from proxy.citations.history import checking
from proxy.config.settings import Settings
from proxy.engine.app_context import TOKEN_LIMITS, AppContext, Model
from proxy.engine.delivery import Answer, StreamEvent
from proxy.engine.pipeline import Pipeline
from proxy.engine.reply_stream import unchecked_events
from proxy.errors import RequestError
from proxy.openai_api.chat.request import ChatRequest, task_of
from proxy.openai_api.chat.stream import ChatSerializer, Chunks, UncheckedChatSerializer
from proxy.openai_api.documents import open_sources
from proxy.openai_api.options import RequestOptions, ResolvedOptions, find_model
from proxy.openai_api.profiles import Profile, embedding
from proxy.protocols import LLM
from proxy.server.audit_log import AuditLog
from proxy.server.reference_links import Signer, links_to, pages_of
from proxy.server.relay import Relayed
from proxy.server.streaming import Serializer, event_stream
from proxy.types import Evidence, Json, Verdict
from proxy.upstream.completion import Streamed
from proxy.upstream.endpoint import Forwarded, Relay
from proxy.upstream.measured import MeasuredChecker, MeasuredLLM, MeasuredRetriever, failing


def require_allowed(options: RequestOptions, settings: Settings) -> None:
    """Raises `RequestError` for an option of which a request may not choose that value."""
    configured = {
        "max_rounds": settings.regeneration.max_rounds or 0,
        "top_k": settings.retrieval.top_k,
        "deadline": settings.verification.deadline,
    }
    for name in sorted(options.model_fields_set):
        limit, value = getattr(settings.limits.options, name), getattr(options, name)
        where = f"limits.options.{name}"
        if limit is None or value is None:
            continue
        if limit == "fixed":
            raise RequestError(
                f"`vouch.{name}` can't be chosen here ({where}): leave it out.", param=f"vouch.{name}"
            )
        if isinstance(limit, tuple) and value not in limit:
            raise RequestError(
                f"`vouch.{name}` may be {' or '.join(limit)} here ({where}), not {value}.",
                param=f"vouch.{name}",
            )
        asked = len(value) if isinstance(value, tuple) else value
        if not isinstance(limit, tuple) and asked > (most := max(limit, configured.get(name, 0))):
            raise RequestError(
                f"`vouch.{name}` may be at most {most:g} here ({where}), not {asked:g}.",
                param=f"vouch.{name}",
            )


def within_limits(body: Json, model: Model, settings: Settings) -> Json:
    """The body, asking for as many tokens as the operator allows at most. Raises `RequestError` for too many
    choices."""
    for name in ("n", "best_of"):
        if isinstance(wanted := body.get(name), int) and wanted > settings.limits.choices:
            raise RequestError(
                f"`{name}` may be at most {settings.limits.choices} here (limits.choices), not {wanted}.",
                param=name,
            )
    if model.max_tokens is None or not any(name in body for name in TOKEN_LIMITS):
        return body
    parameter, most = model.max_tokens
    given = [body.get(name) for name in TOKEN_LIMITS]
    least = min([most, *(wanted for wanted in given if isinstance(wanted, int) and wanted > 0)])
    return {**{key: value for key, value in body.items() if key not in TOKEN_LIMITS}, parameter: least}


@dataclass(frozen=True, slots=True)
class ChatService:
    """Answers chats with the application's components, by the settings and each request's options."""

    context: AppContext
    settings: Settings
    gate: Gate
    ending: Ending
    audit: AuditLog | None = None
    signer: Signer | None = None
    """Signs the links of replies, where clients need a key."""

    async def chat(self, request: ChatRequest, base_url: str) -> Response:
        """The response of `/v1/chat/completions`. Raises `VouchError`."""
        model = find_model(self.context.models, request.model)
        if request.unchecked:
            if model.relay is not None:
                ASKER.get().model = model.name
                return await self._relayed(self._bounded(request, model), model.relay)
            return await self.respond(
                request, model, UncheckedChatSerializer(include_usage=request.include_usage), base_url
            )
        options = ResolvedOptions(self.settings, request.options, request.profile)
        chunks = Chunks(model.name, usage=request.include_usage)
        status = checking(request.chat.question) if options.notice else ""
        profile = self._embedding(options.profile, base_url)
        serializer = ChatSerializer(chunks, profile, request.choices, status)
        return await self.respond(request, model, serializer, base_url)

    async def respond(
        self, request: ChatRequest, model: Model, serializer: Serializer, base_url: str
    ) -> Response:
        """The response, written by `serializer`, once its status is known. Raises `VouchError`."""
        request = self._bounded(request, model)
        if request.stream:
            started = asyncio.Event()
            llm = Streamed(model.llm, started.set, model.max_reply_bytes)
            events = self.events(request, model, llm, base_url)
            heartbeat = self.settings.server.heartbeat
            return await event_stream(events, started, serializer, heartbeat, self.ending)
        answer = await self.ending.unless(self._answer(request, model, base_url))
        return JSONResponse(serializer.whole(answer))

    async def _answer(self, request: ChatRequest, model: Model, base_url: str) -> Answer:
        async with closing(self.events(request, model, model.llm, base_url)) as events:
            return [event async for event in events if isinstance(event, Answer)][-1]

    def _bounded(self, request: ChatRequest, model: Model) -> ChatRequest:
        """The request within the limits. Raises `RequestError`."""
        require_allowed(request.options, self.settings)
        body = within_limits(request.chat.body, model, self.settings)
        return replace(request, chat=replace(request.chat, body=body))

    async def events(
        self, request: ChatRequest, model: Model, llm: LLM, base_url: str
    ) -> AsyncIterator[StreamEvent]:
        """Waits for a place, then yields the events of one chat, the answer last. Raises `VouchError`."""
        ASKER.get().model, llm, told = model.name, MeasuredLLM(llm), False
        async with self.gate.place():
            if request.unchecked:
                events = unchecked_events(
                    llm, request.chat, stream=request.stream, max_bytes=model.max_reply_bytes
                )
            else:
                pipeline = await self._pipeline(request, model, llm, base_url)
                told, events = pipeline.policy.progress, pipeline.events(request.chat)
            async with closing(events):
                async for event in events:
                    if isinstance(event, Answer):
                        _count(event)
                        if self.audit is not None and event.outcomes:
                            self.audit.record(event, request.chat.question, self.context.generation)
                        yield replace(event, timeline=tuple(ASKER.get().steps)) if told else event
                    else:
                        yield event

    async def _pipeline(self, request: ChatRequest, model: Model, llm: LLM, base_url: str) -> Pipeline:
        """The pipeline that the request's options describe."""
        options = ResolvedOptions(self.settings, request.options, request.profile)
        messages = request.chat.body["messages"]
        task = task_of(messages) if options.skips_tasks else None
        sources = await open_sources(
            self.context,
            self.settings.retrieval,
            "corpus" if task else options.evidence,
            options.retrieval,
            request.options.documents,
            messages,
        )
        sources = replace(sources, retriever=MeasuredRetriever(sources.retriever))
        verifier = options.verifier(model, sources)
        rendering = options.rendering(sources, self.url_of(base_url), stream=request.stream)
        return Pipeline(
            llm,
            replace(verifier, checker=MeasuredChecker(verifier.checker)),
            options.pipeline_options(request.format, task),
            options.policy(request, model, rendering),
        )

    async def _relayed(self, request: ChatRequest, relay: Relay) -> Response:
        """An unchecked chat, passed on as bytes."""
        return await self.passed_on(lambda: relay.relay(request.chat))

    async def passed_on(self, call: Callable[[], Coroutine[Any, Any, Forwarded]]) -> Response:
        """An upstream's answer as it is. It holds its place until everything is sent."""
        async with AsyncExitStack() as held:
            await held.enter_async_context(self.gate.place())
            with failing():
                answer = await self.ending.unless(call())
            held.push_async_callback(answer.aclose)
            return Relayed(answer, held.pop_all().aclose, self.ending)

    def _embedding(self, profile: Profile, base_url: str) -> Profile:
        """The profile with the pages of passages in its sources, where a chat UI may show them in a frame
        and they open without a key."""
        server = self.settings.server
        if not server.frame_ancestors or (server.has_keys and self.signer is None):
            return profile
        stored = self.context.found or self.context.passages.get
        return embedding(profile, pages_of(server.public_url or base_url, self.signer, stored))

    def url_of(self, base_url: str) -> Callable[[Evidence], str]:
        """Where a passage without an address of its own can be read, for one reply."""
        base = self.settings.server.public_url or base_url
        return links_to(base, self.signer, self.context.found or self.context.passages.get)


def _count(answer: Answer) -> None:
    """Records the reply's tokens, verdicts and corrections in the request's account."""
    asker = ASKER.get()
    for purpose, usage in (("writing", answer.writing), ("verification", answer.verification)):
        asker.counts["vouch_tokens", purpose, "prompt"] += max(0, usage.prompt_tokens)
        asker.counts["vouch_tokens", purpose, "completion"] += max(0, usage.completion_tokens)
    for outcome in answer.outcomes:
        asker.counts["vouch_verified_replies", outcome.answer.status] += 1
        for finding in outcome.answer.findings:
            asker.counts["vouch_claims", str(finding.verdict)] += 1
            if finding.verdict is Verdict.UNVERIFIED:
                asker.counts["vouch_unverified", _reason(outcome.answer.error)] += 1
        for step in outcome.correction:
            asker.counts["vouch_corrections", step.asked_for, step.result] += 1
            asker.phases["correction"] += step.seconds


def _reason(error: str) -> str:
    """Why claims could not be checked, as one of a few words."""
    return next((word for said, word in _REASONS.items() if said in error), "checker")


_REASONS = {
    "the deadline passed": "deadline",
    "has used up its": "budget",
    "claims of a reply are checked": "too_many_claims",
    "can't be searched": "retrieval",
    "extractor's model": "extractor",
}
