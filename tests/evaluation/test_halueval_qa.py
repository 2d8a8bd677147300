"""`python -m evaluation halueval-qa`: right against hallucinated answers, and what style alone comes to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation.__main__ import main
from evaluation.halueval_qa.data import Question, claims, figures, lengths, reduced, with_others_knowledge
from tests.evaluation.files import TOWNS, write_lines

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "papers" / "halueval_qa_1000.jsonl"


def question(name: str, number: int) -> dict[str, str]:
    return {
        "question": f"How many mills does the town of {name} have?",
        "knowledge": f"The town of {name} has {number} mills. It lies on a river.",
        "right_answer": f"{number}",
        "hallucinated_answer": f"The town of {name} has {number + 300} mills.",
    }


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "qa.jsonl", [question(name, at + 20) for at, name in enumerate(TOWNS[:8])])


def told(text: str) -> dict[tuple[str, str, str], dict[str, Any]]:
    rows = [json.loads(line) for line in text.splitlines()]
    return {(row["judge"], row["form"], row["knowledge"]): row for row in rows}


def test_the_checker_stands_beside_judges_that_know_nothing(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["halueval-qa", "--data", str(data), "--resamples", "20", "--json"]) == 0
    rows = told(capsys.readouterr().out)
    assert list(rows) == [
        ("builtin", "whole", "own"),
        ("builtin", "whole", "another's"),
        ("builtin", "reduced", "own"),
        ("builtin", "reduced", "another's"),
        ("shorter answer", "whole", "none"),
        ("shorter answer", "reduced", "none"),
    ]
    assert rows["builtin", "reduced", "own"]["pairwise"] == 1.0
    assert rows["builtin", "reduced", "own"]["close"]["n"] == 8
    assert rows["shorter answer", "whole", "none"]["pairwise"] == 1.0
    assert rows["shorter answer", "reduced", "none"]["pairwise"] == 0.5
    assert rows["shorter answer", "reduced", "none"]["accuracy"] is None


def test_the_table_explains_itself(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["halueval-qa", "--data", str(data), "--resamples", "5", "--limit", "3"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("3 questions")
    assert "| builtin | reduced | another's |" in printed
    assert "is what style gives away" in printed


def test_an_answer_is_cut_down_to_what_the_question_lacks() -> None:
    asked = "Which band has more members, Muse or The Raconteurs?"
    assert reduced(asked, "Muse has fewer band members.") == "fewer"
    assert reduced(asked, "The Raconteurs") == "The Raconteurs"  # nothing would be left
    assert (
        reduced("Where was he born?", "He was born in St-Denis, not 3.5 km away.")
        == "St-Denis not 3.5 km away"
    )


def test_both_answers_stand_behind_the_question_against_the_same_knowledge() -> None:
    one = Question(**question("Elm", 20))
    right, hallucinated = claims(one, "reduced")
    assert right.claim == f"{one.question} 20"
    assert hallucinated.claim == f"{one.question} 320"
    assert right.evidence == hallucinated.evidence == one.knowledge
    assert np.ptp(lengths([one], "reduced")) == 0
    assert np.ptp(lengths([one], "whole")) > 0


def test_every_question_gets_the_knowledge_of_another_one() -> None:
    questions = [Question(**question(name, 20)) for name in TOWNS[:9]]
    lent = [one.knowledge for one in with_others_knowledge(questions)]
    assert sorted(lent) == sorted(one.knowledge for one in questions)
    assert not any(one.knowledge == other for one, other in zip(questions, lent, strict=True))


def test_equal_scores_count_half() -> None:
    scores = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8], [0.7, 0.3]])
    found = figures(scores, np.arange(4))
    assert found["pairwise"] == 0.625
    assert found["auc"] == pytest.approx(10.5 / 16)
    assert np.isnan(list(figures(scores[:0], np.arange(0)).values())).all()


def test_one_question_alone_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_lines(tmp_path / "qa.jsonl", [question("Elm", 20)])
    assert main(["halueval-qa", "--data", str(path)]) == 2
    assert "two questions are needed" in capsys.readouterr().err


@pytest.mark.skipif(not DATA.is_file(), reason="the data folder is not beside the repository")
def test_length_gives_the_public_labels_away_and_less_so_when_reduced() -> None:
    questions = [Question(**json.loads(line)) for line in DATA.read_text(encoding="utf-8").splitlines()]
    shorter = {
        form: figures(-lengths(questions, form).astype(float), np.arange(len(questions)))["pairwise"]
        for form in ("whole", "reduced")
    }
    assert shorter["whole"] > 0.9
    assert shorter["reduced"] < shorter["whole"] - 0.1
