"""What a model was asked."""

from __future__ import annotations

from proxy.types import Json
from tests.scripted_upstream import Upstream


def text_of(body: Json) -> str:
    """A request's first message."""
    return str(body["messages"][0]["content"])


def asked(upstream: Upstream, at: int = -1) -> str:
    """All messages of a request, the last one's unless said otherwise."""
    return "\n".join(str(message["content"]) for message in upstream.requests[at].body["messages"])
