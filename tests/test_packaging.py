"""The locks hold what pyproject.toml asks for, and `import proxy` is light."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import proxy
from proxy import public

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TORCH = Requirement((ROOT / "requirements-torch.txt").read_text(encoding="utf-8").splitlines()[-1])
LOCKED_EXTRAS = {"requirements.lock": {"all", "build"}, "requirements-dev.lock": {"dev"}}
"""What `make lock` puts into each file beside the core."""


TOP_LEVEL = set(
    """
    .ci .dockerignore .github .gitignore .pre-commit-config.yaml CHANGELOG.md CONTRIBUTING.md Dockerfile
    LICENSE Makefile README.md benchmarks config.yaml docs evaluation examples index_builder mkdocs.yml proxy
    pyproject.toml requirements-base.txt requirements-dev.lock requirements-torch.txt requirements.lock tests
    training
    """.split()
)


def test_nothing_but_the_project_stands_at_the_top_level() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {path.partition("/")[0] for path in tracked.splitlines()} == TOP_LEVEL


def locked(name: str) -> dict[str, set[tuple[str, str]]]:
    """Per package of a lock its versions, each with the marker that chooses it."""
    pins: dict[str, set[tuple[str, str]]] = {}
    text = (ROOT / name).read_text(encoding="utf-8")
    for package, version, marker in re.findall(r"^([\w.-]+)==(\S+)(?: ; (.*?))? \\$", text, re.M):
        pins.setdefault(package, set()).add((version, marker))
    return pins


def required(extras: set[str]) -> list[Requirement]:
    """The core's requirements and those of the extras, which may name others of our own."""
    project = PYPROJECT["project"]
    wanted = [Requirement(text) for text in project["dependencies"]]
    for extra in extras:
        for requirement in map(Requirement, project["optional-dependencies"][extra]):
            if requirement.name == project["name"]:
                wanted += required(requirement.extras)
            else:
                wanted.append(requirement)
    return wanted


@pytest.mark.parametrize("name", LOCKED_EXTRAS)
def test_a_lock_has_what_pyproject_asks_for(name: str) -> None:
    pins = {**locked(name), "torch": {(str(TORCH.specifier).removeprefix("=="), "")}}
    for requirement in required(LOCKED_EXTRAS[name]):
        versions = pins.get(canonicalize_name(requirement.name), set())
        assert versions, f"{requirement} is not in {name}: run `make lock`"
        assert all(requirement.specifier.contains(version) for version, _ in versions), requirement


@pytest.mark.parametrize("name", LOCKED_EXTRAS)
def test_a_lock_has_hashes_but_no_torch_no_cuda_and_no_address(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    for block in re.split(r"\n(?=[A-Za-z0-9])", text[text.index("\n") :].split("make lock\n")[1]):
        assert "--hash=sha256:" in block, block.splitlines()[0]
    assert not [package for package in locked(name) if re.match(r"torch$|triton|nvidia|cuda", package)]
    assert "://" not in text


def test_the_locks_agree() -> None:
    runtime, development = locked("requirements.lock"), locked("requirements-dev.lock")
    for package, pins in runtime.items():
        assert {version for version, _ in pins} == {version for version, _ in development[package]}


def test_torch_is_named_in_one_version() -> None:
    assert PYPROJECT["tool"]["uv"]["constraint-dependencies"] == [str(TORCH)]
    assert [f"torch=={item['version']}" for item in PYPROJECT["tool"]["uv"]["dependency-metadata"]] == [
        str(TORCH)
    ]


def test_importing_the_package_is_light() -> None:
    code = "import proxy, sys; print({'numpy', 'torch', 'starlette', 'litellm'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_public_names_are_imported_from_the_package() -> None:
    for name in public.__all__:
        assert getattr(proxy, name) is getattr(public, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        proxy.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_the_documentation_names_the_public_surface() -> None:
    page = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.M)) == set(public.__all__)
