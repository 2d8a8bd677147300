"""Many things that wait for an LLM, some at a time, with progress on standard error."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from evaluation.judging import progress
from proxy.aio import together

Item = TypeVar("Item")
Result = TypeVar("Result")


async def in_order(
    items: Sequence[Item], work: Callable[[Item], Awaitable[Result]], concurrency: int, shown: str
) -> list[Result]:
    """What `work` makes of each item, in their order, at most `concurrency` under way at once.

    The first failure is raised and ends the rest. Progress goes to standard error under the name `shown`,
    where that is a terminal.
    """
    places = asyncio.Semaphore(concurrency)
    with progress(shown, len(items)) as advance:

        async def one(item: Item) -> Result:
            async with places:
                result = await work(item)
            advance(1)
            return result

        return await together(one(item) for item in items)
