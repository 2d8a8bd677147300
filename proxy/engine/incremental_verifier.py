"""Checks a draft while the upstream is still writing it.

Claims are segmented from the text received so far; retrieval and checking of one claim run while the next is
written. At the end there are the reply and the first attempt at each choice, the same as if the whole draft
had been checked at once.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace

from proxy.aio import closing
from proxy.claims.continuations import Read
from proxy.claims.incremental import Incremental, Settled
from proxy.engine.delivery import CheckedText
from proxy.engine.verifier import Verified, Verifier
from proxy.errors import UpstreamError
from proxy.types import Attempt, ChoiceDelta, Draft, Finding, Reply, ReplyChunk
from proxy.upstream.completion import Completion

_MAX_CHECKS = 8
"""How many pieces of a reply are checked at the same time; reading from the upstream waits for the rest."""


@dataclass(slots=True)
class _Choice:
    """One choice, as far as it is written and checked."""

    reading: Incremental
    submitted: int = 0
    """How many claims were given to the verifier."""
    checks: deque[tuple[Settled, asyncio.Task[Verified]]] = field(default_factory=deque)
    checked: Settled = field(default_factory=lambda: Settled("", ()))
    findings: list[Finding] = field(default_factory=list)
    error: str = ""
    malformed: int = 0
    held: str | None = ""
    """The text so far, while it may become JSON: it is read once it is whole, or turns out to be prose."""
    look_at: int = 0
    """The length from which held text is looked at again."""

    def add(self, piece: str) -> bool:
        """Takes one more piece. Returns whether a `look` may settle more; what is not due costs no thread."""
        if self.held is None:
            return self.reading.add(piece)
        self.held += piece
        return len(self.held) >= self.look_at

    def look(self) -> None:
        """Reads what was taken. Takes as long as the text is."""
        if self.held is None:
            self.reading.look()
            return
        self.look_at = len(self.held) + len(self.held) // 4
        if not may_become_json(self.held):
            self._release()

    def end(self) -> Settled:
        """Settles the rest. JSON stays held: it has to be checked as a whole."""
        if self.held is not None:
            if is_json(self.held):
                return Settled()
            self._release()
        return self.reading.end()

    def _release(self) -> None:
        held, self.held = self.held or "", None
        self.reading.feed(held)

    def take(self) -> bool:
        """Collects the checks that are done, in order. Returns whether there were any."""
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
        """The first attempt, or None where the draft must be read again, because its text turns out not to be
        editable (beside tool calls, JSON). Text that was `sent` already stays as it was read."""
        if self.held:
            return None
        if sent and self.checked.text:
            draft = replace(draft, editable=True)
        if not draft.editable and draft.text != self.checked.text:
            return None
        draft = replace(draft, text=self.checked.text)
        return Attempt(draft, reply.usage, tuple(self.findings), self.error, self.malformed)


class IncrementalVerifier:
    """Checks the chunks of one upstream call as they arrive. Iterate `events` once; then read `result`.

    Args:
        chunks: what `LLM.stream` yields.
        verifier: checks the claims.
        read: cleans the text of a draft and segments it into claims.
        question: the user's question.
        deadline: seconds for checking the claims of one piece of text.
        sent_at_once: whether checked text is sent immediately and can't be changed any more.
        max_bytes: a larger reply is an error.
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
    ) -> None:
        self._chunks = chunks
        self._verifier = verifier
        self._read = read
        self._question = question
        self._deadline = deadline
        self._sent_at_once = sent_at_once
        self._completion = Completion(max_bytes)
        self._choices: dict[int, _Choice] = {}
        self._result: tuple[Reply, tuple[Attempt | None, ...]] | None = None

    @property
    def result(self) -> tuple[Reply, tuple[Attempt | None, ...]]:
        """The reply and, per choice, the first attempt; None where the draft must be checked as a whole."""
        if self._result is None:
            raise RuntimeError("the reply is still being written")
        return self._result

    async def events(self) -> AsyncIterator[CheckedText | ChoiceDelta]:
        """Yields the upstream's deltas as they arrive, and each choice's checked text, in order. Closing the
        iterator early cancels the upstream call and all checks.

        Raises `UpstreamError` where the reply breaks off, after yielding what was checked of it.
        """
        broken: UpstreamError | None = None
        async with closing(self._chunks) as chunks:
            coming: asyncio.Task[ReplyChunk | None] | None = _next(chunks)
            try:
                while coming is not None or self._checks():
                    await self._wait(coming)
                    if coming is not None and coming.done():
                        try:
                            chunk = coming.result()
                        except UpstreamError as error:
                            broken, coming = error, None
                        else:
                            coming = None if chunk is None else _next(chunks)
                            for delta in await self._take(chunk):
                                yield delta
                    for event in self._checked_texts():
                        yield event
            finally:
                await _cancelled([*([coming] if coming else []), *self._checks()])
        if broken is not None:
            raise broken
        self._finish()

    async def _wait(self, coming: asyncio.Task[ReplyChunk | None] | None) -> None:
        """Waits until the next chunk or check is done."""
        checks = self._checks()
        awaited: set[asyncio.Task[ReplyChunk | None] | asyncio.Task[Verified]] = {
            choice.checks[0][1] for choice in self._choices.values() if choice.checks
        }
        if coming is not None and len(checks) < _MAX_CHECKS:
            awaited.add(coming)
        await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)

    async def _take(self, chunk: ReplyChunk | None) -> Sequence[ChoiceDelta]:
        """Takes one more chunk, or None for the end. Reading runs in a thread, since it can take long; most
        chunks end no sentence, and are only kept."""
        if chunk is None:
            for choice in self._choices.values():
                self._check(choice, await asyncio.to_thread(choice.end))
            return ()
        self._completion.add(chunk)
        for delta in chunk.deltas:
            if delta.content:
                choice = self._choice(delta.index)
                if choice.add(delta.content):
                    await asyncio.to_thread(choice.look)
                self._check(choice, choice.reading.settled)
        return [delta for delta in chunk.deltas if delta.content or delta.fields]

    def _choice(self, index: int) -> _Choice:
        if index not in self._choices:
            self._choices[index] = _Choice(Incremental(self._read))
        return self._choices[index]

    def _check(self, choice: _Choice, settled: Settled) -> None:
        """Starts checking the newly settled claims."""
        last = choice.checks[-1][0] if choice.checks else choice.checked
        if settled == last:
            return
        new, prior = settled.claims[choice.submitted :], settled.claims[: choice.submitted]
        until = asyncio.get_running_loop().time() + self._deadline
        task = asyncio.create_task(self._verifier.verify(new, self._question, until, prior))
        choice.submitted = len(settled.claims)
        choice.checks.append((settled, task))

    def _checked_texts(self) -> Iterator[CheckedText]:
        for index, choice in self._choices.items():
            if choice.take():
                yield CheckedText(index, choice.checked.text, tuple(choice.findings))

    def _checks(self) -> list[asyncio.Task[Verified]]:
        return [task for choice in self._choices.values() for _, task in choice.checks]

    def _finish(self) -> None:
        reply = self._completion.reply()
        attempts = []
        for draft in reply.drafts:
            if choice := self._choices.get(draft.index):
                attempts.append(choice.attempt(draft, reply, sent=self._sent_at_once))
            else:
                attempts.append(None if draft.text else Attempt(draft, reply.usage))
        self._result = reply, tuple(attempts)


def _next(chunks: AsyncIterator[ReplyChunk]) -> asyncio.Task[ReplyChunk | None]:
    async def following() -> ReplyChunk | None:
        return await anext(chunks, None)

    return asyncio.create_task(following())


async def _cancelled(tasks: list[asyncio.Task[ReplyChunk | None] | asyncio.Task[Verified]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


_NUMBERS_AND_NAMES = (*("-", ".", "e+", "e-", "E+", "E-"), *("true", "false", "null", "NaN", "-Infinity"))
"""What a text may break off in, to the parser's surprise: numbers and names."""
_UNFINISHED = ("Unterminated string", "Invalid \\escape", "Invalid \\uXXXX escape")
_LONGEST_ESCAPE = 12


def is_json(text: str) -> bool:
    """Whether the text is one JSON object or array. A bare number or string may be prose."""
    return text.lstrip()[:1] in ("{", "[") and _parses(text)


def may_become_json(text: str) -> bool:
    """Whether the text is the beginning of a JSON object or array, or all of one."""
    stripped = text.strip()
    if stripped[:1] not in ("{", "["):
        return not stripped
    try:
        json.loads(stripped)
    except json.JSONDecodeError as error:
        return _breaks_off(stripped, error)
    except (ValueError, RecursionError):
        return False
    return True


def holds_json(text: str, most_around: int) -> bool:
    """Whether the text is one JSON object with at most so many characters around it, as models write it (in a
    code block, behind an announcement) and programs find it."""
    start, end = text.find("{"), text.rfind("}") + 1
    return 0 <= start < end and len(text) - (end - start) <= most_around and _parses(text[start:end])


def _parses(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _breaks_off(text: str, error: json.JSONDecodeError) -> bool:
    """Whether the parser only failed because the text ends there."""
    if error.msg.startswith("Unterminated string"):
        return True
    if error.msg.startswith(_UNFINISHED):
        return error.pos >= len(text) - _LONGEST_ESCAPE
    rest = text[error.pos :]
    return any(literal.startswith(rest) for literal in _NUMBERS_AND_NAMES)
