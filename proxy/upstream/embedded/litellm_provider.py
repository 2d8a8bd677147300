"""The embedded models as a litellm provider: `litellm.acompletion(model="vouch/extractive", ...)`.

A module of its own, since litellm takes seconds to import and the server can do without this door.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from typing import Any

# litellm reads both while it is imported: they keep it from fetching a price list and reading `.env` files.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("LITELLM_MODE", "PRODUCTION")

import litellm
from litellm.llms.custom_llm import CustomLLM, CustomLLMError
from litellm.types.utils import GenericStreamingChunk, ModelResponse
from litellm.utils import custom_llm_setup

from proxy.errors import UpstreamError
from proxy.protocols import LLM
from proxy.types import Chat, Json

PROVIDER = "vouch"


def register(models: Mapping[str, LLM]) -> None:
    """Make `vouch/...` models known to litellm, by their full names; a second call replaces the first.

    litellm keeps its providers in module state: this is the only place that touches it.
    """
    others = [item for item in litellm.custom_provider_map if item["provider"] != PROVIDER]
    litellm.custom_provider_map = [*others, {"provider": PROVIDER, "custom_handler": Provider(models)}]
    custom_llm_setup()


class Provider(CustomLLM):  # type: ignore[misc]  # litellm is untyped to us
    """litellm's side of it. Asynchronous calls only; errors carry the upstream's status."""

    def __init__(self, models: Mapping[str, LLM]) -> None:
        super().__init__()
        self._models = dict(models)

    async def acompletion(
        self, model: str, messages: list[Json], *args: object, optional_params: Json, **kwargs: Any
    ) -> ModelResponse:
        """The whole reply."""
        try:
            reply = await self._llm(model).complete(_chat(model, messages, optional_params))
        except UpstreamError as error:
            raise CustomLLMError(error.status, error.message) from error
        return ModelResponse(**reply.raw)

    async def astreaming(
        self, model: str, messages: list[Json], *args: object, optional_params: Json, **kwargs: Any
    ) -> AsyncIterator[GenericStreamingChunk]:
        """The reply in litellm's own chunks, of which there are none for a role or without choices."""
        params = {**optional_params, "stream_options": {"include_usage": True}}
        finish: str = ""
        try:
            async for chunk in self._llm(model).stream(_chat(model, messages, params)):
                if not chunk.raw["choices"]:
                    yield _generic("", finish, chunk.raw["usage"])
                    continue
                choice = chunk.raw["choices"][0]
                finish = choice["finish_reason"] or finish
                if content := choice["delta"].get("content"):
                    yield _generic(content)
        except UpstreamError as error:
            raise CustomLLMError(error.status, error.message) from error

    def _llm(self, model: str) -> LLM:
        name = f"{PROVIDER}/{model}"
        if name not in self._models:
            raise CustomLLMError(404, f"there is no model {name}; there are {', '.join(self._models)}")
        return self._models[name]


def _chat(model: str, messages: list[Json], params: Json) -> Chat:
    return Chat({**params, "model": f"{PROVIDER}/{model}", "messages": messages})


def _generic(text: str, finish: str = "", usage: Json | None = None) -> GenericStreamingChunk:
    return {
        "text": text,
        "is_finished": bool(finish),
        "finish_reason": finish,
        "usage": usage,
        "index": 0,
        "tool_use": None,
    }
