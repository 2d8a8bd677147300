"""Bodies that are small on the wire and large in memory, or long to read: refused by name, at once."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from proxy.openai_api.chat.request import MOST_KEYS, MOST_VALUES
from tests.corpora import build_index
from tests.light import light_server
from tests.scripted_upstream import Reply, Upstream
from tests.serving import settings_for

HELLO = b'{"model": "test", "messages": [{"role": "user", "content": "Hi!"}]'
ROUTES = {
    "chat/completions": HELLO + b"}",
    "responses": b'{"model": "test", "input": "Hi!"}',
    "check": b'{"text": "Hi!"}',
    "citations/check": b'{"answer": "Hi! [1]", "documents": [{"text": "Hi!"}]}',
    "search": b'{"query": "Hi!"}',
    "embeddings": b'{"model": "test", "input": "Hi!"}',
}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory, session_upstream: Upstream) -> Iterator[str]:
    index: Path = tmp_path_factory.mktemp("bombed") / "index"
    build_index(index)
    with light_server(settings_for(session_upstream.url), index) as served:
        yield served


@pytest.fixture(autouse=True)
def answered(upstream: Upstream) -> None:
    upstream.answer = lambda _body: Reply("Hello!")


def post(url: str, body: bytes, path: str = "chat/completions", **headers: str) -> httpx.Response:
    headers = {"content-type": "application/json", **headers}
    return httpx.post(f"{url}/{path}", content=body, headers=headers, timeout=60)


@pytest.mark.parametrize("path", ROUTES)
def test_a_compressed_body_is_refused_and_not_unpacked(url: str, upstream: Upstream, path: str) -> None:
    bomb = gzip.compress(ROUTES[path][:-1] + b', "x": "' + b" " * 50_000_000 + b'"}', 1)
    answer = post(url, bomb, path, **{"content-encoding": "gzip"})
    assert answer.status_code == 415
    assert "'gzip': send it as it is" in answer.json()["error"]["message"]
    assert answer.json()["error"]["code"] == "unsupported_media_type"
    assert upstream.requests == []
    assert post(url, ROUTES[path], path, **{"content-encoding": "identity"}).status_code == 200


@pytest.mark.parametrize("value", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e400", b"9" * 1_000_000])
@pytest.mark.parametrize("key", [b"temperature", b"metadata", b"vouch"])
def test_numbers_that_are_none_are_refused(url: str, upstream: Upstream, key: bytes, value: bytes) -> None:
    answer = post(url, HELLO + b', "%s": {"a": [%s]}}' % (key, value))
    assert answer.status_code == 400
    assert "not valid JSON" in answer.json()["error"]["message"]
    assert upstream.requests == []


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (b', "x": [' + b"[]," * MOST_VALUES + b"1]}", "over 500,000 values"),
        (b", " + b", ".join(b'"k%d": 1' % number for number in range(MOST_KEYS)) + b"}", "over 10,000 keys"),
        (
            b', "vouch": {' + b", ".join(b'"k%d": 1' % number for number in range(MOST_KEYS + 1)) + b"}}",
            "`vouch` has over 10,000 keys",
        ),
    ],
)
def test_what_holds_too_much_is_a_413(url: str, upstream: Upstream, more: bytes, message: str) -> None:
    answer = post(url, HELLO + more)
    assert answer.status_code == 413
    assert message in answer.json()["error"]["message"]
    assert answer.json()["error"]["code"] == "request_too_large"
    assert upstream.requests == []


def test_a_long_text_full_of_commas_and_brackets_holds_one_value(url: str, upstream: Upstream) -> None:
    text = '[1, {"a": "\\\\"}],' * 200_000
    body: Any = {"model": "test-raw", "messages": [{"role": "user", "content": text}]}
    assert post(url, json.dumps(body).encode()).status_code == 200
    assert upstream.requests[0].body["messages"][0]["content"] == text


def test_a_string_that_never_ends_is_looked_at_once(url: str, upstream: Upstream) -> None:
    answer = post(url, b'{"model": "test", "messages": [' + b'\\"' * 100_000 + b"," * (MOST_VALUES + 1))
    assert answer.status_code == 400
    assert upstream.requests == []


@pytest.mark.parametrize("depth", [500, 960, 200_000])
@pytest.mark.parametrize("model", [b"test", b"test-raw"])
def test_deep_values_are_passed_on_or_refused_and_never_an_error_of_ours(
    url: str, depth: int, model: bytes
) -> None:
    start = b'{"model": "%s", "messages": [{"role": "user", "content": "Hi!"}], ' % model
    for key in (b"metadata", b"tools", b"response_format", b"vouch", b"documents"):
        for deep in (b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth):
            answer = post(url, start + b'"%s": %s}' % (key, deep))
            assert answer.status_code in {200, 400}, (key, answer.text[:300])
