"""One document, sent in six ways, with the same verdicts."""

from __future__ import annotations

from typing import Any

import pytest
from openai import OpenAI

from tests.openai_api.test_question import OPEN_WEBUI_HEAD
from tests.scripted_upstream import Reply, Upstream
from tests.server.asking import verdicts

TEXT = "The Lowell Tower is 212 metres tall. It was completed in 1931 by the architect Ada Brook."
DRAFT = "The Lowell Tower is 212 metres tall. It was completed in 1957. Its architect was Ada Brook."
QUESTIONS = ["How tall is the Lowell Tower?", "Tell me about it.", "When did it open, and who paid for it?"]
SOURCE = f'<source id="1" resource-id="9c1f" name="Tower">{TEXT}</source>'

WAYS: dict[str, tuple[str, str]] = {
    "open_webui": ("", f"{OPEN_WEBUI_HEAD}<context>\n{SOURCE}\n</context>\n\n{{question}}"),
    "open_webui_system": (f"{OPEN_WEBUI_HEAD}<context>\n{SOURCE}\n</context>\n", "{question}"),
    "anthropic": (
        "",
        f'<documents><document index="1"><source>Tower</source><document_content>{TEXT}</document_content>'
        "</document></documents>\n\n{question}",
    ),
    "llama_index": (
        "",
        f"Context information is below.\n---------------------\nTitle: "
        f"Tower\n\n{TEXT}\n---------------------\n"
        "Given the context information and not prior knowledge, answer the query.\nQuery: "
        "{question}\nAnswer: ",
    ),
    "heading": (f"Be brief.\n\nContext:\nTitle: Tower\n\n{TEXT}", "{question}"),
}


def checked(client: OpenAI, upstream: Upstream, draft: str, question: str, way: str) -> list[str]:
    system, user = WAYS.get(way, ("", "{question}"))
    messages: Any = [{"role": "user", "content": user.format(question=question)}]
    if system:
        messages = [{"role": "system", "content": system}, *messages]
    vouch = {"evidence": "request", "max_rounds": 0}
    if way not in WAYS:
        vouch |= {"documents": [{"title": "Tower", "text": TEXT}]}
    upstream.enqueue(Reply(draft))
    return verdicts(
        client.chat.completions.create(model="test", messages=messages, extra_body={"vouch": vouch})
    )


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_document_has_the_same_verdicts_however_it_is_sent(
    client: OpenAI, upstream: Upstream, question: str
) -> None:
    expected = checked(client, upstream, DRAFT, question, "vouch.documents")
    assert len(expected) == 3
    for way in WAYS:
        assert checked(client, upstream, DRAFT, question, way) == expected, way


def test_a_short_answer_is_read_with_the_question(client: OpenAI, upstream: Upstream) -> None:
    for way in ("vouch.documents", *WAYS):
        assert checked(client, upstream, "212 metres.", QUESTIONS[0], way) == ["supported"], way
