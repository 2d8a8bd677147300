"""An LLM over real HTTP: the tests' upstream, and our client on it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from proxy.upstream.endpoint import Endpoint
from proxy.upstream.http import HTTPUpstream
from tests.scripted_upstream import Upstream


@pytest.fixture
async def llm(upstream: Upstream) -> AsyncIterator[HTTPUpstream]:
    """What the tests' upstream says."""
    client = HTTPUpstream(Endpoint("openai/model", api_base=upstream.url, api_key="k"))
    yield client
    await client.close()
