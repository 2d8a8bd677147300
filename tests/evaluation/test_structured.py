"""`python -m evaluation structured`: facts under headings, in lists and in tables."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation.__main__ import main
from evaluation.structured.data import DEV, HELD_OUT, read_replies, statements
from proxy.types import Context
from tests.behaviours import Reply, Status
from tests.evaluation.files import judge_config, write_lines
from tests.scripted_upstream import Upstream

ROOT = Path(__file__).parents[2]
LIST = """\
## Alden Bridge

- Length: 412 metres
- Opened: 1931

## Borley Bridge

- **Length**: 412 metres
"""
TABLE = """\
| Bridge | Length | Opened |
|-|-|-|
| Alden Bridge | `412 m` | 1952 |
| Borley Bridge | 887 m | |
"""
FACTS: list[dict[str, Any]] = [
    {"text": "Length: 412 metres", "by": [1]},
    {"text": "Opened: 1931", "by": [1]},
    {"text": "**Length**: 412 metres", "by": []},
]


def reply(text: str = LIST, facts: list[dict[str, Any]] = FACTS, **changed: Any) -> dict[str, Any]:
    shared = {
        "id": "r-1",
        "form": "headings",
        "question": "Compare the bridges.",
        "documents": [
            {"title": "Alden Bridge", "text": "The Alden Bridge is 412 metres long. It opened in 1931."},
            {"title": "Borley Bridge", "text": "The Borley Bridge is 887 metres long. It opened in 1952."},
        ],
    }
    return {**shared, "reply": text, "facts": facts, **changed}


def of(tmp_path: Path, row: dict[str, Any]) -> list[tuple[str, Context, list[int]]]:
    (found,) = read_replies(write_lines(tmp_path / "replies.jsonl", [row]))
    return [(stated.plain, stated.context, sorted(stated.by)) for stated in statements(found)]


def test_facts_are_read_with_the_heading_that_they_stand_under(tmp_path: Path) -> None:
    found = of(tmp_path, reply())
    assert [(plain, context.topic, by) for plain, context, by in found] == [
        ("Length: 412 metres", "Alden Bridge:", [1]),
        ("Opened: 1931", "Alden Bridge:", [1]),
        ("Length: 412 metres", "Borley Bridge:", []),
    ]


def test_cells_are_read_with_the_headings_of_row_and_column(tmp_path: Path) -> None:
    facts: list[dict[str, Any]] = [
        {"text": "1952", "by": []},
        {"text": "`412 m`", "by": [1]},
        {"text": "887 m", "by": [2]},
    ]
    assert [(plain, by) for plain, _, by in of(tmp_path, reply(TABLE, facts))] == [
        ("Alden Bridge, Length: 412 m", [1]),
        ("Alden Bridge, Opened: 1952", []),
        ("Borley Bridge, Length: 887 m", [2]),
    ]


@pytest.mark.parametrize(("sides", "by"), [(([1], [1, 2]), [[1]]), (([1], []), [[]]), (([1], [2]), [])])
def test_a_claim_holds_where_all_its_facts_do(
    tmp_path: Path, sides: tuple[list[int], list[int]], by: list[list[int]]
) -> None:
    text = "The Alden Bridge, 412 metres long, opened in 1931."
    facts: list[dict[str, Any]] = [
        {"text": "412 metres long", "by": sides[0]},
        {"text": "opened in 1931", "by": sides[1]},
    ]
    assert [sides for _, _, sides in of(tmp_path, reply(text, facts))] == by


def test_a_fact_that_stands_twice_needs_its_surroundings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twice = LIST.replace("**Length**", "Length")
    text = "Length: 412 metres"
    path = write_lines(tmp_path / "replies.jsonl", [reply(twice, [{"text": text, "by": [1]}])])
    assert main(["structured", "--data", str(path)]) == 2
    assert (
        "replies.jsonl:1: Value error, the reply does not state 'Length: 412 metres' once"
        in capsys.readouterr().err
    )
    facts: list[dict[str, Any]] = [{"text": text, "in": f"Alden Bridge\n\n- {text}", "by": [1]}]
    assert [by for _, _, by in of(tmp_path, reply(twice, facts))] == [[1]]


def test_a_fact_that_is_given_twice_counts_once_and_documents_are_1_and_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [by for _, _, by in of(tmp_path, reply(facts=[FACTS[1], FACTS[1]]))] == [[1]]
    path = write_lines(tmp_path / "replies.jsonl", [reply(facts=[{**FACTS[1], "by": [3]}])])
    assert main(["structured", "--data", str(path)]) == 2
    assert "replies.jsonl:1: facts.0.by.0: Input should be 1 or 2" in capsys.readouterr().err


def test_a_checker_is_asked_about_the_claims_as_the_proxy_asks_it(
    tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    upstream.answer = lambda request: Reply(
        "Entailment" if "Alden Bridge: Length: 412" in json.dumps(request) else "Contradiction"
    )
    path = write_lines(tmp_path / "replies.jsonl", [reply()])
    config = judge_config(tmp_path, upstream)
    command = ["structured", "--checker", "llm", "--config", str(config), "--data", str(path)]
    assert main([*command, "--json"]) == 0
    line = json.loads(capsys.readouterr().out)
    whole, headings = line["groups"]
    assert {**headings, "form": "all"} == whole
    assert (line["files"], line["unverified"], whole["language"]) == (["replies.jsonl"], 0, "en")
    assert (whole["facts"], whole["recall"]["supported"], whole["wrongly_supported"]) == (3, 0.5, 0.0)
    upstream.answer = lambda _: Reply("Entailment")
    assert main(command) == 0
    assert "| en | headings | 3 | 0.667 | 1.000 | 1.000 | 0.500 |" in capsys.readouterr().out


def test_the_first_replies_only(
    tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_lines(tmp_path / "replies.jsonl", [reply(), reply(id="r-2")])
    upstream.answer = lambda _: Reply("Entailment")
    arguments = ["--checker", "llm", "--config", str(judge_config(tmp_path, upstream)), "--json"]
    assert main(["structured", *arguments, "--data", str(path), "--limit", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["groups"][0]["facts"] == 3


def test_a_failed_check_is_wrong_whatever_the_label(
    tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    upstream.answer = lambda request: (
        Status(500) if "Borley Bridge: Length" in json.dumps(request) else Reply("Neutral")
    )
    path = write_lines(tmp_path / "replies.jsonl", [reply()])
    config = judge_config(tmp_path, upstream)
    assert (
        main(["structured", "--checker", "llm", "--config", str(config), "--data", str(path), "--json"]) == 0
    )
    line = json.loads(capsys.readouterr().out)
    assert (line["unverified"], line["groups"][0]["accuracy"]) == (1, 0.0)


def test_replies_of_ones_own_and_held_out_ones_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["structured", "--held-out", "--data", "replies.jsonl"]) == 2
    assert "give one of them" in capsys.readouterr().err


@pytest.mark.parametrize("files", [DEV, HELD_OUT], ids=["dev", "held out"])
def test_the_projects_replies_are_of_every_form_in_both_languages(files: tuple[Path, ...]) -> None:
    for path, language in zip(files, ("en", "zh"), strict=True):
        replies = list(read_replies(path))
        forms = Counter(one.form for one in replies)
        assert len(forms) == 10
        assert min(forms.values()) >= 4
        assert {one.language for one in replies} == {language}
        right = [stated.right for one in replies for stated in statements(one)]
        assert 0.4 < np.mean(right) < 0.6
        # nearly all facts are found among the claims
        assert len(right) > 0.95 * sum(len(one.facts) for one in replies)


def documents(files: Sequence[Path]) -> set[str]:
    return {document.text for path in files for one in read_replies(path) for document in one.documents}


def test_no_document_is_in_both_splits_or_in_a_reply_that_is_there_to_be_learnt() -> None:
    learnt = sorted((ROOT / "training" / "contrast").glob("structured_*.jsonl"))
    assert len(learnt) == 2
    assert not documents(learnt) & documents([*DEV, *HELD_OUT])
    assert not documents(DEV) & documents(HELD_OUT)
