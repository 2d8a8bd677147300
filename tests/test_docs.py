"""What the documentation shows is run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from proxy.config.load import validate
from proxy.openai_api.chat.request import RequestOptions

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


def shell_lines() -> list[str]:
    """Every `vouch` command in a shell block that ends by itself and needs no hub."""
    shown = [block for page in PAGES for block in blocks(page, "sh")]
    lines = [line.split("  #")[0] for block in shown for line in block.splitlines()]
    ended = re.compile(r"(\w+=\S+ )*vouch (index|check|config)\b")
    return sorted({line for line in lines if ended.match(line) and "princeton-nlp" not in line})


def run(command: str, folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command,
        shell=True,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "PATH": path, **environ},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, example_index: Path) -> Path:
    """As a user's folder after `vouch index examples/corpus --out index`."""
    path = tmp_path_factory.mktemp("user")
    (path / "examples").symlink_to(ROOT / "examples")
    (path / "index").symlink_to(example_index)
    return path


@pytest.mark.parametrize("line", shell_lines())
def test_commands_work_as_they_are_shown(line: str, folder: Path) -> None:
    done = run(line.replace("--out index", "--out built"), folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_works_as_it_is_shown(page: Path, base_url: str, folder: Path) -> None:
    for code in blocks(page, "python"):
        (folder / "shown.py").write_text(code.replace("http://127.0.0.1:8000/v1", base_url))
        done = run(f"{sys.executable} shown.py", folder)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_json_is_json_and_configuration_is_valid(page: Path) -> None:
    for text in blocks(page, "json"):
        json.loads(text)
    for text in blocks(page, "yaml"):
        validate(yaml.safe_load(text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"`[^`\n]*`", "", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", prose):
        assert (page.parent / target).exists(), target


def test_the_papers_methods_run_from_an_unmodified_client(base_url: str, folder: Path) -> None:
    done = run(f"{sys.executable} examples/papers.py", folder, OPENAI_BASE_URL=base_url)
    assert done.returncode == 0, done.stderr
    assert "1,642 metres.[1]" in done.stdout
    assert "rounds: 1" in done.stdout
    assert "CiteCheck: precision 0.5 recall 0.5" in done.stdout
    assert "missing: [2]" in done.stdout


@pytest.mark.parametrize("client", ["openai_client.py", "openai_stream.py"])
def test_the_example_clients_run(client: str, base_url: str, folder: Path) -> None:
    done = run(f"{sys.executable} examples/{client}", folder, OPENAI_BASE_URL=base_url)
    assert done.returncode == 0, done.stderr
    assert "[1]" in done.stdout


def test_the_curl_example_runs(base_url: str, folder: Path) -> None:
    done = run("sh examples/curl.sh", folder, OPENAI_BASE_URL=base_url)
    assert done.returncode == 0, done.stderr
    assert '"verification"' in done.stdout


def test_every_option_of_a_request_is_documented() -> None:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    table = text[text.index("## Options of a request") : text.index("## Errors")]
    assert set(re.findall(r"^\| `(\w+)`", table, re.M)) == set(RequestOptions.model_fields)


def test_the_two_commands_of_the_readme_are_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", "\n".join(blocks(ROOT / "README.md", "sh")), re.M):
        assert re.search(rf"^{target}:", makefile, re.M)
