"""How an index is written: beside the old one, which one rename then replaces.

Whenever the process ends, `open_index` finds either the old index or the new one, whole.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from proxy.errors import ConfigError
from proxy.retrieval.index_files import MANIFEST, DataFile, Manifest, checksum

JOURNAL = ".vouch-encoded"
"""The folder of what an unfinished build has encoded (see `index_builder.unfinished`)."""

_LOCK = ".vouch-lock"
_TEMPORARY = f"{MANIFEST}.tmp"
_PREFIX = "generation-"


@dataclass(frozen=True, slots=True)
class Generation:
    """The files of one build, in a folder of their own."""

    index: Path
    folder: Path

    def file(self, name: str) -> Path:
        """Where the data file of that name is to be written."""
        return self.folder / name

    def seal(self, sealed_before: Mapping[str, DataFile] | None = None) -> dict[str, DataFile]:
        """Forces all files written so far to disk. Returns their sizes and checksums by name, without those
        that were sealed before."""
        sealed = {}
        for path in sorted(self.folder.iterdir()):
            if sealed_before and path.name in sealed_before:
                continue
            _sync(path)
            sealed[path.name] = DataFile(path.stat().st_size, checksum(path))
        _sync(self.folder)
        _sync(self.index)
        return sealed

    def commit(self, manifest: Manifest) -> None:
        """Makes this the index, then removes the generations that it has no part in, and the journal."""
        temporary = self.index / _TEMPORARY
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(asdict(manifest), file, ensure_ascii=False, indent=1)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.index / MANIFEST)
        _sync(self.index)
        _sweep(self.index, keep={manifest.generation, *(part.generation for part in manifest.parts)})


@contextlib.contextmanager
def new_generation(out: Path) -> Iterator[Generation]:
    """A fresh generation of the index at `out`, for one build at a time.

    Without `commit` (an error, Ctrl-C) its files are removed, but not the journal. What a killed build leaves
    behind is removed by the next build that commits.

    Raises:
        ConfigError: `out` can't be an index's folder, another build is writing to it, or the disk is full.
    """
    created = _prepare(out)
    try:
        with _locked(out):
            folder = out / f"{_PREFIX}{secrets.token_hex(8)}"
            folder.mkdir()
            try:
                yield Generation(out, folder)
            except OSError as error:
                raise _unwritable(out, error) from error
            finally:
                if not _is_current(out, folder.name):
                    shutil.rmtree(folder)
                    (out / _TEMPORARY).unlink(missing_ok=True)
    finally:
        if created and not (out / MANIFEST).exists() and not (out / JOURNAL).exists():
            _remove_empty(out)


def _prepare(out: Path) -> bool:
    """Makes the folder, or checks that it is an index's or empty. Returns whether it is new."""
    try:
        out.mkdir(parents=True)
    except FileExistsError:
        if not out.is_dir():
            raise ConfigError(f"{out} is a file, not a folder for an index.", param="index.path") from None
        if not _is_ours(out) and any(out.iterdir()):
            raise ConfigError(
                f"{out} holds other files and no index; choose a new or empty folder.", param="index.path"
            ) from None
        return False
    except OSError as error:
        raise _unwritable(out, error) from error
    return True


def _is_ours(out: Path) -> bool:
    """Whether an index is or was in the folder, or is built there: other programs have manifests too."""
    if (out / _LOCK).exists():
        return True
    try:
        made = json.loads((out / MANIFEST).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(made, dict) and str(made.get("generation")).startswith(_PREFIX)


@contextlib.contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Locks out other builds. The operating system releases the lock when the process ends."""
    try:
        lock = os.open(out / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise _unwritable(out, error) from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ConfigError(
                f"Another build is writing to {out}. Wait until it ends, or choose another folder.",
                param="index.path",
            ) from error
        yield
    finally:
        os.close(lock)


def _unwritable(out: Path, error: OSError) -> ConfigError:
    return ConfigError(f"Can't write an index to {out}: {error.strerror or error}.", param="index.path")


def _is_current(out: Path, name: str) -> bool:
    try:
        return bool(json.loads((out / MANIFEST).read_bytes())["generation"] == name)
    except (OSError, ValueError, TypeError, KeyError):
        return False


def _sweep(out: Path, *, keep: set[str]) -> None:
    for path in out.glob(f"{_PREFIX}*"):
        if path.name not in keep and path.is_dir():
            shutil.rmtree(path, ignore_errors=True)  # a leftover only costs space
    shutil.rmtree(out / JOURNAL, ignore_errors=True)


def _remove_empty(out: Path) -> None:
    (out / _LOCK).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # another process may have put a file there
        out.rmdir()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
