"""Serves the index of a folder, and the next one when it was rebuilt: on a signal, by watching the folder, or
by `POST /admin/reload`."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from proxy.engine.app_context import AppContext, IndexSource
from proxy.errors import ForbiddenError, ReloadError, VouchError
from proxy.retrieval.index_files import MANIFEST, read_manifest
from proxy.server.worker_group import WorkerGroup

log = logging.getLogger(__name__)

FIRST_RETRY, LAST_RETRY = 60.0, 900.0
"""Seconds until an index that can't be used is tried again, though its manifest is the same: its files may
have been on their way. The time doubles from the first to the last."""

_Stamp = tuple[int, int, int] | str


@dataclass(frozen=True, slots=True)
class Reload:
    """What came of a reload: the components that are served now, and whether they are new ones."""

    context: AppContext
    changed: bool
    seconds: float


class Reloader:
    """The components that requests get, replaced all at once when the index was rebuilt.

    A request keeps those that it began with; what only an old index held is let go when the last request over
    it has ended. An index that can't be used leaves the old one serving.

    Args:
        context: the components at the start.
        interval: seconds between looks at the index's manifest; 0: it is not watched.
        name: what the log calls the index, where there are several; empty for the one of all.
    """

    def __init__(self, context: AppContext, interval: float = 0.0, name: str = "") -> None:
        self.context = context
        self._called = f"the index {name}" if name else "the index"
        self.failure = ""
        """Why the newest index is not served; empty where it is."""
        self.results: Counter[str] = Counter()
        """Reloads so far: `reloaded` and `failed`."""
        self._interval = interval
        self._lock = asyncio.Lock()
        self._seen: _Stamp | None = None
        self._retry_at = self._patience = 0.0
        self._watching: asyncio.Task[None] | None = None
        self._running: set[asyncio.Task[Reload]] = set()

    def watch(self) -> None:
        """Begins to look whether the index was rebuilt."""
        if self.context.source is not None and self._interval:
            self._watching = asyncio.create_task(self._watch(self.context.source))

    def close(self) -> None:
        """Ends watching. A reload that is under way comes to nothing."""
        for task in (self._watching, *self._running):
            if task is not None:
                task.cancel()

    async def reload(self) -> Reload:
        """Serves the index that is on disk now. It goes on where the caller is cancelled.

        Raises:
            ReloadError: that one can't be used, or the index is not read from a folder; the old one goes on.
        """
        return await asyncio.shield(self._begin())

    def soon(self) -> None:
        """Reloads in the background. What goes wrong is in the log."""
        self._begin().add_done_callback(lambda task: task.cancelled() or task.exception())

    def _begin(self) -> asyncio.Task[Reload]:
        task = asyncio.create_task(self._reload())
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def _reload(self) -> Reload:
        async with self._lock:
            source, begun = self.context.source, time.perf_counter()
            if source is None:
                raise ReloadError("This server has no index on disk to load again.")
            # The stamp is older than what is read, so that a build that ends in between is seen later.
            self._seen = await asyncio.to_thread(_stamp, source)
            try:
                reopened = await asyncio.to_thread(_reopened, self.context)
            except Exception as error:
                raise self._failed(error) from error
            self.failure, self._patience = "", 0.0
            seconds = time.perf_counter() - begun
            if reopened is None:
                return Reload(self.context, changed=False, seconds=seconds)
            self.context = reopened
            self.results["reloaded"] += 1
            log.info(
                "%s was rebuilt: %s passages, %s, loaded in %.1f s",
                self._called,
                f"{len(reopened.passages):,}",
                reopened.generation,
                seconds,
            )
            return Reload(reopened, changed=True, seconds=seconds)

    def _failed(self, error: Exception) -> ReloadError:
        """Notes that the newest index can't be used. The same reason is logged once."""
        self.results["failed"] += 1
        self._patience = min(LAST_RETRY, 2 * self._patience or FIRST_RETRY)
        self._retry_at = time.monotonic() + self._patience
        known = isinstance(error, VouchError)
        reason = error.message if isinstance(error, VouchError) else f"{type(error).__name__}: {error}"
        if reason != self.failure:
            told = "%s was rebuilt and can't be used, so the one before is still served: %s"
            log.error(told, self._called, reason, exc_info=None if known else error)
        self.failure = reason
        return ReloadError(f"The index can't be used, and the one before is still served: {reason}")

    async def _watch(self, source: IndexSource) -> None:
        while True:
            await asyncio.sleep(self._interval)
            stamp = await asyncio.to_thread(_stamp, source)
            if stamp == self._seen and not (self.failure and time.monotonic() >= self._retry_at):
                continue
            with contextlib.suppress(ReloadError):
                await self._begin()


def _stamp(source: IndexSource) -> _Stamp | None:
    """What changes with every build: the manifest is replaced by a new file. None where there is none."""
    try:
        if source.current is not None:
            return source.current()
        found = (source.path / MANIFEST).stat()
    except (OSError, VouchError):
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _reopened(context: AppContext) -> AppContext | None:
    """The components over the index on disk, unless they are the ones that there are. Blocking."""
    source = context.source
    if source is None:
        return None
    current = source.current() if source.current else read_manifest(source.path).generation
    if current == context.generation:
        return None
    return source.reopen()


@dataclass(frozen=True, slots=True)
class Administration:
    """The routes under `/admin/`. `keyless`: the server has no keys, and so takes orders from this machine
    only; where there are keys, the middleware asks for one with the scope `admin`. `group`: the workers that
    are to do likewise."""

    reloaders: Mapping[str, Reloader]
    keyless: bool
    group: WorkerGroup | None = None

    async def reload(self, request: Request) -> Response:
        """Loads the key's index again if it was rebuilt, and says what is served now."""
        if self.keyless and not _is_loopback(request):
            raise ForbiddenError(
                "A server without API keys is administered from its own machine only. Set server.api_keys, "
                "and use one with the scope admin."
            )
        reloader = self.reloaders[request.state.index]
        before = reloader.context.generation
        done = await reloader.reload()
        if self.group is not None:
            self.group.reload()
        return JSONResponse(
            {
                "object": "index.reload",
                "status": "reloaded" if done.changed else "unchanged",
                "generation": done.context.generation,
                "before": before,
                "passages": len(done.context.passages),
                "seconds": round(done.seconds, 3),
            }
        )


def _is_loopback(request: Request) -> bool:
    try:
        return request.client is not None and ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False
