"""The connection to a Milvus server: each call has a time limit and is tried again, and a server that does
not answer is not asked for a while (a circuit breaker)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from proxy.config.store_settings import Milvus
from proxy.errors import ConfigError, RetrievalError, StoreUnavailableError

log = logging.getLogger(__name__)

ADMIN_TIMEOUT = 600.0
"""Seconds for a call that builds or loads something."""

_UNWELL = frozenset({0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13})
"""Milvus's error codes for a server that is not well, and pymilvus's own for one that can't be reached. Any
other is an answer: the same call would get it again."""

_PAUSE = 0.1


class RefusedError(RetrievalError):
    """Milvus answered, and the answer was no: there is no such collection, or the expression is wrong."""


class Breaker:
    """Counts failures in a row. After `most` of them nothing is let through for `seconds`; then one call is,
    and its end decides.

    Args:
        most: failures in a row.
        seconds: of the pause.
        clock: tells the time, in seconds.
    """

    def __init__(self, most: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._seconds = seconds
        self._clock = clock
        self._failures = 0
        self._closed_at = 0.0
        self._lock = threading.Lock()

    def admits(self) -> bool:
        """Whether a call may be made now."""
        with self._lock:
            if self._failures < self._most:
                return True
            if self._clock() < self._closed_at:
                return False
            self._closed_at = self._clock() + self._seconds  # one call tries; the others go on waiting
            return True

    def note(self, *, well: bool) -> None:
        """Puts down how a call ended."""
        with self._lock:
            self._failures = 0 if well else self._failures + 1
            if self._failures >= self._most:
                self._closed_at = self._clock() + self._seconds


class Connection:
    """One Milvus server. Blocking; threads may share it.

    Nothing is sent before the first call. A server that comes back is used again, without a restart.

    Args:
        settings: where it is, and how long it is waited for.

    Raises:
        ConfigError: pymilvus is not installed.
    """

    def __init__(self, settings: Milvus) -> None:
        try:
            import pymilvus
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"retrieval.store: milvus needs pymilvus ({error.name} is missing): "
                "pip install 'vouch[milvus]'.",
                param="retrieval.store",
            ) from None
        for name in (
            "pymilvus",
            *(each for each in logging.root.manager.loggerDict if each.startswith("pymilvus.")),
        ):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # it logs what it raises
        self.pymilvus: Any = pymilvus
        self.settings = settings
        self._breaker = Breaker(settings.open_after, settings.open_for)
        self._client: Any = None
        self._lock = threading.Lock()

    def call(self, method: str, *arguments: Any, timeout: float | None = None, **named: Any) -> Any:
        """What that method of `pymilvus.MilvusClient` returns.

        Args:
            method: its name.
            arguments: as it takes them; so are `named`.
            timeout: seconds, for each attempt; None is the configured one.

        Raises:
            RefusedError: the server's answer is an error.
            StoreUnavailableError: the server can't be reached, does not answer in time, or is not well.
        """
        seconds = self.settings.timeout if timeout is None else timeout
        for attempt in range(self.settings.retries + 1):
            if not self._breaker.admits():
                raise StoreUnavailableError(
                    f"Milvus at {self._place} does not answer, and is not asked for a while."
                )
            try:
                client = self._connected(seconds)
                result = getattr(client, method)(*arguments, timeout=seconds, retry_times=0, **named)
            except Exception as error:
                code = getattr(error, "code", None)
                if (
                    isinstance(error, self.pymilvus.MilvusException)
                    and isinstance(code, int)
                    and code not in _UNWELL
                ):
                    self._breaker.note(well=True)
                    raise RefusedError(f"Milvus refuses {method}: {_told(error)}") from error
                self._breaker.note(well=False)
                log.debug("Milvus, %s, attempt %d", method, attempt + 1, exc_info=True)
                if attempt == self.settings.retries:
                    raise StoreUnavailableError(
                        f"Milvus at {self._place} can't be used: {_told(error)}"
                    ) from error
                time.sleep(_PAUSE)
            else:
                self._breaker.note(well=True)
                return result
        raise AssertionError("the last attempt returns or raises")

    def read(self, method: str, collection: str, *arguments: Any, **named: Any) -> Any:
        """The same of a method that reads a collection. One that the server has not loaded, as Milvus Lite
        has none after a restart, is loaded first."""
        try:
            return self.call(method, collection, *arguments, **named)
        except RefusedError as error:
            if "load" not in error.message:
                raise
            self.call("load_collection", collection)
        return self.call(method, collection, *arguments, **named)

    def ranks_words(self) -> bool:
        """Whether the server computes BM25 itself: Milvus from 2.5 on, and Milvus Lite from 3.0 on."""
        version = str(self.call("get_server_version"))
        numbers = [int(part) for part in "".join(c if c.isdigit() else " " for c in version).split()]
        return tuple(numbers[:2]) >= (2, 5)

    def close(self) -> None:
        """Closes the connection."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    @property
    def _place(self) -> str:
        return self.settings.uri.rpartition("@")[2]

    def _connected(self, seconds: float) -> Any:
        with self._lock:
            if self._client is None:
                token = self.settings.token
                self._client = self.pymilvus.MilvusClient(
                    uri=self.settings.uri,
                    token=token.get_secret_value() if token else "",
                    db_name=self.settings.database,
                    timeout=seconds,
                )
            return self._client


def _told(error: Exception) -> str:
    """The error in one line, without the stack of the server that some versions send along."""
    text = str(getattr(error, "message", "") or error or type(error).__name__).strip()
    return (text.splitlines() or [type(error).__name__])[0][:300]
