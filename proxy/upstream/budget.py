"""What one request may spend upstream: a wrapper that counts calls and tokens, and refuses further calls."""

from __future__ import annotations

from collections.abc import AsyncIterator

from proxy.aio import ASKER, closing
from proxy.errors import UpstreamError
from proxy.protocols import LLM
from proxy.types import Chat, ChoiceDelta, Reply, ReplyChunk, Usage
from proxy.upstream.completion import to_usage, utf8_length
from proxy.upstream.safe_json import dumps

TOKEN = 4
"""Bytes that a token takes, about."""


class BudgetError(UpstreamError):
    """The request has used up the upstream calls or tokens that `limits` gives it."""

    status = 429
    type = "rate_limit_error"
    code = "request_budget_exceeded"


class Budgeted:
    """`protocols.LLM` that charges each call to whom it is made for (`aio.ASKER`), retries included.

    Draft, correction, extraction and checking share the budget. A call that is refused costs nothing, so
    what is left to do of a request ends at once. Tokens are known after a call: the last one may go over.
    Where the upstream does not say what a call took, or is hung up on before it does, they are estimated.
    """

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    async def complete(self, chat: Chat) -> Reply:
        """The whole reply at once. Raises `BudgetError` instead of making a call too many."""
        _charge()
        reply = await self._llm.complete(chat)
        written = sum(utf8_length(draft.text) for draft in reply.drafts)
        ASKER.get().tokens += _total(reply.usage) or _estimate(chat, written)
        return reply

    async def stream(self, chat: Chat) -> AsyncIterator[ReplyChunk]:
        """The reply as chunks. Raises `BudgetError` instead of making a call too many."""
        _charge()
        asker, said, written = ASKER.get(), 0, 0
        try:
            async with closing(self._llm.stream(chat)) as chunks:
                async for chunk in chunks:
                    said = _total(to_usage(chunk.raw.get("usage"))) or said
                    written += sum(map(_size, chunk.deltas))
                    yield chunk
        finally:
            if said or written:
                asker.tokens += said or _estimate(chat, written)


def _total(usage: Usage) -> int:
    return usage.prompt_tokens + usage.completion_tokens


def _size(delta: ChoiceDelta) -> int:
    """Bytes of what the model wrote, about."""
    return utf8_length(delta.content) + (len(repr(delta.fields)) if delta.fields else 0)


def _estimate(chat: Chat, written: int) -> int:
    """Tokens of a prompt and of so many bytes of a reply."""
    return (len(dumps(chat.body.get("messages"))) + written) // TOKEN


def _charge() -> None:
    asker = ASKER.get()
    most = asker.most_calls
    if most is not None and asker.calls >= most:
        raise _spent(f"{most} upstream calls (limits.upstream_calls)")
    if asker.most_tokens is not None and asker.tokens >= asker.most_tokens:
        raise _spent(f"{asker.most_tokens} upstream tokens (limits.upstream_tokens)")
    asker.calls += 1


def _spent(what: str) -> BudgetError:
    return BudgetError(
        f"This request has used up its {what}. Check fewer claims with it, or raise the limit.",
        headers={"x-should-retry": "false"},
    )
