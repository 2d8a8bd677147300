"""Rows as pairs, and what is not a row."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.datasets import DataError, Row, read_corpus, read_rows
from proxy.types import Pair

GOOD = '{"claim": "c", "evidence": "e", "label": "supported"}'


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("line", ["Title: Rialto Bridge", "(meta data) TITLE: Rialto Bridge"])
def test_a_title_that_leads_the_evidence_is_taken_out_of_it(line: str) -> None:
    row = Row(claim="c", evidence=f"{line}\n\nIt spans the canal.", label="supported", question="Where?")
    assert row.pair() == Pair("c", "It spans the canal.", "Where?", "Where?", "Rialto Bridge")


def test_a_claim_that_stands_alone_is_read_without_its_question() -> None:
    row = Row(claim="The bridge spans the canal.", evidence="e", label="supported", question="Where?")
    assert row.pair() == Pair("The bridge spans the canal.", "e", question="Where?")


def test_a_title_elsewhere_is_evidence() -> None:
    row = Row(claim="c", evidence="It spans it.\nTitle: Rialto", label="supported")
    assert row.pair() == Pair("c", "It spans it.\nTitle: Rialto")


def test_only_one_label_means_supported() -> None:
    rows = [
        Row.model_validate({"claim": "", "evidence": "", "label": label})
        for label in ("supported", "contradicted", "unsupported", "not_supported")
    ]
    assert [row.supported for row in rows] == [True, False, False, False]


def test_rows_are_read_in_order_past_blank_lines_unknown_keys_and_a_byte_order_mark(tmp_path: Path) -> None:
    other = '{"id": 7, "claim": "d", "evidence": "e", "label": "contradicted", "question": null, "x": []}'
    path = write(tmp_path / "rows.jsonl", f"\ufeff{GOOD}\r\n\n{other}")
    assert [row.claim for row in read_rows(path)] == ["c", "d"]
    assert [row.claim for row in read_rows(path, 1)] == ["c"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{not json", "Invalid JSON"),
        ("[1]", "Input should be an object"),
        ('{"claim": "c", "label": "supported"}', "evidence: Field required"),
        ('{"claim": 3, "evidence": "e", "label": "supported"}', "claim: Input should be a valid string"),
        ('{"claim": "c", "evidence": "e", "label": "true"}', "label: Input should be 'supported'"),
        (b'{"claim": "\xff", "evidence": "e", "label": "supported"}', "Invalid JSON"),
    ],
)
def test_what_is_not_a_row_is_named_with_its_file_and_line(
    tmp_path: Path, line: str | bytes, said: str
) -> None:
    text = line if isinstance(line, bytes) else line.encode()
    path = write(tmp_path / "rows.jsonl", GOOD.encode() + b"\n\n" + text + b"\n")
    with pytest.raises(DataError) as caught:
        list(read_rows(path))
    assert caught.value.message.startswith(f"{path}:3: ")
    assert said in caught.value.message


def test_missing_and_empty_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.jsonl: there is no such file"):
        list(read_rows(tmp_path / "absent.jsonl"))
    with pytest.raises(DataError, match=r"there is no such file"):
        list(read_rows(tmp_path))
    with pytest.raises(DataError, match=r"empty\.jsonl is empty"):
        list(read_corpus(write(tmp_path / "empty.jsonl", " \n\n")))
