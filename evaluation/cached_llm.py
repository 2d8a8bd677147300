"""An `LLM` that keeps its replies on disk, so that an interrupted command continues where it stopped.

`Meter` counts its calls and tokens, and prices them by litellm's price list.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proxy.errors import ConfigError, UpstreamError, UpstreamProtocolError
from proxy.protocols import LLM
from proxy.types import Chat, Json, Reply, ReplyChunk, Usage
from proxy.upstream.completion import to_reply


class CachedLLM:
    """`protocols.LLM`: the same replies, each asked for once.

    An answer is found again by `identity` (whatever the answer depends on besides the body: the model, where
    it is, and set parameters) and the body. Kept is what the provider sent, one file an answer, written whole
    or not at all. A file that is no such answer is asked for again and replaced; an answer that says nothing
    is not kept. Failures are counted and raised, never kept. Streams pass by, uncounted.
    """

    def __init__(self, llm: LLM, identity: str, folder: Path, meter: Meter) -> None:
        self._llm = llm
        self._identity = identity
        self._folder = folder
        self._meter = meter

    async def complete(self, chat: Chat) -> Reply:
        """The whole reply, from the disk where it is there. Raises `UpstreamError`, `ConfigError`."""
        key = json.dumps([self._identity, chat.body], sort_keys=True, ensure_ascii=False)
        path = self._path(key)
        kept = await asyncio.to_thread(_read, path, key)
        if kept is not None:
            self._meter.cached += 1
            self._meter.saved += kept.usage
            return kept
        reply = await self._ask(chat)
        if any(draft.text.strip() for draft in reply.drafts):
            await asyncio.to_thread(_write, path, key, reply.raw)
        return reply

    def stream(self, chat: Chat) -> AsyncIterator[ReplyChunk]:
        """The reply as chunks, as they come."""
        return self._llm.stream(chat)

    async def _ask(self, chat: Chat) -> Reply:
        try:
            reply = await self._llm.complete(chat)
        except UpstreamError:
            self._meter.failed += 1
            raise
        self._meter.calls += 1
        self._meter.usage += reply.usage
        return reply

    def _path(self, key: str) -> Path:
        name = hashlib.sha256(key.encode()).hexdigest()
        return self._folder / name[:2] / f"{name}.json"


def _read(path: Path, key: str) -> Reply | None:
    """What is kept under that key; None where there is nothing, or nothing that can be used."""
    try:
        entry = json.loads(path.read_bytes())
        return to_reply(entry["reply"]) if entry["key"] == key else None
    except (OSError, ValueError, TypeError, KeyError, RecursionError, UpstreamProtocolError):
        return None


def _write(path: Path, key: str, raw: Json) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({"key": key, "reply": raw}, file, ensure_ascii=False)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ConfigError(
            f"{path.parent} can't be written: {error.strerror}. Name another folder with --cache."
        ) from error


_DOLLAR_DIGITS = 6


@dataclass(slots=True)
class Meter:
    """Counts of one command's calls, filled while it runs.

    `calls` were answered by the model, `cached` from the disk, `failed` not at all. `usage` is of the first,
    `saved` of the second: what the cached answers had cost when they were asked for.
    """

    model: str
    calls: int = 0
    cached: int = 0
    failed: int = 0
    usage: Usage = field(default_factory=Usage)
    saved: Usage = field(default_factory=Usage)

    def as_json(self) -> dict[str, Any]:
        """The counts, and in dollars what this run and the answers on disk cost; null without a price."""
        return {
            "model": self.model,
            "calls": self.calls,
            "cached": self.cached,
            "failed": self.failed,
            "prompt_tokens": self.usage.prompt_tokens,
            "completion_tokens": self.usage.completion_tokens,
            "cost": cost(self.model, self.usage),
            "cached_cost": cost(self.model, self.saved),
        }

    def as_markdown(self) -> str:
        """The same as a sentence."""
        price = cost(self.model, self.usage)
        spent = f"${price:.4f}" if price is not None else "at a price that litellm does not know"
        failed = f", {self.failed:,} failed" if self.failed else ""
        tokens = f"{self.usage.prompt_tokens:,} + {self.usage.completion_tokens:,} tokens"
        return (
            f"\n`{self.model}`: {self.calls:,} calls ({tokens}, {spent}), "
            f"{self.cached:,} answers from the disk{failed}.\n"
        )


def cost(model: str, usage: Usage) -> float | None:
    """`price` to a millionth of a dollar. litellm (2 s to import) is only imported for tokens that cost."""
    if usage == Usage():
        return 0.0
    dollars = price(model, usage)
    return None if dollars is None else round(dollars, _DOLLAR_DIGITS)


def price(model: str, usage: Usage) -> float | None:
    """Dollars by litellm's name of the model; None for a model that its price list does not have.

    A self-hosted model with the name of one of OpenAI's is priced as OpenAI's.
    """
    from proxy.upstream import litellm_client  # noqa: F401  # it keeps litellm from fetching its price list

    # isort: split
    import litellm

    try:
        prompt, completion = litellm.cost_per_token(
            model=model, prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens
        )
    except Exception:  # of several kinds, all of which mean that it has no price
        return None
    return float(prompt + completion)
