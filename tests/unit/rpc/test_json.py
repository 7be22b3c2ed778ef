"""JSON text in and out: strict, and safe for text with lone surrogates."""

# ruff: noqa: E501 - tables are read by the line

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fileops.rpc.json import OUT_OF_RANGE, NotJson, NumberOutOfRange, dumps, loads

NO_JSON = [
    b"", b"{", b"{} x", b"NaN", b'{"a": Infinity}', b"-Infinity", b"1e999", b"\xff", b'"\xed\xa0\x80"', b"\xef\xbb\xbf{}",
    b"[" * 100_000, b'{"a":' * 100_000, b"1" * 5000, b'"a\nb"', b"'a'",
]  # fmt: skip

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize("data", NO_JSON, ids=lambda data: repr(data[:20]))
def test_invalid_json_is_refused(data: bytes) -> None:
    with pytest.raises(NotJson):
        loads(data)


@given(json_values)
def test_values_survive_the_round_trip(value: object) -> None:
    assert loads(dumps(value)) == value
    assert json.loads(dumps(value)) == value


def test_lone_surrogates_are_read_and_written() -> None:
    assert loads(b'"a\\udce9"') == "a\udce9"
    assert dumps({"path": "a\udce9"}) == b'{"path":"a\\udce9"}'


def test_structs_with_lone_surrogates_are_written() -> None:
    class Named(msgspec.Struct):
        path: str

    assert dumps({"one": Named("\udce9")}) == b'{"one":{"path":"\\udce9"}}'


@pytest.mark.parametrize("number", [b"1e400", b"-1e400", b"1" * 5000])
def test_number_out_of_range_is_distinguished_from_invalid_json(number: bytes) -> None:
    with pytest.raises(NumberOutOfRange) as caught:
        loads(b'{"a": [1, %b], "b": "c"}' % number)
    assert caught.value.value == {"a": [1, OUT_OF_RANGE], "b": "c"}


def test_numbers_keep_their_type() -> None:
    assert type(loads(b"3.0")) is float
    assert type(loads(b"3")) is int
