"""`python -m evaluation swaps`: which sentences are drawn, and what comes out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.__main__ import main
from evaluation.swaps.data import Kind, Slot, draw_swapped, kind_of
from tests.behaviours import Reply, Status
from tests.evaluation.files import held_out_titles, judge_config, town_passages, write_lines
from tests.scripted_upstream import Upstream


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "towns.jsonl", town_passages())


def test_only_held_out_passages_are_drawn_from_and_each_claim_is_held_against_its_own(corpus: Path) -> None:
    sample = draw_swapped(corpus, 100)
    assert sample.language == "en"
    assert 0 < len(sample.swapped) <= len(held_out_titles())
    assert {one.untouched.title for one in sample.swapped} <= held_out_titles()
    for one in sample.swapped:
        assert one.untouched.claim in one.untouched.evidence
        assert one.changed.claim not in one.changed.evidence
        assert one.untouched.evidence == one.changed.evidence


def test_the_same_corpus_gives_the_same_sentences(corpus: Path) -> None:
    assert draw_swapped(corpus, 5) == draw_swapped(corpus, 5)
    assert len(draw_swapped(corpus, 3).swapped) == 3


@pytest.mark.parametrize(
    ("slot", "untouched", "changed", "kind"),
    [
        ("number", "It has 20 mills.", "It has 28 mills.", "number"),
        ("number", "It cost 1,250 ducats.", "It cost 1,930 ducats.", "number"),
        ("number", "It opened in 1591.", "It opened in 1593.", "date"),
        ("number", "It opened on 12 May, with 30 guests.", "It opened on 19 May, with 30 guests.", "date"),
        ("number", "It opened on 12 May, with 30 guests.", "It opened on 12 May, with 90 guests.", "number"),
        ("number", "建于1591年，有12座桥。", "建于1593年，有12座桥。", "date"),
        ("number", "建于1591年，有12座桥。", "建于1591年，有19座桥。", "number"),
        ("month", "In May it closed.", "In July it closed.", "date"),
        ("name", "It is near Venice.", "It is near Vienna.", "name"),
        ("negation", "It is open.", "It is not open.", "negation"),
    ],
)
def test_a_number_in_a_date_counts_as_a_date(slot: Slot, untouched: str, changed: str, kind: Kind) -> None:
    assert kind_of(slot, untouched, changed) == kind


def test_recall_and_false_alarms_come_out_over_all_and_of_each_kind(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["swaps", "--corpus", str(corpus), "--checker", "builtin", "--resamples", "20"]
    assert main([*arguments, "--json"]) == 0
    line = json.loads(capsys.readouterr().out)
    kinds = line["kinds"]
    assert line["file"] == str(corpus)
    assert line["n"] == sum(kinds[kind]["n"] for kind in kinds if kind != "negation")
    assert 0.5 < line["recall"] <= 1
    assert line["false_alarms"] < 0.5
    assert line["intervals"]["recall"][0] <= line["recall"] <= line["intervals"]["recall"][1]
    assert line["unverified"] == 0
    assert main(arguments) == 0
    assert f"| {corpus} | number, date, name | {line['n']} |" in capsys.readouterr().out


def test_a_corpus_with_nothing_to_exchange_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = write_lines(tmp_path / "bare.jsonl", [{"title": "Mars", "text": "It shines."}])
    assert main(["swaps", "--corpus", str(corpus)]) == 2
    assert "no sentence of the held-out tenth" in capsys.readouterr().err


def test_pairs_that_the_checker_fails_on_are_not_passed_off_as_caught(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Upstream() as upstream:
        upstream.enqueue(Status(500))
        upstream.answer = lambda _: Reply("Neutral")
        config = judge_config(tmp_path, upstream)
        arguments = ["--checker", "llm", "--config", str(config), "--count", "2", "--resamples", "20"]
        assert main(["swaps", "--corpus", str(corpus), *arguments]) == 0
    assert "The checker failed on 1 of the pairs" in capsys.readouterr().out
