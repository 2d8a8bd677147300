"""The test upstream, and the direct client on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from proxy.backends.upstream.endpoint import Endpoint
from proxy.backends.upstream.http import HTTPUpstream
from tests.backends.upstream.asking import KEY
from tests.upstream import Upstream


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
