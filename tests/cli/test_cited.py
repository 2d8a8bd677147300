"""`vouch check --cited`, as a user runs it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from proxy.cli.cited import check, read_documents
from proxy.config.settings import Settings
from proxy.errors import ConfigError, SourceError, VouchError
from tests.cli.test_cli import one_line, vouch
from tests.scripted_upstream import Upstream
from tests.serving import settings_for

TALL = "The Eiffel Tower is 330 metres tall and was completed in 1889."
DESIGN = "Maurice Koechlin drew the first design of the Eiffel Tower in 1884."
DUJIANGYAN = "都江堰位于四川省都江堰市，由秦国蜀郡太守李冰主持修建。"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A folder of three documents: by their names, [1] is the tower, [2] its design, [3] Dujiangyan."""
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "b-design.txt").write_text(DESIGN, encoding="utf-8")
    (folder / "a-tower.md").write_text(f"# Tower\n\n{TALL}\n", encoding="utf-8")
    (folder / "c-dam.txt").write_text(DUJIANGYAN, encoding="utf-8")
    return folder


def test_faithful_citations_end_with_0(sources: Path, tmp_path: Path) -> None:
    answer = "The Eiffel Tower is 330 metres tall.[1] 都江堰位于四川省【3】。"
    done = vouch("check", "--cited", "--documents", "sources", answer, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "supported: The Eiffel Tower is 330 metres tall.\n" in done.stdout
    assert "Citation recall 1.00, precision 1.00, f1 1.00" in done.stdout
    assert "2 supported" in done.stdout


def test_what_fails_is_told_and_the_exit_is_3(sources: Path, tmp_path: Path) -> None:
    answer = (
        "The Eiffel Tower is 430 metres tall.[1] Maurice Koechlin drew its first design in 1884. "
        "The Eiffel Tower was completed in 1889.[1][3] It stands in Paris.[8]"
    )
    done = vouch("check", "-", "--cited", "--documents", "sources", folder=tmp_path, stdin=answer)
    assert done.returncode == 3, done.stderr
    told = done.stdout
    assert re.search(r"(contradicted|unsupported): The Eiffel Tower is 430 metres tall\. \(", told)
    assert "not covered: 430" in told
    assert "no citation; supported by [2]" in told
    assert "completed in 1889. (superfluous: [3])" in told
    assert "no document [8]" in told


def test_rows_have_the_numbers_that_they_give_and_json_is_as_on_the_wire(tmp_path: Path) -> None:
    rows = [{"number": 5, "text": TALL}, {"number": 2, "text": DESIGN}]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "rows.jsonl").write_text(lines, encoding="utf-8")
    assert {each.text for each in read_documents([str(tmp_path / "rows.jsonl")])} == {TALL, DESIGN}
    answer = "The Eiffel Tower is 330 metres tall.[5]"
    done = vouch("check", answer, "--cited", "--documents", "rows.jsonl", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    wire = json.loads(done.stdout)
    assert (wire["object"], wire["citation_f1"]) == ("citation.check", 1)
    assert wire["statements"][0]["citations"] == [{"n": 5, "supports": True, "superfluous": False}]


def test_the_options_belong_together(tmp_path: Path) -> None:
    assert "--documents" in one_line(vouch("check", "x is y.[1]", "--cited", folder=tmp_path))
    assert "--cited" in one_line(vouch("check", "x is y.[1]", "--documents", "x.txt", folder=tmp_path))


def test_a_document_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    done = vouch("check", "x is y.[1]", "--cited", "--documents", "nowhere", folder=tmp_path)
    assert "No such file or folder: nowhere" in one_line(done)


def test_folders_are_read_in_sorted_order_and_sources_in_the_order_given(sources: Path) -> None:
    found = read_documents([str(sources / "c-dam.txt"), str(sources)])
    assert [(one.number, one.title) for one in found] == [
        (1, "c-dam"),
        (2, "Tower"),
        (3, "b-design"),
        (4, "c-dam"),
    ]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('{"text": "x"}\n\n{"number": "one", "text": "y"}', ":3: `number` is not a whole number from 1."),
        ('{"number": true, "text": "y"}', ":1: `number` is not a whole number from 1."),
        ('{"number": 0, "text": "y"}', ":1: `number` is not a whole number from 1."),
        ('{"text": "x"}\n{"number": 1, "text": "y"}', "Two documents are numbered 1"),
        ('{"text": "x"', ":1: not valid JSON"),
        ("[1]", ":1: not an object but list"),
        ('{"title": "x"}', ":1: `text` is missing or empty"),
    ],
)
def test_rows_that_can_not_be_numbered_are_named(tmp_path: Path, lines: str, message: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(lines, encoding="utf-8")
    with pytest.raises(VouchError, match=re.escape(message)):
        read_documents([str(path)])


def test_a_document_that_can_not_be_read_would_shift_the_numbers(sources: Path) -> None:
    (sources / "broken.pdf").write_bytes(b"%PDF-1.4 nonsense")
    with pytest.raises(SourceError, match=r"broken.pdf: .* All documents are needed"):
        read_documents([str(sources)])


async def test_an_embedded_model_can_not_be_the_judge() -> None:
    settings = Settings.model_validate({"checker": {"name": "llm"}})
    with pytest.raises(ConfigError, match="can't judge"):
        await check(settings, "x is y.[1]", (), "")


async def test_the_llm_that_is_configured_judges(sources: Path, upstream: Upstream) -> None:
    upstream.answer = lambda _body: "The document says so.\nAnswer: Factual"
    settings = settings_for(upstream.url, checker={"name": "llm"})
    report = await check(settings, "The tower is tall.[1]", read_documents([str(sources)]), "")
    assert (report.recall, len(upstream.requests)) == (1, 1)
