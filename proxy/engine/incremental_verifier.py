"""A reply that is checked while it is still being written.

Claims are looked for in what has come so far; retrieval and checking of one run while the next is written.
What can be let go is yielded as it happens; at the end there is the reply, and the first attempt at each
choice, as if the whole had been checked at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace

from proxy.aio import closing
from proxy.claims.continuations import Read
from proxy.claims.incremental import Incremental, Settled
from proxy.engine.verifier import Verified, Verifier
from proxy.errors import UpstreamError
from proxy.types import Attempt, Claim, Draft, Finding, Json, Reply
from proxy.upstream.completion import Completion, to_reply

_MAX_CHECKS = 8
"""Pieces of the replies that are checked at once; the upstream is not read on while there are more."""
_OURS = frozenset({"role", "content", "annotations"})


@dataclass(frozen=True, slots=True)
class Checked:
    """All of a choice's text that is written and checked so far, with its findings."""

    index: int
    text: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Delta:
    """One of the upstream's deltas, but for what we write ourselves; `content` is as it came, unchecked."""

    index: int
    content: str
    fields: Json


Event = Checked | Delta


@dataclass(frozen=True, slots=True)
class Written:
    """A reply, and of each choice the first attempt; None where it has to be checked as a whole."""

    reply: Reply
    attempts: tuple[Attempt | None, ...]


@dataclass(frozen=True, slots=True)
class Begun:
    """What of a choice was there before, shown and checked: text that ends where the stream goes on."""

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
    begun: Begun
    asked: int = 0
    checks: deque[tuple[Settled, asyncio.Task[Verified]]] = field(default_factory=deque)
    checked: Settled = field(default_factory=lambda: Settled("", ()))
    findings: list[Finding] = field(default_factory=list)
    error: str = ""
    malformed: int = 0

    @property
    def text(self) -> str:
        """All that is checked."""
        return self.begun.text + self.checked.text

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """Of all that is checked."""
        return (*self.begun.findings, *self.findings)

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

    def attempt(self, draft: Draft, reply: Reply, *, shown: bool) -> Attempt | None:
        """The first attempt. Text that may not be touched after all (beside tool calls) was read as one that
        may: it has to be read anew, unless it was `shown` already, which is how it stays."""
        if shown and self.text:
            draft = replace(draft, editable=True)
        if not draft.editable and draft.text != self.text:
            return None
        draft = replace(draft, text=self.text)
        return Attempt(draft, reply.usage, self.all_findings, self.error, self.malformed)


class IncrementalVerifier:
    """One call's chunks, checked as they come. `events` may be gone through once; then `written` is there.

    Args:
        chunks: of `LLM.stream`.
        verifier: what claims are checked with.
        read: how the text of a draft is read.
        question: the user's.
        deadline: seconds for checking what was settled at once.
        shown: whether what is checked is let go at once, so that it can't be taken back.
        max_size: bytes of a reply, over which it is an error.
        begun: what the first choice goes on from.
    """

    def __init__(
        self,
        chunks: AsyncIterator[Json],
        verifier: Verifier,
        read: Read,
        question: str,
        *,
        deadline: float,
        shown: bool = False,
        max_size: int = 20_000_000,
        begun: Begun | None = None,
    ) -> None:
        self._chunks = chunks
        self._verifier = verifier
        self._read = read
        self._question = question
        self._deadline = deadline
        self._shown = shown
        self._begun = begun or Begun()
        self._completion = Completion(max_size)
        self._choices: dict[int, _Choice] = {}
        self._written: Written | None = None
        if self._begun.text:
            self._choice(0)

    @property
    def written(self) -> Written:
        """What there is in the end."""
        if self._written is None:
            raise RuntimeError("the reply is still being written")
        return self._written

    async def events(self) -> AsyncIterator[Event]:
        """What happens, in the order of each choice. Whoever stops early closes the iterator: then the call
        and all checks are cancelled.

        Raises `UpstreamError` where the reply breaks off, after what is checked of it was yielded.
        """
        broken: UpstreamError | None = None
        async with closing(self._chunks) as chunks:
            coming: asyncio.Task[Json | None] | None = _next(chunks)
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

    async def _happened(self, coming: asyncio.Task[Json | None] | None) -> None:
        """Waits for the next chunk or check."""
        checks = self._checks()
        awaited: set[asyncio.Task[Json | None] | asyncio.Task[Verified]] = {
            choice.checks[0][1] for choice in self._choices.values() if choice.checks
        }
        if coming is not None and len(checks) < _MAX_CHECKS:
            awaited.add(coming)
        await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)

    async def _take(self, chunk: Json | None) -> list[Delta]:
        """One more chunk, or the end of them. Reading leaves the event loop: odd texts take long."""
        if chunk is None:
            for choice in self._choices.values():
                self._check(choice, await asyncio.to_thread(choice.reading.end))
            return []
        self._completion.add(chunk)
        deltas: list[Delta] = []
        for one in chunk.get("choices") or ():
            index, delta = one.get("index", 0), one.get("delta") or {}
            content = delta.get("content")
            text = content if isinstance(content, str) else ""
            if text:
                choice = self._choice(index)
                self._check(choice, await asyncio.to_thread(choice.reading.feed, text))
            fields = {key: value for key, value in delta.items() if key not in _OURS and value is not None}
            if text or fields:
                deltas.append(Delta(index, text, fields))
        return deltas

    def _choice(self, index: int) -> _Choice:
        if index not in self._choices:
            begun = self._begun if index == 0 else Begun()
            self._choices[index] = _Choice(Incremental(self._read), begun)
        return self._choices[index]

    def _check(self, choice: _Choice, settled: Settled) -> None:
        """Has what is newly settled checked."""
        last = choice.checks[-1][0] if choice.checks else choice.checked
        if settled == last:
            return
        offset = len(choice.begun.text)
        claims = [replace(one, start=one.start + offset, end=one.end + offset) for one in settled.claims]
        until = asyncio.get_running_loop().time() + self._deadline
        told = (*choice.begun.claims, *claims[: choice.asked])
        task = asyncio.create_task(self._verifier.verify(claims[choice.asked :], self._question, until, told))
        choice.asked = len(claims)
        choice.checks.append((settled, task))

    def _taken(self) -> Iterator[Checked]:
        for index, choice in self._choices.items():
            if choice.take():
                yield Checked(index, choice.text, choice.all_findings)

    def _checks(self) -> list[asyncio.Task[Verified]]:
        return [task for choice in self._choices.values() for _, task in choice.checks]

    def _finish(self) -> None:
        reply = to_reply(self._completion.value())
        indexes = [choice.get("index", at) for at, choice in enumerate(reply.raw["choices"])]
        attempts = []
        for index, draft in zip(indexes, reply.drafts, strict=True):
            choice = self._choices.get(index)
            attempts.append(
                choice.attempt(draft, reply, shown=self._shown) if choice else Attempt(draft, reply.usage)
            )
        self._written = Written(reply, tuple(attempts))


def _next(chunks: AsyncIterator[Json]) -> asyncio.Task[Json | None]:
    async def following() -> Json | None:
        return await anext(chunks, None)

    return asyncio.create_task(following())


async def _cancelled(tasks: list[asyncio.Task[Json | None] | asyncio.Task[Verified]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
