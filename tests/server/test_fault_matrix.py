"""Everything that an upstream can do wrong, whole and streamed, by each way to call one: never an error of
ours, and always an end.

It runs with `TEST_FAULTS=all` only: it takes minutes.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from typing import Any

import httpx
import pytest

from benchmarks.faults import FAULTS, KEY, cases
from proxy.errors import VouchError
from tests.scripted_upstream import Upstream

CASES = cases()
WAYS = ("test", "test-raw", "test-litellm")
pytestmark = pytest.mark.skipif(
    os.environ.get("TEST_FAULTS") != "all", reason="takes minutes: set TEST_FAULTS=all"
)
SLOW = re.compile("never")


def complaint(name: str, way: str, stream: bool, answer: httpx.Response) -> str:
    """What is wrong with an answer; empty where nothing is."""
    text = answer.text
    if KEY in text:
        return "it repeats a key"
    if VouchError.type in text and "internal_error" in text:
        return "an error of ours"
    if "x-request-id" not in answer.headers:
        return "no request id"
    if answer.status_code != 200:
        upstreams = FAULTS[name].status
        if answer.status_code not in {upstreams, 502, 504} and "answered 500" not in text:
            return f"status {answer.status_code}"
        error = answer.json()["error"]
        return "" if error.keys() >= {"message", "type", "param", "code"} else f"odd error: {error}"
    if way.endswith("-raw"):
        return ""  # as the upstream sent it
    if not stream:
        return "" if isinstance(answer.json()["choices"], list) else "no choices"
    if not text.endswith("data: [DONE]\n\n"):
        return "no end"
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    return "" if all("choices" in each or "error" in each for each in events) else "an odd event"


async def run(url: str, way: str, chosen: list[tuple[str, bool]]) -> list[str]:
    """The complaints about answers to the faults."""
    places = asyncio.Semaphore(8)
    async with httpx.AsyncClient(timeout=60) as client:

        async def one(name: str, stream: bool) -> str:
            model = way.replace("test", "test-hasty", 1) if SLOW.search(name) else way
            if model == "test-hasty-litellm":
                return ""
            body: Any = {"model": model, "messages": [{"role": "user", "content": name}], "stream": stream}
            async with places:
                try:
                    answer = await client.post(
                        f"{url}/chat/completions", json={**body, "vouch": {"max_rounds": 0}}
                    )
                except httpx.RemoteProtocolError as error:  # passed on, and cut off, as it came
                    return "" if way.endswith("-raw") else f"{name}: {error!r}"
            wrong = complaint(name, way, stream, answer)
            return f"{name} ({stream=}): {wrong}: {answer.text[:200]}" if wrong else ""

        return [said for said in await asyncio.gather(*(one(*case) for case in chosen)) if said]


@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", WAYS)
def test_no_fault_of_an_upstream_is_an_error_of_ours(base_url: str, upstream: Upstream, way: str) -> None:
    upstream.answer = lambda body: FAULTS[body["messages"][-1]["content"]]
    assert asyncio.run(run(base_url, way, CASES)) == []
    assert len(upstream.requests) >= len(CASES) - 2
    upstream.clear()
    body = {"model": way, "messages": [{"role": "user", "content": "Still there?"}]}
    assert httpx.post(f"{base_url}/chat/completions", json=body, timeout=60).status_code == 200


def test_there_are_as_many_faults_as_the_documentation_says() -> None:
    assert len(CASES) > 800
