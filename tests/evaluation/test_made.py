"""`python -m evaluation made`: claims made by rule, and what comes out of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.__main__ import main
from evaluation.datasets import passages_of
from evaluation.made.chinese.generate import make_chinese
from evaluation.made.command import draw_made
from evaluation.metrics import SEED
from tests.behaviours import Reply, Status
from tests.evaluation.files import held_out_titles, judge_config, town_passages, write_lines
from tests.scripted_upstream import Upstream

PLACES = "杭州 苏州 长沙 昆明 西安 大连 青岛 厦门 福州 南昌 合肥 太原 兰州 贵阳 南宁 海口 成都 武汉".split()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "towns.jsonl", town_passages())


@pytest.fixture
def chinese(tmp_path: Path) -> Path:
    """Two old towns at each place, some of whose titles are held out."""
    rows = [
        {
            "title": f"{place}{kind}",
            "text": f"{place}{kind}位于{place}附近的河边，始建于{1500 + at}年。"
            f"城中有{at + 20}座石桥和一些寺庙。{1900 + at}年，{place}{kind}的城墙被大火烧毁，后来重新修建。",
        }
        for at, place in enumerate(PLACES)
        for kind in ("古城", "古镇")
    ]
    return write_lines(tmp_path / "zh.jsonl", rows)


def test_only_held_out_passages_are_drawn_from(corpus: Path) -> None:
    rows = draw_made(corpus, 60)
    assert {row.title for row in rows} <= held_out_titles()
    assert {row.label == "supported" for row in rows} == {True, False}
    assert rows == draw_made(corpus, 60)


def test_a_chinese_corpus_is_changed_by_chinese_rules(chinese: Path) -> None:
    assert draw_made(chinese, 60) == make_chinese(passages_of(chinese, "measure"), 60, SEED)


def test_the_share_that_is_judged_right_comes_out_by_kind(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["made", "--corpus", str(corpus), "--count", "40", "--resamples", "20"]
    assert main([*arguments, "--json"]) == 0
    line = json.loads(capsys.readouterr().out)
    overall = {group["supported"]: group for group in line["groups"] if group["kind"] == "all"}
    for truth, whole in overall.items():
        own = [one for one in line["groups"] if one["supported"] is truth and one["kind"] != "all"]
        assert whole["n"] == sum(one["n"] for one in own)
        right = sum(one["n"] * one["right"] for one in own) / whole["n"]
        assert whole["right"] == pytest.approx(right, abs=0.01)
    assert overall[True]["right"] > 0.5 < overall[False]["right"]
    assert main(arguments) == 0
    assert f"| {corpus} | supported | all | {overall[True]['n']} |" in capsys.readouterr().out


def test_a_corpus_of_which_nothing_can_be_made_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = write_lines(tmp_path / "bare.jsonl", [{"title": "Mars", "text": "It shines."}])
    assert main(["made", "--corpus", str(corpus)]) == 2
    assert "no claims can be made" in capsys.readouterr().err


def test_rows_that_the_checker_fails_on_are_judged_wrong(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Upstream() as upstream:
        upstream.enqueue(Status(500))
        upstream.answer = lambda _: Reply("Neutral")
        config = judge_config(tmp_path, upstream)
        arguments = ["--checker", "llm", "--config", str(config), "--count", "4", "--resamples", "20"]
        assert main(["made", "--corpus", str(corpus), *arguments, "--json"]) == 0
        line = json.loads(capsys.readouterr().out)
        whole = {one["supported"]: one for one in line["groups"] if one["kind"] == "all"}
        upstream.answer = lambda _: Status(500)
        assert main(["made", "--corpus", str(corpus), *arguments]) == 0
    assert line["unverified"] == 1
    assert whole[True]["right"] == 0
    assert whole[False]["right"] == (1 if draw_made(corpus, 4)[0].label == "supported" else 0.5)
    out = capsys.readouterr().out
    assert "The checker failed on 4 of the pairs; they count as judged wrong." in out
    assert f"| {corpus} | not | all | 2 | 0.000 [0.000, 0.000] |" in out
