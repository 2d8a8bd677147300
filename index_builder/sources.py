"""From files, folders, globs and standard input to a stream of documents.

Whatever goes wrong with one document becomes a `BrokenDocument` here, and only here.
"""

from __future__ import annotations

import glob
import io
import itertools
import json
import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from index_builder.documents import MAX_BYTES, MAX_CHARACTERS, BrokenDocument, Document
from index_builder.readers import READERS, read_dump_part, suffix
from index_builder.readers.rows import json_lines
from index_builder.readers.text import decode
from proxy.errors import SourceError

log = logging.getLogger(__name__)

STDIN = "-"
_VCS_FOLDERS = frozenset({"CVS", "_darcs"})  # the others' names start with a dot
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSHOWABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_LONGEST_SHOWN = 300
_URL_SCHEMES = frozenset({"", "http", "https", "ftp", "ftps", "file"})


@dataclass(frozen=True, slots=True)
class File:
    """One file to read. `path` is None for standard input; `id` is the path relative to its source."""

    path: Path | None
    id: str


@dataclass(frozen=True, slots=True)
class Sources:
    """What sources hold. `ignored` are the files of unknown type in folders and globs, by their paths."""

    files: tuple[File, ...]
    broken: tuple[BrokenDocument, ...] = ()
    ignored: tuple[str, ...] = ()


def expand(sources: Sequence[str]) -> Sources:
    """The files that `sources` name, each once, in the order given and sorted within a folder or glob.

    A source is a file, a folder (read with all of its subfolders, symbolic links followed, hidden files
    and version control's folders skipped), a glob pattern (`**` for any depth; a folder that matches is
    read as one), or `-` for standard input. A file of unknown type is broken where it was named, and
    only named where a folder or a glob held it, because nobody wants the pictures beside the texts read.

    Raises:
        SourceError: a source does not exist, or none of them holds a file that can be read.
    """
    expanded = [_expand_named(source) for source in sources]
    for name, source in zip(sources, expanded, strict=True):
        if not source.files and not source.broken:
            held = f" (it holds {shortened(source.ignored)})" if source.ignored else ""
            raise SourceError(f"{name} holds no documents{held}; Vouch reads {' '.join(sorted(READERS))}.")
    whole = _joined(expanded)
    unique: dict[str, File] = {}
    parents: dict[str, str] = {}
    for file in whole.files:
        unique.setdefault(_real(file.path, parents) if file.path else STDIN, file)
    return replace(whole, files=tuple(unique.values()))


def documents(
    sources: Sequence[str] | Sources, *, stdin: BinaryIO | None = None
) -> Iterator[Document | BrokenDocument]:
    """Reads the sources one document at a time. Never holds more than the documents of one file.

    An id that the data uses twice gets `#2`, `#3` ... from its second document on, so that ids are unique.

    Args:
        sources: what the user named (see `expand`), or what `expand` made of it.
        stdin: what `-` reads, in place of the process's standard input.

    Raises:
        SourceError: at once, not at the first document: a source does not exist or holds no documents.
    """
    expanded = sources if isinstance(sources, Sources) else expand(sources)
    return (document for _, document in with_files(expanded, stdin=stdin))


def with_files(
    sources: Sources, *, taken: Callable[[str], bool] = lambda _id: False, stdin: BinaryIO | None = None
) -> Iterator[tuple[File | None, Document | BrokenDocument]]:
    """The `documents` of the sources, each with its file; None for what was broken before it was read.

    `taken` says of an id whether a document has it that is not among these.
    """
    read = (((file, document) for document in _read(file, stdin)) for file in sources.files)
    broken = ((None, document) for document in sources.broken)
    return _unique(itertools.chain(broken, itertools.chain.from_iterable(read)), taken)


def _real(path: Path, parents: dict[str, str]) -> str:
    """The real path. `parents` holds those of folders: there may be a million files in few of them."""
    parent, name = os.path.split(path)
    if not name or path.is_symlink():
        return os.path.realpath(path)
    if parent not in parents:
        parents[parent] = os.path.realpath(parent)
    return os.path.join(parents[parent], name)  # noqa: PTH118 - Path is several times slower


def _expand_named(source: str) -> Sources:
    if not source:
        raise SourceError("A source without a name; the current folder is `.`")
    try:
        return _expand_one(source)
    except OSError as error:
        raise SourceError(f"{source[:_LONGEST_SHOWN]} can't be read: {_os_reason(error)}") from error


def _expand_one(source: str) -> Sources:
    path = Path(source)
    if source == STDIN:
        return Sources((File(None, "stdin"),))
    if path.is_dir():
        return _folder(path, root=path)
    if path.is_file():
        return Sources((File(path, _id(path.name)),))
    if path.exists():
        raise SourceError(f"{source} is neither a file nor a folder.")
    if glob.has_magic(source):
        return _glob(source)
    raise SourceError(f"No such file or folder: {source}")


def _glob(pattern: str) -> Sources:
    matches = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - Path.glob also gives hidden files
    if not matches:
        raise SourceError(f"No file matches {pattern}")
    plain = itertools.takewhile(lambda part: not glob.has_magic(part), Path(pattern).parts)
    root = Path(*plain)
    return _joined(
        [_folder(path, root=root) if path.is_dir() else _files([path], root) for path in map(Path, matches)]
    )


def shortened(paths: Sequence[str], most: int = 10) -> str:
    """The names of the first files, and how many more there are."""
    names = _shown(", ".join(Path(path).name for path in paths[:most]))
    return f"{names} and {len(paths) - most:,} more" if len(paths) > most else names


def _joined(parts: Sequence[Sources]) -> Sources:
    return Sources(
        files=tuple(itertools.chain.from_iterable(part.files for part in parts)),
        broken=tuple(itertools.chain.from_iterable(part.broken for part in parts)),
        ignored=tuple(itertools.chain.from_iterable(part.ignored for part in parts)),
    )


def _folder(folder: Path, *, root: Path) -> Sources:
    broken: list[BrokenDocument] = []
    visited: set[str] = set()
    paths: list[Path] = []

    def note(error: OSError) -> None:
        broken.append(BrokenDocument(str(error.filename), _os_reason(error)))

    for parent, folders, names in os.walk(folder, onerror=note, followlinks=True):
        real = os.path.realpath(parent)
        if real in visited:  # a symbolic link back up, or a second one to the same place
            folders.clear()
            continue
        visited.add(real)
        folders[:] = sorted(name for name in folders if not _hidden(name))
        paths += (Path(parent, name) for name in sorted(names) if not _hidden(name))
    found = _files(paths, root)
    return replace(found, broken=(*broken, *found.broken))


def _files(paths: Sequence[Path], root: Path) -> Sources:
    known: list[Path] = []
    ignored: list[str] = []
    broken: list[BrokenDocument] = []
    for path in paths:
        try:
            if suffix(path) in READERS and path.is_file():
                known.append(path)
            else:
                ignored.append(_id(str(path)))
        except OSError as error:  # before Python 3.14 `is_file` lets most of them through
            broken.append(BrokenDocument(str(path), _os_reason(error)))
    files = tuple(File(path, _id(path.relative_to(root).as_posix())) for path in known)
    return Sources(files, tuple(broken), tuple(ignored))


def _hidden(name: str) -> bool:
    return name.startswith(".") or name in _VCS_FOLDERS


def _id(path: str) -> str:
    """A file name need not be Unicode; an id is."""
    return os.fsencode(path).decode("utf-8", "replace")


def documents_of_part(part: bytes, path: Path) -> Iterator[Document | BrokenDocument]:
    """The documents of a part of the dump at `path` (see `readers.dump_parts`), as `documents` gives them.
    Ids that are used twice stay as they are."""
    return _checked_each(str(path), lambda: read_dump_part(part, path))


def _read(file: File, stdin: BinaryIO | None) -> Iterator[Document | BrokenDocument]:
    """One file's documents."""

    def reading() -> Iterator[Document | BrokenDocument]:
        if file.path is None:
            return _read_stdin(stdin or sys.stdin.buffer, file.id)
        if reader := READERS.get(suffix(file.path)):
            return reader(file.path, file.id)
        raise SourceError(f"unknown type; Vouch reads {' '.join(sorted(READERS))}")

    return _checked_each(str(file.path or "standard input"), reading)


def _checked_each(
    source: str, read: Callable[[], Iterator[Document | BrokenDocument]]
) -> Iterator[Document | BrokenDocument]:
    """What is read of a source. Whatever a reader raises becomes the reason why the rest of it is broken."""
    try:
        empty = True
        for document in read():
            empty = False
            yield document if isinstance(document, BrokenDocument) else _checked(document, source)
        if empty:
            yield BrokenDocument(source, "holds no documents")
    except SourceError as error:
        yield BrokenDocument(source, error.message)
    except OSError as error:
        yield BrokenDocument(source, _os_reason(error))
    except Exception as error:  # parsers raise anything on broken input; one file must not stop the rest
        log.debug("Reading %s failed", source, exc_info=True)
        yield BrokenDocument(source, f"{type(error).__name__}: {error}")


def _read_stdin(stream: BinaryIO, id_: str) -> Iterator[Document | BrokenDocument]:
    """JSON lines where the first line is a JSON object, else one plain text.

    Raises:
        SourceError: it is text and larger than `MAX_BYTES`.
    """
    title = "Standard input"
    first = stream.readline(MAX_BYTES + 1)
    if _is_json_object(first):
        with io.BufferedReader(_Rejoined(first, stream)) as whole:
            yield from json_lines(whole, id_, title=title, source="standard input")
        return
    data = first + stream.read(MAX_BYTES + 1 - len(first))
    if len(data) > MAX_BYTES:
        raise SourceError(f"larger than {MAX_BYTES // 1_000_000} MB; index a file of JSON lines instead")
    yield Document(id_, title, decode(data))


def _is_json_object(line: bytes) -> bool:
    if not line.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


class _Rejoined(io.RawIOBase):
    """A stream with the bytes that were already read put back in front."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = io.BytesIO(head)
        self._rest = rest

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fills `buffer` from the head, then from the rest."""
        data = self._head.read(len(buffer)) or self._rest.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _os_reason(error: OSError) -> str:
    return error.strerror or str(error)


def _checked(document: Document, source: str) -> Document | BrokenDocument:
    """The checks and clean-ups that the documents of all formats share."""
    if not document.text.strip():
        return BrokenDocument(source, "holds no text")
    if len(document.text) > MAX_CHARACTERS:
        return BrokenDocument(source, f"holds more than {MAX_CHARACTERS:,} characters of text")
    return replace(
        document,
        id=_unicode(document.id),
        title=_unicode(" ".join(document.title.split())) or document.id,
        text=_unicode(document.text),
        url=_safe(_unicode(document.url.strip())),
        sections=tuple((start, _unicode(" ".join(name.split()))) for start, name in document.sections),
    )


def _unicode(text: str) -> str:
    """Replaces lone surrogates, which JSON and PDF may hold and UTF-8 can't encode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub("\ufffd", text)
    return text


def _shown(text: str) -> str:
    """Names of files may hold line breaks and what terminals take for orders; a report is read there."""
    return _UNSHOWABLE.sub("\ufffd", text)


def _safe(url: str) -> str:
    """The url if its scheme is harmless: it becomes a link in chat windows, so no `javascript:`."""
    try:
        scheme = urlsplit(url).scheme
    except ValueError:
        return ""
    return url if scheme in _URL_SCHEMES else ""


def _unique(
    read: Iterable[tuple[File | None, Document | BrokenDocument]], taken: Callable[[str], bool]
) -> Iterator[tuple[File | None, Document | BrokenDocument]]:
    """What was read, each document with an id of its own: the next number of its id that is free.

    A number that was tried for an id is not tried again: a million documents of one id take a million steps.
    """
    given: set[bytes] = set()  # digests, because ids may be long and there may be millions
    numbers: dict[bytes, int] = {}
    for file, document in read:
        if isinstance(document, BrokenDocument):
            yield file, BrokenDocument(_shown(document.source), _shown(document.reason))
            continue
        new, key = document.id, _digest(document.id)
        if key in given or taken(new):
            original, number = key, numbers.get(key, 1)
            while key in given or taken(new):
                number += 1
                new = f"{document.id}#{number}"
                key = _digest(new)
            numbers[original] = number
        given.add(key)
        yield file, document if new == document.id else replace(document, id=new)


def _digest(id_: str) -> bytes:
    return blake2b(id_.encode(), digest_size=8).digest()
