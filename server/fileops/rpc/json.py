"""JSON text ⇄ Python values. msgspec where it can; the standard library for what msgspec refuses.

That is text with lone surrogates, which JSON can escape and which stands for file names that are not UTF-8.
"""

import json
import math

import msgspec

MAX_DIGITS = 4000  # of an integer; Python itself stops a little later, because of what the conversion costs


class NotJson(ValueError):
    """args[0]: why the bytes are no JSON text."""


class OutOfRange:
    """In the place of a number that no value of ours can hold."""


OUT_OF_RANGE = OutOfRange()


class NumberOutOfRange(NotJson):
    """JSON text all the same. value: what was decoded, with OUT_OF_RANGE for such numbers."""

    def __init__(self, value: object) -> None:
        super().__init__("number out of range")
        self.value = value


def loads(data: bytes) -> object:
    """Strict RFC 8259: UTF-8, no NaN, no infinity. Raises: NotJson, NumberOutOfRange."""
    try:
        return _decoder.decode(data)
    except RecursionError:
        raise NotJson("nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _loads_slowly(data)


def dumps(value: object) -> bytes:
    """value: JSON types and msgspec Structs. Raises: TypeError, ValueError (RecursionError apart, nothing else)."""
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

    def bounded(text: str) -> object:
        nonlocal n_out_of_range
        if len(text) <= MAX_DIGITS:
            return int(text)
        n_out_of_range += 1
        return OUT_OF_RANGE

    try:
        value = json.loads(
            data.decode("utf-8"), parse_constant=_refuse_constant, parse_float=finite, parse_int=bounded
        )  # fmt: skip
    except RecursionError:
        raise NotJson("nested too deeply") from None
    except UnicodeDecodeError as error:
        raise NotJson(f"not UTF-8 at byte {error.start}") from None
    except ValueError as error:
        raise NotJson(str(error)) from None
    if n_out_of_range:
        raise NumberOutOfRange(value)
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


_decoder: msgspec.json.Decoder[object] = msgspec.json.Decoder(object)
_encoder = msgspec.json.Encoder()
