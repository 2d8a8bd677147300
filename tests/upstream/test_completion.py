"""Chunks added up give the completion that they were cut from."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.errors import UpstreamProtocolError
from proxy.types import Json, Reply, ReplyChunk, Usage
from proxy.upstream.completion import coalesced, collect, read_chunk
from tests.scripted_upstream import Reply as Scripted
from tests.scripted_upstream import tool_calls

BODY = {
    "model": "m",
    "messages": [{"role": "user", "content": "hi"}],
    "stream_options": {"include_usage": True},
}


DELTAS: list[Json] = [
    *({"content": text} for text in ("a", "b", "世界", "")),
    {"content": "x", "role": "assistant"},
    {"content": "x", "reasoning": None},
    {"content": "x", "reasoning": "hm"},
    {"content": None},
    {"reasoning": "hm"},
    {"tool_calls": [{"index": 0, "function": {"arguments": "1"}}]},
    {"content": [{"type": "text", "text": "y"}]},
    {},
]
EXTRA: list[Json] = [{}, {"x": [1]}, {"x": [2]}, {"usage": {"completion_tokens": 3}}]


async def added(chunks: Iterable[Json], max_size: int = 1_000_000) -> Reply:
    async def stream() -> AsyncIterator[ReplyChunk]:
        for chunk in chunks:
            yield read_chunk(chunk)

    return await collect(stream(), max_size)


def deltas(*deltas: Any) -> list[Json]:
    return [{"id": "1", "model": "m", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]


async def message(*parts: Any) -> Json:
    found: Json = (await added(deltas(*parts))).raw["choices"][0]["message"]
    return found


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=3), st.integers(1, 9), st.booleans())
async def test_the_pieces_add_up_to_the_whole(texts: list[str], size: int, logprobs: bool) -> None:
    scripted = Scripted(*texts, size=size, logprobs=logprobs, extra={"system_fingerprint": "f", "x": [1]})
    reply = await added(scripted.chunks(BODY))
    whole = scripted.completion(BODY)
    for choice in whole["choices"]:
        choice.setdefault("logprobs", None)
    assert reply.raw == whole
    assert [draft.text for draft in reply.drafts] == texts


async def test_reasoning_refusal_and_unknown_texts_are_joined() -> None:
    fields = {
        "content": "ab",
        "refusal": "no, no",
        "reasoning_content": "hm hm",
        "reasoning": "x" * 9,
        "y": "世界!",
    }
    scripted = Scripted(fields, size=2)
    assert (await added(scripted.chunks(BODY))).raw["choices"][0]["message"] == {
        "role": "assistant",
        **fields,
    }


async def test_tool_calls_are_told_apart_by_index() -> None:
    calls = tool_calls(("get", '{"city": "Köln"}'), ("set", '{"a": [1, 2]}'))
    reply = await added(Scripted(calls, finish_reason="tool_calls", size=3).chunks(BODY))
    assert reply.raw["choices"][0]["message"] == {"role": "assistant", **calls}
    assert reply.raw["choices"][0]["finish_reason"] == "tool_calls"
    assert reply.drafts[0].text == ""


async def test_tool_calls_interleaved_and_out_of_order_come_by_index() -> None:
    def piece(index: int, text: str, **more: Any) -> Json:
        return {"tool_calls": [{"index": index, "function": {"arguments": text}, **more}]}

    found = await message(piece(1, "b", id="y"), piece(0, "a", id="x"), piece(1, "B"), piece(0, "A"))
    assert [(c["id"], c["function"]["arguments"]) for c in found["tool_calls"]] == [("x", "aA"), ("y", "bB")]


async def test_tool_calls_without_index_are_told_apart_by_id() -> None:
    first = {"tool_calls": [{"id": "x", "function": {"name": "f", "arguments": "{"}}]}
    more = {"tool_calls": [{"function": {"arguments": "}"}}]}
    second = {"tool_calls": [{"id": "y", "function": {"name": "g", "arguments": "1"}}]}
    calls = (await message(first, more, second))["tool_calls"]
    assert calls == [
        {"id": "x", "function": {"name": "f", "arguments": "{}"}},
        {"id": "y", "function": {"name": "g", "arguments": "1"}},
    ]


async def test_names_and_ids_that_are_repeated_in_each_chunk_are_not_joined() -> None:
    piece = {
        "tool_calls": [
            {"index": 0, "id": "x", "type": "function", "function": {"name": "f", "arguments": "1"}}
        ]
    }
    call = (await message({"role": "assistant"}, piece, {"role": "assistant"}, piece))["tool_calls"][0]
    assert call == {"id": "x", "type": "function", "function": {"name": "f", "arguments": "11"}}


async def test_a_function_call_is_joined() -> None:
    parts = ({"function_call": {"name": "f", "arguments": "{"}}, {"function_call": {"arguments": "}"}})
    assert (await message(*parts))["function_call"] == {"name": "f", "arguments": "{}"}


async def test_lists_grow_and_other_values_are_replaced() -> None:
    found = await message({"annotations": [1], "n": 1, "b": True}, {"annotations": [2], "n": 2, "b": None})
    assert (found["annotations"], found["n"], found["b"]) == ([1, 2], 2, True)


async def test_a_field_that_changes_its_kind_is_the_last_one() -> None:
    assert (await message({"x": 1}, {"x": "a"}, {"x": "b"}))["x"] == "ab"
    assert (await message({"x": "a"}, {"x": {"y": 1}}))["x"] == {"y": 1}
    assert (await message({"x": [1]}, {"x": "a"}))["x"] == "a"


async def test_chunks_are_left_as_they_were() -> None:
    chunks = list(Scripted("abc", logprobs=True, size=1).chunks(BODY)) + deltas({"l": [1]}, {"l": [2]})
    before = repr(chunks)
    await added(chunks)
    assert repr(chunks) == before


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(DELTAS), max_size=12), st.sampled_from(EXTRA), st.sampled_from(EXTRA))
async def test_fewer_chunks_add_up_to_the_same(given: list[Json], first: Json, then: Json) -> None:
    chunks = [{**chunk, **first} for chunk in deltas({"role": "assistant"}, *given)]
    chunks += [{**chunk, **then} for chunk in deltas(*given)]
    scripted = list(Scripted("Some text.", "And more.", size=3, logprobs=len(given) % 2 == 0).chunks(BODY))
    for every in (chunks, [*chunks, *scripted]):
        before = repr(every)
        assert (await added(coalesced(iter(every)))).raw == (await added(every)).raw
        assert repr(every) == before


def test_text_alone_goes_into_one_chunk() -> None:
    padded = [
        {**chunk, "obfuscation": "x" * number} for number, chunk in enumerate(deltas(*[{"content": "a"}] * 9))
    ]
    others = deltas({"content": "b", "role": "assistant"}, {"content": "c", "role": "assistant"})
    contents = [read_chunk(chunk).deltas[0].content for chunk in coalesced(iter([*padded, *others]))]
    assert contents == ["a" * 9, "bc"]


def test_two_choices_are_not_mixed_and_log_probabilities_stay_apart() -> None:
    first, second = deltas({"content": "a"}, {"content": "a"})
    second["choices"][0]["index"] = 1
    sure = deltas({"content": "a"})[0]
    sure["choices"][0]["logprobs"] = {"content": [{"token": "a"}]}
    chunks = [first, second, first, sure, sure]
    assert list(coalesced(iter(chunks))) == chunks


def test_what_came_before_an_error_comes() -> None:
    def broken() -> Iterator[Json]:
        yield from deltas({"content": "a"}, {"content": "b"})
        raise UpstreamProtocolError("broken")

    chunks = coalesced(broken())
    assert read_chunk(next(chunks)).deltas[0].content == "ab"
    with pytest.raises(UpstreamProtocolError):
        next(chunks)


async def test_head_and_usage() -> None:
    chunks = [
        {"id": "", "model": "", "created": 0, "choices": [], "prompt_filter_results": [1]},
        {"id": "a", "model": "m", "created": 5, "choices": [{"delta": {"content": "x"}}], "usage": None},
        {
            "id": "b",
            "model": "n",
            "created": 6,
            "choices": [],
            "usage": {"prompt_tokens": 3, "completion_tokens": 4},
        },
    ]
    reply = await added(chunks)
    assert [reply.raw[key] for key in ("id", "model", "created", "object")] == [
        "a",
        "m",
        5,
        "chat.completion",
    ]
    assert reply.usage == Usage(3, 4)
    assert reply.raw["prompt_filter_results"] == [1]


async def test_no_content_at_all_is_an_empty_draft() -> None:
    reply = await added(deltas({"role": "assistant"}, {}, None))
    assert reply.drafts[0].text == ""
    assert reply.raw["choices"][0]["message"]["content"] is None


@pytest.mark.parametrize(
    "chunks", [[], [{"choices": []}], [{"usage": {}}], deltas("garbage"), deltas({"tool_calls": [1]})]
)
async def test_what_adds_up_to_nothing_is_a_protocol_error(chunks: list[Json]) -> None:
    with pytest.raises(UpstreamProtocolError):
        await added(chunks)


@pytest.mark.parametrize(
    "delta",
    [
        {"content": "x" * 50},
        {"reasoning": "x" * 50},
        {"list": ["x" * 50]},
        {"tool_calls": [{"index": 0, "function": {"arguments": "x" * 50}}]},
    ],
)
async def test_a_reply_over_the_size_is_refused(delta: Json) -> None:
    with pytest.raises(UpstreamProtocolError, match="max_reply_bytes"):
        await added(deltas(*[delta] * 100), max_size=1000)


async def test_the_size_counts_bytes_not_characters() -> None:
    await added(deltas({"content": "x" * 900}), max_size=1000)
    for content in ("世" * 340, "é" * 510, "\ud800" * 340):
        with pytest.raises(UpstreamProtocolError, match="max_reply_bytes"):
            await added(deltas({"content": content}), max_size=1000)


async def test_a_delta_nested_too_deeply_is_a_protocol_error() -> None:
    deep: Json = {}
    for _ in range(5000):
        deep = {"x": deep}
    with pytest.raises(UpstreamProtocolError, match="nested"):
        await added(deltas(deep))


async def test_megabytes_in_small_pieces_add_up() -> None:
    piece = {"content": "12345", "tool_calls": [{"index": 0, "function": {"arguments": "12345"}}]}
    reply = await added(deltas(*[piece] * 200_000), max_size=50_000_000)
    assert len(reply.drafts[0].text) == 1_000_000
