"""`python -m evaluation wikiretr`: agreement with people, the checker's and that of the files' models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluation.__main__ import main
from tests.behaviours import Reply
from tests.evaluation.files import judge_config
from tests.scripted_upstream import Upstream

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "papers"
QUICK = ["--resamples", "20"]


def claim(number: int, human: int, **models: int) -> dict[str, Any]:
    content = f"The old mill has {number} wheels."
    return {
        "title": "Mill",
        "content": content,
        "claim": content if human else "Cats were sacred in Egypt.",
        "human_eval": human,
        **models,
    }


def write(path: Path, claims: object) -> Path:
    path.write_text(json.dumps(claims), encoding="utf-8")
    return path


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    first = [claim(n, int(n < 3), A_eval=1, B_eval=int(n < 2)) for n in range(4)]
    second = [claim(n, 0, A_eval=(1, 0, -1, 0)[n], C_eval=0) for n in range(4)]
    return [str(write(tmp_path / f"{n}.json", rows)) for n, rows in enumerate((first, second))]


def test_agreement_is_counted_per_file_and_over_all(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["wikiretr", *QUICK, "--json", "--data", *files]) == 0
    first, second, pooled = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert [one["file"] for one in (first, second, pooled)] == [*files, "all"]
    assert (first["n"], first["majority"], first["agreement"]) == (4, 0.75, 1.0)
    assert first["models"]["A"]["agreement"] == 0.75
    assert first["models"]["A"]["recall"] == {"supported": 1.0, "not_supported": 0.0}
    assert first["models"]["B"]["agreement"] == 0.75
    assert set(second["models"]) == {"A", "C"}
    assert second["models"]["A"]["agreement"] == 0.5  # no clear answer, -1, counts as supported
    assert second["models"]["A"]["recall"]["supported"] is None
    assert (pooled["n"], list(pooled["models"])) == (8, ["A"])
    assert pooled["models"]["A"]["agreement"] == 0.625


def test_the_table_shows_the_checker_first(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wikiretr", *QUICK, "--data", files[0]]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[4].startswith("| builtin | 1.000")
    assert shown[5].startswith("| A | 0.750")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([], "is empty"),
        ({"a": 1}, "valid array"),
        ([{"title": "t", "content": "c", "claim": "c", "human_eval": 2}], "0.human_eval"),
        ([{"title": "t", "content": "c", "human_eval": 1}], "0.claim: Field required"),
    ],
)
def test_what_is_no_subset_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: object, said: str
) -> None:
    path = write(tmp_path / "bad.json", content)
    assert main(["wikiretr", "--data", str(path)]) == 2
    assert f"{path}" in (printed := capsys.readouterr().err)
    assert said in printed
    assert main(["wikiretr", "--data", str(tmp_path / "absent.json")]) == 2
    assert "absent.json can't be read" in capsys.readouterr().err


@pytest.mark.skipif(not DATA.is_dir(), reason="the data folder is not beside the repository")
def test_the_files_models_have_the_papers_figures(
    tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(DATA / f"wikiretr-gpt{n}-subset-chinese.json") for n in (3, 4)]
    upstream.answer = lambda _: Reply("Entailment")
    judge = ["--checker", "llm", "--config", str(judge_config(tmp_path, upstream))]
    judge += ["--cache", str(tmp_path / "answers")]
    assert main(["wikiretr", *QUICK, *judge, "--json", "--data", *files]) == 0
    *_, pooled, _calls = map(json.loads, capsys.readouterr().out.splitlines())
    assert pooled["n"] == 200
    assert pooled["models"]["GPT4"]["agreement"] == 0.895
    assert pooled["models"]["True9B"]["agreement"] == 0.84
