"""The SSE parser: any cut, any line end, bounded."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.errors import UpstreamError, UpstreamProtocolError
from proxy.types import Json
from proxy.upstream.endpoint import Endpoint
from proxy.upstream.failures import BrokenOffError
from proxy.upstream.sse import FRAMING, Chunks, Events

ENDPOINT = Endpoint("openai/m", "http://127.0.0.1:1/v1", max_reply_bytes=1_000_000)


def events(*pieces: bytes, max_bytes: int = 1_000_000) -> list[str]:
    parser = Events(max_bytes)
    return [data for piece in pieces for data in parser.feed(piece)] + list(parser.end())


def chunks(*pieces: bytes) -> list[Json]:
    parser = Chunks(ENDPOINT)
    return [chunk for piece in pieces for chunk in parser.feed(piece)] + list(parser.end())


def chunk(text: str, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return f"data: {json.dumps({'choices': [choice]}, ensure_ascii=False)}\n\n".encode()


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\n\ndata: b\n\n", ["a", "b"]),
        (b"data:a\n\n", ["a"]),
        (b"data:  a\n\n", [" a"]),
        (b"data: a\r\n\r\ndata: b\r\r", ["a", "b"]),
        (b": comment\n\ndata: a\n: comment\n\n:\n\n", ["a"]),
        (b"data: a\ndata: b\ndata\n\n", ["a\nb\n"]),
        (b"event: x\nid: 1\nretry: 2\ndata: a\n\n", ["a"]),
        (b"event: x\n\n", []),
        (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
        (b"data: a", ["a"]),
        (b"data: a\n", ["a"]),
        (b"\n\n\n", []),
        (b"", []),
        ("data: 世\u2028界\x0b\x85\n\n".encode(), ["世\u2028界\x0b\x85"]),
        (b"data: \xff\n\n", ["\ufffd"]),
    ],
)
def test_data_of_events(stream: bytes, expected: list[str]) -> None:
    assert events(stream) == expected


@settings(deadline=None, max_examples=80)
@given(
    st.lists(st.text(alphabet="a: é世🎉\t", max_size=8), min_size=1, max_size=6),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(st.integers(0, 200), max_size=30),
)
def test_where_the_bytes_are_cut_makes_no_difference(texts: list[str], end: str, cuts: list[int]) -> None:
    stream = "".join(f": c{end}data: {text}{end}{end}" for text in texts).encode()
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[a:b] for a, b in itertools.pairwise(places)]
    assert events(*pieces) == events(stream) == texts


@settings(deadline=None, max_examples=80)
@given(st.lists(st.binary(max_size=50), max_size=8))
def test_garbage_ends_in_an_error_of_ours(pieces: list[bytes]) -> None:
    with pytest.raises(UpstreamError):
        chunks(*pieces)


def test_an_event_over_the_size_is_refused_however_it_comes() -> None:
    for stream in (b"data: " + b"x" * 2000 + b"\n\n", b"x" * 2000, b"data: xxxx\n" * 300):
        with pytest.raises(UpstreamProtocolError, match="max_reply_bytes"):
            events(stream, max_bytes=1000)
        with pytest.raises(UpstreamProtocolError, match="max_reply_bytes"):
            events(*(stream[n : n + 7] for n in range(0, len(stream), 7)), max_bytes=1000)


def test_the_size_of_an_event_counts_bytes_not_characters() -> None:
    line = f"data: {'世' * 3}\n".encode()
    assert events(line * 90, b"\n", max_bytes=1000) == ["\n".join(["世" * 3] * 90)]
    with pytest.raises(UpstreamProtocolError, match="max_reply_bytes"):
        events(line * 120, b"\n", max_bytes=1000)


def test_a_stream_of_nothing_but_comments_is_bounded() -> None:
    with pytest.raises(UpstreamProtocolError, match="max_reply_bytes"):
        events(*[b": ping\n\n"] * (FRAMING * 100 // 8 + 1), max_bytes=100)


def test_five_megabytes_byte_by_byte_are_read() -> None:
    parser = Events(6_000_000)
    for _ in range(1_000_000):
        assert not list(parser.feed(b"x"))
    assert not list(parser.feed(b":" * 4_000_000 + b"\r" * 10))


def test_chunks_come_unchanged() -> None:
    raw = {"id": "", "choices": [], "prompt_filter_results": [1], "x": {"y": "世"}}
    stream = b"data: " + json.dumps(raw).encode() + b"\n\n" + chunk("hi", "stop") + b"data: [DONE]\n\n"
    assert chunks(stream)[0] == raw


def test_nothing_after_done_counts() -> None:
    assert len(chunks(chunk("a", "stop") + b"data: [DONE]\n\n" + chunk("b"))) == 1


def test_done_is_not_needed_after_a_finish_reason() -> None:
    assert len(chunks(chunk("a"), chunk("", "stop"))) == 2


@pytest.mark.parametrize("stream", [chunk("a"), chunk("a") + chunk("b")[:-20], chunk("a", "stop")[:-20]])
def test_a_stream_that_stops_halfway_broke_off(stream: bytes) -> None:
    with pytest.raises((BrokenOffError, UpstreamProtocolError)):
        chunks(stream)


def test_one_choice_of_two_without_an_end_broke_off() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "b"}, "finish_reason": None}]}
    with pytest.raises(BrokenOffError, match="openai/m: "):
        chunks(chunk("a", "stop"), b"data: " + json.dumps(other).encode() + b"\n\n")


@pytest.mark.parametrize(
    "data",
    [
        b"{bad",
        b"3",
        b"[]",
        b'{"foo": 1}',
        b'{"choices": [1]}',
        b'{"choices": [{"index": "a"}]}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_chunk_is_a_protocol_error(data: bytes) -> None:
    with pytest.raises(UpstreamProtocolError):
        chunks(b"data: " + data + b"\n\n")


@pytest.mark.parametrize(
    "stream", [b"", b"data: [DONE]\n\n", b'data: {"choices": []}\n\ndata: [DONE]\n\n', b"<html>"]
)
def test_a_stream_without_any_choice_is_a_protocol_error(stream: bytes) -> None:
    with pytest.raises(UpstreamProtocolError, match="without choices"):
        chunks(stream)


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        ({"error": {"message": "slow down", "type": "rate", "code": 429}}, 429, "429"),
        ({"error": {"message": "slow down", "code": "rate_limited", "status": 429}}, 429, "rate_limited"),
        ({"error": {"message": "slow down"}}, 502, None),
        ({"error": "slow down"}, 502, None),
        ({"object": "error", "message": "slow down", "code": 503}, 503, "503"),
    ],
)
def test_an_error_in_the_stream_comes_after_the_chunks_before_it(
    error: Json, status: int, code: str | None
) -> None:
    feed = Chunks(ENDPOINT).feed(chunk("a") + b"data: " + json.dumps(error).encode() + b"\n\n")
    assert next(feed)["choices"][0]["delta"]["content"] == "a"
    with pytest.raises(UpstreamError, match="slow down") as caught:
        next(feed)
    assert (caught.value.status, caught.value.code) == (status, code)
