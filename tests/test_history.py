"""Replies that come back in the next turn: the upstream sees what it wrote, whatever clients made of it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai import OpenAI

from proxy.openai_api.chat.request import OURS, clean
from proxy.openai_api.profiles import PROFILES
from proxy.types import CitationStyle, Json, ProfileName
from tests.drafts import chinese_replies, drafts, real_replies
from tests.openai_api.rendered_replies import Dressed, dressed
from tests.scripted_upstream import Upstream
from tests.server.asking import QUESTION
from tests.server.facts import FALSE, TRUE, TRUE_ZH

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
    texts = real_replies()[::SHARE] + chinese_replies()[::SHARE]
    combinations = list(product(STYLES, SIGNS))
    for seed, text in enumerate(texts):
        style, sign = combinations[seed % len(combinations)]
        reply = dressed(text, name, style, sign, seed=seed)
        assert "".join(reply.pieces) == reply.content
        message, draft = client(reply)
        assert seen(message, sign) == draft


@settings(max_examples=80, deadline=None)
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


def turn(content: str, role: str = "assistant") -> Json:
    return {"role": role, "content": content}


def test_brackets_that_are_nobody_s_citations_stay() -> None:
    text = "Use `x[1]` or x[0]:\n\n```py\ny = [1]\nz = y[1]\n```\n\nThe array is [1, 2].\n\n$a[1]$ and see [2](http://b.c)"
    assert clean(turn(text), SIGNS) == turn(text)


def test_an_index_in_a_line_of_code_stays_before_a_marker_of_ours() -> None:
    code = "total = data[1] + data[2]\nx = rows[4]\nprint(x)"
    assert clean(turn(f"{code}[1]"), SIGNS) == turn(code)


def test_what_others_say_is_never_touched() -> None:
    reply = dressed("Paris is big. It is old.", "markdown", sign="[?]")
    for role in ("user", "system", "tool", "developer"):
        message = {**turn(reply.content, role), "sources": [1], "annotations": []}
        assert clean(message, ["[?]"]) is message


def test_fields_that_are_not_ours_stay() -> None:
    message = {**turn("Paris."), "tool_calls": [{"id": "1"}], "name": "n", "reasoning_content": "r"}
    assert clean({**message, "sources": [], "citations": []}) == message
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    assert clean({"role": "assistant", "content": [image, {"type": "text", "text": "Paris.[1]"}]}) == {
        "role": "assistant",
        "content": [image, {"type": "text", "text": "Paris."}],
    }
    assert clean(
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "Paris."}, {"type": "text", "text": "[1]"}],
        }
    ) == {
        "role": "assistant",
        "content": [{"type": "text", "text": "Paris."}],
    }
    assert clean({"role": "assistant", "content": None}) == {"role": "assistant", "content": None}


OWN_LIST = "Paris is big.\n\n---\n\n- [1] [Paris](https://p.example)\n- [2] [Rome](https://r.example)"


@pytest.mark.parametrize("name", PROFILES)
def test_a_list_of_sources_that_the_model_itself_wrote_stays(name: ProfileName) -> None:
    assert clean(turn(OWN_LIST)) == turn(OWN_LIST)
    shown = OWN_LIST.replace("[1]", "(1)").replace("[2]", "(2)")  # not taken for references of ours
    for seed in range(5):
        reply = dressed(OWN_LIST, name, seed=seed)
        assert seen(turn(reply.content), "") == shown


def test_a_model_s_own_list_of_the_very_numbers_that_we_marked_is_taken_for_ours() -> None:
    marked = OWN_LIST.replace("big.", "big.[1][2]")
    assert clean(turn(marked)) == turn("Paris is big.")
    assert clean(turn(OWN_LIST.replace("big.", "big.[1]"))) == turn(OWN_LIST)


def test_an_ordered_list_of_the_model_s_own_stays() -> None:
    for end in (
        "1. [Paris](https://p.example)",
        "1. Paris\n2. Rome",
        "1. [Paris](https://p.example)\n- (2) Rome",
    ):
        text = f"Paris is big.\n\n---\n\n{end}"
        assert clean(turn(text)) == turn(text)
    marked = "Paris is big.[1]\n\n---\n\n1. Paris"
    assert clean(turn(marked)) == turn("Paris is big.\n\n---\n\n1. Paris")


@pytest.mark.parametrize("number", ["[1]", "(1)"])
def test_both_forms_of_our_list_are_recognised(number: str) -> None:
    """Chats that began before the list was written as it is now go on."""
    marked = f"Paris is big.[{number}](https://p.example)\n\n---\n\n- {number} [Paris](https://p.example)"
    assert clean(turn(marked.replace("[[1]](https://p.example)", "[[1](https://p.example)]"))) == turn(
        "Paris is big."
    )


@pytest.mark.parametrize(
    "unit",
    [
        "\n\n---\n\n- [1] a",
        "[?]",
        "x.[1][?] ",
        "\r\n",
        "a.[1]\r\n",
        "- [1] [a](b)\n",
        "- (1) [a](b)\n",
        "1. [a](b)\n",
    ],
)
def test_cleaning_any_repetition_comes_to_an_end(unit: str) -> None:
    text = unit * (100_000 // len(unit))  # in quadratic time it would not, before pytest's time-out
    assert len(clean(turn(text), SIGNS)["content"]) <= len(text)


DRAFT = f"{TRUE}\n\n- {TRUE_ZH}\n- {FALSE}\n"


@pytest.mark.parametrize("mode", ["whole", "sentence", "buffer", "passthrough"])
@pytest.mark.parametrize("name", PROFILES)
def test_the_openai_sdk_s_next_turn_is_what_the_upstream_wrote(
    client: OpenAI, upstream: Upstream, name: ProfileName, mode: str
) -> None:
    upstream.enqueue(DRAFT, "Yes.")
    vouch: dict[str, Any] = {"profile": name, "mark_nonfactual": "[?]", "max_rounds": 0}
    asked: Any = [{"role": "user", "content": QUESTION}]
    if mode == "whole":
        options: Any = {"extra_body": {"vouch": vouch}}
        whole = client.chat.completions.create(model="test", messages=asked, **options)
        message = whole.choices[0].message.model_dump(exclude_none=True)
    else:
        if mode == "passthrough":
            del vouch["mark_nonfactual"]
        body = {"vouch": {**vouch, "stream_mode": mode}}
        with client.chat.completions.stream(model="test", messages=asked, extra_body=body) as events:
            message = events.get_final_completion().choices[0].message.model_dump(exclude_none=True)
    shown = name != "none" and mode != "passthrough"
    marker = "[(1)](" if name == "markdown" else "[1]"
    assert (marker in message["content"]) is shown
    assert ("\n\n---\n\n1. [" in message["content"]) is (shown and name == "markdown")
    turns = [*asked, message, {"role": "user", "content": "Sure?"}]
    client.chat.completions.create(model="test", messages=turns, extra_body={"vouch": vouch})
    came_back = upstream.requests[-1].body["messages"][1]
    assert came_back["content"] == DRAFT
    assert not set(came_back) & set(OURS)
