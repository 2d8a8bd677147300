"""The key file: keys of clients as hashes, a JSON object a line. `vouch keys` writes it, servers read it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from pydantic import Field, TypeAdapter, ValidationError

from proxy.config.checker_settings import Section
from proxy.config.limit_settings import Limits
from proxy.config.settings import KeyScope
from proxy.errors import ConfigError

MAX_BYTES = 10_000_000
"""A longer file is none of ours: it is read while requests wait."""

_PREFIX = "vouch-"
"""Begins every key, so that programs that look for secrets in code and logs know one."""


class StoredKey(Section):
    """A key as the file has it: its name, hash and scopes, which index it reads (empty: that of all), what is
    other than under `limits` for it, and when it was made (ISO 8601, UTC)."""

    name: str = Field(min_length=1, max_length=64, pattern=r"^[\w.@-]+$")
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    scopes: tuple[KeyScope, ...] = Field(("models",), min_length=1)
    index: str = ""
    limits: Limits | None = None
    created: str = ""


def read_keys(path: Path) -> tuple[StoredKey, ...]:
    """The keys in the file, in their order.

    Raises `ConfigError`: there is no file, or a line is no key; the message names the line, never the hash.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError(
            f"There is no key file {path}. Make one with: vouch keys add NAME --file {path}",
            param="server.key_file",
        ) from None
    except OSError as error:
        raise ConfigError(f"The key file {path} can't be read: {error.strerror}.") from error
    if len(raw) > MAX_BYTES:
        raise ConfigError(f"The key file {path} is over {MAX_BYTES:,} bytes.")
    keys = tuple(_key(path, number, line) for number, line in enumerate(raw.splitlines(), 1) if line.strip())
    for name, count in Counter(key.name for key in keys).items():
        if count > 1:
            raise ConfigError(f"The key file {path} has two keys named {name!r}: give one another name.")
    return keys


def _key(path: Path, number: int, line: bytes) -> StoredKey:
    try:
        return TypeAdapter(StoredKey).validate_json(line)
    except ValidationError as error:
        detail = error.errors()[0]
        where = ".".join(map(str, detail["loc"]))
        message = f"line {number} of the key file {path} is no key: {where} {detail['msg'].lower()}".strip()
        raise ConfigError(f"{message}. Make keys with: vouch keys add NAME --file {path}") from None


def add_key(path: Path, name: str, scopes: Sequence[KeyScope], index: str = "") -> str:
    """Makes a key and puts its hash into the file, which is made if there is none. Returns the key itself,
    which nobody can find out later. Raises `ConfigError` where the name is taken or is none."""
    with _locked(path):
        keys = read_keys(path) if path.exists() else ()
        if any(key.name == name for key in keys):
            raise ConfigError(
                f"There is a key named {name!r} already. To replace it, add one with another name, and "
                "revoke this one once nobody uses it."
            )
        plain = f"{_PREFIX}{secrets.token_urlsafe(32)}"
        created = datetime.now(UTC).isoformat(timespec="seconds")
        digest = sha256(plain.encode()).hexdigest()
        try:
            own = {"index": index} if index else {}
            made = StoredKey.model_validate(
                {"name": name, "sha256": digest, "scopes": tuple(scopes), "created": created, **own}
            )
        except ValidationError:
            raise ConfigError(
                f"{name!r} is no name for a key: it has 1 to 64 letters, digits and any of . _ @ -"
            ) from None
        _write(path, (*keys, made))
    return plain


def revoke_key(path: Path, name: str) -> None:
    """Takes the key of that name out of the file. Raises `ConfigError` where there is none."""
    with _locked(path):
        keys = read_keys(path)
        kept = tuple(key for key in keys if key.name != name)
        if len(kept) == len(keys):
            known = ", ".join(key.name for key in keys) or "none"
            raise ConfigError(f"There is no key named {name!r} in {path}. There are: {known}.")
        _write(path, kept)


def _write(path: Path, keys: Sequence[StoredKey]) -> None:
    """Replaces the file at once: a server never reads half of it. Only its owner may read it, unless its
    mode was changed. The owner stays where the caller may give files away, as root may: the server that reads
    the file still can."""
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        before = path.stat() if path.exists() else None
        temporary.unlink(
            missing_ok=True
        )  # a link that the folder's owner put there would lead root elsewhere
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            for key in keys:
                file.write(
                    json.dumps(key.model_dump(mode="json", exclude_unset=True), ensure_ascii=False) + "\n"
                )
            file.flush()
            if before:
                with contextlib.suppress(PermissionError):
                    os.fchown(file.fileno(), before.st_uid, before.st_gid)
            os.fchmod(file.fileno(), before.st_mode & 0o777 if before else 0o600)
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise ConfigError(f"The key file {path} can't be written: {error.strerror}.") from error


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One command at a time. The operating system releases the lock when the process ends."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(f"The key file {path} can't be written: {error.strerror}.") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
