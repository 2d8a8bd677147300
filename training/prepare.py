"""`data` and `augment`: the rows that the NLI model learns, each with the excerpt that it is shown."""

from __future__ import annotations

import hashlib
import json
import logging
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from evaluation import datasets as labelled_rows
from evaluation import made as made_by_rule
from evaluation.datasets import Made, passages_of, share_of
from evaluation.datasets import read_rows as read_labelled
from evaluation.made.chinese.generate import make_chinese
from evaluation.made.english.generate import from_passages, from_supported
from evaluation.swaps import data as swap_rules
from proxy.checkers import builtin
from proxy.checkers.builtin.claim_view import Lexicon
from proxy.checkers.builtin.evidence_windows import EvidenceReader
from proxy.checkers.builtin.pair_view import Reading
from proxy.types import Pair
from training.run import Run, TrainingError, checksum, read_rows, write_rows

log = logging.getLogger("training")

DATA_ROWS, MADE_ROWS = "data.jsonl", "made.jsonl"
CHINESE_ROWS, DRAWN_ROWS = "chinese.jsonl", "drawn.jsonl"
LABELLED = ("train/fever.jsonl", "train/mnli.jsonl", "train/cg2c_doc.jsonl")
CORPUS = "corpora/wikipedia_en.jsonl"
CHINESE_CORPUS = "corpora/wikipedia_zh.jsonl"
REWRITTEN = ("papers/wikiretr-gpt3.json", "papers/wikiretr-gpt4.json")
"""Passages with a claim that a model wrote of each: taken as supported."""
JUDGED = ("papers/wikiretr-gpt3-subset-chinese.json", "papers/wikiretr-gpt4-subset-chinese.json")
"""Those of them that people have judged: kept for measuring."""
SENTENCES = 24_000
CHINESE, DRAWN = 12_000, 8_000
"""Rows that the Chinese model is fitted on: made by rule, and labelled English ones, of which there are no
Chinese like."""
SEED = 7
_KEPT_BACK = 10
"""One group in ten of each labelled file is kept from the NLI model, for the calibration of what it says."""
_MADE = Path(str(resources.files(made_by_rule)))
_BUILTIN = Path(str(resources.files(builtin)))
_RULES = [
    Path(labelled_rows.__file__),
    *sorted(_MADE.glob("english/*.py")),
    *(
        _BUILTIN / f"{name}.py"
        for name in (
            *(
                "assertion",
                "claim_view",
                "excerpt",
                "nonveridical",
                "conflicts",
                "numbers",
                "pair_view",
                "injection",
            ),
            *("tokens", "evidence_windows", "word_lists"),
        )
    ),
]
_CHINESE_RULES = [
    *sorted(_MADE.glob("chinese/*.py")),
    Path(swap_rules.__file__),
    _BUILTIN / "quantities.py",
]
"""The source files that decide what the rows are: when one changes, the rows are made anew."""
_SHARES: Mapping[str, float] = {"fever": 1.0, "mnli": 0.5, "cg2c_doc": 1.0, "wikiretr": 1.0}
"""Of the rows made of a source's supported ones, the share that is kept."""


@dataclass(frozen=True, slots=True)
class Row:
    """A labelled pair and where it comes from. `kept` rows are for calibration only, one with an `epoch` is
    for that alone."""

    claim: str
    evidence: str
    label: str
    source: str
    title: str = ""
    kind: str = ""
    changed: str = ""
    epoch: int | None = None
    kept: bool = False


def prepare_data(run: Run, data: Path, lexicon: Lexicon) -> Path:
    """Labelled rows with their excerpts: `data.jsonl` of the run."""
    files = [data / name for name in (*LABELLED, *REWRITTEN, *JUDGED)]
    return _prepared(run, DATA_ROWS, files, lambda: labelled(data), lexicon)


def prepare_made(run: Run, data: Path, lexicon: Lexicon, epochs: int) -> Path:
    """Rows made by rule with their excerpts, others for each epoch: `made.jsonl` of the run."""
    files = [data / name for name in (*LABELLED, *REWRITTEN, *JUDGED, CORPUS)]

    def rows() -> Iterator[Row]:
        for epoch in range(epochs):
            yield from made(data, epoch)

    return _prepared(run, MADE_ROWS, files, rows, lexicon, epochs)


def prepare_chinese(run: Run, data: Path, lexicon: Lexicon) -> Path:
    """Chinese rows made by rule with their excerpts: `chinese.jsonl` of the run."""

    def rows() -> Iterator[Row]:
        passages = passages_of(data / CHINESE_CORPUS, "train")
        yield from (_row(made_row, "wikipedia", None) for made_row in make_chinese(passages, CHINESE, SEED))

    rules = [*_RULES, *_CHINESE_RULES]
    return _prepared(run, CHINESE_ROWS, [data / CHINESE_CORPUS], rows, lexicon, rules=rules)


def draw_english(run: Run) -> Path:
    """Of the labelled English rows as many as the Chinese model learns: `drawn.jsonl` of the run."""
    rows = read_rows(run.needed(DATA_ROWS, "data"))
    write_rows(run.path(DRAWN_ROWS), random.Random(SEED).sample(rows, min(DRAWN, len(rows))))
    return run.path(DRAWN_ROWS)


def labelled(data: Path) -> Iterator[Row]:
    """The rows of the labelled files, then the rewritten claims."""
    for name in LABELLED:
        source = Path(name).stem
        for row in read_labelled(data / name):
            pair = row.pair()
            yield Row(pair.claim, pair.evidence, row.label, source, pair.title, kept=kept_back(pair.evidence))
    yield from rewritten(data)


def made(data: Path, epoch: int) -> Iterator[Row]:
    """Rows made by rule: of the corpus, then of the supported rows, of which a share is drawn."""
    seed = SEED + epoch
    chance = random.Random(seed)
    passages = passages_of(data / CORPUS, "train")
    yield from (_row(made_row, "wikipedia", epoch) for made_row in from_passages(passages, SENTENCES, seed))
    for source, share in _SHARES.items():
        supported = [
            Made(row.claim, row.evidence, "supported", "", row.title)
            for row in labelled(data)
            if row.source == source and row.label == "supported" and not row.kept
        ]
        for one in from_supported(supported, seed):
            if chance.random() < share:
                yield _row(one, f"{source} made", epoch)


def rewritten(data: Path) -> Iterator[Row]:
    """Claims that a model wrote of Wikipedia passages, but for the passages that people judged."""
    judged = {item["content"] for name in JUDGED for item in _objects(data / name)}
    for name in REWRITTEN:
        for one in _objects(data / name):
            if one["content"] not in judged and share_of(one["title"]) == "train":
                yield Row(one["claim"], one["content"], "supported", "wikiretr", one["title"])


def kept_back(evidence: str) -> bool:
    """Whether rows of that evidence are for calibration only: one in ten, by its SHA-256."""
    return int(hashlib.sha256(evidence.encode()).hexdigest(), 16) % _KEPT_BACK == 0


def excerpted(row: Row, reading: Reading) -> dict[str, Any] | None:
    """The row with the excerpt that the NLI model reads of its evidence; None where there is nothing."""
    read = reading.read(Pair(row.claim, row.evidence, title=row.title))
    if read is None:
        return None
    return {
        "claim": row.claim,
        "excerpt": read.extracts[0].texts[-1],
        "label": row.label,
        "source": row.source,
        "kind": row.kind,
        "changed": row.changed,
        "epoch": row.epoch,
    }


def _prepared(
    run: Run,
    name: str,
    files: Sequence[Path],
    rows: Callable[[], Iterable[Row]],
    lexicon: Lexicon,
    epochs: int = 1,
    rules: Sequence[Path] = _RULES,
) -> Path:
    """Writes a file of the run, unless it is there and was made of the same files by the same rules."""
    missing = [str(file) for file in files if not file.is_file()]
    if missing:
        raise TrainingError(f"not there: {', '.join(missing)}")
    out = run.path(name)
    sizes = (SENTENCES, epochs, dict(_SHARES), CHINESE)
    made_of = checksum(*files, *rules, SEED, sizes, sorted(lexicon.idf.items()))
    if run.is_done(name, made_of):
        log.info("%s is up to date", out)
        return out
    reading = Reading({"en": lexicon, "zh": lexicon}, EvidenceReader(), always_before=True)
    counts: Counter[str] = Counter()

    def lines() -> Iterator[dict[str, Any]]:
        for row in rows():
            line = None if row.kept else excerpted(row, reading)
            if line is not None:
                counts[f"{row.source} {row.label}"] += 1
                yield line

    total = write_rows(out, lines())
    run.done(name, made_of)
    log.info("%s: %d rows: %s", name, total, json.dumps(counts))
    return out


def _row(made_row: Made, source: str, epoch: int | None) -> Row:
    return Row(
        made_row.claim,
        made_row.evidence,
        made_row.label,
        source,
        made_row.title,
        made_row.kind,
        made_row.changed,
        epoch,
    )


def _objects(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return found
