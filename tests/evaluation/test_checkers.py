"""`python -m evaluation checkers`, through the door."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation.__main__ import main
from evaluation.checkers.overlap import bigram_overlap, least_decisive
from proxy.types import Pair
from tests import warm
from tests.behaviours import Hang, Reply, Status
from tests.evaluation.files import judge_config, town_rows, write_lines
from tests.scripted_upstream import Upstream

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
KEYS = (
    "file n accuracy balanced_accuracy recall macro_f1 auc ece pairs_per_second majority unverified graded "
    "intervals three_way checker"
).split()
QUICK = ["--resamples", "20"]
COMMAND = [sys.executable, "-m", "evaluation", "checkers", *QUICK]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "towns.jsonl", town_rows())


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_it_prints_one_json_line_per_file_and_nothing_else(rows: Path, tmp_path: Path) -> None:
    three = write_lines(tmp_path / "three.jsonl", town_rows("contradicted"))
    arguments = ["--checker", "builtin", "--data", str(rows), "--data", str(three), "--json"]
    done = warm.run("evaluation", "checkers", *QUICK, *arguments, folder=ROOT, env=os.environ)
    assert (done.returncode, done.stderr) == (0, "")
    two_way, three_way = lines(done.stdout)
    assert set(two_way) == set(KEYS)
    assert (two_way["file"], three_way["file"]) == (str(rows), str(three))
    assert (two_way["n"], two_way["majority"], two_way["unverified"], two_way["graded"]) == (20, 0.5, 0, True)
    assert set(two_way["recall"]) == {"supported", "not_supported"}
    assert two_way["accuracy"] == two_way["balanced_accuracy"] >= 0.9
    assert 0 <= two_way["ece"] < 0.5
    assert two_way["pairs_per_second"] > 0
    low, high = two_way["intervals"]["recall"]["supported"]
    assert 0 < low <= two_way["recall"]["supported"] <= high <= 1
    assert two_way["three_way"] is None
    figures = three_way["three_way"]
    assert set(figures) >= {"accuracy", "macro_f1", "recall", "majority", "intervals"}
    assert set(figures["recall"]) == {"supported", "contradicted"}
    assert set(three_way) == {*KEYS, "contradicted"}
    contradicted = three_way["contradicted"]
    assert set(contradicted) >= {"recall", "intervals"}
    assert contradicted["recall"] == figures["recall"]["contradicted"]


def test_the_table_has_the_figures_their_intervals_and_the_baseline(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "table.md"
    three = write_lines(tmp_path / "three.jsonl", town_rows("unsupported"))
    assert main(["checkers", *QUICK, "--data", str(rows), str(three)]) == 0
    printed = capsys.readouterr().out
    assert main(["checkers", *QUICK, "--data", str(rows), str(three), "--out", str(out), "--json"]) == 0
    assert len(lines(capsys.readouterr().out)) == 2
    table = out.read_text(encoding="utf-8")
    header, row = (line.split(" | ") for line in (table.splitlines()[2], table.splitlines()[4]))
    shown = dict(zip(header, row, strict=True))
    assert shown["| file"] == f"| {rows}"
    assert (shown["rows"], shown["majority"]) == ("20", "0.500")
    accuracy, low, high = map(float, re.fullmatch(r"(\S+) \[(\S+), (\S+)\]", shown["accuracy"]).groups())  # type: ignore[union-attr]
    assert 0.5 < low <= accuracy <= high <= 1
    assert "recall, unsupported" in table
    assert table.count("\n") == printed.count("\n")


def test_rows_may_have_any_of_the_labels(
    tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = ["contradicted", "contradicted", "unsupported", "supported", "not_supported"]
    rows = [{"claim": "It shines.", "evidence": "It does.", "label": label} for label in labels]
    path = write_lines(tmp_path / "three.jsonl", rows)
    upstream.enqueue(*map(Reply, ["Contradiction", "Neutral", "Contradiction", "Entailment"]))
    upstream.answer = lambda _: Reply("Contradiction")
    arguments = ["--checker", "llm", "--config", str(judge_config(tmp_path, upstream)), "--data", str(path)]
    assert main(["checkers", *arguments, *QUICK, "--json"]) == 0
    (line,) = lines(capsys.readouterr().out)
    assert (line["n"], line["accuracy"], line["three_way"]["accuracy"]) == (5, 1.0, 0.5)
    figures = line["contradicted"]
    assert (figures["precision"], figures["recall"]) == (0.5, 0.5)
    assert figures["precision_at_half_recall"] == 0.5
    assert main(["checkers", *arguments, *QUICK]) == 0
    assert "| precision, contradicted, at recall 0.5 |" in capsys.readouterr().out


def test_the_rows_of_which_shared_words_tell_least_are_measured_apart(
    rows: Path, tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    upstream.answer = lambda _: Reply("Entailment")
    llm = ["--checker", "llm", "--config", str(judge_config(tmp_path, upstream))]
    single = write_lines(tmp_path / "single.jsonl", town_rows()[:1])
    arguments = ["checkers", *QUICK, *llm, "--data", str(rows), str(single), "--by-overlap"]
    assert main([*arguments, "--json"]) == 0
    towns, one = lines(capsys.readouterr().out)
    assert set(towns) == {*KEYS, "by_overlap"}
    third = towns["by_overlap"]
    assert (third["n"], third["overlap_auc"], third["overlap_auc_all"]) == (6, 1.0, 1.0)
    assert third["accuracy"] == third["recall"]["supported"] * third["majority"]
    assert one["by_overlap"] is None
    assert main(arguments) == 0
    assert f"| {rows} | 6 | 1.000 (all rows: 1.000) |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("claim", "evidence", "overlap"),
    [
        ("The mill has two wheels.", "Has the MILL has two wheels?", 1.0),
        ("The mill has nine wheels.", "The mill has two wheels.", 0.5),
        ("磨坊有两个轮子。", "这座磨坊有三个轮子。", 4 / 6),
        ("Yes.", "It is, yes", 0.0),
        ("Yes.", "Yes.", 1.0),
        ("…", "…", 0.0),
    ],
)
def test_overlap_is_the_share_of_bigrams_that_the_evidence_has(
    claim: str, evidence: str, overlap: float
) -> None:
    assert bigram_overlap(Pair(claim, evidence)) == pytest.approx(overlap)


def test_the_rows_nearest_to_the_border_between_the_classes_are_the_least_decisive() -> None:
    supported = np.array([True, False, True, False, True, False])
    overlaps = np.array([1.0, 0.1, 0.6, 0.5, 0.9, 0.0])
    assert least_decisive(supported, overlaps).tolist() == [False, False, True, True, False, False]
    copied = least_decisive(supported, np.ones(6))
    assert copied.sum() == 2


def test_the_first_rows_only(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["checkers", *QUICK, "--data", str(rows), "--limit", "1", "--json"]) == 0
    (line,) = lines(capsys.readouterr().out)
    assert (line["n"], line["auc"], line["recall"]["not_supported"]) == (1, None, None)


def test_more_rows_than_a_batch_stay_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_lines(tmp_path / "many.jsonl", 15 * town_rows())
    assert main(["checkers", *QUICK, "--data", str(path), "--json"]) == 0
    (line,) = lines(capsys.readouterr().out)
    assert line["n"] == 300
    assert line["accuracy"] >= 0.9  # near a half if answers were put to other rows


def test_a_plot_per_file_is_drawn_the_same_each_time(rows: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    folders = tmp_path / "one" / "deep", tmp_path / "two"
    single = write_lines(tmp_path / "deep.jsonl", town_rows()[:1])
    for folder in folders:
        data = [str(rows), str(rows), str(single)]
        assert main(["checkers", *QUICK, "--json", "--data", *data, "--plots", str(folder)]) == 0
        assert {path.name for path in folder.iterdir()} == {"towns-1.svg", "towns-2.svg", "deep.svg"}
    assert (folders[0] / "towns-1.svg").read_bytes() == (folders[1] / "towns-1.svg").read_bytes()
    assert "<svg" in (folders[0] / "deep.svg").read_text(encoding="utf-8")


def test_plots_without_matplotlib_say_what_to_install(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["checkers", "--data", str(rows), "--plots", str(tmp_path / "plots")]) == 2
    said = capsys.readouterr()
    assert "pip install 'vouch[evaluation]'" in said.err
    assert not said.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "rows.jsonl is empty"),
        ('{"claim": "c", "evidence": "e"}', "rows.jsonl:1: label: Field required"),
        ("{", "rows.jsonl:1: Invalid JSON"),
    ],
)
def test_bad_rows_are_named_before_any_work(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    bad = tmp_path / "rows.jsonl"
    bad.write_text(text, encoding="utf-8")
    assert main(["checkers", "--json", "--data", str(rows), str(bad)]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.out == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--data", "absent.jsonl"], "absent.jsonl: there is no such file"),
        (["--data", "towns.jsonl", "--config", "absent.yaml"], "No such file: absent.yaml"),
        (["--data", "towns.jsonl", "--out", "absent/table.md"], "absent/table.md can't be written"),
        (["--data", "towns.jsonl", "--out", "/proc/table.md"], "/proc/table.md can't be written: "),
        (["--data", "towns.jsonl", "--out", "."], ". can't be written: Is a directory"),
        (["--data", "towns.jsonl", "--plots", "towns.jsonl"], "towns.jsonl can't be made"),
        (["--data", "towns.jsonl", "--checker", "llm"], "can't judge"),
        (["--data", "towns.jsonl", "--checker", "cross_encoder"], "not configured"),
    ],
)
def test_what_is_wrong_is_one_line_and_the_status_is_2(
    rows: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(rows.parent)
    assert main(["checkers", *arguments]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert (printed.out, printed.err.count("\n")) == ("", 1)


def test_trying_the_place_to_write_changes_nothing_there(rows: Path) -> None:
    old, new = rows.with_name("old.md"), rows.with_name("new.md")
    old.write_text("Last week's table.", encoding="utf-8")
    for out in (old, new):
        assert main(["checkers", "--data", str(rows), "--checker", "llm", "--out", str(out)]) == 2
    assert old.read_text(encoding="utf-8") == "Last week's table."
    assert not new.exists()


@pytest.mark.parametrize(
    "arguments", [["--data", "x", "--checker", "oracle"], [], ["--data", "x", "--limit", "0"]]
)
def test_unknown_options_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["checkers", *arguments])
    assert exit_.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_a_row_that_the_checker_fails_on_is_never_supported(
    rows: Path, tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    upstream.enqueue(Status(500))
    upstream.answer = lambda _: Reply("Entailment")
    config = judge_config(tmp_path, upstream)
    arguments = ["--checker", "llm", "--config", str(config), "--data", str(rows), *QUICK]
    assert main(["checkers", *arguments, "--json"]) == 0
    (line,) = lines(capsys.readouterr().out)
    assert (line["n"], line["unverified"], line["graded"]) == (20, 1, False)
    assert line["recall"] == {"supported": 0.9, "not_supported": 0.0}
    assert main(["checkers", *arguments]) == 0
    assert "All scores are 0 or 1" in capsys.readouterr().out


def test_why_the_first_row_could_not_be_checked_is_said_beside_the_figures(
    rows: Path, tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    upstream.enqueue(Status(400, "The model\ndoes not exist"), Status(500))
    upstream.answer = lambda _: Reply("Entailment")
    config = judge_config(tmp_path, upstream)
    assert main(["checkers", "--checker", "llm", "--config", str(config), "--data", str(rows), *QUICK]) == 0
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("towns.jsonl: the checker failed on 2 of 20 checks; the first: ")
    assert said.endswith("The model does not exist")


def test_a_checker_that_fails_on_every_row_has_no_figures(
    rows: Path, tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    upstream.answer = lambda _: Status(400, "The model does not exist")
    config = judge_config(tmp_path, upstream)
    assert main(["checkers", "--checker", "llm", "--config", str(config), "--data", str(rows), *QUICK]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("Error: towns.jsonl: the checker failed on 20 of 20 checks; the first: ")
    assert "The model does not exist" in printed.err


def test_rows_that_the_packaged_checker_can_not_read_have_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"claim": "Elm has mills and " * 2000, "evidence": "Elm has 20 mills.", "label": "not_supported"}
    path = write_lines(tmp_path / "long.jsonl", [row])
    assert main(["checkers", "--data", str(path), *QUICK, "--json"]) == 0
    (line,) = lines(capsys.readouterr().out)
    assert (line["n"], line["unverified"], line["accuracy"]) == (1, 1, 1.0)


def test_a_checker_that_is_unavailable_has_no_figures(
    rows: Path, tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    upstream.answer = lambda _: Status(401)
    config = judge_config(tmp_path, upstream)
    assert main(["checkers", "--checker", "llm", "--config", str(config), "--data", str(rows), "--json"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("Error: ")


def test_it_can_be_interrupted(rows: Path, tmp_path: Path, upstream: Upstream) -> None:
    upstream.answer = lambda _: Hang()
    config = judge_config(tmp_path, upstream)
    with subprocess.Popen(
        [*COMMAND, "--checker", "llm", "--config", str(config), "--data", str(rows)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "NO_PROXY": "*"},
    ) as running:
        try:
            upstream.wait_for_request(timeout=60)
            running.send_signal(signal.SIGINT)
            out, said = running.communicate(timeout=50)
        finally:
            running.kill()
    assert (running.returncode, out, said) == (130, "", "")


@pytest.mark.skipif(not DATA.is_dir(), reason="the data folder is not beside the repository")
def test_the_public_sets_can_be_read_and_judged(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(path) for path in sorted((DATA / "dev").glob("*.jsonl"))]
    assert main(["checkers", *QUICK, "--json", "--limit", "5", "--data", *files]) == 0
    assert [line["file"] for line in lines(capsys.readouterr().out)] == files
