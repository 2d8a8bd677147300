"""Brackets that the upstream writes, which look like markers of Vouch or are broken by them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.corpora import ANIMALS, build_index
from tests.light import light_server
from tests.scripted_upstream import Reply, Upstream
from tests.serving import settings_for

TRUE = ANIMALS[0]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("light") / "index"
    build_index(out)
    return out


@pytest.fixture(scope="module")
def url(index: Path, session_upstream: Upstream) -> Iterator[str]:
    settings = settings_for(
        session_upstream.url, retrieval={"threshold": -1.0}, citation={"mark_nonfactual": "", "notice": False}
    )
    with light_server(settings, index) as url:
        yield url


def shown(url: str, stream: bool, *turns: dict[str, str]) -> str:
    """The content of the reply."""
    messages = [{"role": "user", "content": "Hearts?"}, *turns]
    options = {"max_rounds": 0, "correction": "none"}
    body = {"model": "test", "messages": messages, "vouch": options, "stream": stream}
    answer = httpx.post(f"{url}/chat/completions", json=body, timeout=60)
    if not stream:
        return str(answer.json()["choices"][0]["message"]["content"])
    lines = [line[6:] for line in answer.text.split("\n") if line.startswith("data: {")]
    chunks: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return "".join(each["delta"].get("content") or "" for chunk in chunks for each in chunk["choices"])


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Call f([1, 2]) and you get [3].", "Call f([1, 2]) and you get (3)."),
        ("To talk to sales press [2].", "To talk to sales press (2)."),
        ("The result was [5], not [6].", "The result was (5), not (6)."),
        ('The result is {"ids": [1, 2], "n": [3]}.', 'The result is {"ids": [1, 2], "n": [3]}.'),
        ("It returns [1, 2].", "It returns [1, 2]."),
        (
            "Read [the guide. It helps][2] and [the docs][1].\n\n[1]: https://a.example\n[2]: https://b.example",
            "Read [the guide. It helps][²] and [the docs][¹].\n\n[¹]: https://a.example\n[²]: https://b.example",
        ),
        (
            "Dodos are large.[[1]](https://a.b/c) They are grey.[[2]](https://a.b)",
            "Dodos are large. They are grey.",
        ),
        (
            "Dodos are large.[2]\n\nSources:\n1. https://a.b/Dove\n2. https://a.b/Dodo",
            "Dodos are large.\n\nSources:\n-  https://a.b/Dove\n-  https://a.b/Dodo",
        ),
        (
            f"> [!NOTE]\n> {TRUE}\n\nSources: [1]\n- [Dodo](https://a.b)",
            f"> [!NOTE]\n> {TRUE}[1]\n\nSources: (1)\n- [Dodo](https://a.b)",
        ),
        (
            "Dodos are large.[^note] They are grey[^2].\n\n[^note]: See the museum.\n[^2]: Or white?",
            "Dodos are large.[^note] They are grey[^2].\n\n[^note]: See the museum.\n[^2]: Or white?",
        ),
        ("Dodos are large.[4] They are grey[5].", "Dodos are large. They are grey."),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_no_word_of_the_reply_is_taken_for_a_citation(
    url: str, upstream: Upstream, written: str, read: str, stream: bool
) -> None:
    draft = f"{written}\n\n{TRUE}"
    upstream.enqueue(Reply(draft, size=5), "Hello!")
    content = shown(url, stream)
    assert content == f"{read}\n\n{TRUE}[1]"
    shown(url, stream, {"role": "assistant", "content": content}, {"role": "user", "content": "And?"})
    assert upstream.requests[-1].body["messages"][1]["content"] == content.replace(f"{TRUE}[1]", TRUE)
