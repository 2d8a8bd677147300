"""`vouch audit`: searches the audit record."""

from __future__ import annotations

import json
import sys
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from proxy.config.load import load
from proxy.errors import ConfigError, RequestError
from proxy.server.audit_log import files_of
from proxy.types import Json, Verdict


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which records are looked for: those that have all that is given."""

    request: str | None = None
    key: str | None = None
    model: str | None = None
    index: str | None = None
    verdict: str | None = None
    evidence: str | None = None
    text: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def __contains__(self, record: Json) -> bool:
        named = {"request": self.request, "key": self.key, "model": self.model, "index": self.index}
        if any(value is not None and record.get(name) != value for name, value in named.items()):
            return False
        if (self.since or self.until) and not self._in_time(record):
            return False
        claims = list(_claims(record))
        if self.verdict is not None and self.verdict not in [claim.get("verdict") for claim in claims]:
            return False
        if self.evidence is not None and not any(
            self.evidence in claim.get("evidence", ()) for claim in claims
        ):
            return False
        return self.text is None or self.text.casefold() in _texts(record).casefold()

    def _in_time(self, record: Json) -> bool:
        try:
            time = moment(str(record.get("time")))
        except RequestError:
            return False
        return (self.since is None or time >= self.since) and (self.until is None or time <= self.until)


def run(path: Path | None, config: Path | None, last: int | None, *, as_json: bool, **wanted: Any) -> None:
    """Prints the records that are wanted, oldest first: a line each, or as they were written."""
    if wanted.get("verdict") not in (None, *map(str, Verdict)):
        raise RequestError(f"There is no verdict {wanted['verdict']!r}; there are {', '.join(Verdict)}.")
    times = {name: moment(wanted[name]) for name in ("since", "until") if wanted.get(name)}
    asked = Wanted(**{**wanted, **times})
    path = path or _configured(config)
    files = files_of(path)
    if not files:
        raise ConfigError(f"There is no audit record {path}.", param="audit.path")
    broken: Counter[Path] = Counter()
    found = ((record, line) for record, line in _records(files, broken) if record in asked)
    for record, line in found if last is None else deque(found, maxlen=last):
        print(line if as_json else summary(record))
    for file, count in broken.items():
        print(f"{file}: {count} lines are no records; they were left out.", file=sys.stderr)


def summary(record: Json) -> str:
    """A record as one line: when, which request, whose, which model, and what became of its claims."""
    counts = Counter(str(claim.get("verdict")) for claim in _claims(record))
    statuses = ",".join(str(choice.get("status")) for choice in record.get("choices", ()))
    told = [f"{verdict}={counts[verdict]}" for verdict in map(str, Verdict) if counts[verdict]]
    named = [f"key={record['key']}"] if record.get("key") else []
    facts = [f"model={record.get('model')}", f"index={record.get('index')}", f"status={statuses}", *told]
    return " ".join([str(record.get("time")), str(record.get("request")), *named, *facts])


def moment(given: str) -> datetime:
    """The time that an ISO 8601 text names, in UTC where it says nothing else. Raises `RequestError`."""
    try:
        time = datetime.fromisoformat(given)
    except ValueError:
        raise RequestError(
            f"{given!r} is no time: write 2026-11-23, 2026-11-23T20:15 or 2026-11-23T20:15+01:00."
        ) from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _configured(config: Path | None) -> Path:
    path = load(config).audit.path
    if path is None:
        raise ConfigError(
            "No audit record is kept: set audit.path in the settings, or name a record with --path.",
            param="audit.path",
        )
    return Path(path)


def _records(files: list[Path], broken: Counter[Path]) -> Iterator[tuple[Json, str]]:
    """The records with the lines that they were read from; one at a time is in memory."""
    for file in files:
        try:
            with file.open(encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    record = _record(line)
                    if record is not None:
                        yield record, line.rstrip("\n")
                    elif line.strip():
                        broken[file] += 1
        except FileNotFoundError:  # rotated away in between
            continue
        except OSError as error:
            raise ConfigError(f"The audit record {file} can't be read: {error.strerror}.") from error


def _record(line: str) -> Json | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    choices = record.get("choices") if isinstance(record, dict) else None
    well_formed = isinstance(choices, list) and all(
        isinstance(choice, dict) and isinstance(choice.get("claims"), list) for choice in choices
    )
    return record if well_formed else None


def _claims(record: Json) -> Iterator[Json]:
    for choice in record.get("choices", ()):
        yield from (claim for claim in choice["claims"] if isinstance(claim, dict))


def _texts(record: Json) -> str:
    """All chat text of a record; empty where none was recorded."""
    said = [str(choice.get("text", "")) for choice in record.get("choices", ())]
    return "\n".join([str(record.get("question", "")), *said])
