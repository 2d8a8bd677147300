"""The rows to learn from: sources, how many of each, and a draw in which overlap tells nothing.

`python -m nli.data NAME ...` writes a plan: rows with their windows already cut, in units (rows of one
evidence that stay together in a batch), in the order in which they are learnt.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nli.config import LABEL_IDS, Config
from nli.encode import Encoder
from nli.windows import overlap, windows

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Source:
    """One file: where, how many rows, how often, and whether overlap is balanced in the draw."""

    file: str
    rows: int
    repeat: int = 1
    balance: bool = True
    unit: int = 4
    """Rows of one evidence that stay together at most."""
    licence: str = ""
    supported_share: float = 0.0
    """Where set: supported rows are drawn down to this share."""


_FEVER = "CC BY-SA 3.0"
PLANS: dict[str, tuple[Source, ...]] = {
    # The first piece: human edits, exchanged roles, claims written to mislead, and some bulk.
    "en1": (
        Source("train/cad_nli.jsonl", 1800, licence="Apache-2.0, CC BY-SA 4.0"),
        Source("train/paws_wiki.jsonl", 1300, balance=False, licence="free for any purpose"),
        Source("train/fm2_test.jsonl", 1378, balance=False, licence="Apache-2.0, CC BY-SA"),
        Source("train/fever_clean.jsonl", 1400, licence=_FEVER),
        Source("train/mnli_clean.jsonl", 900, licence="MultiNLI (OANC, CC)"),
        Source("train/summedits.jsonl", 600, balance=False, licence="Apache-2.0"),
        Source("train/defacto.jsonl", 600, balance=False, licence="MIT"),
        Source("handmade/en_train.jsonl", 10**6, balance=False, licence="own"),
    ),
    # The second: everything, what is nearest to the task and the contrasts weighted up.
    "en2": (
        Source("handmade/en_train.jsonl", 10**6, repeat=2, balance=False, licence="own"),
        Source("generated/en.jsonl", 10**6, balance=False, licence="own"),
        Source("train/paws_wiki.jsonl", 2200, balance=False, licence="free for any purpose"),
        Source("train/fm2_test.jsonl", 1378, balance=False, licence="Apache-2.0, CC BY-SA"),
        Source("train/cad_nli.jsonl", 1800, licence="Apache-2.0, CC BY-SA 4.0"),
        Source("dev/attributionbench_dev.jsonl", 10**6, balance=False, unit=2, licence="Apache-2.0"),
        Source("train/fever_clean.jsonl", 1200, licence=_FEVER),
        Source("train/mnli_clean.jsonl", 500, licence="MultiNLI (OANC, CC)"),
        Source("train/summedits.jsonl", 400, balance=False, licence="Apache-2.0"),
        Source("train/defacto.jsonl", 400, balance=False, licence="MIT"),
        Source("train/check_covid.jsonl", 400, licence="MIT"),
        Source("train/scifact.jsonl", 200, balance=False, licence="CC BY 4.0, ODC-By"),
        Source("train/cg2c_doc_clean.jsonl", 200, balance=False, licence="MIT"),
        Source("train/rank19.jsonl", 150, balance=False, licence="Apache-2.0"),
        Source("train/conjnli.jsonl", 150, licence="MIT"),
        Source("train/med.jsonl", 200, licence="CC BY-SA 4.0"),
    ),
    # Both languages for the small multilingual base.
    "multi1": (
        Source("handmade/zh_train.jsonl", 10**6, repeat=2, balance=False, licence="own"),
        Source("generated/zh.jsonl", 10**6, balance=False, licence="own"),
        Source("dev/citecheck_dev.jsonl", 10**6, balance=False, licence="MIT"),
        Source("train/uhgeval_zh.jsonl", 300, licence="Apache-2.0"),
        Source("handmade/en_train.jsonl", 10**6, balance=False, licence="own"),
        Source("generated/en.jsonl", 10**6, balance=False, licence="own"),
        Source("train/paws_wiki.jsonl", 1500, balance=False, licence="free for any purpose"),
        Source("train/fm2_test.jsonl", 1378, balance=False, licence="Apache-2.0, CC BY-SA"),
        Source("train/cad_nli.jsonl", 2500, licence="Apache-2.0, CC BY-SA 4.0"),
        Source("dev/attributionbench_dev.jsonl", 10**6, balance=False, unit=2, licence="Apache-2.0"),
        Source("train/fever_clean.jsonl", 1200, licence=_FEVER),
        Source("train/mnli_clean.jsonl", 1000, licence="MultiNLI (OANC, CC)"),
        Source("train/summedits.jsonl", 200, balance=False, licence="Apache-2.0"),
        Source("train/defacto.jsonl", 200, balance=False, licence="MIT"),
    ),
    # For a machine with hours (or a GPU): all that may be learnt, drawn so that overlap tells nothing.
    "en_full": (
        Source("handmade/en_train.jsonl", 10**6, repeat=3, balance=False, licence="own"),
        Source("generated/en_full.jsonl", 10**6, balance=False, licence="own"),
        Source("train/paws_wiki.jsonl", 10**6, balance=False, licence="free for any purpose"),
        Source("train/fm2_test.jsonl", 10**6, repeat=2, balance=False, licence="Apache-2.0, CC BY-SA"),
        Source("train/cad_nli.jsonl", 10**6, balance=False, licence="Apache-2.0, CC BY-SA 4.0"),
        Source(
            "dev/attributionbench_dev.jsonl", 10**6, repeat=2, balance=False, unit=2, licence="Apache-2.0"
        ),
        Source("train/fever_clean.jsonl", 9000, licence=_FEVER),
        Source("train/mnli_clean.jsonl", 9000, licence="MultiNLI (OANC, CC)"),
        Source("train/summedits.jsonl", 10**6, balance=False, licence="Apache-2.0"),
        Source("train/defacto.jsonl", 10**6, balance=False, licence="MIT"),
        Source("train/bump.jsonl", 10**6, balance=False, licence="MIT"),
        Source("train/fib_xsum.jsonl", 10**6, balance=False, licence="CC BY 4.0"),
        Source("train/summeval.jsonl", 10**6, balance=False, supported_share=0.5, licence="MIT"),
        Source("train/check_covid.jsonl", 10**6, balance=False, licence="MIT"),
        Source("train/scifact.jsonl", 10**6, balance=False, licence="CC BY 4.0, ODC-By"),
        Source("train/cg2c_doc_clean.jsonl", 10**6, balance=False, licence="MIT"),
        Source("train/rank19.jsonl", 10**6, balance=False, licence="Apache-2.0"),
        Source("train/conjnli.jsonl", 1000, licence="MIT"),
        Source("train/med.jsonl", 1500, licence="CC BY-SA 4.0"),
    ),
    "multi_full": (
        Source("handmade/zh_train.jsonl", 10**6, repeat=4, balance=False, licence="own"),
        Source("generated/zh_full.jsonl", 10**6, balance=False, licence="own"),
        Source("dev/citecheck_dev.jsonl", 10**6, repeat=3, balance=False, licence="MIT"),
        Source("train/uhgeval_zh.jsonl", 800, licence="Apache-2.0"),
        Source("handmade/en_train.jsonl", 10**6, repeat=2, balance=False, licence="own"),
        Source("generated/en_full.jsonl", 8000, balance=False, licence="own"),
        Source("train/paws_wiki.jsonl", 10**6, balance=False, licence="free for any purpose"),
        Source("train/fm2_test.jsonl", 10**6, balance=False, licence="Apache-2.0, CC BY-SA"),
        Source("train/cad_nli.jsonl", 10**6, balance=False, licence="Apache-2.0, CC BY-SA 4.0"),
        Source("dev/attributionbench_dev.jsonl", 10**6, balance=False, unit=2, licence="Apache-2.0"),
        Source("train/fever_clean.jsonl", 8000, licence=_FEVER),
        Source("train/mnli_clean.jsonl", 9000, licence="MultiNLI (OANC, CC)"),
        Source("train/summedits.jsonl", 10**6, balance=False, licence="Apache-2.0"),
        Source("train/defacto.jsonl", 1000, balance=False, licence="MIT"),
    ),
}


def read(path: Path) -> list[Row]:
    """The rows of a JSON-lines file."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def sha256(path: Path) -> str:
    """The checksum of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def part(row: Row) -> str:
    """What a row of a dev set that is also learnt from is for, by its evidence: seven tenths `learn`, one
    `calibrate`, two `measure`."""
    tenth = int(hashlib.sha256(row["evidence"].encode()).hexdigest(), 16) % 10
    return "measure" if tenth < 2 else "calibrate" if tenth == 2 else "learn"


LEARNT_DEV = ("attributionbench_dev", "citecheck_dev")


def place(file: str, data: Path, home: Path) -> Path:
    """The path of a source: data of the project, or of this folder (handmade, generated)."""
    return (data if file.startswith(("train/", "dev/")) else home) / file


def draw(rows: Sequence[Row], source: Source, rng: random.Random) -> list[list[Row]]:
    """Units of a source: rows of one evidence together, contrasts first, overlap balanced where asked."""
    if any(name in source.file for name in LEARNT_DEV):
        rows = [row for row in rows if part(row) == "learn"]
    if source.supported_share:
        rows = _drawn_down(rows, source.supported_share, rng)
    units = _units(rows, source.unit, rng)
    if source.balance and sum(map(len, units)) > source.rows:
        return _balanced(units, source.rows, rng)
    return _first(units, source.rows)


def _drawn_down(rows: Sequence[Row], share: float, rng: random.Random) -> list[Row]:
    right = [row for row in rows if row["label"] == "supported"]
    wrong = [row for row in rows if row["label"] != "supported"]
    keep = min(len(right), round(len(wrong) * share / (1 - share)))
    return rng.sample(right, keep) + wrong


def _units(rows: Sequence[Row], size: int, rng: random.Random) -> list[list[Row]]:
    by_evidence: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_evidence[row["evidence"]].append(row)
    units = []
    for found in by_evidence.values():
        rng.shuffle(found)
        right = [row for row in found if row["label"] == "supported"]
        wrong = [row for row in found if row["label"] != "supported"]
        mixed = [row for pair in zip(right, wrong, strict=False) for row in pair]
        rest = right[len(wrong) :] or wrong[len(right) :]
        ordered = mixed + rest
        units += [ordered[at : at + size] for at in range(0, len(ordered), size)]
    rng.shuffle(units)
    return units


def _is_contrast(unit: Sequence[Row]) -> bool:
    return len({row["label"] == "supported" for row in unit}) == 2


def _first(units: Sequence[list[Row]], rows: int) -> list[list[Row]]:
    chosen, total = [], 0
    for unit in sorted(units, key=lambda unit: not _is_contrast(unit)):
        if total >= rows:
            break
        chosen.append(unit)
        total += len(unit)
    return chosen


def _balanced(units: Sequence[list[Row]], rows: int, rng: random.Random) -> list[list[Row]]:
    """Half contrasts where there are any; of the rest as many right as wrong in each fifth of overlap."""
    contrasts = [unit for unit in units if _is_contrast(unit)]
    chosen = _first(contrasts, rows // 2)
    taken = {id(unit) for unit in chosen}
    cells: dict[tuple[int, bool], list[Row]] = defaultdict(list)
    for unit in units:
        if id(unit) not in taken:
            for row in unit:
                fifth = min(4, int(overlap(row["claim"], row["evidence"]) * 5))
                cells[fifth, row["label"] == "supported"].append(row)
    pairs = [min(len(cells[fifth, True]), len(cells[fifth, False])) for fifth in range(5)]
    wanted = rows - sum(map(len, chosen))
    scale = min(1.0, wanted / 2 / max(1, sum(pairs)))
    for fifth, count in enumerate(pairs):
        for side in (True, False):
            chosen += [[row] for row in rng.sample(cells[fifth, side], round(count * scale))]
    return chosen


def make_plan(
    sources: Sequence[Source], data: Path, home: Path, encoder: Encoder, config: Config
) -> tuple[list[Row], list[Row]]:
    """The rows in their order, each with `unit`, `window` and `target`, and what was used of which file."""
    rng = random.Random(config.seed)
    units: list[list[Row]] = []
    used = []
    for source in sources:
        path = place(source.file, data, home)
        if not path.exists():
            sys.stderr.write(f"{source.file} is not there: left out\n")
            continue
        drawn = draw(read(path), source, rng)
        units += [unit for unit in drawn for _ in range(source.repeat)]
        count = sum(map(len, drawn))
        right = sum(row["label"] == "supported" for unit in drawn for row in unit)
        used.append(
            {
                "file": source.file,
                "rows": count,
                "supported": right,
                "repeat": source.repeat,
                "licence": source.licence,
                "sha256": sha256(path),
            }
        )
    rng.shuffle(units)
    rows: list[Row] = []
    for number, unit in enumerate(units):
        for row in unit:
            found = windows(
                row["evidence"],
                row["claim"],
                encoder.count,
                config.window_tokens,
                row.get("title", ""),
                most=1,
            )
            rows.append(
                {
                    "unit": number,
                    "id": row["id"],
                    "source": row.get("source") or row.get("kind", ""),
                    "claim": row["claim"],
                    "window": found[0],
                    "target": LABEL_IDS[row["label"]],
                }
            )
    return rows, used


def overlap_area(rows: Iterable[Row]) -> float:
    """How well overlap alone tells the label (area under the curve): 0.5 is nothing."""
    from sklearn.metrics import roc_auc_score

    listed = list(rows)
    return float(
        roc_auc_score(
            [row["target"] == 0 for row in listed], [overlap(row["claim"], row["window"]) for row in listed]
        )
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m nli.data", description="Writes a training plan.")
    parser.add_argument("name", choices=sorted(PLANS))
    parser.add_argument("--data", type=Path, required=True, help="the folder with train/ and dev/")
    parser.add_argument("--home", type=Path, required=True, help="the folder with handmade/ and generated/")
    parser.add_argument("--base", type=Path, required=True, help="the base model's folder (its tokenizer)")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=Config().seed)
    options = parser.parse_args(arguments)
    config = Config(seed=options.seed)
    encoder = Encoder(options.base, config.window_tokens + 32, config.claim_tokens)
    rows, used = make_plan(PLANS[options.name], options.data, options.home, encoder, config)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    options.out.with_suffix(".used.json").write_text(json.dumps(used, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(rows)} rows, overlap alone: AUC {overlap_area(rows):.3f}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
