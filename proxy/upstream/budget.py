"""What one request may spend upstream: a wrapper that counts calls and tokens, and refuses further calls."""

from __future__ import annotations

from collections.abc import AsyncIterator

from proxy.aio import ASKER, closing
from proxy.errors import UpstreamError
from proxy.protocols import LLM
from proxy.types import Chat, Reply, ReplyChunk
from proxy.upstream.completion import to_usage


class BudgetError(UpstreamError):
    """The request has used up the upstream calls or tokens that `limits` gives it."""

    status = 429
    type = "rate_limit_error"
    code = "request_budget_exceeded"


class Budgeted:
    """`protocols.LLM` that charges each call to whom it is made for (`aio.ASKER`), retries included.

    Draft, correction, extraction and checking share the budget. A call that is refused costs nothing, so
    what is left to do of a request ends at once. Tokens are known after a call: the last one may go over.
    """

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    async def complete(self, chat: Chat) -> Reply:
        """The whole reply at once. Raises `BudgetError` instead of making a call too many."""
        _charge()
        reply = await self._llm.complete(chat)
        ASKER.get().tokens += reply.usage.prompt_tokens + reply.usage.completion_tokens
        return reply

    async def stream(self, chat: Chat) -> AsyncIterator[ReplyChunk]:
        """The reply as chunks. Raises `BudgetError` instead of making a call too many."""
        _charge()
        asker = ASKER.get()
        async with closing(self._llm.stream(chat)) as chunks:
            async for chunk in chunks:
                if chunk.raw.get("usage"):
                    usage = to_usage(chunk.raw["usage"])
                    asker.tokens += usage.prompt_tokens + usage.completion_tokens
                yield chunk


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
