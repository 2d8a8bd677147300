"""A draft that is checked while it is still being written.

Claims are found in what has come so far; retrieval and checking of one run while the next is written. At the
end there are the reply and the first attempt at each choice, as if the whole had been checked at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace

from proxy.aio import closing
from proxy.claims.continuations import Read
from proxy.claims.incremental import Incremental, Settled
from proxy.engine.delivery import CheckedText
from proxy.engine.verifier import Verified, Verifier
from proxy.errors import UpstreamError
from proxy.types import Attempt, ChoiceDelta, Claim, Draft, Finding, Reply, ReplyChunk
from proxy.upstream.completion import Completion

_MAX_CHECKS = 8
"""Pieces of a reply that are checked at the same time; while there are more, the upstream is not read."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """Checked text that the first choice continues from, with its findings."""

    text: str = ""
    findings: tuple[Finding, ...] = ()

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Those of the text."""
        return tuple(finding.claim for finding in self.findings)


@dataclass(slots=True)
class _Choice:
    """One choice as far as it is written and checked."""

    reading: Incremental
    prefix: Prefix
    asked: int = 0
    checks: deque[tuple[Settled, asyncio.Task[Verified]]] = field(default_factory=deque)
    checked: Settled = field(default_factory=lambda: Settled("", ()))
    findings: list[Finding] = field(default_factory=list)
    error: str = ""
    malformed: int = 0

    @property
    def text(self) -> str:
        """All that is checked."""
        return self.prefix.text + self.checked.text

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """Of all that is checked."""
        return (*self.prefix.findings, *self.findings)

    def take(self) -> bool:
        """Takes the checks that are done, in order. Whether there were any."""
        taken = False
        while self.checks and self.checks[0][1].done():
            self.checked, task = self.checks.popleft()
            verified = task.result()
            self.findings += verified.findings
            self.error = self.error or verified.error
            self.malformed += verified.malformed
            taken = True
        return taken

    def attempt(self, draft: Draft, reply: Reply, *, sent: bool) -> Attempt | None:
        """The first attempt, or None where the draft has to be read again: beside tool calls, say, the text
        turns out not to be editable. Text that was `sent` already stays as it was read."""
        if sent and self.text:
            draft = replace(draft, editable=True)
        if not draft.editable and draft.text != self.text:
            return None
        draft = replace(draft, text=self.text)
        return Attempt(draft, reply.usage, self.all_findings, self.error, self.malformed)


class IncrementalVerifier:
    """One call's chunks, checked as they come. Go through `events` once; then `result` is there.

    Args:
        chunks: of `LLM.stream`.
        verifier: what claims are checked with.
        read: how the text of a draft is read.
        question: the user's.
        deadline: seconds for checking what was settled at once.
        sent_at_once: whether checked text leaves at once, so that it can't be changed any more.
        max_bytes: size of a reply over which it is an error.
        prefix: what the first choice continues from.
    """

    def __init__(
        self,
        chunks: AsyncIterator[ReplyChunk],
        verifier: Verifier,
        read: Read,
        question: str,
        *,
        deadline: float,
        sent_at_once: bool = False,
        max_bytes: int = 20_000_000,
        prefix: Prefix | None = None,
    ) -> None:
        self._chunks = chunks
        self._verifier = verifier
        self._read = read
        self._question = question
        self._deadline = deadline
        self._sent_at_once = sent_at_once
        self._prefix = prefix or Prefix()
        self._completion = Completion(max_bytes)
        self._choices: dict[int, _Choice] = {}
        self._result: tuple[Reply, tuple[Attempt | None, ...]] | None = None
        if self._prefix.text:
            self._choice(0)

    @property
    def result(self) -> tuple[Reply, tuple[Attempt | None, ...]]:
        """The reply and, per choice, the first attempt; None where it has to be checked as a whole."""
        if self._result is None:
            raise RuntimeError("the reply is still being written")
        return self._result

    async def events(self) -> AsyncIterator[CheckedText | ChoiceDelta]:
        """The upstream's deltas as they come, and the text that is checked so far, in each choice's order. A
        caller that stops early closes the iterator: then the call and all checks are cancelled.

        Raises `UpstreamError` where the reply breaks off, after what is checked of it was yielded.
        """
        broken: UpstreamError | None = None
        async with closing(self._chunks) as chunks:
            coming: asyncio.Task[ReplyChunk | None] | None = _next(chunks)
            try:
                while coming is not None or self._checks():
                    await self._happened(coming)
                    if coming is not None and coming.done():
                        try:
                            chunk = coming.result()
                        except UpstreamError as error:
                            broken, coming = error, None
                        else:
                            coming = None if chunk is None else _next(chunks)
                            for delta in await self._take(chunk):
                                yield delta
                    for event in self._taken():
                        yield event
            finally:
                await _cancelled([*([coming] if coming else []), *self._checks()])
        if broken is not None:
            raise broken
        self._finish()

    async def _happened(self, coming: asyncio.Task[ReplyChunk | None] | None) -> None:
        """Waits for the next chunk or check."""
        checks = self._checks()
        awaited: set[asyncio.Task[ReplyChunk | None] | asyncio.Task[Verified]] = {
            choice.checks[0][1] for choice in self._choices.values() if choice.checks
        }
        if coming is not None and len(checks) < _MAX_CHECKS:
            awaited.add(coming)
        await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)

    async def _take(self, chunk: ReplyChunk | None) -> Sequence[ChoiceDelta]:
        """One more chunk, or the end of them. Reading leaves the event loop: odd texts take long."""
        if chunk is None:
            for choice in self._choices.values():
                self._check(choice, await asyncio.to_thread(choice.reading.end))
            return ()
        self._completion.add(chunk)
        for delta in chunk.deltas:
            if delta.content:
                choice = self._choice(delta.index)
                self._check(choice, await asyncio.to_thread(choice.reading.feed, delta.content))
        return [delta for delta in chunk.deltas if delta.content or delta.fields]

    def _choice(self, index: int) -> _Choice:
        if index not in self._choices:
            prefix = self._prefix if index == 0 else Prefix()
            self._choices[index] = _Choice(Incremental(self._read), prefix)
        return self._choices[index]

    def _check(self, choice: _Choice, settled: Settled) -> None:
        """Has what is newly settled checked."""
        last = choice.checks[-1][0] if choice.checks else choice.checked
        if settled == last:
            return
        offset = len(choice.prefix.text)
        claims = [
            replace(claim, start=claim.start + offset, end=claim.end + offset) for claim in settled.claims
        ]
        until = asyncio.get_running_loop().time() + self._deadline
        prior_claims = (*choice.prefix.claims, *claims[: choice.asked])
        task = asyncio.create_task(
            self._verifier.verify(claims[choice.asked :], self._question, until, prior_claims)
        )
        choice.asked = len(claims)
        choice.checks.append((settled, task))

    def _taken(self) -> Iterator[CheckedText]:
        for index, choice in self._choices.items():
            if choice.take():
                yield CheckedText(index, choice.text, choice.all_findings)

    def _checks(self) -> list[asyncio.Task[Verified]]:
        return [task for choice in self._choices.values() for _, task in choice.checks]

    def _finish(self) -> None:
        reply = self._completion.reply()
        attempts = []
        for draft in reply.drafts:
            choice = self._choices.get(draft.index)
            attempts.append(
                choice.attempt(draft, reply, sent=self._sent_at_once)
                if choice
                else Attempt(draft, reply.usage)
            )
        self._result = reply, tuple(attempts)


def _next(chunks: AsyncIterator[ReplyChunk]) -> asyncio.Task[ReplyChunk | None]:
    async def following() -> ReplyChunk | None:
        return await anext(chunks, None)

    return asyncio.create_task(following())


async def _cancelled(tasks: list[asyncio.Task[ReplyChunk | None] | asyncio.Task[Verified]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
