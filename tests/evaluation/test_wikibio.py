"""`python -m evaluation wikibio`: wrong sentences in biographies."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation.__main__ import main
from evaluation.wikibio.data import Sentences, figures, read_wikibio
from tests.evaluation.files import judge_config
from tests.scripted_upstream import Answer, Upstream

QUICK = ["--resamples", "20"]


def biography(name: str, born: int) -> dict[str, Any]:
    sentences = [f"{name} was born in {born}.", f"{name} was born in {born + 5}.", f"{name} played the harp."]
    return {
        "gpt3_text": " ".join(sentences),
        "wiki_bio_text": f"{name} was born in {born}. {name} was a painter.",
        "gpt3_sentences": sentences,
        "annotation": ["accurate", "minor_inaccurate", "major_inaccurate"],
        "wiki_bio_test_idx": born,
        "gpt3_text_samples": [],
    }


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "bios.json"
    path.write_text(json.dumps([biography("Ada Elm", 1901), biography("Bo Fir", 1950)]), encoding="utf-8")
    return path


def test_wrong_sentences_are_found_by_the_graded_scores(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["wikibio", "--data", str(data), *QUICK, "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["n"], done["nonfactual"], done["unverified"], done["graded"]) == (6, 4, 0, True)
    assert done["auc_pr"] == {"nonfact": 1.0, "fact": 1.0}
    assert done["recall"] == {"nonfact": 1.0, "fact": 1.0}
    assert (done["balanced_accuracy"], done["llm"]) == (1.0, None)


def test_an_array_and_lines_are_read_alike(data: Path, tmp_path: Path) -> None:
    lines = tmp_path / "bios.jsonl"
    lines.write_text("\n".join(json.dumps(one) for one in json.loads(data.read_text())) + "\n\n", "utf-8")
    assert read_wikibio(lines) == read_wikibio(data)
    assert len(read_wikibio(lines, 1)) == 1


def test_an_llm_has_no_degrees_and_that_is_said(
    data: Path, tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(body: dict[str, Any]) -> Answer:
        return "Neutral" if "harp" in body["messages"][0]["content"] else "Entailment"

    upstream.answer = answer
    llm = ["--config", str(judge_config(tmp_path, upstream)), "--cache", str(tmp_path / "kept")]
    command = ["wikibio", "--data", str(data), *QUICK, "--checker", "llm", *llm]
    assert main([*command, "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert not done["graded"]
    assert done["auc_pr"] == done["verdict_auc_pr"]
    assert done["recall"] == {"nonfact": 0.5, "fact": 1.0}
    assert done["llm"]["calls"] == len(upstream.requests) == 6
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "All scores are 0 or 1" in printed
    assert "0 calls" in printed
    assert "6 answers from the disk" in printed
    assert len(upstream.requests) == 6


def test_malformed_answers_are_counted_and_never_support(
    data: Path, tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    upstream.answer = lambda _: "Entailment\nContradiction\nEntailment"
    llm = ["--config", str(judge_config(tmp_path, upstream)), "--cache", str(tmp_path / "kept")]
    assert main(["wikibio", "--data", str(data), *QUICK, "--checker", "llm", "--json", *llm]) == 0
    done = json.loads(capsys.readouterr().out)
    assert done["unverified"] == 6
    assert done["recall"] == {"nonfact": 1.0, "fact": 0.0}


def test_minor_inaccuracies_count_as_nonfactual(data: Path) -> None:
    assert read_wikibio(data)[0].factual.tolist() == [True, False, False]


def test_the_areas_are_those_of_the_ranking_and_of_the_verdicts() -> None:
    found = figures(
        Sentences(
            factual=np.array([True, True, False, False]),
            called=np.array([True, False, True, False]),
            scores=np.array([0.9, 0.4, 0.6, 0.1]),
        )
    )
    # ranked by support: right, wrong, right, wrong; precision 1 at recall 1/2, then 2/3 at recall 1
    assert found["auc_pr.fact"] == pytest.approx(0.5 + (0.5 + 2 / 3) / 2 * 0.5)
    assert found["verdict_auc_pr.fact"] == pytest.approx(0.5 * (1 + 0.5) / 2 + 0.5 * 0.5)
    assert found["balanced_accuracy"] == 0.5


def test_sentences_of_one_class_have_no_curve() -> None:
    ones = np.ones(2)
    found = figures(Sentences(ones.astype(bool), ones.astype(bool), ones))
    assert math.isnan(found["auc_pr.fact"])
    assert math.isnan(found["recall.nonfact"])
    assert found["recall.fact"] == 1.0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        ("[]", "is empty"),
        ("{", "neither a JSON array nor JSON Lines"),
        (json.dumps([{**biography("A", 1), "annotation": ["accurate"]}]), "entry 0: Value error"),
        (json.dumps({**biography("A", 1), "annotation": ["right"] * 3}), "bad.json:1: annotation.0"),
        ("3", "bad.json:1: "),
    ],
)
def test_what_is_no_biography_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, said: str
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content, encoding="utf-8")
    assert main(["wikibio", "--data", str(path)]) == 2
    assert said in capsys.readouterr().err
    assert main(["wikibio", "--data", str(tmp_path / "absent.json")]) == 2
    assert "absent.json can't be read" in capsys.readouterr().err


def test_a_missing_index_is_named(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["wikibio", "--data", str(data), "--evidence", "corpus"]) == 2
    assert "index" in capsys.readouterr().err
