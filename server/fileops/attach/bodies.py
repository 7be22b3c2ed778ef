"""The bodies of the control request `companion` and of its answer: deflated JSON after the line, which names its size.

A line has at most 64 KiB, and a host's Write contains the whole file. Standard library only.
"""

import json
import zlib
from collections.abc import Mapping
from typing import Any, cast

MAX_BODY_BYTES = 64 << 20  # deflated, and inflated


class BadBody(ValueError):
    """The body is not deflated JSON, or too long; the message says which."""


def pack(value: Mapping[str, object]) -> bytes:
    """Return the body. A host may have cut a character in half, and JSON escapes it."""
    return zlib.compress(json.dumps(value).encode("ascii"), 1)


def unpack(body: bytes) -> dict[str, Any]:
    """Raises: BadBody."""
    if not body:
        return {}
    inflating = zlib.decompressobj()
    try:
        data = inflating.decompress(body, MAX_BODY_BYTES + 1)
        value: object = json.loads(data) if inflating.eof else None
    except (zlib.error, ValueError, RecursionError) as error:
        raise BadBody(f"the body is not deflated JSON: {error}") from None
    if not isinstance(value, dict):
        raise BadBody("the body is cut, too long, or not a JSON object")
    return cast("dict[str, Any]", value)


def body_bytes_of(fields: Mapping[str, object]) -> int:
    """Return how many bytes follow the line. Raises: BadBody."""
    n_bytes = fields.get("body_bytes", 0)
    if not isinstance(n_bytes, int) or isinstance(n_bytes, bool) or not 0 <= n_bytes <= MAX_BODY_BYTES:
        raise BadBody(f"body_bytes must be a number from 0 to {MAX_BODY_BYTES}")
    return n_bytes
