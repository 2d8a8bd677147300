"""What of a stream's bytes may leave, and whether it ended well."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.errors import UpstreamProtocolError
from proxy.upstream.failures import BrokenOffError
from proxy.upstream.sse import TAIL, Lines, require, whole_lines

FINISH = b'data: {"choices":[{"delta":{},"finish_reason": "stop"}]}\n\n'
MIDDLE = b'data: {"choices":[{"delta":{"content":"a"},"finish_reason":null}]}\n\n'


async def given_in(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def passed(*pieces: bytes) -> list[bytes]:
    return [piece async for piece in whole_lines(given_in(*pieces), "m")]


@given(st.lists(st.text(alphabet="ab:\r\n").map(str.encode)))
def test_no_byte_is_lost_and_none_leaves_before_its_line_is_whole(pieces: list[bytes]) -> None:
    lines, came, left = Lines(), b"", b""
    for piece in pieces:
        came += piece
        left += lines.feed(piece)
        assert left + lines.held == came
        assert left == b"" or left.endswith((b"\n", b"\r"))
        assert b"\n" not in lines.held


async def test_whole_lines_leave_as_they_come() -> None:
    assert await passed(b": hi\n", MIDDLE, FINISH) == [b": hi\n", MIDDLE, FINISH]
    assert await passed(MIDDLE[:20], MIDDLE[20:] + FINISH[:9], FINISH[9:]) == [MIDDLE, FINISH]


@pytest.mark.parametrize("end", [FINISH, b"data: [DONE]\n\n", b"data:[DONE]", FINISH.rstrip()])
async def test_a_stream_that_has_finished_ends_well(end: bytes) -> None:
    assert b"".join(await passed(MIDDLE, end)) == MIDDLE + end


@pytest.mark.parametrize("end", [b"", b"data: {", MIDDLE, b'data: "[DONE]"\n\n'])
async def test_a_stream_that_has_not_is_broken_off(end: bytes) -> None:
    with pytest.raises(BrokenOffError):
        await passed(MIDDLE, end)


async def test_a_finish_before_long_last_chunks_is_found_and_memory_is_bounded() -> None:
    assert await passed(FINISH, b"x" * (TAIL - len(FINISH) - 1) + b"\n")
    lines = Lines()
    for _ in range(100):
        lines.feed(b"x" * TAIL + b"\n")
    assert not lines.finished


async def test_a_line_without_an_end_is_held_in_linear_time_and_has_a_bound() -> None:
    with pytest.raises(UpstreamProtocolError, match="larger than `max_reply_bytes`"):
        await anext(whole_lines(given_in(*[b"x" * 1000] * 1001), "m", 1_000_000))
    begun = time.process_time()
    lines = Lines()
    for _ in range(20_000):
        lines.feed(b"x" * 1000)
    assert len(lines.feed(b"\n")) == 20_000_001
    assert time.process_time() - begun < 5  # copied for each piece, it is 200 GB


@pytest.mark.parametrize("first", [b"{", b' \n{"a"', b"\n"])
def test_what_a_reply_may_begin_with(first: bytes) -> None:
    require(first, "m", stream=False)


@pytest.mark.parametrize("first", [b": hi", b"\n", b"data: {", b"event: x", b"\xef\xbb\xbfdata"])
def test_what_a_stream_may_begin_with(first: bytes) -> None:
    require(first, "m", stream=True)


@pytest.mark.parametrize(
    ("first", "stream"),
    [(b"", True), (b"", False), (b"<html>", True), (b"{", True), (b"<", False), (b"[", False)],
)
def test_what_can_be_neither(first: bytes, stream: bool) -> None:
    with pytest.raises(UpstreamProtocolError):
        require(first, "m", stream=stream)
