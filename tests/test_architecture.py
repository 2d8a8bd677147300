"""The table of rooms: imports point down only."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from proxy import public

ROOT = Path(__file__).parent.parent

ROOMS = [
    {"proxy.types", "proxy.protocols", "proxy.errors", "proxy.aio", "proxy.tracing"},
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
    {"evaluation", "benchmarks"},
    {"training"},
]
"""From the ground up; a module may import from its own room and those before it."""

MAY_NOT = {
    "proxy.retrieval": ["proxy.checkers", "proxy.upstream"],
    "proxy.checkers": ["proxy.retrieval", "proxy.upstream"],
    "proxy.upstream": ["proxy.retrieval", "proxy.checkers"],
    "evaluation": ["benchmarks"],
    "benchmarks": ["evaluation"],
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

HEAVY = set(
    "torch sentence_transformers transformers faiss bm25s litellm aiohttp nltk openai opentelemetry "
    "pymilvus ray".split()
)
"""Where each may be imported; the command line's own module imports none of them."""
HOMES = (
    "proxy.retrieval",
    "proxy.checkers",
    "proxy.upstream",
    "proxy.model_files",
    "proxy.text.sentences",
    "index_builder",
    "proxy.server.telemetry",
    "proxy.cli",
    "evaluation",
    "training",
    "benchmarks",
)

COMPOSING = {
    "index_builder.ray_engine",
    "index_builder.readers",
    "proxy.__main__",
    "proxy.cli.compose",
    "proxy.cli.compose_checkers",
    "proxy.cli.smollm2",
    "proxy.retrieval.milvus.connection",
    "proxy.upstream.provider",
    "proxy.public",
    "benchmarks.scale_chat",
    "evaluation.cached_llm",
    "evaluation.checkers.plots",
    "training.augment.llm",
}
"""Modules that import a heavy part only when it is wanted."""

FACADE = ROOT / "proxy" / "__init__.py"
"""Offers what `proxy.public` lists to those outside; inside, only the version is imported from it."""
HOUSE = ("proxy", "index_builder", "evaluation", "training", "benchmarks")
FILES = sorted({path for name in HOUSE for path in (ROOT / name).rglob("*.py")} - {FACADE})


SAME_THING = set(
    "__init__ __main__ prompts request response stream command data figures generate markdown".split()
)
"""What a module may be called in several packages: it is the same thing for different subjects. A benchmark
(`benchmarks.index`) and a reader of files (`index_builder.readers.text`) have the name of their subject."""


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def imports_of(path: Path) -> frozenset[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(names)


KNOWN = {module_of(path) for path in FILES}


def inside(module: str, room: str) -> bool:
    return module == room or (module.startswith(f"{room}.") and room != "proxy")


def level_of(module: str) -> int:
    levels = [level for level, rooms in enumerate(ROOMS) if any(inside(module, room) for room in rooms)]
    assert levels, f"{module} is in no room"
    return levels[0]


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_imports_point_down(path: Path) -> None:
    module = module_of(path)
    for name in imports_of(path) & KNOWN:
        assert level_of(name) <= level_of(module), f"{module} imports {name}"
        for room, forbidden in MAY_NOT.items():
            if inside(module, room):
                assert not any(inside(name, other) for other in forbidden), f"{module} imports {name}"


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
            imports = [each for each in ast.walk(node) if isinstance(each, ast.Import | ast.ImportFrom)]
            assert not imports or module_of(path) in COMPOSING


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


@pytest.mark.parametrize("depth", [1, 2])
def test_packages_do_not_import_each_other(depth: int) -> None:
    """The command line puts all rooms together, so it counts as a room of its own, not as `proxy`."""

    def package_of(module: str) -> str:
        composing = inside(module, "proxy.cli") or module in ("proxy.__main__", "proxy.public")
        return ".".join(module.split(".")[: 2 if composing else depth])

    graph: dict[str, set[str]] = {}
    for path in FILES:
        package = package_of(module_of(path))
        targets = {package_of(name) for name in imports_of(path) & KNOWN} - {package}
        graph.setdefault(package, set()).update(
            target
            for target in targets
            if not package.startswith(f"{target}.") and not target.startswith(f"{package}.")
        )
    assert not _cycle(graph)


def test_no_two_modules_have_the_same_name() -> None:
    named: dict[str, list[str]] = {}
    for path in FILES:
        if "benchmarks" not in path.parts and "readers" not in path.parts:
            named.setdefault(path.stem, []).append(module_of(path))
    twice = {name: modules for name, modules in named.items() if len(modules) > 1}
    assert {name: twice[name] for name in twice.keys() - SAME_THING} == {}


def _cycle(graph: dict[str, set[str]]) -> list[str]:
    """A cycle of the graph, empty where there is none."""
    done: set[str] = set()

    def visit(node: str, way: list[str]) -> list[str]:
        if node in way:
            return [*way[way.index(node) :], node]
        if node in done:
            return []
        done.add(node)
        cycles = (visit(target, [*way, node]) for target in sorted(graph.get(node, ())))
        return next(filter(None, cycles), [])

    return next(filter(None, (visit(node, []) for node in graph)), [])
