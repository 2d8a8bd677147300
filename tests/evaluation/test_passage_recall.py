"""`python -m evaluation wikiretr --claims`: is the passage found that a claim was made from?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation.__main__ import main
from evaluation.datasets import DataError
from evaluation.wikiretr.passage_recall import (
    BLOCK,
    Places,
    RememberingEncoder,
    read_beside,
    read_passages,
    recall_figures,
    vectors_of,
)
from proxy.errors import BrokenIndexError, SourceError
from proxy.types import Passage
from tests.encoders import HashingEncoder
from tests.evaluation.files import town_passages, write_lines

QUICK = ["--resamples", "20", "--json"]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "towns.jsonl", town_passages())


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    """A claim of every third passage, whose content has markup and another case."""
    made = [
        {
            "title": row["title"],
            "content": f"''{row['text'].upper()}''",
            "claim": row["text"].split(". ")[1],
        }
        for row in town_passages()[::3]
    ]
    return _write(tmp_path / "claims.json", made)


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """A text of two passages, one that the corpus has too, and one twice."""
    text = " ".join(f"Moss {n} has no roots and dries for {n} years without dying." for n in range(8))
    rows = [{"title": "Moss", "text": text}, town_passages()[1], {"title": "Moss", "text": text}]
    return write_lines(tmp_path / "beside.jsonl", rows)


def _write(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def _run(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[dict[str, Any]]:
    assert main(["wikiretr", *QUICK, *map(str, arguments)]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_passages_are_found_by_words_alone_without_encoding(
    corpus: Path, claims: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = _run(capsys, "--corpus", corpus, "--claims", claims, "--retrievers", "lexical")
    assert (found["file"], found["n"], found["passages"], found["beside"]) == (str(claims), 20, 60, 0)
    lexical = found["retrievers"]["lexical"]
    assert lexical["recall@1"] == lexical["precision@1"] == 1.0
    assert lexical["precision@5"] == 0.2
    assert list(found["retrievers"]) == ["lexical"]


def test_a_passage_that_the_corpus_has_twice_is_found_at_either_place(
    tmp_path: Path, claims: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = write_lines(tmp_path / "twice.jsonl", town_passages() * 2)
    (found,) = _run(capsys, "--corpus", corpus, "--claims", claims, "--retrievers", "lexical")
    assert found["retrievers"]["lexical"]["recall@1"] == 1.0
    assert found["retrievers"]["lexical"]["precision@5"] == 0.2


def test_every_retriever_is_measured_with_and_without_its_threshold(
    corpus: Path, claims: Path, beside: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "vectors"
    options = ["--corpus", corpus, "--claims", claims, "--beside", beside, "--vectors", kept, "--limit", 4]
    (found,) = _run(capsys, *options)
    retrievers = found["retrievers"]
    assert [name.partition(",")[0] for name in retrievers] == [
        "lexical",
        "dense",
        "dense",
        "hybrid",
        "hybrid",
    ]
    assert (found["n"], found["beside"]) == (4, 1)
    assert retrievers["hybrid"]["recall@10"] == 1.0
    dropping = next(
        recall_figures for name, recall_figures in retrievers.items() if name.startswith("hybrid, threshold")
    )
    assert dropping["returned"] <= retrievers["hybrid"]["returned"] == 10
    assert len(list(kept.iterdir())) == 1
    assert _run(capsys, *options) == [found]


def test_the_table_says_what_was_searched(
    corpus: Path, claims: Path, beside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["wikiretr", "--resamples", "5", "--corpus", str(corpus), "--claims", str(claims)]
    assert main([*command, "--retrievers", "lexical", "--beside", str(beside)]) == 0
    printed = capsys.readouterr().out
    assert "20 claims, 60 passages and 1 beside them." in printed
    assert "| lexical | 1.000" in printed
    assert "could not be read" in printed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Name subsets with --data, or --claims"),
        (["--claims", "c.json"], "--claims and --corpus belong together"),
        (["--corpus", "c.jsonl", "--data", "d.json"], "--claims and --corpus belong together"),
    ],
)
def test_half_a_question_is_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["wikiretr", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_claim_whose_passage_is_not_in_the_corpus_is_named(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = {"title": "t", "content": town_passages()[0]["text"], "claim": "c"}
    path = _write(tmp_path / "claims.json", [known, {**known, "content": "Something else."}])
    assert main(["wikiretr", "--corpus", str(corpus), "--claims", str(path)]) == 2
    assert "claim 2 is not in the corpus" in capsys.readouterr().err


def test_what_is_searched_beside_the_corpus_is_cut_and_has_no_text_of_it(corpus: Path, beside: Path) -> None:
    passages = read_passages(corpus)
    found = read_beside([str(beside)], passages, 50)
    assert [one.title for one in found] == ["Moss", "Moss"]
    assert [one.text[:6] for one in found] == ["Moss 0", "Moss 4"]
    assert found[1].text.endswith("Moss 7 has no roots and dries for 7 years without dying.")
    assert read_beside([], passages, 20) == []


def test_sources_that_cannot_be_read_are_named(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.jsonl").write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match=r"broken\.jsonl.* can't be read"):
        read_beside([str(tmp_path / "broken.jsonl")], read_passages(corpus), 20)
    with pytest.raises(SourceError, match="absent"):
        read_beside([str(tmp_path / "absent")], read_passages(corpus), 20)


def test_recall_and_precision_are_counted_by_place() -> None:
    """Four claims: found first, third, ninth among ten, and not at all among two."""
    found = recall_figures(Places(np.array([1, 3, 9, 0]), np.array([10, 10, 10, 2])), np.arange(4))
    assert (found["recall@1"], found["recall@5"], found["recall@10"]) == (0.25, 0.5, 0.75)
    assert found["precision@1"] == 1 / 4
    assert found["precision@5"] == 2 / 17
    assert found["precision@10"] == 3 / 32
    assert found["returned"] == 8


def _passages(count: int) -> list[Passage]:
    return [
        Passage(str(n), str(n), "t", "", f"Passage {n} {chr(97 + n % 26)}.", "", 0, 9) for n in range(count)
    ]


def test_what_was_encoded_is_only_read_the_next_time(tmp_path: Path) -> None:
    passages = _passages(BLOCK + 10)
    done: list[int] = []
    first = HashingEncoder()
    vectors = vectors_of(passages, first, tmp_path / "kept", done.append)
    assert (len(first.encoded), done) == (BLOCK + 10, [BLOCK, 10])
    again = HashingEncoder()
    assert np.array_equal(vectors_of(passages, again, tmp_path / "kept", done.append), vectors)
    assert again.calls == 0
    more = HashingEncoder()
    longer = vectors_of(_passages(BLOCK + 20), more, tmp_path / "kept", done.append)
    assert np.array_equal(longer[: BLOCK + 10], vectors)
    assert len(more.encoded) == 20
    assert np.array_equal(vectors_of(passages, HashingEncoder(), None, done.append), vectors)


def test_a_text_is_encoded_once() -> None:
    encoder = HashingEncoder()
    remembering = RememberingEncoder(encoder)
    first = remembering.encode(["the old mill", "a river", "the old mill"])
    assert np.array_equal(first, encoder.encode(["the old mill", "a river", "the old mill"]))
    assert np.array_equal(remembering.encode(["a river", "a bridge"])[0], first[1])
    assert encoder.encoded == [
        "the old mill",
        "a river",
        *["the old mill", "a river", "the old mill"],
        "a bridge",
    ]
    assert remembering.encode([]).shape == (0, remembering.dimension)


def test_a_kept_file_that_is_damaged_is_named(tmp_path: Path) -> None:
    vectors_of(_passages(3), HashingEncoder(), tmp_path, lambda done: None)
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(kept.read_bytes()[:40])
    with pytest.raises(BrokenIndexError, match=kept.name):
        vectors_of(_passages(3), HashingEncoder(), tmp_path, lambda done: None)
