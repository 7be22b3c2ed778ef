"""Converts between JSON text and Python values: with msgspec, or with the standard library where msgspec refuses.

msgspec refuses lone surrogates. JSON can escape them, and file names that are not UTF-8 contain them.
"""

import json
import math

import msgspec

MAX_DIGITS = 4000  # of an integer; Python's own limit is 4300, for the cost of the conversion


class NotJson(ValueError):
    """The bytes are not JSON. args[0] is the reason."""


class OutOfRange:
    """Type of OUT_OF_RANGE, which replaces a number that no Python float or allowed integer can represent."""


OUT_OF_RANGE = OutOfRange()


class NumberOutOfRange(NotJson):
    """Valid JSON with a number that is out of range. `value` has OUT_OF_RANGE in its place."""

    def __init__(self, value: object) -> None:
        super().__init__("number out of range")
        self.value = value


def loads(data: bytes) -> object:
    """Decode strictly as RFC 8259: UTF-8, no NaN, no infinity. Raises: NotJson, NumberOutOfRange."""
    try:
        return _decoder.decode(data)
    except RecursionError:
        raise NotJson("nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _loads_slowly(data)


def dumps(value: object) -> bytes:
    """Encode JSON types and msgspec Structs. Raises: TypeError, ValueError, RecursionError."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value), allow_nan=False, separators=(",", ":")).encode("ascii")


def _loads_slowly(data: bytes) -> object:
    n_out_of_range = 0

    def finite(text: str) -> object:
        nonlocal n_out_of_range
        number = float(text)
        if not math.isinf(number):
            return number
        n_out_of_range += 1
        return OUT_OF_RANGE

    def parse_bounded_int(text: str) -> object:
        nonlocal n_out_of_range
        if len(text) <= MAX_DIGITS:
            return int(text)
        n_out_of_range += 1
        return OUT_OF_RANGE

    try:
        value = json.loads(
            data.decode("utf-8"), parse_constant=_refuse_constant, parse_float=finite, parse_int=parse_bounded_int
        )
    except RecursionError:
        raise NotJson("nested too deeply") from None
    except UnicodeDecodeError as error:
        raise NotJson(f"not UTF-8 at byte {error.start}") from None
    except ValueError as error:
        raise NotJson(str(error)) from None
    if n_out_of_range:  # pyrefly: ignore[redundant-condition] - counted above
        raise NumberOutOfRange(value)
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


_decoder: msgspec.json.Decoder[object] = msgspec.json.Decoder(object)
_encoder = msgspec.json.Encoder()
