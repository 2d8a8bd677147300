"""`python -m evaluation contrast`: right and wrong claims of the same passage."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation.__main__ import main
from evaluation.contrast.command import Part, measure
from evaluation.contrast.data import (
    CONCLUSIONS,
    DEV,
    HARD,
    HELD_OUT,
    SECTIONS,
    SHORT_EVIDENCE,
    TWO_PASSAGES,
    WORKPLACE,
    read_groups,
)
from evaluation.datasets import read_lines
from evaluation.measurement import Judged
from proxy.types import Verdict
from tests.behaviours import Reply, Status
from tests.evaluation.files import judge_config, write_lines
from tests.scripted_upstream import Upstream
from training.rows import TrainingRow

ROOT = Path(__file__).parents[2]
PASSAGE = "The mill in Elm was built in 1904. It has never flooded."
CHINESE = "榆树村的磨坊建于1904年，从未被水淹过。"
S, C, U, FAILED = Verdict.SUPPORTED, Verdict.CONTRADICTED, Verdict.UNSUPPORTED, Verdict.UNVERIFIED


def row(group: str, claim: str, label: str, **changed: Any) -> dict[str, Any]:
    shared = {"group": group, "kind": "negation", "title": "Elm", "evidence": PASSAGE, "lang": "en"}
    return {**shared, "claim": claim, "label": label, **changed}


def mill(group: str, **changed: Any) -> list[dict[str, Any]]:
    """A right claim and a wrong one."""
    return [
        row(group, "The mill in Elm was built in 1904.", "supported", **changed),
        row(group, "The mill in Elm was built in 1967.", "contradicted", **changed),
    ]


def measured(
    folder: Path, rows: Sequence[dict[str, Any]], said: Sequence[tuple[Verdict, float]]
) -> dict[tuple[str, str], Part]:
    """The figures of rows of which a checker said this, by language and kind."""
    verdicts, scores = zip(*said, strict=True)
    groups = list(read_groups(write_lines(folder / "pairs.jsonl", rows)))
    parts = measure(groups, Judged(verdicts, np.array(scores), 1.0))
    return {(part.language, part.kind): part for part in parts}


@pytest.mark.parametrize("files", [DEV, HELD_OUT], ids=["dev", "held out"])
def test_the_projects_pairs_are_of_every_kind_in_both_languages(files: tuple[Path, ...]) -> None:
    assert len(files) == 2
    for path in files:
        groups = list(read_groups(path))
        kinds = Counter(group.kind for group in groups)
        assert len(kinds) == 13
        assert min(kinds.values()) >= 5
        assert len({group.right[0].evidence for group in groups}) == len(groups)
        assert {(len(group.right), len(group.wrong)) for group in groups} == {(2, 2)}


@pytest.mark.parametrize("path", [*DEV, *HELD_OUT], ids=lambda path: path.stem)
def test_claims_of_either_form_are_right_and_wrong(path: Path) -> None:
    rows = [row for group in read_groups(path) for row in group.rows]
    for copied in (True, False):
        right = [row.supported for row in rows if (row.likeness() >= 0.5) is copied]
        assert 0.25 < sum(right) / len(right) < 0.75


def passages(files: Sequence[Path]) -> set[str]:
    rows = (row for path in files for row in read_lines(path, TrainingRow))
    return {text for row in rows for text in (row.evidence, row.other) if text}


def test_no_passage_is_in_both_splits() -> None:
    assert not passages(DEV) & passages(HELD_OUT)


def test_no_pair_is_of_a_passage_that_is_there_to_be_learnt() -> None:
    files = sorted((ROOT / "training" / "contrast").glob("*.jsonl"))
    files = [path for path in files if not path.stem.startswith("structured")]  # replies, no pairs
    assert len(files) == 11
    measured = [*CONCLUSIONS, *DEV, *HARD, *HELD_OUT, *SECTIONS, *SHORT_EVIDENCE, *TWO_PASSAGES, *WORKPLACE]
    assert not passages(files) & passages(measured)


@pytest.mark.parametrize("path", SECTIONS, ids=lambda path: path.stem)
def test_a_section_stands_under_two_lines_of_headings(path: Path) -> None:
    rows = [row for group in read_groups(path) for row in group.rows]
    assert {row.title.count("\n") for row in rows} == {1}


@pytest.mark.parametrize("path", SHORT_EVIDENCE, ids=lambda path: path.stem)
def test_a_passage_of_short_evidence_says_little(path: Path) -> None:
    groups = list(read_groups(path))
    assert {(len(group.right), len(group.wrong)) for group in groups} == {(3, 3)}
    assert max(len(row.evidence) for group in groups for row in group.rows) < 400


@pytest.mark.parametrize("path", CONCLUSIONS, ids=lambda path: path.stem)
def test_a_conclusion_is_read_after_the_sentence_that_it_leans_on(path: Path) -> None:
    groups = list(read_groups(path))
    assert {(len(group.right), len(group.wrong)) for group in groups} == {(3, 3)}
    for row in (row for group in groups for row in group.rows):
        assert row.pair().context == row.context != ""


@pytest.mark.parametrize("path", HARD, ids=lambda path: path.stem)
def test_hard_claims_are_right_and_wrong_alike_in_either_form(path: Path) -> None:
    groups = list(read_groups(path))
    assert len(groups) == 60
    assert {(len(group.right), len(group.wrong)) for group in groups} == {(3, 3)}
    rows = [row for group in groups for row in group.rows]
    for copied in (True, False):
        right = [row.supported for row in rows if (row.likeness() >= 0.5) is copied]
        assert 0.25 < sum(right) / len(right) < 0.75


@pytest.mark.parametrize("path", TWO_PASSAGES, ids=lambda path: path.stem)
def test_a_group_of_two_passages_is_read_in_one_window(path: Path) -> None:
    groups = list(read_groups(path))
    assert len(groups) == 40
    for row in (row for group in groups for row in group.rows):
        assert [(page.title, page.text) for page in row.pair().others] == [(row.other_title, row.other)]
        assert row.other_title != row.title


def test_figures_come_by_language_and_kind_and_for_all(tmp_path: Path) -> None:
    rows = [
        *mill("1"),
        *mill("2", kind="units"),
        *mill("3", kind="units", evidence=CHINESE, lang=None),  # the passage tells the language
    ]
    parts = measured(tmp_path, rows, [(S, 0.9), (U, 0.2), (S, 0.8), (S, 0.7), (U, 0.1), (C, 0.3)])
    assert list(parts) == [
        ("all", "all"),
        ("all", "copied"),
        ("all", "reworded"),
        ("all", "negation"),
        ("all", "units"),
        ("en", "all"),
        ("en", "copied"),
        ("en", "negation"),
        ("en", "units"),
        ("zh", "all"),
        ("zh", "reworded"),
        ("zh", "units"),
    ]
    whole, chinese = parts["all", "all"], parts["zh", "units"]
    assert (whole.pairs, whole.claims) == (3, 6)
    assert whole.figures["accuracy"] == whole.figures["balanced_accuracy"] == pytest.approx(4 / 6)
    assert whole.figures["ranked"] == pytest.approx(2 / 3)
    assert whole.figures["auc"] == pytest.approx(6 / 9)
    assert whole.figures["contradicted.precision"] == 1.0
    assert whole.figures["contradicted.recall"] == pytest.approx(1 / 3)
    assert (chinese.figures["accuracy"], chinese.figures["ranked"]) == (0.5, 0.0)
    assert chinese.figures["ece"] == pytest.approx((0.9 + 0.3) / 2)


def test_claims_in_the_passages_words_and_in_others_are_told_apart(tmp_path: Path) -> None:
    rows = [
        *mill("1"),
        row("1", "No water ever entered the building.", "supported"),
        row("1", "Its workers often waded through the river.", "contradicted"),
    ]
    parts = measured(
        tmp_path, rows, [(U, 0.1), (S, 0.6), (U, 0.2), (C, 0.0)]
    )  # of right ones, then wrong ones
    copied, reworded = parts["en", "copied"], parts["en", "reworded"]
    assert (copied.claims, copied.pairs, reworded.claims, reworded.pairs) == (2, 1, 2, 1)
    assert (copied.figures["recall.supported"], copied.figures["recall.not_supported"]) == (0.0, 1.0)
    assert (reworded.figures["accuracy"], reworded.figures["ranked"]) == (1.0, 1.0)


def test_a_passage_may_have_several_right_and_wrong_claims(tmp_path: Path) -> None:
    rows = [*mill("1"), row("1", "It flooded.", "not_supported")]
    part = measured(tmp_path, rows, [(S, 0.6), (U, 0.4), (C, 0.7)])["en", "all"]
    assert (part.pairs, part.claims, part.figures["ranked"]) == (2, 3, 0.5)
    assert part.figures["accuracy"] == 1.0
    # a claim that may or may not be contradicted counts neither for nor against that verdict
    assert np.isnan(part.figures["contradicted.precision"])
    assert part.figures["contradicted.recall"] == 0.0


def test_a_failed_check_is_wrong_whatever_the_label(tmp_path: Path) -> None:
    part = measured(tmp_path, mill("1"), [(FAILED, 0.0), (FAILED, 0.0)])["en", "all"]
    assert (part.figures["accuracy"], part.figures["ranked"]) == (0.0, 0.0)


def test_any_checker_is_measured_on_pairs_of_ones_own(
    tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_lines(tmp_path / "pairs.jsonl", [*mill("1"), *mill("2")])
    upstream.enqueue(Reply("Entailment"), Reply("Contradiction"), Reply("Entailment"), Status(500))
    config = judge_config(tmp_path, upstream)
    command = ["contrast", "--checker", "llm", "--config", str(config), "--data", str(path)]
    assert main([*command, "--json"]) == 0
    line = json.loads(capsys.readouterr().out)
    assert (line["files"], line["checker"], line["unverified"]) == (["pairs.jsonl"], "llm", 1)
    whole, copied, negation = line["groups"]
    assert {**negation, "kind": "all"} == {**copied, "kind": "all"} == whole
    assert (whole["language"], whole["kind"], whole["pairs"], whole["claims"]) == ("en", "all", 2, 4)
    assert (whole["accuracy"], whole["ranked"]) == (0.75, 1.0)
    assert whole["contradicted"] == {"precision": 1.0, "recall": 0.5, "precision_at_half_recall": 1.0}
    upstream.answer = lambda _: Reply("Entailment")
    assert main(command) == 0
    assert "| en | all | 2 | 4 | 0.500 | 0.500 | 0.500 | 0.000 | – | 0.000 |" in capsys.readouterr().out


def test_the_first_groups_only(
    tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [write_lines(tmp_path / f"{name}.jsonl", [*mill("1"), *mill("2")]) for name in ("a", "b")]
    upstream.answer = lambda _: Reply("Entailment")
    arguments = ["--checker", "llm", "--config", str(judge_config(tmp_path, upstream)), "--json"]
    assert main(["contrast", *arguments, "--data", *map(str, files), "--limit", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["groups"][0]["claims"] == 4


def test_the_held_out_pairs_are_measured_on_demand(
    tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    upstream.answer = lambda _: Reply("Neutral")
    config = judge_config(tmp_path, upstream)
    assert main(["contrast", "--held-out", "--checker", "llm", "--config", str(config), "--json"]) == 0
    line = json.loads(capsys.readouterr().out)
    assert line["files"] == [path.name for path in HELD_OUT]
    assert (line["groups"][0]["claims"], line["groups"][0]["accuracy"]) == (680, 0.5)


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
    assert "group '1' must have a right and a wrong claim" in capsys.readouterr().err


def test_pairs_of_ones_own_and_held_out_ones_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["contrast", "--held-out", "--data", "pairs.jsonl"]) == 2
    assert "give one of them" in capsys.readouterr().err
