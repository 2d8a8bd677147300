"""Where an upstream is and how it is called; what both clients offer beyond `LLM`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable
from urllib.parse import urlsplit

from proxy.errors import UpstreamError
from proxy.protocols import LLM
from proxy.types import Chat, Json

OPENAI_COMPATIBLE = frozenset({"openai", "openai_like", "custom_openai", "hosted_vllm", "lm_studio"})
"""litellm's providers that speak OpenAI's protocol and nothing else."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One configured model. `model` is litellm's name (`openai/gpt-4o-mini`); the route follows `api_base`.

    `timeout` is in seconds: for a whole call, or, while streaming, between two chunks; `connect_timeout`
    to connect. A larger reply than `max_reply_bytes` is an error. `params` are added to each call, under
    what the client sends. With `client_key` the client's own key is used, and never another one.
    """

    model: str
    api_base: str | None = field(default=None, repr=False)
    api_key: str | None = field(default=None, repr=False)
    client_key: bool = False
    timeout: float = 120.0
    connect_timeout: float = 10.0
    max_reply_bytes: int = 20_000_000
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    params: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def key(self, client_key: str | None) -> str | None:
        """The key to call with. Raises `UpstreamError` (401) where the client had to send one and did not,
        or where it is none that a header could carry."""
        if not self.client_key:
            return self.api_key
        if not client_key or not client_key.isprintable():
            raise UpstreamError(
                f"{self.model} is called with your own API key. Send it as 'Authorization: Bearer ...'.",
                status=401,
                type="authentication_error",
                code="invalid_api_key",
            )
        return client_key

    @property
    def served_model(self) -> str:
        """What an OpenAI-compatible server calls the model: litellm's name without such a provider."""
        provider, slash, rest = self.model.partition("/")
        return rest if slash and provider in OPENAI_COMPATIBLE else self.model

    def secrets(self, client_key: str | None) -> tuple[str, ...]:
        """What no message may repeat, longest first."""
        base = urlsplit(self.api_base or "")
        found = {self.api_key, client_key, base.password, base.query, *self.headers.values()}
        return tuple(sorted((text for text in found if text and len(text) > 3), key=len, reverse=True))

    @property
    def where(self) -> str:
        """The model and its address for messages, without user, password and query."""
        if not self.api_base:
            return self.model
        base = urlsplit(self.api_base)
        return f"{self.model} at {base.scheme}://{base.netloc.rpartition('@')[2]}{base.path}"


@dataclass(frozen=True, slots=True)
class Forwarded:
    """An upstream's answer to a route that Vouch passes on: `body` yields its bytes as they come.

    `headers` are lower case: the content type, and what tells the client about rate limits. Whoever gets
    one either reads `body` to its end or calls `aclose`, which may be called at any time.
    """

    status: int
    headers: Mapping[str, str]
    body: AsyncIterator[bytes] = field(repr=False)
    close: Callable[[], Awaitable[None]] = field(repr=False)

    async def aclose(self) -> None:
        """Hangs up."""
        await self.close()


@runtime_checkable
class Relay(Protocol):
    """What can pass an upstream's own answer to a chat on, byte by byte."""

    async def relay(self, chat: Chat) -> Forwarded:
        """POSTs `chat.body` as it is, but for the model's name; its `stream` says how the answer shall come.

        Returns once the answer's first bytes are there. Raises `errors.UpstreamError` for anything but a
        success. `body` ends at an event's line, and raises `errors.UpstreamError` when a stream breaks off.
        """
        ...


class Upstream(LLM, Protocol):
    """An `LLM` that can also pass other routes on."""

    async def forward(self, route: str, body: Json, api_key: str | None) -> Forwarded:
        """POSTs `body` to `route` (`embeddings`, say). `model` in it is replaced by the upstream's own name.

        Raises `errors.UpstreamError` for anything but a success, `errors.NotFoundError` for a route that
        this upstream can't serve.
        """
        ...

    async def close(self) -> None:
        """Closes the connections. The upstream may be used again."""
        ...
