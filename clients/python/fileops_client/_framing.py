"""LSP base-protocol frames: bytes to JSON values and back. Knows nothing of methods or ids."""

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
