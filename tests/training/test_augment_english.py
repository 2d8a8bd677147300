"""English rows made by rule: what stays true, what does not, and the steps that write them."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from evaluation.datasets import Made, Passage
from evaluation.made.english.details import Stock, details, exchanged
from evaluation.made.english.generate import from_passages, from_supported
from evaluation.made.english.phrasing import compressed, crossed, denied, opposed, recast, respelled
from proxy.checkers.builtin.tokens import tokenize
from training.__main__ import main

NAMES = "Alder Birch Cedar Dogwood Elm Fir Ginkgo Hazel Juniper Larch Maple Olive Poplar Rowan".split()


def _sentences(name: str, at: int) -> tuple[str, ...]:
    return (
        f"The town of {name} was founded by Anna {name}son in {1800 + at}.",
        f"It has {at + 20} mills, which stand along the river, and two schools.",
        f"In {1900 + at}, the town became larger than its old neighbour because a railway was built there.",
        f"The first school was opened by {name} Brown in {1850 + at}, before the war began in the north.",
    )


PASSAGES = [
    Passage(name, " ".join(_sentences(name, at)), _sentences(name, at)) for at, name in enumerate(NAMES)
]


@pytest.mark.parametrize(
    ("sentence", "other"),
    [
        ("It was built on July 4, 1976, in Ohio.", "It was built on 4 July 1976 in Ohio."),
        ("It was built on 4 July 1976.", "It was built on July 4, 1976."),
        ("It has 12,345 rooms.", "It has 12345 rooms."),
        ("It has 12345 rooms.", "It has 12,345 rooms."),
        ("It cost 2.5 million pounds.", "It cost 2,500,000 pounds."),
        ("It has seven rooms.", "It has 7 rooms."),
        ("It has 7 rooms.", "It has seven rooms."),
        ("It fell by 12%.", "It fell by 12 percent."),
    ],
)
def test_a_number_in_another_spelling_is_the_same_number(sentence: str, other: str) -> None:
    assert respelled(sentence, random.Random(1)) == other
    keys = [sorted({one.key for one in tokenize(text) if one.kind != "stop"}) for text in (sentence, other)]
    assert keys[0] == keys[1]


def test_per_cent_in_two_words_becomes_a_sign() -> None:
    assert respelled("It fell by 12 per cent.", random.Random(1)) == "It fell by 12%."


@pytest.mark.parametrize(
    "sentence", ["Nothing to count.", "Room 12B of route 5/7", "In 1987 it closed.", "Version 1.2.3", ""]
)
def test_what_has_no_other_spelling_stays(sentence: str) -> None:
    assert respelled(sentence, random.Random(1)) == sentence


def test_sentences_are_said_otherwise_or_turned() -> None:
    assert compressed("The mill (built in 1900), which is old, stands.") == "The mill stands."
    assert recast("In 1950, the mill burnt down.") == "The mill burnt down in 1950."
    assert recast("Alder Mill was built by Anna Lee.") == "Anna Lee built Alder Mill."
    assert crossed("Alder Mill was built by Anna Lee.") == "Alder Mill built Anna Lee."
    assert denied("It was old.") == "It was not old."
    assert denied("It was not old.") == "It was old."
    assert denied("No verb here") is None
    assert opposed("It rose.", random.Random(1)) == "It fell."
    assert opposed("Nothing.", random.Random(1)) is None


def test_an_exchanged_detail_is_of_the_same_family_and_new_to_the_text() -> None:
    text = "The mill in Ashford had 300 workers in March 1950, mostly German."
    stock = Stock([text, "A mill in Bridgeport had 800 workers in May 1980."])
    for detail in details(text):
        other = stock.other(detail, text, random.Random(3))
        assert other is not None
        assert other not in text
        assert [one.family for one in details(exchanged(text, detail.text, other))] == [
            one.family for one in details(text)
        ]
    assert exchanged("a red house", "red", "old") == "an old house"


def test_rows_of_passages_are_the_same_for_the_same_seed() -> None:
    rows = from_passages(PASSAGES, 50, 7)
    assert rows == from_passages(PASSAGES, 50, 7)
    assert rows != from_passages(PASSAGES, 50, 8)
    assert {row.label for row in rows} == {"supported", "contradicted", "unsupported"}
    claims = [row for row in rows if row.label == "contradicted" and row.changed]
    assert claims
    for row in claims:
        assert row.changed in row.claim or row.kind == "symmetric evidence"


def test_a_supported_row_gives_rows_of_which_neither_text_alone_tells_the_label() -> None:
    row = Made("The tower has 330 rooms.", "The tower has 330 rooms and a garden.", "supported", "", "Tower")
    made = from_supported([row], 7)
    kinds = {one.kind: one for one in made}
    both = kinds["symmetric both"]
    assert (both.label, kinds["symmetric claim"].label) == ("supported", "contradicted")
    assert both.claim == kinds["symmetric claim"].claim
    assert both.evidence == kinds["symmetric evidence"].evidence


def test_the_evidence_of_a_long_claim_is_cut() -> None:
    claim = "The old harbour of Alder was widened by Anna Lee in spring so that larger ships could enter it."
    sentences = (
        "Alder is a town.",
        "Its harbour was widened by Anna Lee in spring, so that larger ships could enter.",
        "Fish are sold on Sundays.",
    )
    made = from_supported([Made(claim, " ".join(sentences), "supported", "")], 7)
    (cut,) = [one for one in made if one.kind == "deleted"]
    assert cut.label == "unsupported"
    assert cut.evidence == f"{sentences[0]} {sentences[2]}"
    short = Made("It was widened.", " ".join(sentences), "supported", "")
    assert not [one for one in from_supported([short], 7) if one.kind == "deleted"]


def test_the_steps_write_rows_for_each_epoch(tmp_path: Path) -> None:
    data, run = tmp_path / "data", tmp_path / "run"
    _write_data(data)
    options = ["--language", "en", "--data", str(data), "--run", str(run), "--epochs", "2"]
    assert main(["data", *options]) == 0
    assert main(["augment", *options]) == 0
    natural, made = (_rows(run / name) for name in ("data.jsonl", "made.jsonl"))
    assert {row["epoch"] for row in natural} == {None}
    assert set(Counter(row["epoch"] for row in made)) == {0, 1}
    by_epoch = [[row["claim"] for row in made if row["epoch"] == epoch] for epoch in (0, 1)]
    assert by_epoch[0] != by_epoch[1]
    stamp = (run / "made.jsonl").stat().st_mtime_ns
    assert main(["augment", *options]) == 0
    assert (run / "made.jsonl").stat().st_mtime_ns == stamp
    assert main(["augment", *options[:-1], "1"]) == 0
    assert {row["epoch"] for row in _rows(run / "made.jsonl")} == {0}


def test_a_missing_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "--data", str(tmp_path), "--run", str(tmp_path / "run")]) == 2
    assert "wikipedia_en.jsonl" in capsys.readouterr().err


def _rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _write_data(folder: Path) -> None:
    labelled = [
        {"claim": f"{name} has {at + 20} mills.", "evidence": " ".join(_sentences(name, at)), "label": label}
        for at, name in enumerate(NAMES)
        for label in ("supported", "not_supported")
    ]
    passages = [{"title": one.title, "text": one.text} for one in PASSAGES]
    written = [{"title": one.title, "content": one.text, "claim": one.sentences[0]} for one in PASSAGES]
    for folder_name in ("train", "corpora", "papers"):
        (folder / folder_name).mkdir(parents=True)
    for name in ("fever", "mnli", "cg2c_doc"):
        _write(folder / f"train/{name}.jsonl", labelled)
    _write(folder / "corpora/wikipedia_en.jsonl", passages)
    for name in ("wikiretr-gpt3", "wikiretr-gpt4"):
        (folder / f"papers/{name}.json").write_text(json.dumps(written))
        (folder / f"papers/{name}-subset-chinese.json").write_text("[]")


def _write(path: Path, rows: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
