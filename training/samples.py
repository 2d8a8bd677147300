"""The data behind the calibrated model: files, licences, roles, and their rows as pairs."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from evaluation.datasets import Row, Share, passages_of, read_lines
from evaluation.made.chinese.generate import make_chinese
from evaluation.made.english.generate import from_passages
from evaluation.swaps.data import make_swaps
from proxy.types import Language, Pair, Verdict
from training.prepare import CHINESE_CORPUS, CORPUS, JUDGED, kept_back

Role = Literal["fit", "calibrate", "measure"]
"""What a source may do: `fit` the models, `calibrate` their scores and set the threshold, or be measured."""
SEED = 7


@dataclass(frozen=True, slots=True)
class Sample:
    """A labelled pair. Those of one `group` share a claim, evidence or question: no split parts them."""

    pair: Pair
    verdict: Verdict | None
    """None where the source does not tell contradicted from unsupported."""
    group: str
    swap: str = ""
    """The kind of detail that was exchanged in it, of a rule-made one."""
    made: bool = False
    """Whether a rule made it, of a sentence of a corpus."""
    copied: bool = False
    """Whether it is that sentence, but for the detail that may be exchanged in it."""

    @property
    def supported(self) -> bool:
        """The label that is learnt."""
        return self.verdict is Verdict.SUPPORTED


@dataclass(frozen=True, slots=True)
class Source:
    """A set of samples. `weight` is what all of them together count, in rows; `most` how many are drawn."""

    name: str
    path: str
    language: Language
    licence: str
    role: Role
    read: Callable[[Path, Source], list[Sample]]
    weight: float = 1000.0
    most: int | None = None


class SampleRow(Row):
    """A labelled row, with the question that ties it to others."""

    question: str = ""


def labelled(path: Path, source: Source) -> list[Sample]:
    """The rows of a labelled file, at most `source.most` of them."""
    rows = list(read_lines(path, SampleRow))
    if source.most is not None and len(rows) > source.most:
        rows = random.Random(SEED).sample(rows, source.most)
    return [
        Sample(row.pair(), row.verdict, f"{source.path}:{group}")
        for row, group in zip(rows, _groups(rows), strict=True)
    ]


def kept(path: Path, source: Source) -> list[Sample]:
    """The rows of a file that the NLI model was fitted on which were kept from it."""
    rows = [row for row in read_lines(path, SampleRow) if kept_back(row.pair().evidence)]
    return [Sample(row.pair(), row.verdict, f"{source.path}:{row.evidence}") for row in rows]


def swapped(*shares: Share) -> Callable[[Path, Source], list[Sample]]:
    """Sentences of a corpus as they are, and with one detail exchanged."""

    def read(path: Path, source: Source) -> list[Sample]:
        passages = passages_of(path, *shares)
        random.Random(SEED).shuffle(passages)
        return [
            Sample(
                Pair(swap.claim, swap.passage.text, title=swap.passage.title),
                Verdict.CONTRADICTED if swap.slot else Verdict.SUPPORTED,
                f"{source.path}:{swap.passage.title}",
                swap.slot or "",
                made=True,
                copied=True,
            )
            for swap in make_swaps(passages, source.language, source.most or len(passages), SEED)
        ]

    return read


def made(path: Path, source: Source) -> list[Sample]:
    """Rows made by rule of the articles that are for calibrating."""
    make = make_chinese if source.language == "zh" else from_passages
    return [
        Sample(
            Pair(made_row.claim, made_row.evidence, title=made_row.title),
            Verdict(made_row.label),
            f"{source.path}:{made_row.title}",
            "" if made_row.label == "supported" else made_row.kind,
            made=True,
        )
        for made_row in make(passages_of(path, "calibrate"), source.most or 1000, SEED)
    ]


def judged(path: Path, source: Source) -> list[Sample]:
    """Claims that people have judged against the passage they were written of."""
    rows = json.loads(path.read_text(encoding="utf-8"))
    return [
        Sample(
            Pair(row["claim"], row["content"], title=row["title"]),
            Verdict.SUPPORTED if row["human_eval"] else None,
            f"{source.path}:{row['content']}",
        )
        for row in rows
    ]


SOURCES = (
    Source("fever", "train/fever.jsonl", "en", "CC BY-SA 3.0", "fit", kept, 1000),
    Source("mnli", "train/mnli.jsonl", "en", "OANC and CC", "fit", kept, 500),
    Source("cg2c", "train/cg2c_doc.jsonl", "en", "MIT", "fit", kept, 400),
    Source("wice", "dev/wice_dev.jsonl", "en", "ODC-BY and CC BY-SA", "fit", labelled, 500),
    Source("fever_symmetric", "dev/fever_symmetric_v02_dev.jsonl", "en", "CC BY-SA 3.0", "fit", labelled),
    Source("attributionbench", "dev/attributionbench_dev.jsonl", "en", "Apache-2.0", "calibrate", labelled),
    Source("swaps", "corpora/wikipedia_en.jsonl", "en", "CC BY-SA", "fit", swapped("calibrate"), 700),
    Source("made", "corpora/wikipedia_en.jsonl", "en", "CC BY-SA", "fit", made, 800, 1500),
    *(Source("wikiretr", name, "en", "MIT", "measure", judged) for name in JUDGED),
    Source("climate_fever", "dev/climate_fever.jsonl", "en", "none stated", "measure", labelled, most=1500),
    Source("citecheck", "dev/citecheck_dev.jsonl", "zh", "MIT", "fit", labelled),
    Source(
        "swaps",
        "corpora/wikipedia_zh.jsonl",
        "zh",
        "CC BY-SA",
        "fit",
        swapped("train", "calibrate"),
        500,
        1000,
    ),
    Source("made", "corpora/wikipedia_zh.jsonl", "zh", "CC BY-SA", "fit", made, 250, 1000),
)
"""No coefficient is fitted on a set whose licence is not stated."""

CORPORA: Mapping[Language, str] = {
    "en": CORPUS,
    "zh": CHINESE_CORPUS,
}
"""What the word weights are counted in."""


def describe(folder: Path, sources: Iterable[Source]) -> list[dict[str, Any]]:
    """What the weights say of what they were made of, checksums included."""
    return [
        {
            "source": source.name,
            "file": source.path,
            "sha256": hashlib.sha256((folder / source.path).read_bytes()).hexdigest(),
            "licence": source.licence,
            "role": source.role,
            "weight": source.weight,
        }
        for source in sources
    ]


def _groups(rows: Sequence[SampleRow]) -> list[int]:
    """Per row the first that it is tied to by an equal claim, question or evidence, however indirectly."""
    leader = list(range(len(rows)))

    def find(number: int) -> int:
        while leader[number] != number:
            leader[number] = leader[leader[number]]
            number = leader[number]
        return number

    first: dict[str, int] = {}
    for position, row in enumerate(rows):
        for tie in filter(None, (row.claim, row.evidence, row.question)):
            one, other = sorted((find(position), find(first.setdefault(tie, position))))
            leader[other] = one
    return [find(index) for index in range(len(rows))]
