"""Which client calls which upstream. Imports neither of them."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal, cast

from proxy.upstream.endpoint import Endpoint, Upstream

Client = Literal["auto", "http", "litellm"]

OPENAI_BASE = "https://api.openai.com/v1"

_COMPATIBLE = frozenset({"openai", "openai_like", "custom_openai", "hosted_vllm", "lm_studio"})
"""litellm's providers that speak OpenAI's protocol and nothing else."""

_CLASSES: Mapping[str, tuple[str, str]] = {
    "http": ("proxy.upstream.http", "HTTPUpstream"),
    "litellm": ("proxy.upstream.litellm_client", "LiteLLMUpstream"),
}


def is_openai_compatible(model: str, api_base: str | None) -> bool:
    """Whether the direct client can call it: `openai/...`; with an `api_base` also the providers that are
    nothing but OpenAI-compatible, and models without a provider."""
    provider, slash, _ = model.partition("/")
    if not slash:
        return api_base is not None
    return provider == "openai" or (provider in _COMPATIBLE and api_base is not None)


def own_name(model: str) -> str:
    """What an OpenAI-compatible server calls the model: litellm's name without such a provider."""
    provider, slash, rest = model.partition("/")
    return rest if slash and provider in _COMPATIBLE else model


def make_upstream(
    endpoint: Endpoint, client: Client = "auto", environ: Mapping[str, str] = os.environ
) -> Upstream:
    """The upstream that `client` asks for; `auto` takes the direct client wherever it can.

    Without `api_base`, `openai/...` is OpenAI's own, with `OPENAI_API_KEY` where no key is set; that key
    is never sent anywhere else. litellm (2 s to import) is imported only where it is used. Raises
    `ConfigError`.
    """
    if client == "auto":
        client = "http" if is_openai_compatible(endpoint.model, endpoint.api_base) else "litellm"
    if client == "http" and endpoint.api_base is None and endpoint.model.startswith("openai/"):
        key = endpoint.api_key or environ.get("OPENAI_API_KEY")
        endpoint = replace(endpoint, api_base=OPENAI_BASE, api_key=key)
    module, name = _CLASSES[client]
    make = cast(Callable[[Endpoint], Upstream], getattr(importlib.import_module(module), name))
    return make(endpoint)


def missing_keys(endpoint: Endpoint, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The environment variables with keys that the provider wants and nobody has set.

    None where a key is configured or comes from the client, and none behind an `api_base` of one's own:
    that server may well need no key.
    """
    if endpoint.api_key or endpoint.client_key or endpoint.api_base:
        return ()
    if is_openai_compatible(endpoint.model, None):
        return () if environ.get("OPENAI_API_KEY") else ("OPENAI_API_KEY",)
    module = importlib.import_module("proxy.upstream.litellm_client")
    return cast(tuple[str, ...], module.wanted_keys(endpoint.model))
