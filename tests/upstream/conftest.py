"""The test upstream, and both clients on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from proxy.upstream.endpoint import Endpoint
from proxy.upstream.http import HTTPUpstream
from proxy.upstream.litellm_client import LiteLLMUpstream
from tests.scripted_upstream import Upstream
from tests.upstream.asking import KEY


@pytest.fixture(scope="module")
def _server() -> Iterator[Upstream]:
    with Upstream() as server:
        yield server


@pytest.fixture
def upstream(_server: Upstream) -> Upstream:
    """The module's server, as new."""
    _server.clear()
    return _server


@pytest.fixture
def endpoint(upstream: Upstream) -> Endpoint:
    return Endpoint("openai/ours", upstream.url, KEY, timeout=5)


@pytest.fixture
async def http(endpoint: Endpoint) -> AsyncIterator[HTTPUpstream]:
    client = HTTPUpstream(endpoint)
    yield client
    await client.close()


@pytest.fixture(params=["openai/ours", "hosted_vllm/ours"])
def litellm_endpoint(request: pytest.FixtureRequest, upstream: Upstream) -> Endpoint:
    """OpenAI's own SDK inside litellm, and litellm's own HTTP client."""
    return Endpoint(request.param, upstream.url, KEY, timeout=10)


@pytest.fixture
async def llm(litellm_endpoint: Endpoint) -> AsyncIterator[LiteLLMUpstream]:
    client = LiteLLMUpstream(litellm_endpoint)
    yield client
    await client.close()
