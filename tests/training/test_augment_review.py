"""The review by hand, driven as its user drives it: one key a line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from training.augment.differences import Change, changes, difference, plain
from training.augment.review import main

ROOT = Path(__file__).parents[2]
EN = "The bridge opened in 1937. It has two towers."
ZH = "大桥于1937年通车。"


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two originals, and one row made of each."""
    originals = [
        {"id": "e", "claim": "It opened in 1937.", "evidence": EN, "label": "supported", "lang": "en"},
        {"id": "z", "claim": "大桥1937年通车。", "evidence": ZH, "label": "supported", "lang": "zh"},
        {"id": "x", "claim": "It is red.", "evidence": EN, "label": "unsupported", "lang": "en"},
    ]
    made = [
        {
            **row,
            "id": f"{row['id']}-made",
            "origin": row["id"],
            "kind": "llm_revised",
            "label": "not_supported",
        }
        | {"evidence": row["evidence"].replace("1937", "1952")}
        for row in originals[:2]
    ]
    write(tmp_path / "original.jsonl", originals)
    write(tmp_path / "made.jsonl", made)
    return tmp_path


def review(folder: Path, keys: str, *more: str) -> str:
    """What the command shows when these keys are pressed."""
    done = subprocess.run(
        [sys.executable, "-m", "training.augment.review", *arguments(folder), *more],
        input="".join(f"{key}\n" for key in keys),
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "200"},
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def arguments(folder: Path) -> list[str]:
    files = {"origin": "original", "data": "made", "decisions": "decisions"}
    return [part for name, file in files.items() for part in (f"--{name}", str(folder / f"{file}.jsonl"))]


def decisions(folder: Path) -> list[tuple[int, str, str]]:
    lines = (folder / "decisions.jsonl").read_text().splitlines()
    return [(row["stage"], row["id"], row["decision"]) for row in map(json.loads, lines)]


def exported(folder: Path, *more: str) -> list[dict[str, Any]]:
    out = folder / "accepted.jsonl"
    assert main([*arguments(folder), "--export", str(out), *more]) == 0
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_stage_two_shows_what_changed_and_writes_each_decision(folder: Path) -> None:
    shown = review(folder, "ar")
    assert "The bridge opened in [-1937-]{+1952+}. It has two towers." in shown
    assert "大桥于[-1937-]{+1952+}年通车。" in shown
    assert "Nothing is left to decide." in shown
    assert decisions(folder) == [(2, "e-made", "accept"), (2, "z-made", "reject")]
    (row,) = exported(folder)
    assert (row["id"], row["label"], row["lang"]) == ("e-made", "not_supported", "en")


def test_what_is_decided_is_not_asked_again_and_what_is_skipped_is(folder: Path) -> None:
    assert "1 of 2" in review(folder, "sa")
    shown = review(folder, "")
    assert "1 of 2, e-made" in shown
    assert "2 of 2" not in shown
    assert decisions(folder) == [(2, "z-made", "accept")]


def test_the_last_decision_can_be_taken_back_even_of_an_earlier_sitting(folder: Path) -> None:
    review(folder, "aq")
    shown = review(folder, "urq")
    assert "Taken back: e-made" in shown
    assert decisions(folder) == [(2, "e-made", "accept"), (2, "e-made", "undo"), (2, "e-made", "reject")]
    assert exported(folder) == []


def test_the_last_decision_can_be_taken_back_when_all_is_decided(folder: Path) -> None:
    assert "Taken back: z-made" in review(folder, "aaurq")
    shown = review(folder, "uaq")
    assert shown.index("Nothing is left to decide.") < shown.index("Taken back: z-made")
    steps = ["accept", "undo", "reject", "undo", "accept"]
    assert decisions(folder) == [(2, "e-made", "accept"), *((2, "z-made", step) for step in steps)]
    assert review(folder, "q").count("Nothing is left to decide.") == 1


def test_a_row_is_accepted_with_another_label(folder: Path) -> None:
    review(folder, "execq")
    (row,) = exported(folder)
    assert (row["id"], row["label"]) == ("e-made", "contradicted")


def test_stage_one_is_about_the_originals_and_decides_what_comes_to_stage_two(folder: Path) -> None:
    shown = review(folder, "ra", "--stage", "1")
    assert "fully supported" in shown
    assert "It is red" not in shown
    assert [row["id"] for row in exported(folder, "--stage", "1")] == ["z"]
    shown = review(folder, "q")
    assert "1 of 1, z-made" in shown


def test_keys_that_mean_nothing_change_nothing(folder: Path) -> None:
    review(folder, "x?\t")
    assert not (folder / "decisions.jsonl").exists()


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("made", '{"claim": "a"}\n', "made.jsonl:1"),
        ("made", '{"claim": "a", "evidence": "b", "label": "supported", "origin": "q"}\n', "no row of"),
        ("decisions", '{"id": "e-made"}\n', "decisions.jsonl:1 is no decision"),
        ("decisions", '{"id": "e-made"}\n{"id": ', "decisions.jsonl:1 is no decision"),
        ("decisions", "A thesis of one long line", "decisions.jsonl:1 is not a JSON object"),
        ("decisions", '{\n  "a": 1\n}', "decisions.jsonl:1 is not a JSON object"),
        ("decisions", '{"stage": 2, "id": "e", "decision": "accept", "label": "true"}\n', "is no decision"),
    ],
)
def test_a_wrong_file_is_named(
    folder: Path, file: str, content: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / f"{file}.jsonl").write_text(content)
    assert main([*arguments(folder), "--export", str(folder / "out.jsonl")]) == 2
    assert said in capsys.readouterr().err
    assert not (folder / "out.jsonl").exists()
    assert (folder / f"{file}.jsonl").read_text() == content


def test_english_differs_by_word_and_chinese_by_character() -> None:
    assert list(changes("in 1937.", "in 1952.")) == [Change(3, 7, "1952")]
    assert list(changes("两座塔", "三座塔")) == [Change(0, 1, "三")]
    assert list(changes("the same", "the same")) == []


def test_changes_make_one_text_of_the_other() -> None:
    old, new = "A, b and c. 大桥有两座塔。", "A and c, c. 桥有二十座塔！"
    made = old
    for change in reversed(list(changes(old, new))):
        made = made[: change.start] + change.new + made[change.end :]
    assert made == new


def test_long_stretches_without_a_change_are_left_out() -> None:
    shown = difference(f"{'far ' * 500}old{' far' * 500}", f"{'far ' * 500}new{' far' * 500}", colour=False)
    assert len(shown) < 500
    assert "[-old-]{+new+}" in shown.plain
    assert "[…]" in shown.plain


def test_colour_takes_the_place_of_the_marks() -> None:
    shown = difference("old", "new", colour=True)
    assert shown.plain == "oldnew"
    assert [str(span.style) for span in shown.spans] == ["red strike", "bold green"]


def test_a_text_can_not_steer_the_terminal() -> None:
    assert plain("a\x1b[2Jb\u202ec\nd") == "a\ufffd[2Jb\ufffdc\nd"
