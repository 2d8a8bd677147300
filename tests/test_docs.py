"""What the documentation shows is run."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import yaml

from proxy.config.load import validate
from proxy.openai_api.options import RequestOptions
from tests import warm

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


WALKED = [ROOT / "README.md", ROOT / "examples" / "README.md"]
"""Pages whose snippets are run in their order, against the server that they start."""
OTHERS = [page for page in PAGES if page not in WALKED]
ENDS = re.compile(r"(\w+=\S+ )*vouch (index|check|config)\b")


def shell_lines(page: Path) -> list[str]:
    """The lines of the shell blocks, without their comments."""
    return [line.split("  #")[0] for block in blocks(page, "sh") for line in block.splitlines()]


def commands() -> list[str]:
    """Every `vouch` command that ends by itself and needs no model of a hub."""
    lines = [line for page in OTHERS for line in shell_lines(page)]
    return sorted({line for line in lines if ENDS.match(line) and "princeton-nlp" not in line})


def snippets(page: Path) -> list[tuple[str, str]]:
    """The shell lines and Python blocks of a page, in order, each with its language."""
    shown = re.findall(r"^```(sh|python)\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    return [
        (language, line.split("  #")[0])
        for language, code in shown
        for line in (code.splitlines() if language == "sh" else [code])
    ]


def environment(**more: str) -> dict[str, str]:
    """As after `pip install`: the `vouch` command is on the path, and imports what is tested here."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, **more}


def run(command: str, folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        shell=True,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=280,
        env=environment(**environ),
    )


@contextmanager
def started(command: str, folder: Path) -> Iterator[str]:
    """The base URL of the server that a `vouch serve` line starts, on a free port."""
    line = f"exec env {command} --port 0"
    with subprocess.Popen(
        line, shell=True, cwd=folder, env=environment(COLUMNS="200"), stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            found = (re.search(r"http://\S+", said) for said in process.stdout or ())
            yield next(filter(None, found)).group()
        finally:
            process.terminate()


def links(page: Path) -> list[tuple[str, str]]:
    """The relative links of a page: path, which is empty within the page, and anchor."""
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return re.findall(r"\]\((?!http)([^)#\s]*)#?([^)\s]*)\)", prose)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and MkDocs make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, example_index: Path) -> Path:
    """As a user's folder after `vouch index examples/corpus --out index`; `built` is to be indexed again."""
    path = tmp_path_factory.mktemp("user")
    (path / "examples").symlink_to(ROOT / "examples")
    for name in ("index", "built"):
        shutil.copytree(example_index, path / name)
    return path


@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", WALKED, ids=["README.md", "examples/README.md"])
def test_a_page_works_from_top_to_bottom(page: Path, folder: Path) -> None:
    """What a newcomer does: each snippet in turn, clients against the server that the page starts first.

    Left out are installing and `make`, which continuous integration runs. A server that is started later is
    only seen to listen.
    """
    with ExitStack() as servers:
        url = ""
        for language, code in snippets(page):
            if code.startswith(("make ", "pip ")):
                continue
            if "vouch serve" in code:
                with ExitStack() as server:
                    listening = server.enter_context(started(code, folder))
                    if not url:
                        url = listening
                        servers.push(server.pop_all())
                continue
            if language == "python":
                (folder / "shown.py").write_text(code.replace("http://127.0.0.1:8000/v1", url))
                code = "python shown.py"
            done = run(code, folder, OPENAI_BASE_URL=url)
            assert done.returncode == 0, done.stderr
            assert done.stdout.strip()


@pytest.mark.parametrize("line", commands())
def test_commands_work_as_they_are_shown(line: str, folder: Path) -> None:
    words = shlex.split(line.replace("--out index", "--out built"))
    command = words.index("vouch")
    env = environment(**dict(word.split("=", 1) for word in words[:command]))
    done = warm.run("proxy", *words[command + 1 :], folder=folder, env=env)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", OTHERS, ids=lambda page: page.name)
def test_python_works_as_it_is_shown(page: Path, base_url: str, folder: Path) -> None:
    for code in blocks(page, "python"):
        (folder / "shown.py").write_text(code.replace("http://127.0.0.1:8000/v1", base_url))
        done = run(f"{sys.executable} shown.py", folder)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip()


@pytest.mark.parametrize("page", OTHERS, ids=lambda page: page.name)
def test_curl_works_as_it_is_shown(page: Path, base_url: str, folder: Path) -> None:
    for code in blocks(page, "sh"):
        if code.startswith("curl"):
            done = run(code.replace("http://127.0.0.1:8000/v1", base_url), folder)
            assert '"verification"' in done.stdout, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_json_is_json_and_configuration_is_valid(page: Path) -> None:
    for text in blocks(page, "json"):
        json.loads(text)
    for text in blocks(page, "yaml"):
        validate(yaml.safe_load(text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in links(page):
        linked = page.parent / target if target else page
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked), f"{target}#{anchor}"
        inside = page.parent != ROOT / "docs" or linked.resolve().is_relative_to(ROOT / "docs")
        assert inside, f"{target} is no page of the site"


def test_every_page_can_be_reached_from_the_front_page() -> None:
    front = ROOT / "docs" / "index.md"
    reached, coming = set(), [front]
    while coming:
        page = coming.pop()
        reached.add(page)
        linked = {page.parent / target for target, _ in links(page) if target.endswith(".md")}
        coming += linked - reached
    assert set((ROOT / "docs").glob("*.md")) <= reached


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_and_modules_that_are_named_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    rooms = "proxy|index_builder|training|evaluation|benchmarks|tests|examples"
    for path in re.findall(rf"(?<![\w/])(?:{rooms})/[\w./-]*\w", text):
        assert (ROOT / path).exists(), path
    for name in re.findall(rf"(?:`|-m )((?:{rooms})(?:\.\w+)+)", text):
        path = ROOT / name.replace(".", "/")
        assert is_module(path) or is_module(path.parent), name


def is_module(path: Path) -> bool:
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


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
    text = (ROOT / "docs" / "api-chat.md").read_text(encoding="utf-8")
    table = text.partition("## Options of a request")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)`", table, re.M)) == set(RequestOptions.model_fields)


def test_the_two_commands_of_the_readme_are_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", "\n".join(blocks(ROOT / "README.md", "sh")), re.M):
        assert re.search(rf"^{target}:", makefile, re.M)
