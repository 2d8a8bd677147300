"""`python -m evaluation noise`: what is put around and beside the evidence, and what comes out."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from evaluation.__main__ import main
from evaluation.noise.data import AROUND, Added, Place, read_noise, surrounded
from proxy.types import Pair
from tests.behaviours import Reply
from tests.evaluation.files import judge_config, town_passages, town_rows, write_lines
from tests.scripted_upstream import Upstream

PAIR = Pair("It has 20 mills.", "The town has 20 mills.", question="How many?", title="Alder bridge")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "corpus.jsonl", town_passages())


def test_other_text_of_other_titles_stands_on_both_sides_of_the_evidence(corpus: Path) -> None:
    rows = read_noise(corpus)
    pair = surrounded(PAIR, rows, random.Random(1))
    before, after = pair.evidence.split(f"\n\n{PAIR.evidence}\n\n")
    longest = max(len(row.text.encode()) for row in rows)
    own = [row.text for row in rows if row.title == PAIR.title]
    for side in (before, after):
        assert AROUND / 2 <= len(side.replace("\n\n", "").encode()) < AROUND / 2 + longest
        assert not any(text in side for text in own)
    assert (pair.claim, pair.question, pair.title) == (PAIR.claim, PAIR.question, PAIR.title)


@pytest.mark.parametrize(("place", "index"), [("after", 0), ("before", -1)])
def test_irrelevant_passages_stand_beside_the_evidence_or_in_one_text_with_it(
    corpus: Path, place: Place, index: int
) -> None:
    rows = read_noise(corpus)
    beside = Added(4, place, True).to(PAIR, rows, random.Random(1))
    parts = [(passage.title, passage.evidence) for passage in beside.alone()]
    assert len(parts) == 5
    assert parts.pop(index) == (PAIR.title, PAIR.evidence)
    assert set(parts) <= {(row.title, row.text) for row in rows}
    whole = Added(4, place, False).to(PAIR, rows, random.Random(1))
    assert (whole.title, whole.others) == (PAIR.title, ())
    texts = whole.evidence.split("\n\n")
    assert texts.pop(index) == PAIR.evidence
    assert texts == [text for _, text in parts]


def test_wrong_claims_in_noise_and_scores_beside_it_come_out(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_lines(tmp_path / "towns.jsonl", town_rows())
    assert main(["noise", "--corpus", str(corpus), "--data", str(data), "--count", "2", "--json"]) == 0
    line = json.loads(capsys.readouterr().out)
    assert (line["file"], line["corpus"], line["checker"]) == (str(data), str(corpus), "builtin")
    assert line["unverified"] == 0
    planted = line["planted"]
    assert planted.pop("n") == 2
    assert set(planted) == {"recall_alone", "recall", "false_alarms_alone", "false_alarms"}
    assert all(0 <= share <= 1 for share in planted.values())
    assert [(moved["passages"], moved["place"], moved["apart"]) for moved in line["irrelevant"]] == [
        (count, place, apart)
        for apart in (True, False)
        for count in (1, 4, 20)
        for place in ("after", "before")
    ]
    for moved in line["irrelevant"]:
        assert moved["n"] == 2
        assert 0 <= moved["mean"] <= moved["p95"] + 1e-9 <= moved["max"] + 2e-9
        assert 0 <= moved["max_supported"] <= moved["max"]


def test_any_checker_can_be_asked(
    corpus: Path, tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_lines(tmp_path / "towns.jsonl", town_rows())
    upstream.answer = lambda _: Reply("Entailment")
    config = ["--checker", "llm", "--config", str(judge_config(tmp_path, upstream))]
    assert main(["noise", "--corpus", str(corpus), "--data", str(data), "--count", "2", *config]) == 0
    printed = capsys.readouterr().out
    assert "Checker `llm`. 2 wrong claims" in printed
    assert "| alone | 0.000 | 0.000 |" in printed
    assert "| 20 | before the evidence | one text | 0.000 |" in printed
    right, wrong = (request.body["messages"][-1]["content"] for request in upstream.requests[:2])
    assert right != wrong


def test_rows_without_a_supported_one_and_a_corpus_of_one_title_are_refused(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = write_lines(tmp_path / "rows.jsonl", town_rows()[1:2])
    assert main(["noise", "--corpus", str(corpus), "--data", str(rows)]) == 2
    assert "no row is labelled supported" in capsys.readouterr().err
    one = write_lines(tmp_path / "one.jsonl", town_passages()[:1])
    assert main(["noise", "--corpus", str(one), "--data", str(rows)]) == 2
    assert "at least two titles" in capsys.readouterr().err
