"""Requests and tokens a minute of each key, and what several workers of one server share of them; and the
share of the processor that a key's large bodies may take."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import math
import mmap
import os
import struct
import time
from collections.abc import AsyncIterator, Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Protocol, TypeVar

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from proxy.aio import ASKER, Asker, Turns
from proxy.config.limit_settings import KeyLimits
from proxy.errors import RateLimitError
from proxy.openai_api.error_object import error_headers, error_object

T = TypeVar("T")

LARGE = 1_000_000
"""A body of more bytes is large: what it takes to parse it holds up all others."""

BUCKETS = 8192
"""How many buckets workers share; further ones count per worker."""


class Level(Protocol):
    """What is left in a bucket, and when that was so, as `time.monotonic` tells it."""

    def read(self) -> tuple[float, float]:
        """Level and time."""
        ...

    def write(self, level: float, at: float) -> None:
        """Replaces both."""
        ...

    def held(self) -> contextlib.AbstractContextManager[object]:
        """Nobody else writes in this block."""
        ...


class OwnLevel:
    """The level of a bucket that one process has for itself."""

    def __init__(self, level: float) -> None:
        self._kept = level, time.monotonic()

    def read(self) -> tuple[float, float]:
        """Implements `Level`."""
        return self._kept

    def write(self, level: float, at: float) -> None:
        """Implements `Level`."""
        self._kept = level, at

    def held(self) -> contextlib.AbstractContextManager[object]:
        """Implements `Level`."""
        return contextlib.nullcontext()


class Bucket:
    """So many a minute, evenly: what is used comes back with time. It may go below zero."""

    def __init__(self, limit: int, level: Level | None = None) -> None:
        self.limit = limit
        self._level = level or OwnLevel(limit)

    def left(self) -> float:
        """What may be used now."""
        level, at = self._level.read()
        return min(self.limit, level + (time.monotonic() - at) * self.limit / 60)

    def take(self, count: int) -> None:
        """Uses some."""
        with self._level.held():
            self._level.write(self.left() - count, time.monotonic())

    def seconds_until(self, level: float) -> float:
        """Seconds until so much is left."""
        return max(0.0, (level - self.left()) * 60 / self.limit)


class SharedLevels:
    """The levels of all buckets, in a file that the workers of one server map.

    The lock is one of the kernel's on the file, so a worker that is killed leaves it free.

    Args:
        path: the file; it is made where it is missing.
    """

    _ENTRY = struct.Struct("=16sdd")

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.ftruncate(self._file, BUCKETS * self._ENTRY.size)
        self._map = mmap.mmap(self._file, BUCKETS * self._ENTRY.size)

    def close(self) -> None:
        """Lets the file go."""
        self._map.close()
        os.close(self._file)

    def of(self, name: str, level: float) -> Level:
        """The level of the bucket of that name, which begins at `level`. Of its own where the file is
        full."""
        digest = blake2b(name.encode(), digest_size=16).digest()
        start = int.from_bytes(digest[:8]) % BUCKETS
        with self.held():
            for slot in ((start + step) % BUCKETS for step in range(BUCKETS)):
                known, *_ = self._ENTRY.unpack_from(self._map, slot * self._ENTRY.size)
                if not any(known):
                    self._ENTRY.pack_into(self._map, slot * self._ENTRY.size, digest, level, time.monotonic())
                    return _SharedLevel(self, slot, digest)
                if known == digest:
                    return _SharedLevel(self, slot, digest)
        return OwnLevel(level)

    def read(self, slot: int) -> tuple[float, float]:
        """The level in that place, and when it was so."""
        _, level, at = self._ENTRY.unpack_from(self._map, slot * self._ENTRY.size)
        return level, at

    def write(self, slot: int, digest: bytes, level: float, at: float) -> None:
        """Replaces it."""
        self._ENTRY.pack_into(self._map, slot * self._ENTRY.size, digest, level, at)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keeps the other workers out of the block."""
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)


class _SharedLevel:
    """One entry of `SharedLevels`."""

    def __init__(self, levels: SharedLevels, slot: int, digest: bytes) -> None:
        self._levels, self._slot, self._digest = levels, slot, digest

    def read(self) -> tuple[float, float]:
        """Implements `Level`."""
        return self._levels.read(self._slot)

    def write(self, level: float, at: float) -> None:
        """Implements `Level`."""
        self._levels.write(self._slot, self._digest, level, at)

    def held(self) -> contextlib.AbstractContextManager[object]:
        """Implements `Level`."""
        return self._levels.held()


class Rates:
    """The rates of one key. Answers tell them in OpenAI's headers, `x-ratelimit-*`.

    Args:
        key: its name.
        limits: the rates.
        shared: where workers keep what is left together; None: this process alone counts.
    """

    def __init__(self, key: str, limits: KeyLimits, shared: SharedLevels | None = None) -> None:
        self.limits = limits
        wanted = {"requests": limits.requests_per_minute, "tokens": limits.tokens_per_minute}
        self._buckets = {
            kind: Bucket(limit, shared.of(f"{kind} {limit} {key}", limit) if shared else None)
            for kind, limit in wanted.items()
            if limit is not None
        }

    async def run(self, app: ASGIApp, asker: Asker, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or refuses it. What it cost in tokens is counted when it has ended."""
        for kind, bucket in self._buckets.items():
            if bucket.left() < 1:
                wait = bucket.seconds_until(1)
                error = RateLimitError(
                    f"Your key has used up its {bucket.limit} {kind} a minute "
                    f"(limits.key.{kind}_per_minute). Try again in {math.ceil(wait)} s.",
                    retry_after=wait,
                )
                headers = {**error_headers(error), **self._headers()}
                await JSONResponse(error_object(error), error.status, headers)(scope, receive, send)
                return
        if "requests" in self._buckets:
            self._buckets["requests"].take(1)

        async def send_with_rates(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = self._headers()
                others = [item for item in message["headers"] if item[0].decode("latin-1") not in ours]
                told = [(name.encode(), value.encode()) for name, value in ours.items()]
                message = {**message, "headers": [*others, *told]}
            await send(message)

        try:
            await app(scope, receive, send_with_rates)
        finally:
            if "tokens" in self._buckets:
                self._buckets["tokens"].take(asker.tokens)

    def _headers(self) -> dict[str, str]:
        told: dict[str, str] = {}
        for kind, bucket in self._buckets.items():
            told[f"x-ratelimit-limit-{kind}"] = str(bucket.limit)
            told[f"x-ratelimit-remaining-{kind}"] = str(max(0, math.floor(bucket.left())))
            told[f"x-ratelimit-reset-{kind}"] = f"{bucket.seconds_until(bucket.limit):.0f}s"
        return told


class LargeBodies:
    """The large bodies (`LARGE`) of each key: how many are in memory before they are parsed, and how much of
    the processor their parsing takes.

    Parsing runs in a thread, but it keeps the interpreter from all others meanwhile. So a key's large bodies
    take turns, and the next one is not parsed before `rest` times as long as the last one took.

    Args:
        places: bodies of a key that are read or wait at once; the client of a further one has to wait.
        rest: the pause between two of them, in units of what the first took.
    """

    def __init__(self, places: int = 16, rest: float = 9.0) -> None:
        self._places = places
        self._rest = rest
        self._turns = Turns()
        self._places_of: dict[str, asyncio.Semaphore] = {}

    @contextlib.asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Waits for one of the key's places, and holds it. Without keys there is no bound."""
        key = ASKER.get().key
        most = self._places if key else 1_000_000
        async with self._places_of.setdefault(key, asyncio.Semaphore(most)):
            yield

    async def parsed(self, parse: Callable[[], T]) -> T:
        """The result of `parse`, which runs in a thread, once the key may have it run."""
        async with self._turns.taken() as turn:
            begun = time.monotonic()
            parsing = asyncio.ensure_future(asyncio.to_thread(parse))
            try:
                return await asyncio.shield(parsing)
            finally:
                await asyncio.wait({parsing})  # a client that leaves does not end it
                turn.pause = self._rest * (time.monotonic() - begun)
