"""JSON text ⇄ Python values. msgspec where it can; the standard library for what msgspec refuses.

That is text with lone surrogates, which JSON can escape and which stands for file names that are not UTF-8.
"""

import json
import math

import msgspec

MAX_DIGITS = 4000  # of an integer; Python itself stops a little later, because of what the conversion costs


class NotJson(ValueError):
    """args[0]: why the bytes are no JSON text."""


def loads(data: bytes) -> object:
    """Strict RFC 8259: UTF-8, no NaN, no infinity. Raises: NotJson."""
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
    try:
        return json.loads(
            data.decode("utf-8"), parse_constant=_refuse_constant, parse_float=_finite, parse_int=_bounded
        )
    except RecursionError:
        raise NotJson("nested too deeply") from None
    except UnicodeDecodeError as error:
        raise NotJson(f"not UTF-8 at byte {error.start}") from None
    except ValueError as error:
        raise NotJson(str(error)) from None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _bounded(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError("number out of range")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("number out of range")
    return number


_decoder: msgspec.json.Decoder[object] = msgspec.json.Decoder(object)
_encoder = msgspec.json.Encoder()
