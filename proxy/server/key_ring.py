"""The keys that clients may use: those of the settings, and those of the key file as it is now."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from proxy.config.key_file import StoredKey, read_keys
from proxy.config.limit_settings import Limits
from proxy.config.settings import ApiKey
from proxy.errors import ConfigError

log = logging.getLogger(__name__)

FRESH = 1.0
"""Seconds within which the key file is not looked at again."""


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A key's name, for logs and metrics, what it may do and take, and which index it reads (empty: that of
    all)."""

    name: str
    scopes: frozenset[str]
    index: str
    limits: Limits


class KeyRing:
    """Looks keys up by their hash, so that the time tells nothing.

    Args:
        keys: those of the settings.
        limits: what holds for a key that has no limits of its own.
        file: the key file. It is read again when it has changed; where that fails, the keys before hold on,
            and the log says so once. None: there is none.

    Raises:
        ConfigError: the key file can't be read at the start.
    """

    def __init__(self, keys: Sequence[ApiKey], limits: Limits, file: Path | None = None) -> None:
        self._limits = limits
        self._configured = {
            key.digest: self._known(key.name or f"key-{number}", key) for number, key in enumerate(keys, 1)
        }
        self._file = file
        self._stored: Mapping[str, KnownKey] = {}
        self._stamp: object = None
        self._looked = time.monotonic()
        if file is not None:
            self._stamp, self._stored = _stamp(file), self._read(file)

    @property
    def required(self) -> bool:
        """Whether clients need a key. With a key file they do, also while it is empty."""
        return bool(self._configured) or self._file is not None

    def find(self, token: str | None) -> KnownKey | None:
        """The key that a client sent, if it is one."""
        if not token:
            return None
        self._refresh()
        digest = hashlib.sha256(token.encode()).hexdigest()
        return self._configured.get(digest) or self._stored.get(digest)

    def _refresh(self) -> None:
        now = time.monotonic()
        if self._file is None or now - self._looked < FRESH:
            return
        self._looked = now
        stamp = _stamp(self._file)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._stored = self._read(self._file)
        except ConfigError as error:
            log.error("the keys before hold on: %s", error.message)  # noqa: TRY400
        else:
            log.info("the key file was read again: %d keys", len(self._stored))

    def _read(self, file: Path) -> Mapping[str, KnownKey]:
        return {key.sha256: self._known(key.name, key) for key in read_keys(file)}

    def _known(self, name: str, key: ApiKey | StoredKey) -> KnownKey:
        return KnownKey(name, frozenset(key.scopes), key.index, self._limits.overridden(key.limits))


def _stamp(file: Path) -> object:
    """What changes whenever the file is replaced or written. None where there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
