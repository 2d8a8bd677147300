"""Any provider, through litellm. Importing this module imports litellm, which takes seconds."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import httpx

# litellm reads both while it is imported: they keep it from fetching a price list and reading `.env` files.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("LITELLM_MODE", "PRODUCTION")

import litellm
from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler, blocked_cookie_jar
from litellm.types.utils import all_litellm_params

from proxy.aio import closing
from proxy.errors import (
    NotFoundError,
    UpstreamProtocolError,
)
from proxy.tracing import carried
from proxy.types import Chat, Json, Reply, ReplyChunk
from proxy.upstream.completion import (
    most_choices,
    read_chunk,
    require_choices,
    require_usage,
    to_reply,
)
from proxy.upstream.endpoint import Endpoint, Forwarded
from proxy.upstream.litellm_failures import from_exception, showable
from proxy.upstream.sse import DONE

log = logging.getLogger(__name__)

litellm.suppress_debug_info = True
for _name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
    logging.getLogger(_name).setLevel(logging.ERROR)

_CHAT = frozenset(
    "messages functions function_call temperature top_p n stop max_tokens max_completion_tokens modalities "
    "prediction audio presence_penalty frequency_penalty logit_bias user response_format seed tools "
    "tool_choice parallel_tool_calls logprobs top_logprobs reasoning_effort verbosity safety_identifier "
    "service_tier store prompt_cache_key thinking web_search_options top_k".split()
)
"""litellm's arguments that a client may set. Nearly all others say where the call goes, with which
credentials, or where it is logged."""

_OURS = frozenset(
    "model stream stream_options extra_body extra_headers extra_query azure_ad_token organization".split()
)
"""What a client may not set at all, besides litellm's `all_litellm_params`."""

_EMBEDDINGS = frozenset("input dimensions encoding_format user".split())
_COMPLETIONS = frozenset(
    "prompt best_of echo frequency_penalty logit_bias logprobs max_tokens n presence_penalty stop suffix "
    "temperature top_p user seed".split()
)


class LiteLLMUpstream:
    """A model that litellm calls, by litellm's name. A call costs 3 to 6 ms of CPU, each chunk 0.6.

    Parameters that OpenAI's API does not have are sent to OpenAI-compatible providers only. Arguments that
    litellm takes as instructions come from `endpoint.params`, never from a client. A stream that was cut off
    between two chunks looks complete: litellm can't tell the difference.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        provider = endpoint.model.partition("/")[0]
        self._compatible = provider in {"openai", "azure", *litellm.openai_compatible_providers}

    def __repr__(self) -> str:
        return f"LiteLLMUpstream({self._endpoint.address})"

    async def complete(self, chat: Chat) -> Reply:
        """One call; `endpoint.timeout` bounds all of it."""
        response = await self._call(litellm.acompletion, self._chat(chat.body), chat.api_key)
        raw = plain(response)
        if len(encoded(raw)) > self._endpoint.max_reply_bytes:
            raise UpstreamProtocolError(
                f"The reply of {self._endpoint.model} is larger than `max_reply_bytes`: "
                f"{self._endpoint.max_reply_bytes}."
            )
        return to_reply(raw, most_choices(chat.body))

    async def stream(self, chat: Chat) -> AsyncIterator[ReplyChunk]:
        """The chunks as they come; `endpoint.timeout` bounds the wait for each."""
        options = {**(chat.body.get("stream_options") or {}), "include_usage": True}
        arguments = self._chat(chat.body) | {"stream": True, "stream_options": options}
        response = await self._call(litellm.acompletion, arguments, chat.api_key)
        said, indexes = False, set[int]()
        async with closing(self._items(response, chat.api_key)) as chunks:
            async for item in chunks:
                chunk = plain(item)
                require_usage(chunk.get("usage"))
                indexes |= {choice.get("index", 0) for choice in chunk["choices"]}
                require_choices(max(len(indexes), len(chunk["choices"])), most_choices(chat.body))
                said = said or any(choice.get("delta") for choice in chunk["choices"])
                if not said and any(choice.get("finish_reason") for choice in chunk["choices"]):
                    # litellm invents a proper ending for a stream in which it found nothing.
                    raise UpstreamProtocolError(f"{self._endpoint.model} answered with nothing.")
                yield read_chunk(chunk)

    def _chat(self, body: Json) -> Json:
        """The arguments of a chat call. Without the flag, litellm would import its gateway for tools, and
        with it packages that are not installed."""
        return self._arguments(body, _CHAT) | {"_skip_mcp_handler": True}

    async def forward(self, route: str, body: Json, api_key: str | None) -> Forwarded:
        """Embeddings and text completions, in OpenAI's shape. See `endpoint.Upstream`."""
        calls: Mapping[str, tuple[Callable[..., Awaitable[Any]], frozenset[str]]] = {
            "embeddings": (litellm.aembedding, _EMBEDDINGS),
            "completions": (litellm.atext_completion, _COMPLETIONS),
        }
        if route not in calls:
            raise NotFoundError(
                f"{self._endpoint.model} has no /v1/{route}: through litellm there are {' and '.join(calls)}."
            )
        call, names = calls[route]
        streams = route == "completions" and bool(body.get("stream"))
        arguments = self._arguments(body, names) | ({"stream": True} if streams else {})
        response = await self._call(call, arguments, api_key)
        rows = self._events(response, api_key) if streams else _once(encoded(plain(response)))

        async def close() -> None:
            if streams:
                await _aclose(response)

        kind = "text/event-stream" if streams else "application/json"
        return Forwarded(200, {"content-type": kind}, rows, close)

    async def close(self) -> None:
        """Closes litellm's connections, which all of its upstreams share."""
        session = _SESSIONS.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.aclose()
        await litellm.close_litellm_async_clients()
        litellm.in_memory_llm_clients_cache.flush_cache()

    def _arguments(self, body: Json, names: frozenset[str]) -> Json:
        known = {key: value for key, value in body.items() if key in names}
        taken = names | _OURS | frozenset(all_litellm_params)
        unknown = {key: value for key, value in body.items() if key not in taken} if self._compatible else {}
        fixed = dict(self._endpoint.params)
        extra = {**fixed.pop("extra_body", {}), **unknown}
        return {**fixed, **known, **({"extra_body": extra} if extra else {})}

    async def _call(
        self, call: Callable[..., Awaitable[Any]], arguments: Json, client_key: str | None
    ) -> Any:
        endpoint = self._endpoint
        address = {"api_base": endpoint.api_base} if endpoint.api_base else {}
        sent = {**(carried() if self._compatible else {}), **endpoint.headers}
        headers = {"extra_headers": sent} if sent else {}
        key = endpoint.key(client_key)
        _use_our_session()
        try:
            async with asyncio.timeout(endpoint.timeout):
                return await call(
                    model=endpoint.model,
                    **arguments,
                    **address,
                    **headers,
                    **({"api_key": key} if key else {}),
                    timeout=endpoint.timeout,
                    num_retries=0,
                    max_retries=0,
                )
        except Exception as error:
            raise from_exception(error, endpoint, client_key) from showable(error, endpoint, client_key)

    async def _items(self, response: Any, client_key: str | None) -> AsyncIterator[Any]:
        """The items of litellm's stream, its exceptions as ours."""
        items = aiter(response)
        try:
            while True:
                try:
                    async with asyncio.timeout(self._endpoint.timeout):
                        item = await anext(items)
                except StopAsyncIteration:
                    return
                except Exception as error:
                    made = from_exception(error, self._endpoint, client_key, begun=True)
                    raise made from showable(error, self._endpoint, client_key)
                yield item
        finally:
            await _aclose(response)

    async def _events(self, response: Any, client_key: str | None) -> AsyncIterator[bytes]:
        async with closing(self._items(response, client_key)) as items:
            async for item in items:
                yield b"data: " + encoded(plain(item)) + b"\n\n"
        yield f"data: {DONE}\n\n".encode()


def _use_our_session() -> None:
    """Gives litellm a connection pool of ours on the running loop, for the providers that it calls through
    OpenAI's SDK: without cookies, which would go from one client's answer to another's call, and without
    redirects, which would carry the key to wherever an answer points. Its other clients keep no cookies."""
    loop = asyncio.get_running_loop()
    session = _SESSIONS.get(loop)
    if session is None or session.is_closed:
        session = _SESSIONS[loop] = httpx.AsyncClient(
            transport=AsyncHTTPHandler.create_async_transport(),
            cookies=blocked_cookie_jar(),
            follow_redirects=False,
            timeout=600,  # each call has its own
        )
    if litellm.aclient_session is not session:
        litellm.in_memory_llm_clients_cache.flush_cache()
        litellm.aclient_session = session


_SESSIONS: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = WeakKeyDictionary()


def plain(response: Any) -> Json:
    """One of litellm's objects as JSON, without the nulls that litellm adds."""
    try:
        raw: Json = response.model_dump(mode="json")
    except (ValueError, RecursionError) as error:
        raise UpstreamProtocolError("The upstream answered with JSON that is nested too deeply.") from error
    value = {key: inner for key, inner in raw.items() if inner is not None}
    value["choices" if "choices" in value else "data"] = [
        _plain_choice(choice) for choice in value.get("choices", value.get("data", ()))
    ]
    return value


def _plain_choice(choice: Json) -> Json:
    told = {key: inner for key, inner in choice.items() if key != "provider_specific_fields" or inner}
    for part in ("message", "delta"):
        if isinstance(told.get(part), dict):
            told[part] = _plain_message(told[part], keep="content" if part == "message" else "")
    return told


def _plain_message(message: Json, keep: str) -> Json:
    said = {key: value for key, value in message.items() if value is not None or key == keep}
    fields = said.pop("provider_specific_fields", None) or {}
    fields = {key: value for key, value in fields.items() if value is not None}
    return said | ({"provider_specific_fields": fields} if fields else {})


def encoded(value: Json) -> bytes:
    """JSON, as bytes."""
    return json.dumps(value).encode()


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def _aclose(response: Any) -> None:
    """Closes a litellm stream and the provider's stream inside it."""
    for stream in (response, getattr(response, "completion_stream", None)):
        close = getattr(stream, "aclose", None) or getattr(stream, "close", None)
        if close is not None and asyncio.iscoroutinefunction(close):
            await close()


def wanted_keys(model: str) -> tuple[str, ...]:
    """Environment variables in which litellm expects a key for the model and that are not set.

    An empty one is not set: litellm takes it for a key, so it is kept from it.
    """
    empty = [name for name, value in os.environ.items() if name.endswith("_KEY") and not value]
    for name in empty:
        del os.environ[name]
    try:
        missing = litellm.validate_environment(model).get("missing_keys") or ()
    finally:
        os.environ.update(dict.fromkeys(empty, ""))
    return tuple(name for name in missing if name.endswith("_KEY"))
