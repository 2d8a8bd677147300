"""`vouch keys`: makes, lists and revokes the keys of clients."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from proxy.config.key_file import add_key, read_keys, revoke_key
from proxy.config.load import load
from proxy.config.settings import KeyScope
from proxy.errors import ConfigError


def add(
    name: str, scopes: Sequence[str], file: Path | None, config: Path | None, index: str | None = None
) -> None:
    """Prints a new key, alone on standard output, so that it can be piped into a store of secrets.

    Where it can't be printed, it is taken back: nobody has seen it.
    """
    path = _file(file, config)
    known: tuple[KeyScope, ...] = get_args(KeyScope)
    chosen = tuple(dict.fromkeys(scope for scope in known if scope in scopes))
    if unknown := sorted(set(scopes) - set(known)):
        raise ConfigError(f"There is no scope {unknown[0]!r}; there are {', '.join(known)}.")
    plain = add_key(path, name, chosen, index or "")
    try:
        print(plain, flush=True)
    except OSError:
        revoke_key(path, name)
        raise
    reads = f" and reads the index {index}" if index else ""
    print(
        f"The key {name!r} may use: {', '.join(chosen)}{reads}. It is shown this once: {path} has only its "
        "hash. A running server takes it within seconds.",
        file=sys.stderr,
    )


def show(file: Path | None, config: Path | None) -> None:
    """Prints a line per key: name, scopes, when it was made, how its hash begins, and the index that it
    names, if it does."""
    for key in read_keys(_file(file, config)):
        own = (key.index,) if key.index else ()
        print("\t".join((key.name, ",".join(key.scopes), key.created or "-", key.sha256[:12], *own)))


def revoke(name: str, file: Path | None, config: Path | None) -> None:
    """Takes a key out of the file."""
    path = _file(file, config)
    revoke_key(path, name)
    print(f"The key {name!r} is revoked. A running server refuses it within seconds.", file=sys.stderr)


def _file(file: Path | None, config: Path | None) -> Path:
    """The file that was named, or else the configured one. Raises `ConfigError` where there is neither."""
    if file is not None:
        return file
    configured = load(config).server.key_file
    if configured is None:
        raise ConfigError(
            "There is no key file: set server.key_file in the settings, or name one with --file.",
            param="server.key_file",
        )
    return Path(configured)
