"""Where an upstream is, how it is called, and what its client offers beyond `LLM`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable
from urllib.parse import parse_qsl, urlsplit

from proxy.errors import UpstreamError
from proxy.protocols import LLM
from proxy.types import Chat, Json

OPENAI_COMPATIBLE = frozenset({"openai", "openai_like", "custom_openai", "hosted_vllm", "lm_studio"})
"""litellm's providers that speak OpenAI's protocol and nothing else."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One configured model. `model` is litellm's name (`openai/gpt-4o-mini`); the route follows `api_base`.

    `timeout` is in seconds, for a whole call or, in a stream, for the next chunk; `connect_timeout` for the
    connection. A reply of more than `max_reply_bytes` is an error. `params` are added to each call; the
    client's own take precedence. With `client_key` the client's key is used, and never another one.
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
        """The key to call with.

        Raises `UpstreamError` (401) if the client must send a key and sent none, or one that no header can
        carry.
        """
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
        """Texts that no message may repeat, longest first. A client's key is one where it is sent on."""
        base = urlsplit(self.api_base or "")
        values = (value for _, value in parse_qsl(base.query))
        sent = client_key if self.client_key else self.api_key
        texts = {sent, base.password, base.query, *values, *self.headers.values()}
        return tuple(sorted((text for text in texts if text and len(text) > 3), key=len, reverse=True))

    @property
    def address(self) -> str:
        """The model and its address for the log, without user, password and query. Clients never see it."""
        if not self.api_base:
            return self.model
        base = urlsplit(self.api_base)
        return f"{self.model} at {base.scheme}://{base.netloc.rpartition('@')[2]}{base.path}"


@dataclass(frozen=True, slots=True)
class Forwarded:
    """An upstream's answer that is passed on: `body` yields its bytes as they come.

    `headers`, in lower case, are the content type and the rate limits. The receiver reads `body` to its end
    or calls `aclose`, which may be called at any time.
    """

    status: int
    headers: Mapping[str, str]
    body: AsyncIterator[bytes] = field(repr=False)
    close: Callable[[], Awaitable[None]] = field(repr=False)

    async def aclose(self) -> None:
        """Closes the connection."""
        await self.close()


@runtime_checkable
class Relay(Protocol):
    """A client that can pass on the upstream's answer to a chat as bytes."""

    async def relay(self, chat: Chat) -> Forwarded:
        """POSTs `chat.body` with the upstream's name of the model; its `stream` decides how the answer comes.

        Returns when the first bytes have come. Raises `errors.UpstreamError` for anything but a success. The
        pieces of a stream end with a line; if it breaks off, reading it raises `errors.UpstreamError`.
        """
        ...


class Upstream(LLM, Protocol):
    """An `LLM` that can also pass on other routes than chat."""

    async def forward(self, route: str, body: Json, api_key: str | None) -> Forwarded:
        """POSTs `body` to `route` (`embeddings`, say). `model` in it is replaced by the upstream's own name.

        Raises `errors.UpstreamError` for anything but a success, `errors.NotFoundError` for a route that the
        client does not pass on.
        """
        ...

    async def close(self) -> None:
        """Closes the connections. They are opened again when the upstream is used again."""
        ...
