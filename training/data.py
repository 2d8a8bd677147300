"""What the built-in checker is made of: where the data lies, what it may be used for, its rows as pairs."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from proxy.steps.sentences import own_punkt, sentence_spans
from proxy.types import Language, Pair, Verdict
from training.swaps import Passage, make_swaps

Role = Literal["fit", "calibrate", "measure"]
"""What a source may do: `fit` coefficients, `calibrate` the scores that come out, or only be measured."""

_TITLE = re.compile(r"\A(?:\(meta data\) TITLE|Title): ([^\n]*)\n+")


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of the data folder. `weight` is what one of its rows counts, `most` how many rows are drawn."""

    path: str
    language: Language
    licence: str
    role: Role
    weight: float = 1.0
    most: int | None = None


FILES = (
    DataFile("train/cg2c_doc.jsonl", "en", "MIT", "fit"),
    DataFile("dev/wice_dev.jsonl", "en", "ODC-BY and CC BY-SA", "fit"),
    DataFile("train/fever.jsonl", "en", "CC BY-SA 3.0", "fit", weight=0.2, most=1000),
    DataFile("dev/fever_symmetric_v02_dev.jsonl", "en", "CC BY-SA 3.0", "measure"),
    DataFile("dev/attributionbench_dev.jsonl", "en", "none stated", "calibrate"),
    DataFile("dev/climate_fever.jsonl", "en", "none stated", "measure", most=3000),
    DataFile("dev/citecheck_dev.jsonl", "zh", "MIT", "fit"),
)
"""No coefficient is fitted on a set whose licence is not stated."""

CORPORA = (
    DataFile("corpora/wikipedia_en.jsonl", "en", "CC BY-SA", "fit", weight=0.2, most=1000),
    DataFile("corpora/wikipedia_zh.jsonl", "zh", "CC BY-SA", "fit", weight=0.2, most=1000),
)


@dataclass(frozen=True, slots=True)
class Example:
    """A labelled pair. Examples of one `group` share evidence or a question: no split parts them."""

    pair: Pair
    verdict: Verdict | None
    """None where the source does not tell contradicted from unsupported."""
    source: str
    group: str
    role: Role
    weight: float
    swap: str = ""
    """The kind of detail that was exchanged in it, of a rule-made row."""

    @property
    def supported(self) -> bool:
        """The label that the regression learns."""
        return self.verdict is Verdict.SUPPORTED


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON Lines file."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def read_examples(folder: Path, file: DataFile, seed: int) -> list[Example]:
    """The rows of a labelled file, at most `file.most` of them, drawn with `seed`."""
    rows = read_rows(folder / file.path)
    if file.most is not None and len(rows) > file.most:
        rows = random.Random(seed).sample(rows, file.most)
    groups = _groups(rows)
    return [
        Example(
            _pair(row),
            None if row["label"] == "not_supported" else Verdict(row["label"]),
            Path(file.path).stem,
            f"{file.path}:{group}",
            file.role,
            file.weight,
        )
        for row, group in zip(rows, groups, strict=True)
    ]


def read_swaps(folder: Path, file: DataFile, seed: int) -> list[Example]:
    """Rule-made examples out of a corpus: sentences as they are, and with one detail exchanged.

    Denied sentences are only measured: a rule of the checker sees to them."""
    rows = read_rows(folder / file.path)
    random.Random(seed).shuffle(rows)
    punkt = own_punkt()
    passages = [
        Passage(
            row["title"],
            row["text"],
            tuple(row["text"][start:end] for start, end in sentence_spans(row["text"], punkt)),
        )
        for row in rows[: 3 * (file.most or len(rows))]
    ]
    swaps = make_swaps(passages, file.language, file.most or len(rows), seed)
    denied = {id(swap.passage) for swap in swaps if swap.slot == "negation"}
    return [
        Example(
            Pair(swap.claim, swap.passage.text, title=swap.passage.title),
            Verdict.CONTRADICTED if swap.slot else Verdict.SUPPORTED,
            Path(file.path).stem + ("_denied" if id(swap.passage) in denied else ""),
            f"{file.path}:{swap.passage.title}",
            "measure" if id(swap.passage) in denied else "fit",
            file.weight,
            swap.slot or "",
        )
        for swap in swaps
    ]


def describe(folder: Path, files: Iterable[DataFile]) -> list[dict[str, Any]]:
    """What the weights say of the files they were made of, checksums included."""
    return [
        {
            "file": file.path,
            "sha256": hashlib.sha256((folder / file.path).read_bytes()).hexdigest(),
            "rows": len(read_rows(folder / file.path)),
            "used": file.most or "all",
            "licence": file.licence,
            "role": file.role,
            "weight": file.weight,
        }
        for file in files
    ]


def _pair(row: dict[str, Any]) -> Pair:
    """The row as the proxy would ask it: a title that leads the evidence is taken out of it."""
    match = _TITLE.match(row["evidence"])
    return Pair(
        row["claim"],
        row["evidence"][match.end() :] if match else row["evidence"],
        question=row.get("question") or "",
        title=match[1] if match else "",
    )


def _groups(rows: Sequence[dict[str, Any]]) -> list[int]:
    """Per row the first row that it is tied to by equal questions or evidence, however indirectly."""
    leader = list(range(len(rows)))

    def find(at: int) -> int:
        while leader[at] != at:
            leader[at] = leader[leader[at]]
            at = leader[at]
        return at

    first: dict[str, int] = {}
    for at, row in enumerate(rows):
        for tie in filter(None, (row["evidence"], row.get("question"))):
            one, other = sorted((find(at), find(first.setdefault(tie, at))))
            leader[other] = one
    return [find(at) for at in range(len(rows))]
