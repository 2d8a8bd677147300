"""Large bodies: a key has them parsed one by one, with pauses, and no client waits for another key's."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from proxy.aio import ASKER, Asker
from proxy.cli.compose import Library
from proxy.server.rates import LARGE, LargeBodies
from tests.scripted_upstream import Upstream
from tests.server.test_fairness import KEYS, post, settings
from tests.serving import serving, until


async def of(key: str, bodies: LargeBodies, parse: object) -> object:
    """What the body is parsed to, for a request of that key."""
    ASKER.set(Asker(key))
    return await bodies.parsed(parse)  # type: ignore[arg-type]


async def test_a_key_has_them_parsed_one_by_one_while_another_key_goes_on() -> None:
    bodies, begun, go = LargeBodies(rest=0), [], threading.Event()

    def parse() -> str:
        begun.append(time.monotonic())
        go.wait(60)
        return "parsed"

    mine = [asyncio.create_task(of("a", bodies, parse)) for _ in range(3)]
    assert await of("b", bodies, lambda: "theirs") == "theirs"
    await asyncio.to_thread(until, lambda: bool(begun))
    mine[0].cancel()  # its client leaves: the next still waits for the end of what was begun
    assert await of("b", bodies, lambda: "theirs") == "theirs"
    assert len(begun) == 1
    go.set()
    assert await asyncio.gather(*mine[1:]) == ["parsed"] * 2
    assert mine[0].cancelled() or isinstance(mine[0].exception(), asyncio.CancelledError)
    assert len(begun) == 3


async def test_a_pause_follows_that_is_a_multiple_of_what_it_took() -> None:
    bodies, times = LargeBodies(rest=4), []

    def parse() -> None:
        times.append(time.monotonic())
        time.sleep(0.05)

    await asyncio.gather(*(of("a", bodies, parse) for _ in range(2)))
    assert times[1] - times[0] > 5 * 0.05 - 0.01
    with pytest.raises(ZeroDivisionError):
        await of("b", bodies, lambda: 1 / 0)
    assert await of("b", bodies, lambda: "the next one") == "the next one"


def test_large_bodies_of_one_key_are_all_answered(corpus: Library, upstream: Upstream) -> None:
    large = {"model": "test", "input": "x" * (LARGE + 1)}
    with serving(settings(upstream, {}), corpus) as url, ThreadPoolExecutor(20) as asking:
        answers = [asking.submit(post, url, large, KEYS[0], "embeddings") for _ in range(20)]
        assert [each.result().status_code for each in answers] == [200] * 20
