"""`python -m evaluation halueval`: picking one of two answers, with the reasoning checked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from evaluation.__main__ import main
from evaluation.datasets import read_lines
from evaluation.halueval.data import Order, Question, read_recorded
from evaluation.halueval.prompts import read_pick, write_pick
from tests.evaluation.files import judge_config, write_lines
from tests.scripted_upstream import Answer, Status, Upstream

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "papers"
QUICK = ["--resamples", "20"]
TOWNS = (("Elm", "Ohio"), ("Fir", "Iowa"), ("Yew", "Utah"))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = (
        {
            "question": f"Where is {town}?",
            "knowledge": f"{town} is a town in {state}.",
            "right_answer": state,
            "hallucinated_answer": f"{town} is in France.",
        }
        for town, state in TOWNS
    )
    return write_lines(tmp_path / "qa.jsonl", rows)


def pick(reasoning: str, choice: object) -> str:
    return f"#Reasoning#: {reasoning}\n#Choice#: {choice}"


def place(prompt: str, right: bool) -> str:
    """Where the right answer, or the other one, stands in a prompt."""
    first = prompt.partition("#Answer 1#: ")[2].splitlines()[0]
    return "Answer 1" if ("France" not in first) == right else "Answer 2"


def model(
    mends: Callable[[str], str] = lambda prompt: pick("It lies in the state named.", place(prompt, True)),
) -> Callable[[dict[str, Any]], Answer]:
    """Reasons wrongly about Fir alone; judges by whether France is named; re-answers as `mends` does."""

    def answer(body: dict[str, Any]) -> Answer:
        messages = body["messages"]
        prompt = messages[0]["content"]
        if "#Answer 1#" not in prompt:
            return "Neutral" if "France" in prompt.rpartition("### Claim:")[2] else "Entailment"
        if len(messages) > 1:
            return mends(prompt)
        wrong = "Where is Fir?" in prompt
        state = "France" if wrong else "the state named"
        return pick(f"The town lies in {state}.", place(prompt, not wrong))

    return answer


def command(data: Path, folder: Path, upstream: Upstream, *more: str) -> list[str]:
    llm = ["--config", str(judge_config(folder, upstream)), "--cache", str(folder / "kept")]
    return ["halueval", "--data", str(data), "--checker", "llm", *QUICK, *llm, *more]


def test_reasoning_that_does_not_hold_is_asked_for_again(
    data: Path, tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    upstream.answer = model()
    assert main(command(data, tmp_path, upstream, "--json")) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["n"], done["first"], done["last"], done["best"]) == (3, 0.6667, 1.0, 1.0)
    assert (done["asked_again"], done["mended"], done["spoilt"]) == (1, 1, 0)
    assert (done["malformed_first"], done["malformed_last"], done["failed"]) == (0, 0, 0)
    assert done["llm"]["calls"] == len(upstream.requests)
    again = next(one.body["messages"] for one in upstream.requests if len(one.body["messages"]) == 3)
    assert again[1]["content"] == pick("The town lies in France.", place(again[0]["content"], False))
    assert "The town lies in France." in again[2]["content"]
    assert "Fir is a town in Iowa." in again[2]["content"]


def test_the_second_run_asks_nothing(
    data: Path, tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    upstream.answer = model()
    assert main(command(data, tmp_path, upstream, "--json")) == 0
    first = json.loads(capsys.readouterr().out)
    asked = len(upstream.requests)
    assert main(command(data, tmp_path, upstream, "--json")) == 0
    second = json.loads(capsys.readouterr().out)
    assert len(upstream.requests) == asked
    assert (second["llm"]["calls"], second["llm"]["cached"]) == (0, asked)
    assert {**second, "llm": None} == {**first, "llm": None}


def test_one_that_stopped_goes_on_where_it_was(
    data: Path, tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = model()
    upstream.answer = lambda body: answer(body) if len(upstream.requests) < 4 else Status(429)
    assert main(command(data, tmp_path, upstream, "--concurrency", "1")) == 2
    assert capsys.readouterr().err.startswith("Error: ")
    upstream.requests.clear()
    upstream.answer = answer
    assert main(command(data, tmp_path, upstream, "--json")) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["llm"]["cached"], done["llm"]["calls"]) == (3, len(upstream.requests))
    assert done["last"] == 1.0


def test_a_choice_that_cannot_be_read_is_counted_and_not_right(
    data: Path, tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    upstream.answer = model(lambda _: pick("I can't tell.", "Iowa"))
    assert main(command(data, tmp_path, upstream, "--json")) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["malformed_first"], done["malformed_last"]) == (0, 1)
    assert done["first"] == done["last"] == done["best"] == 0.6667
    upstream.answer = lambda _: "Apologies, I can't choose."
    assert main(command(data, tmp_path, upstream, "--cache", str(tmp_path / "other"))) == 0
    assert "could be read in 3 answers before and 3 after" in capsys.readouterr().out


def test_a_call_that_fails_alone_is_counted(
    data: Path, tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = model()
    upstream.answer = lambda body: (
        Status(400) if "Where is Elm?" in body["messages"][0]["content"] else answer(body)
    )
    assert main(command(data, tmp_path, upstream, "--json")) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["failed"], done["last"]) == (1, 0.6667)
    assert done["llm"]["failed"] == 1


def test_rounds_are_bounded_and_the_best_one_is_told_apart(
    data: Path, tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    upstream.answer = model(lambda prompt: pick("It is in France. France is a town.", place(prompt, True)))
    assert main(command(data, tmp_path, upstream, "--rounds", "2", "--json")) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["last"], done["best"]) == (1.0, 0.6667)  # each re-answer has more that does not hold
    assert max(len(one.body["messages"]) for one in upstream.requests) == 3


def test_the_right_answer_stands_first_in_the_papers_order_only(data: Path) -> None:
    questions = list(read_lines(data, Question))
    assert {one.right_at("paper") for one in questions} == {1}
    assert [one.right_at("mixed") for one in questions] == [one.right_at("mixed") for one in questions]
    for one in questions:
        for order in get_args(Order):
            first = one.prompt(order).partition("#Answer 1#: ")[2].splitlines()[0]
            assert (first == one.right_answer) == (one.right_at(order) == 1)


@pytest.mark.parametrize(
    ("text", "reasoning", "choice"),
    [
        ("#Reasoning#: It is so.\n#Choice#: Answer 2: The Sun", "It is so.", 2),
        ("#Reasoning#:It is so.\n#Choice#:Answer 1\nAnswer 1: its price", "It is so.", 1),
        ("#Reasoning#: Answer 2 is wrong.\n#Choice#: **Answer 1**", "Answer 2 is wrong.", 1),
        ("<think>#Choice#: Answer 2</think>#Reasoning#: So.\n#Choice#: answer 1", "So.", 1),
        ("Sorry.\n#Reasoning#: So.\n#Choice#: Motor Trend Answer 1", "So.", 1),
        ("#Reasoning#: So.\n#Choice#: Answer 1 or Answer 2", "So.", None),
        ("#Reasoning#: So.\n#Choice#: Answer 1\n#Choice#: Answer 2", "So.", None),
        ("#Reasoning#: So.\n#Choice#: Melbourne", "So.", None),
        ("#Reasoning#: So.\n#Choice#: Answer 12", "So.", None),
        ("#Reasoning#: So.\n#Choice#: N/A", "So.", None),
        ("Answer 1 it is.", "Answer 1 it is.", None),
        ("", "", None),
    ],
)
def test_only_a_choice_of_one_of_the_two_is_read(text: str, reasoning: str, choice: int | None) -> None:
    found = read_pick(text)
    assert (found.reasoning, found.choice) == (reasoning, choice)


def test_braces_in_a_question_are_left_alone() -> None:
    assert "#Question#: {x} {first}\n#Answer 1#: {1}\n#Answer 2#: b" in write_pick("{x} {first}", "{1}", "b")


def recorded(**changes: Any) -> dict[str, Any]:
    return {
        "question": "Where is Elm?",
        "knowledge": "",
        "right_answer": "Ohio",
        "hallucinated_answer": "France",
        "res": 0,
        "text": pick("The town of Elm is in Ohio. The town of Elm has 3 mills.", "Ohio"),
        "segmented_response": ["The town of Elm is in Ohio.", "The town of Elm has 3 mills."],
        "ret_knowledges": [
            ["1", "The town of Elm is in Ohio.", "Elm"],
            ["2", "The town of Elm has 9 mills.", "Elm"],
        ],
        "tags": [1, 1],
        "tags_text": ["", ""],
        "res_rege": 1,
        "text_rege": pick("So.", "Answer 1"),
        **changes,
    }


def test_a_record_is_played_back_without_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    once = recorded(text=pick("So.", "Answer 1"), res=1, res_rege=None, text_rege=None)
    path = tmp_path / "record.json"
    path.write_text(json.dumps([recorded(), once]), encoding="utf-8")
    assert main(["halueval", "--recorded", str(path), *QUICK, "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["n"], done["segments"], done["asked_again"]) == (2, 4, 1)
    assert done["recorded"] == {"before": 0.5, "after": 1.0, "gain": 0.5}
    assert done["read"]["before"] == 0.5
    assert (done["malformed_before"], done["malformed_after"]) == (1, 0)
    assert (done["tagged_factual"], done["called_factual"]) == (4, 2)
    assert (done["agreement"], done["agreement_on"]) == (0.5, {"factual": 0.5, "nonfactual": None})
    assert main(["halueval", "--recorded", str(path), *QUICK]) == 0
    assert "| as recorded | 0.500" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[]", "is empty"),
        ("{", "Invalid JSON"),
        (json.dumps([recorded(tags=[1])]), "`segmented_response`, `ret_knowledges` and `tags`"),
        (json.dumps([recorded(res_rege=None)]), "belong together"),
        (json.dumps([recorded(res=2)]), "0.res"),
    ],
)
def test_what_is_no_record_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, said: str
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content, encoding="utf-8")
    assert main(["halueval", "--recorded", str(path)]) == 2
    assert said in capsys.readouterr().err
    assert main(["halueval", "--recorded", str(tmp_path / "absent.json")]) == 2
    assert "absent.json can't be read" in capsys.readouterr().err


def test_without_an_llm_there_is_a_clear_word(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["halueval", "--data", str(data), "--model", "nobody"]) == 2
    assert "'nobody' is no upstream" in capsys.readouterr().err


@pytest.mark.skipif(not DATA.is_dir(), reason="the data folder is not beside the repository")
def test_cegs_record_is_read_as_its_own_code_reads_it() -> None:
    questions = read_recorded(DATA / "ceg_halueval_377.json")
    assert len(questions) == 377
    assert (sum(one.res for one in questions), sum(one.last_res for one in questions)) == (234, 243)
    for texts, results in (
        ([one.text for one in questions], [one.res for one in questions]),
        ([one.last_text for one in questions], [one.last_res for one in questions]),
    ):
        for text, result in zip(texts, results, strict=True):
            choice = read_pick(text).choice
            assert choice is None or (choice == 1) == (result == 1)


@pytest.mark.skipif(not DATA.is_dir(), reason="the data folder is not beside the repository")
def test_halueval_is_read_whole() -> None:
    questions = list(read_lines(DATA / "halueval_qa_1000.jsonl", Question))
    assert len(questions) == 1000
    assert 450 < sum(one.right_at("mixed") == 1 for one in questions) < 550
