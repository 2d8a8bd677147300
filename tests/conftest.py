"""What many tests share: the example corpus, indexed once, an upstream, and a server between them."""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from openai import OpenAI

from proxy.aio import cores
from proxy.checkers import nli
from proxy.cli import index as index_command
from proxy.cli.compose import Library, load_library
from proxy.config.settings import Settings
from proxy.upstream.endpoint import Endpoint
from proxy.upstream.http import HTTPUpstream
from tests.scripted_upstream import Upstream
from tests.serving import serving, settings_for

ROOT = Path(__file__).parent.parent
DATA = ROOT.parent / "shared" / "data"

# A shell without job control starts jobs with SIGINT ignored, and what the tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: tests also wait, for servers, for commands, and for time to pass."""
    return cores() + 1


_LONGEST = [
    f"tests/{name}.py"
    for name in (
        "test_docs",
        "test_replay",
        "cli/test_workers",
        "clients/test_clients",
        "test_scale",
        "retrieval/test_vector_index",
        "index_builder/test_journal",
        "training/test_fit",
        "cli/test_cli",
        "cli/test_compose_checkers",
        "evaluation/test_checkers",
    )
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take longest come first: begun last, one process would be left alone with them."""
    place = {ROOT / name: n for n, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: place.get(item.path, len(place)))


@pytest.fixture(scope="session", autouse=True)
def models_loaded_once() -> Iterator[None]:
    """All servers of a process share the packaged checkers' models: loading one takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nli, "load", functools.cache(nli.load))
        yield


@pytest.fixture(scope="session")
def example_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example corpus, indexed; once for all processes of pytest-xdist."""
    own = tmp_path_factory.getbasetemp()
    path = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "examples" / "index"
    path.parent.mkdir(exist_ok=True)
    settings = {"index": {"path": str(path)}}
    with FileLock(path.with_suffix(".lock")):
        if not (path / "manifest.json").exists():
            index_command.run([str(ROOT / "examples" / "corpus")], None, settings, strict=True)
    return path


@pytest.fixture(scope="session")
def corpus(example_index: Path) -> Iterator[Library]:
    """The example corpus, loaded with the packaged encoder."""
    loaded = load_library(Settings.model_validate({"index": {"path": str(example_index)}}))
    yield loaded
    loaded.close()


@pytest.fixture(scope="session")
def session_upstream() -> Iterator[Upstream]:
    with Upstream() as upstream:
        yield upstream


@pytest.fixture
def upstream(session_upstream: Upstream) -> Upstream:
    """The tests' own upstream, with nothing enqueued."""
    session_upstream.clear()
    return session_upstream


@pytest.fixture(scope="session")
def base_url(session_upstream: Upstream, corpus: Library) -> Iterator[str]:
    """A Vouch server over the example corpus, before the tests' upstream."""
    with serving(settings_for(session_upstream.url, litellm=True), corpus) as url:
        yield url


@pytest.fixture
def client(base_url: str) -> Iterator[OpenAI]:
    """The real OpenAI SDK, pointed at it."""
    with OpenAI(base_url=base_url, api_key="none", max_retries=0, timeout=30) as client:
        yield client


@pytest.fixture
async def llm(upstream: Upstream) -> AsyncIterator[HTTPUpstream]:
    """What the tests' upstream says."""
    client = HTTPUpstream(Endpoint("openai/model", api_base=upstream.url, api_key="k"))
    yield client
    await client.close()
