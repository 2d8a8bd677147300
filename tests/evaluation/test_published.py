"""`python -m evaluation citecheck` and `attributionbench`: our figures beside published ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.__main__ import main
from evaluation.attributionbench.command import AttributionRow
from tests.behaviours import Reply
from tests.evaluation.files import judge_config, town_rows, write_lines
from tests.scripted_upstream import Upstream

QUICK = ["--resamples", "20"]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "towns.jsonl", town_rows())


@pytest.fixture
def parted(tmp_path: Path) -> Path:
    """Ten rows of one in-distribution set and ten of an out-of-distribution one, labels of the last wrong."""
    rows = town_rows()
    for at, row in enumerate(rows):
        row["subset"] = ("ExpertQA" if at % 2 else "expertqa") if at < 10 else "HAGRID"
    for row in rows[-2:]:
        row["label"] = "not_supported" if row["label"] == "supported" else "supported"
    return write_lines(tmp_path / "parted.jsonl", rows)


def test_citecheck_puts_the_papers_rows_beside_ours(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["citecheck", *QUICK, "--data", str(rows), "--json"]) == 0
    (line,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (line["file"], line["checker"], line["n"]) == (str(rows), "builtin", 20)
    assert line["accuracy"] >= 0.9
    assert set(line["recall"]) == {"supported", "not_supported"}
    assert [(one["system"], one["accuracy"]) for one in line["published"]] == [
        ("Llama-3.1-8B, LoRA", 0.906),
        ("GPT-4o", 0.839),
    ]
    assert main(["citecheck", *QUICK, "--data", str(rows)]) == 0
    printed = capsys.readouterr().out
    assert "| GPT-4o | CiteCheck test |  | 0.839 | – | – | – | – |" in printed
    assert "no held-out figure" in printed


def test_attributionbench_is_told_by_subset_and_by_side(
    parted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["attributionbench", *QUICK, "--data", str(parted), "--json"]) == 0
    (line,) = map(json.loads, capsys.readouterr().out.splitlines())
    parts = line["parts"]
    assert {name: part["n"] for name, part in parts.items()} == dict.fromkeys(parts, 10)
    assert parts["ExpertQA"]["accuracy"] == parts["in distribution"]["accuracy"] >= 0.9
    assert parts["HAGRID"]["accuracy"] == parts["out of distribution"]["accuracy"] <= 0.8  # two wrong labels
    assert line["accuracy"] == (parts["ExpertQA"]["accuracy"] + parts["HAGRID"]["accuracy"]) / 2
    assert line["means"]["mean of OOD subsets"]["accuracy"] == parts["HAGRID"]["accuracy"]
    assert line["means"]["mean of ID subsets"]["accuracy"] == parts["ExpertQA"]["accuracy"]
    assert line["means"]["mean of ID subsets"]["of"] == ["ExpertQA"]
    assert "subset" not in line
    assert main(["attributionbench", *QUICK, "--data", str(parted)]) == 0
    assert "| `builtin` | mean of ID subsets, 1 of 4 |" in capsys.readouterr().out


def test_a_row_of_an_unknown_subset_is_on_no_side() -> None:
    row = AttributionRow(claim="c", evidence="e", label="supported", subset="Elsewhere")
    assert row.parts == ("Elsewhere",)


def test_rows_without_a_subset_are_no_attributionbench(
    rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["attributionbench", "--data", str(rows)]) == 2
    assert f"{rows}:1: subset: Field required" in capsys.readouterr().err


def test_the_table_goes_into_a_file_and_a_limit_holds(rows: Path, tmp_path: Path) -> None:
    out = tmp_path / "table.md"
    assert main(["citecheck", *QUICK, "--data", str(rows), "--limit", "4", "--out", str(out)]) == 0
    assert f"| `builtin` | {rows} | 4 | 1.000" in out.read_text(encoding="utf-8")


def test_an_llm_is_asked_once_for_each_row_and_its_cost_is_said(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Upstream() as upstream:
        upstream.answer = lambda _: Reply("Entailment")
        config = ["--config", str(judge_config(tmp_path, upstream)), "--cache", str(tmp_path / "answers")]
        command = ["citecheck", *QUICK, *config, "--checker", "llm", "--data", str(rows), "--json"]
        assert main(command) == 0
        line, spent = map(json.loads, capsys.readouterr().out.splitlines())
        assert (line["recall"], spent["llm"]["calls"]) == ({"supported": 1.0, "not_supported": 0.0}, 20)
        assert main(command) == 0
        again, kept = map(json.loads, capsys.readouterr().out.splitlines())
    assert again == line
    assert (kept["llm"]["calls"], kept["llm"]["cached"]) == (0, 20)
