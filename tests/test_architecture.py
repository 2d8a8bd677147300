"""The table of rooms: imports point down only."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from proxy import public

ROOT = Path(__file__).parent.parent

ROOMS = [
    {"proxy.types", "proxy.protocols", "proxy.errors", "proxy.aio", "proxy.safe_json"},
    {"proxy.config", "proxy.text", "proxy.model_files"},
    {"proxy.claims"},
    {"proxy.citations"},
    {"proxy.correction"},
    {"proxy.retrieval", "proxy.checkers", "proxy.upstream"},
    {"proxy.engine"},
    {"proxy.openai_api"},
    {"proxy.server"},
    {"index_builder"},
    {"proxy.cli"},
    {"proxy.__main__", "proxy.public"},
]
"""From the ground up; a module may import from its own room and those before it."""

MAY_NOT = {
    "proxy.retrieval": ["proxy.checkers", "proxy.upstream"],
    "proxy.checkers": ["proxy.retrieval", "proxy.upstream"],
    "proxy.upstream": ["proxy.retrieval", "proxy.checkers"],
    "index_builder": [
        "proxy.server",
        "proxy.engine",
        "proxy.openai_api",
        "proxy.checkers",
        "proxy.upstream",
        "proxy.claims",
        "proxy.citations",
        "proxy.correction",
    ],
}

HEAVY = set("torch sentence_transformers transformers faiss bm25s litellm aiohttp nltk openai".split())
"""Where each may be imported; the command line's own module imports none of them."""
HOMES = (
    "proxy.retrieval",
    "proxy.checkers",
    "proxy.upstream",
    "proxy.model_files",
    "proxy.text.sentences",
    "index_builder",
    "proxy.cli",
)

COMPOSING = {
    "index_builder.readers",
    "proxy.__main__",
    "proxy.cli.compose",
    "proxy.cli.compose_checkers",
    "proxy.upstream.provider",
    "proxy.public",
}
"""Modules that import a heavy part only when it is wanted."""

FACADE = ROOT / "proxy" / "__init__.py"
"""Offers what `proxy.public` lists to those outside; inside, only the version is imported from it."""
FILES = sorted({*(ROOT / "proxy").rglob("*.py"), *(ROOT / "index_builder").rglob("*.py")} - {FACADE})


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def inside(module: str, room: str) -> bool:
    return module == room or (module.startswith(f"{room}.") and room != "proxy")


def level_of(module: str) -> int:
    levels = [level for level, rooms in enumerate(ROOMS) if any(inside(module, room) for room in rooms)]
    assert levels, f"{module} is in no room"
    return levels[0]


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_imports_point_down(path: Path) -> None:
    module = module_of(path)
    ours = {name for name in imports_of(path) if name.split(".")[0] in ("proxy", "index_builder")}
    known = {module_of(one) for one in FILES}
    for name in ours & known:
        assert level_of(name) <= level_of(module), f"{module} imports {name}"
        for room, forbidden in MAY_NOT.items():
            if inside(module, room):
                assert not any(inside(name, one) for one in forbidden), f"{module} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_modules_import_no_public_name_from_the_facade(path: Path) -> None:
    assert not {f"proxy.{name}" for name in public.__all__} & imports_of(path)


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_heavy_dependencies_stay_at_home(path: Path) -> None:
    module = module_of(path)
    if not any(inside(module, home) for home in HOMES):
        assert not {name.split(".")[0] for name in imports_of(path)} & HEAVY


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_imports_inside_functions_stay_where_heavy_parts_are_composed(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside_it = [one for one in ast.walk(node) if isinstance(one, ast.Import | ast.ImportFrom)]
            assert not inside_it or module_of(path) in COMPOSING


def test_the_server_never_loads_a_reader_of_files() -> None:
    code = "import sys, proxy.cli.serve, proxy.cli.compose; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    loaded = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    readers = {"index_builder", "pypdf", "docx", "mwxml", "mwparserfromhell", "selectolax"}
    assert "proxy.retrieval" in loaded
    assert not readers & {name.split(".")[0] for name in loaded}


def test_there_are_no_cycles() -> None:
    graph = {module_of(path): imports_of(path) for path in FILES}
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, f"cycle: {' -> '.join((*path, module))}"
        if module in graph and module not in done:
            for name in graph[module] & set(graph) - {module}:
                if not module.startswith(f"{name}."):
                    visit(name, (*path, module))
            done.add(module)

    for module in graph:
        visit(module, ())
