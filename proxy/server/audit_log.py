"""The audit record: a line of JSON for every checked answer, in a file that is only appended to."""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import queue
import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from proxy.aio import ASKER
from proxy.config.settings import Audit
from proxy.engine.delivery import Answer
from proxy.errors import ConfigError
from proxy.types import Finding, Json, Outcome

log = logging.getLogger(__name__)

WAITING = 500
"""Answers that may wait to be written; further ones are lost, and counted."""
REDACTED = "[redacted]"
_TEXTS = frozenset({"question", "text", "reason"})
_FAREWELL = 5.0
"""Seconds that the end of the server waits for what is still to be written."""


@dataclass(frozen=True, slots=True)
class Said:
    """An answer to be recorded, with what it was an answer to."""

    time: datetime
    request: str
    key: str
    model: str
    generation: str
    question: str
    answer: Answer


class AuditLog:
    """Writes records in a thread of its own, and never breaks a chat: what can't be written is counted, and
    the log says so once.

    Several processes may write to the same file: each line is written under a lock of the kernel's.

    A file that has grown over `max_bytes` gets the time in its name (`audit.20261123T200100000000.jsonl`),
    and a new one is begun; of those at most `keep` stay, all of them where it is 0. A file that something
    else moved away is begun anew.

    Raises:
        ConfigError: the file can't be opened at the start.
    """

    def __init__(self, settings: Audit) -> None:
        self.results: Counter[str] = Counter()
        """Records so far: `written` and `lost`."""
        self._settings = settings
        self._redact = tuple(map(re.compile, settings.redact))
        self._path = Path(settings.path or "")
        self._file = -1
        self._failing = 0
        self._counting = threading.Lock()
        try:
            self._open()
        except OSError as error:
            raise ConfigError(
                f"The audit record {self._path} can't be written: {error.strerror}. Set audit.path to a file "
                "in a folder that Vouch may write to, or to null.",
                param="audit.path",
            ) from error
        self._waiting: queue.Queue[Said | None] = queue.Queue(WAITING)
        self._thread = threading.Thread(target=self._run, name="audit", daemon=True)
        self._thread.start()

    def record(self, answer: Answer, question: str, generation: str) -> None:
        """Has the answer to the running request recorded. Returns at once; raises nothing."""
        asker = ASKER.get()
        said = Said(datetime.now(UTC), asker.request, asker.key, asker.model, generation, question, answer)
        try:
            self._waiting.put_nowait(said)
        except queue.Full:
            self._lost("they come faster than they can be written")

    def close(self) -> None:
        """Writes what waits, for some seconds at most."""
        try:
            self._waiting.put(None, timeout=_FAREWELL)
        except queue.Full:
            return
        self._thread.join(_FAREWELL)

    def _run(self) -> None:
        while (said := self._waiting.get()) is not None:
            try:
                record = record_of(said, text=self._settings.text)
                line = json.dumps(redacted(record, self._redact), ensure_ascii=False)
                self._write(line.encode("utf-8", "backslashreplace") + b"\n")
            except OSError as error:
                self._lost(error.strerror or str(error))
            except Exception as error:
                self._lost(f"{type(error).__name__}: {error}")
            else:
                self._wrote()
        if self._file >= 0:
            os.close(self._file)

    def _wrote(self) -> None:
        with self._counting:
            self.results["written"] += 1
            lost, self._failing = self._failing, 0
        if lost:
            log.warning("audit records are written again; %d were lost", lost)

    def _lost(self, reason: str) -> None:
        with self._counting:
            self.results["lost"] += 1
            self._failing += 1
            first = self._failing == 1
        if first:
            log.error("audit records are lost (%s): %s", self._path, reason)

    def _write(self, line: bytes) -> None:
        while True:  # another process may fill the new file first
            with self._locked():
                full = os.fstat(self._file).st_size + len(line) > self._settings.max_bytes
                if not (full and self._rotate()):
                    self._append(line)
                    return

    def _append(self, line: bytes) -> None:
        """Writes a line. A file that ends within one, since the disk was full, is given its end first."""
        size = os.fstat(self._file).st_size
        torn = size > 0 and os.pread(self._file, 1, size - 1) != b"\n"
        whole = b"\n" + line if torn else line
        if os.write(self._file, whole) < len(whole):
            raise OSError(0, "the disk took only a part of a record")

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Opens the file anew where it was moved away, and keeps other processes from it in the block."""
        while True:
            if self._file < 0 or self._moved():
                self._open()
            file = self._file
            fcntl.flock(file, fcntl.LOCK_EX)
            if not self._moved():
                break
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # closed by a rotation, and so unlocked
                fcntl.flock(file, fcntl.LOCK_UN)

    def _open(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._file = os.open(self._path, flags, 0o600)

    def _moved(self) -> bool:
        try:
            there = self._path.stat()
        except OSError:
            return True
        return not os.path.samestat(there, os.fstat(self._file))

    def _rotate(self) -> bool:
        """Begins a new file. False where this one is empty."""
        if not os.fstat(self._file).st_size:
            return False
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        self._path.rename(self._path.with_name(f"{self._path.stem}.{stamp}{self._path.suffix}"))
        self._open()
        earlier = files_of(self._path)[:-1]
        for path in earlier[: max(0, len(earlier) - self._settings.keep)] if self._settings.keep else ():
            path.unlink(missing_ok=True)
        return True


def files_of(path: Path) -> list[Path]:
    """The files of an audit record, oldest first; the one that is written to is the last."""
    stamp = "[0-9]" * 8 + "T" + "[0-9]" * 12
    earlier = sorted(path.parent.glob(f"{_literal(path.stem)}.{stamp}{_literal(path.suffix)}"))
    return [*earlier, *([path] if path.exists() else [])]


def _literal(name: str) -> str:
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)


def record_of(said: Said, *, text: bool) -> Json:
    """The record of an answer. Chat text (question, draft, claims, reasons) is in it only with `text`."""
    return {
        "time": said.time.isoformat(timespec="milliseconds"),
        "request": said.request,
        "key": said.key,
        "model": said.model,
        "index": said.generation,
        **({"question": said.question} if text else {}),
        "choices": [_choice(outcome, text=text) for outcome in said.answer.outcomes],
    }


def redacted(record: Json, patterns: Sequence[re.Pattern[str]]) -> Json:
    """The record with `REDACTED` for what matches in its chat text: question, texts, claims and reasons. The
    places of claims stay those in the text as it was."""
    return {name: _redacted(value, patterns, name in _TEXTS) for name, value in record.items()}


def _redacted(value: object, patterns: Sequence[re.Pattern[str]], is_text: bool) -> object:
    if isinstance(value, dict):
        return redacted(value, patterns)
    if isinstance(value, list):
        return [_redacted(item, patterns, is_text) for item in value]
    if isinstance(value, str) and is_text:
        for pattern in patterns:
            value = pattern.sub(REDACTED, value)
    return value


def _choice(outcome: Outcome, *, text: bool) -> Json:
    attempt = outcome.answer
    return {
        "status": attempt.status,
        "rounds": outcome.rounds,
        **({"error": attempt.error} if attempt.error else {}),
        **({"text": attempt.draft.text} if text else {}),
        "claims": [_claim(finding, text=text) for finding in attempt.findings],
    }


def _claim(finding: Finding, *, text: bool) -> Json:
    """A claim: its place in the text without markers, in code points, its verdict, and the ids of the
    passages that it was checked against and that it cites."""
    decisive = finding.decisive
    reason = decisive.judgement.reason if decisive and decisive.judgement else ""
    return {
        "start": finding.claim.start,
        "end": finding.claim.end,
        **({"text": finding.claim.text} if text else {}),
        "verdict": str(finding.verdict),
        "score": round(finding.score, 4),
        "evidence": list(_ids(finding)),
        "cited": list(dict.fromkeys(item.passage.id for item in finding.cited)),
        **({"reason": reason} if text and reason else {}),
    }


def _ids(finding: Finding) -> Iterator[str]:
    found = [*finding.evidence, *(item for part in finding.parts for item in part.evidence)]
    yield from dict.fromkeys(item.passage.id for item in found)
