"""`python -m evaluation contrast`: right and wrong claims of the same passage."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest

from evaluation.__main__ import main
from evaluation.contrast.data import Split, packaged, read_pairs
from tests.evaluation.files import write_lines

ROOT = Path(__file__).parents[2]
PASSAGE = "The mill in Elm was built in 1904. It has never flooded."


def row(group: str, claim: str, label: str, **changed: Any) -> dict[str, Any]:
    shared = {"group": group, "kind": "negation", "title": "Elm", "evidence": PASSAGE, "lang": "en"}
    return {**shared, "claim": claim, "label": label, **changed}


@pytest.mark.parametrize("split", get_args(Split))
def test_the_projects_pairs_are_of_every_kind_in_both_languages(split: Split) -> None:
    files = packaged(split)
    assert len(files) == 2
    for path in files:
        pairs = read_pairs(path)
        kinds = Counter(pair.kind for pair in pairs)
        assert len(kinds) == 13
        assert min(kinds.values()) >= 5
        assert len({pair.right.evidence for pair in pairs}) == len(pairs)


def test_no_passage_is_in_both_splits() -> None:
    dev, held_out = (
        {pair.right.evidence for path in packaged(split) for pair in read_pairs(path)}
        for split in ("dev", "held_out")
    )
    assert not dev & held_out


def test_no_pair_is_of_a_passage_that_is_there_to_be_learnt() -> None:
    files = sorted((ROOT / "training" / "contrast").glob("*.jsonl"))
    assert len(files) == 2
    lines = [line for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    learnt = {json.loads(line)["evidence"] for line in lines}
    measured = {
        pair.right.evidence
        for split in get_args(Split)
        for path in packaged(split)
        for pair in read_pairs(path)
    }
    assert not learnt & measured


def test_a_copied_claim_and_its_opposite_are_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        row("1", "The mill in Elm was built in 1904.", "supported"),
        row("1", "The mill in Elm was built in 1967.", "contradicted"),
    ]
    path = write_lines(tmp_path / "pairs.jsonl", rows)
    assert main(["contrast", "--data", str(path), "--json"]) == 0
    (measured,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    whole, negation = measured["groups"]
    assert (whole["kind"], whole["pairs"], whole["accuracy"], whole["both"]) == ("all", 1, 1.0, 1.0)
    assert negation == {**whole, "kind": "negation"}
    assert main(["contrast", "--data", str(path)]) == 0
    assert "| pairs.jsonl | all | 1 | 1.000 |" in capsys.readouterr().out


@pytest.mark.parametrize(
    "rows",
    [
        [row("1", "It flooded.", "contradicted")],
        [row("1", "It never flooded.", "supported"), row("1", "It was built in 1904.", "supported")],
        [
            row("1", "It never flooded.", "supported"),
            row("1", "It flooded.", "contradicted", evidence="Another."),
        ],
    ],
)
def test_a_group_that_is_no_pair_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: list[dict[str, Any]]
) -> None:
    path = write_lines(tmp_path / "pairs.jsonl", rows)
    assert main(["contrast", "--data", str(path)]) == 2
    assert "group '1' must be one right and one wrong claim" in capsys.readouterr().err
