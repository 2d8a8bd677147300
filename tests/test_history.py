"""Replies that come back in the next turn: the upstream sees what it wrote, whatever the client made of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product
from typing import get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from proxy.openai_api.profiles import PROFILES, ProfileName
from proxy.openai_api.request import clean
from proxy.types import CitationStyle, Json
from tests.openai_api.dressed import Dressed, dressed
from tests.steps.drafts import chinese_replies, drafts, real_replies

STYLES: list[CitationStyle | None] = [None, *get_args(CitationStyle)]
SIGNS = ["", "[?]", " (unverified)", "【存疑】"]
SHARE = 60
"""One of so many real replies goes through each combination."""


def text_alone(reply: Dressed) -> tuple[Json, str]:
    """As most chat programs keep it."""
    return {"role": "assistant", "content": reply.content}, reply.draft


def one_part(reply: Dressed) -> tuple[Json, str]:
    return {"role": "assistant", "content": [{"type": "text", "text": reply.content}]}, reply.draft


def parts_as_streamed(reply: Dressed) -> tuple[Json, str]:
    parts = [{"type": "text", "text": piece, "annotations": []} for piece in reply.pieces]
    return {"role": "assistant", "content": parts}, reply.draft


def whole_message(reply: Dressed) -> tuple[Json, str]:
    """With all that stood in the message, and beside it."""
    beside = {key: value for key, value in reply.whole.items() if key not in ("id", "created", "object")}
    del beside["choices"], beside["usage"]
    return {**reply.whole["choices"][0]["message"], **beside}, reply.draft


def trimmed(reply: Dressed) -> tuple[Json, str]:
    """What the client itself has cut off stays off, unless a footer protected it."""
    kept = reply.draft if reply.footer else reply.draft.rstrip()
    return {"role": "assistant", "content": reply.content.rstrip()}, kept


def with_crlf(reply: Dressed) -> tuple[Json, str]:
    """Line ends that the client has changed stay changed."""
    content, draft = (text.replace("\n", "\r\n") for text in (reply.content, reply.draft))
    return {"role": "assistant", "content": content}, draft


CLIENTS: list[Callable[[Dressed], tuple[Json, str]]] = [
    text_alone,
    one_part,
    parts_as_streamed,
    whole_message,
    trimmed,
    with_crlf,
]


def seen(message: Json, sign: str) -> str:
    """The content that the upstream sees of a message."""
    shown = clean(message, [sign])
    assert set(shown) == {"role", "content"}
    content = shown["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.__name__)
@pytest.mark.parametrize("name", PROFILES)
def test_real_replies_come_back_as_they_were_written(
    name: ProfileName, client: Callable[[Dressed], tuple[Json, str]]
) -> None:
    texts = real_replies()[:: SHARE] + chinese_replies()[:: SHARE]
    combinations = list(product(STYLES, SIGNS))
    for seed, text in enumerate(texts):
        style, sign = combinations[seed % len(combinations)]
        reply = dressed(text, name, style, sign, seed=seed)
        assert "".join(reply.pieces) == reply.content
        message, draft = client(reply)
        assert seen(message, sign) == draft


@settings(max_examples=250, deadline=None)
@given(
    drafts(),
    st.sampled_from(list(PROFILES)),
    st.sampled_from(STYLES),
    st.sampled_from(SIGNS),
    st.sampled_from(CLIENTS),
    st.integers(0, 9),
)
def test_any_markdown_comes_back_as_it_was_written(
    text: str,
    name: ProfileName,
    style: CitationStyle | None,
    sign: str,
    client: Callable[[Dressed], tuple[Json, str]],
    seed: int,
) -> None:
    reply = dressed(text, name, style, sign, seed=seed)
    assert "".join(reply.pieces) == reply.content
    message, draft = client(reply)
    assert seen(message, sign) == draft
