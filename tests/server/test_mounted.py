"""The application in another one, or behind a prefix: keys, indexes, rates and links are as without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from proxy.server.app import create_app
from tests.corpora import build_index
from tests.light import light_parts
from tests.scripted_upstream import Upstream
from tests.serving import running, settings_for, until

PUBLIC, SECRET = "An octopus has three hearts.", "The settlement was 7 million euros in 2021."
KEYS = [
    {"key": "k-all", "name": "all", "scopes": ["models", "metrics"]},
    {"key": "k-guest", "name": "guest", "index": "public"},
    {"key": "k-slow", "name": "slow", "limits": {"key": {"requests_per_minute": 1}}},
]


BEHIND = "/behind"
Place = Callable[[Starlette], uvicorn.Config]


def as_it_is(app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(app, log_config=None)


def with_a_root_path(app: Starlette) -> uvicorn.Config:
    """Behind a proxy that takes the prefix off; links have it."""
    return uvicorn.Config(app, log_config=None, root_path=BEHIND)


def mounted(app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(around(app, Mount("/vouch", app)), log_config=None)


def mounted_twice(app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(around(app, Mount("/a", routes=[Mount("/b", app)])), log_config=None)


def around(app: Starlette, mount: Mount) -> Starlette:
    """As docs/library.md has it."""

    lifespan: Any = lambda _: app.router.lifespan_context(app)  # noqa: E731
    return Starlette(routes=[mount], lifespan=lifespan)


PLACES: dict[Place, str] = {
    as_it_is: "",
    with_a_root_path: "",
    mounted: "/vouch",
    mounted_twice: "/a/b",
}


@pytest.fixture(scope="module", params=PLACES, ids=lambda place: place.__name__)
def place(request: pytest.FixtureRequest) -> Place:
    chosen: Place = request.param
    return chosen


@pytest.fixture(scope="module")
def folder(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two indexes."""
    folder = tmp_path_factory.mktemp(place.__name__)
    build_index(folder / "index", [SECRET])
    build_index(folder / "public", [PUBLIC])
    return folder


@pytest.fixture(scope="module")
def url(place: Place, folder: Path, session_upstream: Upstream) -> Iterator[str]:
    """The address, without /v1, of a server with keys, over the indexes, in each place."""
    settings = settings_for(
        session_upstream.url,
        server={"api_keys": KEYS},
        index={"path": str(folder / "index"), "watch": 0.1},
        indexes={"public": str(folder / "public")},
        retrieval={"threshold": -1.0},
    )
    app = create_app(light_parts(settings, folder / "index"), settings)
    with running(uvicorn.Server(place(app))) as base_url:
        yield base_url.removesuffix("/v1") + PLACES[place]


def ask(url: str, path: str, key: str = "", **body: Any) -> httpx.Response:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    if body:
        return httpx.post(f"{url}{path}", json=body, headers=headers, timeout=30)
    return httpx.get(f"{url}{path}", headers=headers, timeout=30)


CHAT: dict[str, Any] = {"model": "test", "messages": [{"role": "user", "content": "How many hearts?"}]}


def test_nobody_gets_in_without_a_key(url: str) -> None:
    refused = [
        ask(url, "/v1/chat/completions", **CHAT),
        ask(url, "/v1/search", query="money"),
        ask(url, "/v1/models"),
        ask(url, "/metrics"),
        ask(url, "/admin/reload", now=True),
    ]
    assert [response.status_code for response in refused] == [401] * 5
    assert ask(url, "/metrics", "k-guest").status_code == 403
    assert ask(url, "/metrics", "k-all").status_code == 200
    assert ask(url, "/healthz").status_code == 200


def test_a_key_reads_its_own_index(url: str) -> None:
    for key, text in (("k-all", SECRET), ("k-guest", PUBLIC)):
        found = ask(url, "/v1/search", key, query="settlement hearts")
        assert [each["text"] for each in found.json()["data"]] == [text]


def test_a_key_has_its_rate(url: str) -> None:
    asked = [ask(url, "/v1/search", "k-slow", query="money").status_code for _ in range(3)]
    assert asked == [200, 429, 429]


def test_links_lead_to_what_they_cite(url: str, upstream: Upstream, place: Place) -> None:
    upstream.answer = lambda _: SECRET
    reply = ask(url, "/v1/chat/completions", "k-all", **CHAT).json()
    link = reply["references"][0]["url"].replace(BEHIND, "")
    assert link.startswith(f"{url}/v1/references/")
    assert SECRET in httpx.get(link, headers={"authorization": "Bearer k-all"}).text
    assert (BEHIND in reply["references"][0]["url"]) == (place is with_a_root_path)


def test_other_routes_are_forwarded(url: str, upstream: Upstream) -> None:
    answer = ask(url, "/v1/embeddings", "k-all", model="test", input=["a"])
    assert answer.status_code == 200, answer.text
    assert upstream.requests[-1].path == "/v1/embeddings"


def test_a_rebuilt_index_is_served(url: str, folder: Path) -> None:
    build_index(folder / "index", [SECRET, PUBLIC])
    until(lambda: len(ask(url, "/v1/search", "k-all", query="hearts settlement").json()["data"]) == 2)
