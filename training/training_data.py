"""The files that are learnt from: where they lie, their licences, their rows."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal

from evaluation.datasets import CorpusRow, Row, read_lines
from evaluation.structured.data import StructuredReply, read_replies, statements
from proxy.types import LANGUAGES
from training.generated.generate import generated
from training.made import Made, made_rows
from training.rows import TrainingRow
from training.run import Run, TrainingError, file_checksum, write_lines

log = logging.getLogger(__name__)

Part = Literal["learn", "calibrate", "measure"]

PERMITTED = frozenset(
    {
        "Apache-2.0",
        "Apache-2.0, CC BY-SA",
        "Apache-2.0, CC BY-SA 4.0",
        "CC BY 4.0",
        "CC BY 4.0, ODC-By",
        "CC BY-SA",
        "CC BY-SA 3.0",
        "CC BY-SA 4.0",
        "MIT",
        "MultiNLI (OANC, CC)",
        "ODC-By, CC BY-SA",
        "free for any purpose",
        "own",
    }
)
"""Licences under which weights that learnt from the data may be distributed. `own` is this project's data."""

CONTRAST = Path(__file__).parent / "contrast"
_SHARED = ("dev/attributionbench_dev.jsonl", "dev/citecheck_dev.jsonl")
"""Files of which a part is learnt, a part calibrates and a part is measured."""
_HALF_LEARNT = "dev/fever_symmetric_v02_dev.jsonl"
"""Minimal pairs: five tenths are learnt, one calibrates, four are measured. Rows that share a claim or an
evidence stay together."""
_NEVER_LEARNT = (
    "dev/fm2_dev.jsonl",
    "dev/frank_val.jsonl",
    "dev/wice_dev.jsonl",
)
"""Files of which three tenths calibrate and the others are measured."""
_REPLIES = "contrast/structured_"
"""Files of whole replies: see `evaluation.structured.data`."""
_PASSAGE_CHARS = 600
"""Of a corpus's passage."""
_OTHER_SHARE, _JOINT_SHARE = 0.5, 0.25
"""Of the right statements, those beside the other document; of all, those beside both."""
DRAFTS, FRESH_DRAFTS = 2500, 200
"""Pieces of evidence in the generated files: to learn from, and to calibrate on."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file of rows, and how it is drawn from.

    `file` is relative to the data folder; files in `contrast/` come with the project, those in `generated/`
    are made by the run.
    """

    file: str
    licence: str
    rows: int | None = None
    """How many are drawn at least, in whole units; None: all of them."""
    repeat: int = 1
    """How often the plan has them, spread over its length."""
    unit: int = 4
    """Rows of one evidence that stay together at most."""
    start: float = 0.0
    """The share of the plan before which it has none of them."""
    made: Made | None = None
    """What is made out of the rows, instead of the rows themselves: see `training.made`."""

    def path(self, data: Path, run: Run) -> Path:
        """Where the file lies. Raises `TrainingError` where it does not."""
        folder, _, name = self.file.partition("/")
        roots = {"contrast": CONTRAST, "generated": run.path("generated")}
        path = roots[folder] / name if folder in roots else data / self.file
        if not path.is_file():
            raise TrainingError(f"{path} is not there.")
        return path

    def described(self, path: Path, rows: int) -> dict[str, str | int]:
        """What the manifest of the weights says about the file."""
        return {
            "file": self.file,
            "rows": rows,
            **({"made": self.made} if self.made else {}),
            "repeat": self.repeat,
            "licence": self.licence,
            "sha256": file_checksum(path),
        }


def read_source(source: Source, path: Path, part: Part) -> list[TrainingRow]:
    """The rows of a file that are for the part: a tenth of what people labelled is kept to calibrate on."""
    if source.file.startswith("corpora/"):
        rows = [_of_passage(passage) for passage in read_lines(path, _Passage)]
    elif source.file.startswith(_REPLIES):
        chance = Random(source.file)
        rows = [row for reply in read_replies(path) for row in _of_reply(reply, chance)]
    else:
        rows = list(read_lines(path, TrainingRow))
    if source.file in _SHARED:
        rows = [row for row in rows if part_of(row.evidence) == part]
    elif source.file == _HALF_LEARNT:
        tenths = {"measure": range(4), "calibrate": range(4, 5), "learn": range(5, 10)}[part]
        keys = _connected(rows)
        rows = [row for row in rows if _tenth(keys[row.evidence]) in tenths]
    elif source.file in _NEVER_LEARNT:
        rows = [row for row in rows if (_tenth(row.evidence) < 3) == (part == "calibrate")]
    elif source.file.startswith("train/"):
        rows = [row for row in rows if (part_of(row.evidence) == "calibrate") == (part == "calibrate")]
    return made_rows(rows, source.made, Random(f"{source.file} {part}")) if source.made else rows


class _Passage(CorpusRow):
    id: str


def _of_passage(passage: _Passage) -> TrainingRow:
    """A passage of a corpus as evidence, to make rows out of: it is its own claim."""
    text = passage.text[:_PASSAGE_CHARS]
    return TrainingRow.model_validate(
        {
            "id": passage.id,
            "claim": text,
            "evidence": text,
            "title": passage.title,
            "label": "supported",
        }
    )


def _of_reply(reply: StructuredReply, chance: Random) -> Iterator[TrainingRow]:
    """Each statement of a reply beside the documents, as the proxy would check it.

    A right one beside the document that bears it out, half of them beside the other one too; a wrong one
    beside each. A quarter of all are read beside both in one window as well.
    """
    for number, statement in enumerate(statements(reply)):
        for index, document in enumerate(reply.documents, 1):
            supported, other = index in statement.by, reply.documents[2 - index]
            row = TrainingRow(
                id=f"{reply.id}-{number}-{index}",
                claim=statement.plain,
                evidence=document.text,
                title=document.title,
                label="supported" if supported else "not_supported",
                topic=statement.context.topic,
                context=statement.context.before,
            )
            if supported or not statement.right or chance.random() < _OTHER_SHARE:
                yield row
            if index == 1 and chance.random() < _JOINT_SHARE:
                yield row.model_copy(
                    update={
                        "id": f"{row.id}-joint",
                        "label": "supported" if statement.right else "not_supported",
                        "other": other.text,
                        "other_title": other.title,
                    }
                )


def part_of(evidence: str) -> Part:
    """What rows of that evidence are for: seven tenths to learn, one to calibrate, two to measure."""
    tenth = _tenth(evidence)
    return "measure" if tenth < 2 else "calibrate" if tenth == 2 else "learn"


class Learnt:
    """What the sources of a plan have: their claims, and the sentences of their evidence.

    Files are parted by whole evidence. But some have a claim beside several pieces of evidence, and some
    quote the pages of another file.
    """

    def __init__(self, sources: Iterable[Source], data: Path, run: Run) -> None:
        self._claims: set[str] = set()
        self._sentences: set[str] = set()
        for file in sorted({source.file for source in sources}):
            if file.startswith(("generated/", "corpora/")):
                continue  # made by rule; sentences of articles as their own claims
            source = Source(file, "")
            for row in read_source(source, source.path(data, run), "learn"):
                self._claims.add(_plain(row.claim))
                self._sentences.update(_long_sentences(row.evidence))

    def has(self, row: Row) -> bool:
        """Whether a source has the row's claim, or a long sentence of its evidence."""
        return _plain(row.claim) in self._claims or any(
            sentence in self._sentences for sentence in _long_sentences(row.evidence)
        )


_LONG_SENTENCE = 40
"""Letters and digits. Shorter ones may be the same by chance."""
_SENTENCE_ENDS = re.compile(r"(?<=[.!?。！？])\s*|\n")


def _plain(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


def _long_sentences(text: str) -> Iterator[str]:
    for sentence in map(_plain, _SENTENCE_ENDS.split(text)):
        if len(sentence) >= _LONG_SENTENCE:
            yield sentence


def _connected(rows: Sequence[TrainingRow]) -> dict[str, str]:
    """One name for all evidence that rows join by a common claim, by evidence."""
    joined: dict[str, set[str]] = {}
    of_claim: dict[str, str] = {}
    for row in rows:
        own = joined.setdefault(row.evidence, {row.evidence})
        other = joined[of_claim.setdefault(row.claim, row.evidence)]
        if own is not other:
            own |= other
            joined |= dict.fromkeys(own, own)
    return {evidence: min(same) for evidence, same in joined.items()}


def _tenth(evidence: str) -> int:
    return int(hashlib.sha256(evidence.encode()).hexdigest(), 16) % 10


def evidence_key(evidence: str) -> str:
    """A short checksum of an evidence: what is calibrated on shares none with the plan."""
    return hashlib.sha256(evidence.encode()).hexdigest()[:16]


def generate_files(run: Run, seed: int, drafts: int = DRAFTS) -> None:
    """Writes the generated rows of both languages into the run: those to learn from, and others to calibrate
    on. Files that are there already are kept."""
    folder = run.path("generated")
    folder.mkdir(exist_ok=True)
    for language in LANGUAGES:
        for name, own_seed, count in (
            (language, seed, drafts),
            (f"{language}_fresh", seed + 1, min(drafts, FRESH_DRAFTS)),
        ):
            path = folder / f"{name}.jsonl"
            if not path.exists():
                log.info(
                    "generate: %s has %d rows", path, write_lines(path, generated(language, count, own_seed))
                )
