"""`--rows-out`: the printed figures can be computed again from the rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import roc_auc_score

from evaluation.__main__ import main
from tests.behaviours import Reply, Status
from tests.evaluation.files import judge_config, town_rows, write_lines
from tests.evaluation.test_contrast import mill
from tests.evaluation.test_structured import reply
from tests.scripted_upstream import Upstream


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "rows.jsonl"


@pytest.fixture
def llm(tmp_path: Path, upstream: Upstream) -> list[str]:
    return ["--checker", "llm", "--config", str(judge_config(tmp_path, upstream)), "--json"]


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def written(path: Path) -> list[dict[str, Any]]:
    return lines(path.read_text(encoding="utf-8"))


def accuracy(rows: list[dict[str, Any]]) -> float:
    right: list[bool] = [(row["label"] == "supported") == (row["verdict"] == "supported") for row in rows]
    return sum(right) / len(rows)


def auc(rows: list[dict[str, Any]]) -> float:
    return float(roc_auc_score([row["label"] == "supported" for row in rows], [row["score"] for row in rows]))


@pytest.mark.parametrize("command", ["checkers", "citecheck"])
def test_accuracy_and_auc_are_those_of_the_rows(
    tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    rows = [{**row, "id": f"t-{at}"} for at, row in enumerate(15 * town_rows())]  # several batches
    rows[1]["label"] = rows[5]["label"] = "supported"  # so that neither figure is 1
    files = [write_lines(tmp_path / "towns.jsonl", rows), write_lines(tmp_path / "few.jsonl", town_rows())]
    out.write_text("what was there before", encoding="utf-8")
    arguments = ["--data", *map(str, files), "--resamples", "20", "--json", "--rows-out", str(out)]
    assert main([command, *arguments]) == 0
    found = written(out)
    for path, line in zip(files, lines(capsys.readouterr().out), strict=True):
        own = [row for row in found if row["file"] == str(path)]
        assert [row["row"] for row in own] == list(range(1, line["n"] + 1))
        assert accuracy(own) == pytest.approx(line["accuracy"], abs=1e-4)
        assert auc(own) == pytest.approx(line["auc"], abs=1e-4)
    assert [row.get("id") for row in found] == [*(row["id"] for row in rows), *[None] * 20]


def test_groups_are_told_by_name_and_claim_and_a_failed_check_says_why(
    tmp_path: Path, out: Path, upstream: Upstream, llm: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_lines(tmp_path / "pairs.jsonl", [*mill("1"), *mill("2")])
    upstream.enqueue(*map(Reply, ["Entailment", "Contradiction", "Neutral"]), Status(400, "No such model"))
    assert main(["contrast", *llm, "--data", str(path), "--rows-out", str(out)]) == 0
    first, *_, failed = found = written(out)
    assert first == {
        "group": "1",
        "kind": "negation",
        "language": "en",
        "claim": "The mill in Elm was built in 1904.",
        "label": "supported",
        "verdict": "supported",
        "score": 1.0,
    }
    assert (failed["group"], failed["verdict"], failed["score"]) == ("2", "unverified", 0.0)
    assert "No such model" in failed["error"]
    whole = lines(capsys.readouterr().out)[0]["groups"][0]
    assert whole["auc"] == auc(found) == 0.75
    assert whole["accuracy"] == accuracy([row for row in found if "error" not in row]) * 3 / 4 == 0.5


def test_facts_of_a_reply_are_told_by_its_id(
    tmp_path: Path, out: Path, upstream: Upstream, llm: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_lines(tmp_path / "replies.jsonl", [reply(), reply(id="r-2")])
    upstream.answer = lambda request: (
        Status(500) if "Borley Bridge: Length" in json.dumps(request) else Reply("Entailment")
    )
    assert main(["structured", *llm, "--data", str(path), "--rows-out", str(out)]) == 0
    found = written(out)
    assert [(row["id"], row["claim"], row["label"]) for row in found[2:4]] == [
        ("r-1", "Length: 412 metres", "not_supported"),
        ("r-2", "Length: 412 metres", "supported"),
    ]
    assert ["error" in row for row in found] == 2 * [False, False, True]
    whole = lines(capsys.readouterr().out)[0]["groups"][0]
    assert whole["auc"] == auc(found)
    assert whole["accuracy"] == pytest.approx(4 / 6, abs=1e-4)


def test_claims_with_a_label_over_several_passages_have_a_row_for_each(
    tmp_path: Path, out: Path, upstream: Upstream, llm: list[str]
) -> None:
    said = {"triplet": ["Elm", "has", "24 mills"], "human_label": "Entailment"}
    response = {"id": "7", "response": "Elm has 24 mills.", "claude2_response_kg": [said]}
    (tmp_path / "noisy_context").mkdir()
    answers = tmp_path / "noisy_context" / "msmarco_one_answers.json"
    answers.write_text(json.dumps([response]), encoding="utf-8")
    context = {"setting": "noisy", "id": "7", "passages": ["Elm lies on a river.", "Elm has 24 mills."]}
    contexts = write_lines(tmp_path / "contexts.jsonl", [context])
    upstream.enqueue(Reply("Neutral"), Reply("Entailment"))
    cache = ["--cache", str(tmp_path / "cache"), "--concurrency", "1", "--resamples", "5"]
    command = ["refchecker", *llm, *cache, "--data", str(tmp_path), "--rows-out", str(out)]
    assert main([*command, "--contexts", str(contexts)]) == 0
    found = [(row["model"], row["passage"], row["label"], row["verdict"]) for row in written(out)]
    assert found == [("one", 1, "supported", "unsupported"), ("one", 2, "supported", "supported")]


def test_right_and_hallucinated_answers_are_told_apart(tmp_path: Path, out: Path) -> None:
    question = {"question": "How many?", "right_answer": "Elm has 24 mills.", "hallucinated_answer": "None."}
    questions = [{**question, "knowledge": f"Elm has 24 mills and {number} inns."} for number in (2, 3)]
    path = write_lines(tmp_path / "qa.jsonl", questions)
    assert main(["halueval-qa", "--data", str(path), "--resamples", "5", "--rows-out", str(out)]) == 0
    found = written(out)
    assert [row["label"] for row in found] == 8 * ["right", "hallucinated"]
    assert found[4]["knowledge"] == "another's"
    assert found[0]["claim"] == "How many? Elm has 24 mills."


def test_claims_that_people_judged_have_their_label(tmp_path: Path, out: Path) -> None:
    claim = {"title": "Elm", "content": "Elm has 24 mills.", "claim": "Elm has 24 mills."}
    path = tmp_path / "subset.json"
    path.write_text(json.dumps([{**claim, "human_eval": 1}, {**claim, "human_eval": 0}]), encoding="utf-8")
    assert main(["wikiretr", "--data", str(path), "--resamples", "5", "--rows-out", str(out)]) == 0
    assert [(row["row"], row["label"]) for row in written(out)] == [(1, "supported"), (2, "not_supported")]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["checkers", "--data", "towns.jsonl"], "can't be written"),
        (["citecheck", "--data", "towns.jsonl"], "can't be written"),
        (["contrast", "--limit", "1"], "can't be written"),
        (["structured", "--limit", "1"], "can't be written"),
        (["refchecker", "--data", "papers"], "needs --contexts"),
        (["wikiretr", "--claims", "claims.json", "--corpus", "corpus.jsonl"], "needs --data"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_place_that_can_not_be_written_is_refused_before_any_check(
    tmp_path: Path,
    upstream: Upstream,
    llm: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
    said: str,
) -> None:
    write_lines(tmp_path / "towns.jsonl", town_rows())
    monkeypatch.chdir(tmp_path)
    assert main([*command, *llm, "--rows-out", "absent/rows.jsonl"]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert (printed.out, upstream.requests) == ("", [])
