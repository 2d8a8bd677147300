"""JSON by orjson, and everything that orjson does otherwise."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.errors import UpstreamProtocolError
from proxy.upstream.safe_json import dumps, loads

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(values)
def test_what_is_written_is_read_again(value: Any) -> None:
    assert loads(dumps(value)) == value
    assert json.loads(dumps(value)) == value


@given(values, st.booleans())
def test_it_reads_what_the_standard_library_reads(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=1)
    assert loads(text) == loads(text.encode()) == value


@pytest.mark.parametrize("number", [2**63, -(2**63), 2**64 - 1, 2**64, -(2**64), 10**30])
def test_whole_numbers_stay_exact(number: int) -> None:
    assert loads(f'{{"n": {number}}}') == {"n": number}
    assert dumps({"n": number}) == b'{"n":%d}' % number


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'"\\ud83d"', "\ufffd"),
        (b'{"\\uDE00": "\\ud83d\\ude00"}', {"\ufffd": "\U0001f600"}),
        (b'"\xff"', "\ufffd"),
        (b'{"a": 1, "a": 2}', {"a": 2}),
    ],
)
def test_what_can_be_mended_is(data: bytes, value: Any) -> None:
    assert loads(data) == value


@pytest.mark.parametrize("data", [b"NaN", b'{"a": [Infinity]}', b"-Infinity", b"1e400", b"-1e999"])
def test_numbers_that_json_has_no_word_for_are_refused(data: bytes) -> None:
    with pytest.raises(UpstreamProtocolError, match="can't be written in JSON"):
        loads(data)


def test_numbers_that_json_has_no_word_for_are_written_as_null() -> None:
    assert dumps([math.nan, math.inf]) == b"[null,null]"


@pytest.mark.parametrize("data", [b"", b"{", b"{'a': 1}", b"\xef\xbb\xbf{}", b"[1,]", "\ud800"])
def test_what_is_no_json_is_refused(data: bytes | str) -> None:
    with pytest.raises(UpstreamProtocolError, match="not JSON"):
        loads(data)


def test_half_a_surrogate_pair_is_written_escaped() -> None:
    assert dumps({"a": "\ud800", "b": "é"}) == b'{"a":"\\ud800","b":"\\u00e9"}'


def test_deep_nesting_is_written() -> None:
    value: Any = 0
    for _ in range(400):
        value = [value]
    assert dumps(value) == b"[" * 400 + b"0" + b"]" * 400


@pytest.mark.parametrize("data", [b"[" * 100 + b"]" * 100, b'{"a": "' + b"[" * 500 + b'\\"[["}'])
def test_what_is_not_nested_too_deeply_is_read(data: bytes) -> None:
    assert loads(data)


@pytest.mark.parametrize(
    "data", [b"[" * 101 + b"]" * 101, b"[" * 200_000, b'{"a":' * 200 + b"1" + b"}" * 200]
)
def test_what_is_nested_too_deeply_is_refused(data: bytes) -> None:
    with pytest.raises(UpstreamProtocolError, match="nested more than 100 deep"):
        loads(data)


def test_a_string_that_never_ends_is_looked_at_once() -> None:
    with pytest.raises(UpstreamProtocolError, match="not JSON"):
        loads(b"{" + b'\\"' * 100_000 + b"[" * 500_000)


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, object()])
def test_what_is_no_json_is_not_written(value: object) -> None:
    with pytest.raises(TypeError):
        dumps(value)
