"""Which client calls which upstream. A client's module is imported only where that client is used."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

from proxy.upstream.endpoint import OPENAI_COMPATIBLE, Endpoint, Upstream

Client = Literal["auto", "http", "litellm"]

OPENAI_BASE = "https://api.openai.com/v1"


def is_openai_compatible(model: str, api_base: str | None) -> bool:
    """Whether the direct client can call this model.

    It can call `openai/...`; with an `api_base` also models of the providers that only speak OpenAI's
    protocol, and models without a provider.
    """
    provider, slash, _ = model.partition("/")
    if not slash:
        return api_base is not None
    return provider == "openai" or (provider in OPENAI_COMPATIBLE and api_base is not None)


def make_upstream(
    endpoint: Endpoint, client: Client = "auto", environ: Mapping[str, str] = os.environ
) -> Upstream:
    """The upstream with the client that `client` names; `auto` takes the direct one wherever it can.

    Without `api_base`, `openai/...` is OpenAI itself, called with `OPENAI_API_KEY` where no key is set. That
    key is never sent anywhere else. litellm takes 2 seconds to import, so only its client imports it.

    Raises:
        ConfigError: the address or the key can't be used.
    """
    if client == "auto":
        client = "http" if is_openai_compatible(endpoint.model, endpoint.api_base) else "litellm"
    if client == "http" and endpoint.api_base is None and endpoint.model.startswith("openai/"):
        key = endpoint.api_key or environ.get("OPENAI_API_KEY")
        endpoint = replace(endpoint, api_base=OPENAI_BASE, api_key=key)
    return _CLIENTS[client](endpoint)


def missing_keys(endpoint: Endpoint, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Names of the environment variables in which the provider expects a key and that are not set.

    Empty where a key is configured or comes from the client, and for a server of your own (`api_base`),
    which may need no key.
    """
    if endpoint.api_key or endpoint.client_key or endpoint.api_base:
        return ()
    if is_openai_compatible(endpoint.model, None):
        return () if environ.get("OPENAI_API_KEY") else ("OPENAI_API_KEY",)
    from proxy.upstream.litellm_client import wanted_keys

    return wanted_keys(endpoint.model)


def _http(endpoint: Endpoint) -> Upstream:
    from proxy.upstream.http import HTTPUpstream

    return HTTPUpstream(endpoint)


def _litellm(endpoint: Endpoint) -> Upstream:
    from proxy.upstream.litellm_client import LiteLLMUpstream

    return LiteLLMUpstream(endpoint)


_CLIENTS: Mapping[str, Callable[[Endpoint], Upstream]] = {"http": _http, "litellm": _litellm}
