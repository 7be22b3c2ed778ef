"""LSP base-protocol frames: bytes to JSON values and back. Knows nothing of methods or ids."""

import asyncio
import json
from typing import Any

import msgspec

MAX_BODY_BYTES = 256 * 1024 * 1024  # far above any answer; a wrong length must not exhaust memory


class BrokenFrame(Exception):
    """What arrived is not a frame, so the rest of the stream cannot be understood."""


def encode(message: Any) -> bytes:
    """Return one frame. Lone surrogates (file names that are not UTF-8) become JSON escapes."""
    try:
        body = msgspec.json.encode(message)
    except (UnicodeEncodeError, msgspec.MsgspecError):
        body = json.dumps(message, separators=(",", ":")).encode("ascii")
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def decode(body: bytes) -> Any:
    """Raises: BrokenFrame."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        try:
            return json.loads(body)  # knows lone surrogates
        except ValueError as error:
            raise BrokenFrame(f"not JSON: {error}") from None


async def read_message(stream: asyncio.StreamReader) -> Any | None:
    """Return the next message; None at the end of the stream. Raises: BrokenFrame."""
    length: int | None = None
    first = True
    while True:
        try:
            line = await stream.readuntil(b"\n")
        except asyncio.IncompleteReadError as error:
            if first and not error.partial:
                return None
            raise BrokenFrame("the stream ended within a header") from None
        except asyncio.LimitOverrunError:
            raise BrokenFrame("a header without an end") from None
        first = False
        header = line.strip()
        if not header:
            break
        name, colon, value = header.partition(b":")
        if not colon:
            raise BrokenFrame(f"not a header: {header[:80]!r}")
        if name.strip().lower() == b"content-length":
            if not value.strip().isdigit():
                raise BrokenFrame(f"not a length: {value[:80]!r}")
            length = int(value)
    if length is None or length > MAX_BODY_BYTES:
        raise BrokenFrame(f"no usable length: {length}")
    try:
        return decode(await stream.readexactly(length))
    except asyncio.IncompleteReadError:
        raise BrokenFrame("the stream ended within a message") from None
