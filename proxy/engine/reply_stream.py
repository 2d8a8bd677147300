"""One chat answered: drafted, checked while it is written, corrected, and let go as its mode says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from proxy.aio import closing, together
from proxy.citations.draft_reader import reader, untouched
from proxy.correction.continuation import Overlap, continuation
from proxy.engine.incremental_verifier import Begun, Checked, Delta, IncrementalVerifier, Written
from proxy.engine.pipeline import Answer, Pipeline
from proxy.errors import VerificationError
from proxy.openai_api.chat.response import Rendering
from proxy.types import Attempt, Chat, Draft, Finding, Json, Outcome, Reply, StreamMode, Usage, Verdict


@dataclass(frozen=True, slots=True)
class Shown:
    """A piece of a choice's content for the client, marks and all."""

    index: int
    piece: str


@dataclass(frozen=True, slots=True)
class Fields:
    """Other fields of a choice's delta, as the upstream sent them."""

    index: int
    fields: Json


@dataclass(frozen=True, slots=True)
class Progress:
    """How many claims of a choice are checked by now."""

    index: int
    claims: int


Event = Shown | Fields | Progress | Answer


@dataclass(frozen=True, slots=True)
class DeliveryPolicy:
    """How a reply is let go.

    `mode` is decided: never `auto`. `corrections` are how often a stream may be taken back to its last claim
    that holds; with `prefill` the model goes on from an unfinished turn of its own. With `fail_closed`
    nothing that could not be checked is let go. With `progress` a reply that waits for its
    end says how far it is. A reply of more than `max_size` bytes is an error.
    """

    mode: StreamMode
    dress: Rendering
    corrections: int = 0
    prefill: bool = False
    fail_closed: bool = False
    progress: bool = False
    max_size: int = 20_000_000


class ReplyStream:
    """The answer to one chat, in the making.

    `pipeline.llm` is streamed from, unless the reply is JSON, which is read as a whole.
    """

    def __init__(self, chat: Chat, pipeline: Pipeline, manner: DeliveryPolicy) -> None:
        self._chat = chat
        self._pipeline = pipeline
        self._manner = manner
        self._sent: dict[int, int] = {}
        self._failed: list[Attempt] = []
        self._reply: Written | None = None

    async def answer(self) -> Answer:
        """The answer alone. Raises `UpstreamError`."""
        async with closing(self.events()) as events:
            return [event async for event in events if isinstance(event, Answer)][-1]

    async def events(self) -> AsyncIterator[Event]:
        """What the client may know as it happens; the answer comes last.

        Raises `UpstreamError` where there is no reply or it breaks off, `VerificationError` where something
        unchecked would have to be let go that may not.
        """
        if self._pipeline.options.format == "json":
            yield await self._pipeline.answer(self._chat)
            return
        async with closing(self._writing()) as happening:
            async for event in happening:
                yield event
        yield await self._answer()

    async def _writing(self) -> AsyncIterator[Shown | Fields | Progress]:
        """What happens while the reply is written, and begun anew behind what holds, if that is wanted."""
        begun, chunks = Begun(), self._pipeline.llm.stream(self._chat)
        while True:
            writing, failed = self._written(chunks, begun), None
            async with closing(writing.events()) as events:
                async for event in events:
                    if isinstance(event, Checked) and self._manner.mode == "sentence":
                        failed = self._to_correct(event, len(begun.findings))
                        begun, event = _until(event, failed, begun)
                    for shown in self._shown(event):
                        yield shown
                    if failed is not None:
                        break
            if failed is None:
                self._reply = writing.written
                return
            self._failed.append(
                Attempt(Draft(begun.text + failed.claim.text, {}), Usage(), (*begun.findings, failed))
            )
            asked = continuation(self._chat, begun.text, failed, prefill=self._manner.prefill)
            chunks = _without_repetition(self._pipeline.llm.stream(asked), Overlap(begun.text))

    def _written(self, chunks: AsyncIterator[Json], begun: Begun) -> IncrementalVerifier:
        pipeline = self._pipeline
        live = self._manner.mode == "passthrough"
        return IncrementalVerifier(
            chunks,
            pipeline.verifier,
            untouched if live else reader(pipeline.verifier.citations, pipeline.options.sign),
            self._chat.question,
            deadline=pipeline.options.deadline,
            shown=self._manner.mode == "sentence",
            max_size=self._manner.max_size,
            begun=begun,
        )

    def _to_correct(self, checked: Checked, known: int) -> Finding | None:
        """The first finding that is new and did not hold, while it may be corrected."""
        if len(self._failed) >= self._manner.corrections or checked.index != 0:
            return None
        return next((finding for finding in checked.findings[known:] if finding.verdict.nonfactual), None)

    def _shown(self, event: Checked | Delta) -> Iterator[Shown | Fields | Progress]:
        """What the client is told of what happened."""
        if isinstance(event, Delta):
            if event.content and self._manner.mode == "passthrough":
                yield Shown(event.index, event.content)
            if event.fields and self._manner.mode != "buffer":
                yield Fields(event.index, event.fields)
        elif self._manner.mode == "sentence":
            yield from self._let_go(event)
        elif self._manner.mode == "buffer" and self._manner.progress:
            yield Progress(event.index, len(event.findings))

    def _let_go(self, checked: Checked) -> Iterator[Shown]:
        """What of the annotated text is new. Raises `VerificationError`."""
        unchecked = any(finding.verdict is Verdict.UNVERIFIED for finding in checked.findings)
        if unchecked and self._manner.fail_closed:
            raise VerificationError("The reply could not be verified: a claim could not be checked.")
        content = self._manner.dress.annotated(checked.text, checked.findings).content
        sent = self._sent.get(checked.index, 0)
        if len(content) > sent:
            self._sent[checked.index] = len(content)
            yield Shown(checked.index, content[sent:])

    async def _answer(self) -> Answer:
        """The answer out of what was written: with re-prompts in the mode that waits for them."""
        if self._reply is None:
            raise RuntimeError("nothing was written")
        reply, attempts = self._reply.reply, self._reply.attempts
        until = asyncio.get_running_loop().time() + self._pipeline.options.deadline
        first = await together(
            self._whole(draft, attempt, reply, until)
            for draft, attempt in zip(reply.drafts, attempts, strict=True)
        )
        if self._manner.mode == "buffer":
            return await self._pipeline.refined(self._chat, reply, first, until)
        return Answer(reply, tuple(self._outcome(at, attempt) for at, attempt in enumerate(first)))

    async def _whole(self, draft: Draft, attempt: Attempt | None, reply: Reply, until: float) -> Attempt:
        """The attempt; one that has to be read anew is checked anew."""
        return attempt or await self._pipeline.check(draft, reply.usage, self._chat.question, until)

    def _outcome(self, at: int, attempt: Attempt) -> Outcome:
        """Of a choice that was let go as it was written: its text stays."""
        failed = self._failed if at == 0 else []
        # What a failed attempt had before the claim that failed is in the last attempt too.
        checked = (*(one.findings[-1] for one in failed), *attempt.findings)
        spent = sum((finding.usage for finding in checked), Usage())
        return Outcome((*failed, attempt), len(failed), spent)


def _until(checked: Checked, failed: Finding | None, begun: Begun) -> tuple[Begun, Checked]:
    """What is checked up to the claim that failed, as what a continuation begins with."""
    if failed is None:
        return begun, checked
    at = checked.findings.index(failed)
    held = Checked(checked.index, checked.text[: failed.claim.start], checked.findings[:at])
    return Begun(held.text, held.findings), held


async def _without_repetition(chunks: AsyncIterator[Json], overlap: Overlap) -> AsyncIterator[Json]:
    """The chunks of a continuation, without what it repeats of its beginning."""
    async with closing(chunks) as continued:
        async for chunk in continued:
            yield {**chunk, "choices": [_new(choice, overlap) for choice in chunk.get("choices") or ()]}
    if rest := overlap.end():
        yield {"choices": [{"index": 0, "delta": {"content": rest}}]}


def _new(choice: Json, overlap: Overlap) -> Json:
    content = (choice.get("delta") or {}).get("content")
    if not isinstance(content, str):
        return choice
    return {**choice, "delta": {**choice["delta"], "content": overlap.feed(content)}}
