"""Parser of LSP's base-protocol frames: chunks of bytes in, bodies out. It does not look at their content.

`FrameParser` does no I/O, so tests and fuzzers can drive it. After a bad frame it continues at the next header that it
recognises.
"""

import re
from collections.abc import Generator, Iterator
from typing import TypeVar

from msgspec import Struct

MAX_BODY_BYTES = 64 << 20
MAX_SKIPPED_BODY_BYTES = 1 << 30  # a longer length ends the stream: it must be wrong
MAX_HEADER_BYTES = 8 << 10
MAX_GARBAGE_BYTES = MAX_BODY_BYTES  # between two frames; a peer that sends more does not speak LSP
MAX_LENGTH_DIGITS = 18
_CHUNK_BYTES = 1 << 16
_LARGE_CHUNK_BYTES = 1 << 20  # of a body that is long
_HEADER = re.compile(rb"[A-Za-z][A-Za-z0-9-]*[ \t]*:")
# Anchored only at the line's end: the rest of a body whose length was understated precedes the next header.
_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(.*)$", re.IGNORECASE)
_USUAL_BLOCK = re.compile(rb"Content-Length: (\d{1,%d})\r\n\r\n" % MAX_LENGTH_DIGITS)


class BadFrame(Struct, frozen=True):
    """A frame that was dropped; the stream continues."""

    reason: str


class StreamBroken(Exception):
    """The stream cannot be parsed any further. args[0] is the reason."""


_Result = TypeVar("_Result")
_Steps = Generator[bytes | BadFrame | None, bytes, _Result]


class FrameParser:
    """Chunks in, frames out. After an exception it accepts nothing more."""

    def __init__(self) -> None:
        self.n_wanted_bytes = _CHUNK_BYTES
        self._buffer = bytearray()
        self._has_ended = False
        self._n_garbage_bytes = 0
        self._parsing = self._parse()
        next(self._parsing)

    def feed(self, chunk: bytes) -> Iterator[bytes | BadFrame]:
        """Yield the frames that this chunk completes. b"" is the end of the stream.

        Raises: StreamBroken, after the frames before the fault.
        """
        frame = self._parsing.send(chunk)
        while frame is not None:
            yield frame
            frame = next(self._parsing)

    # A step yields a frame, or None to ask for the next chunk.

    def _parse(self) -> "_Steps[None]":
        while True:
            length = yield from self._next_header()
            if self._n_garbage_bytes:
                yield self._garbage_before(length)
            if length is None:
                while True:  # the end
                    yield None
            if isinstance(length, BadFrame):
                yield length
            elif length <= MAX_BODY_BYTES:
                yield (yield from self._take(length))
            elif length > MAX_SKIPPED_BODY_BYTES:
                raise StreamBroken(f"a message of {length} bytes was announced; the limit is {MAX_BODY_BYTES}")
            else:
                yield from self._skip(length)
                yield BadFrame(f"a message of {length} bytes is over the limit of {MAX_BODY_BYTES}")

    def _garbage_before(self, length: int | BadFrame | None) -> BadFrame:
        if length is None:
            raise StreamBroken(f"the stream ended behind {self._n_garbage_bytes} bytes that were no frame")
        reason = f"{self._n_garbage_bytes} bytes that were no frame"
        self._n_garbage_bytes = 0
        return BadFrame(reason)

    def _next_header(self) -> "_Steps[int | BadFrame | None]":
        """Return the body length that the next header block announces; None at the end."""
        if not self._buffer:
            yield from self._fill()
        if usual := _USUAL_BLOCK.match(self._buffer):  # what all clients send; the code below would find the same
            length = int(usual[1])
            del self._buffer[: usual.end()]
            return length
        values: list[bytes] = []
        n_block_bytes = 0
        while (line := (yield from self._line())) is not None:
            text = line.strip()
            n_block_bytes += len(text)
            if length := _LENGTH.search(text):
                values.append(length[1].rstrip())
                self._garbage(length.start())
            elif not text and values:
                return _length_of(values)
            elif not text:
                self._garbage(n_block_bytes)  # a block without a length: any body is garbage too
                n_block_bytes = 0
            elif not _HEADER.match(text):
                self._garbage(len(text))
                n_block_bytes -= len(text)
        if values:
            raise StreamBroken("the stream ended inside a frame's header")
        self._garbage(n_block_bytes)
        return None

    def _garbage(self, n_bytes: int) -> None:
        self._n_garbage_bytes += n_bytes
        if self._n_garbage_bytes > MAX_GARBAGE_BYTES:
            raise StreamBroken(f"no frame began within {MAX_GARBAGE_BYTES} bytes")

    def _line(self) -> "_Steps[bytes | None]":
        """Return a line with its newline; of an overlong one the end, which may be a header. None at the end."""
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            if len(self._buffer) > MAX_HEADER_BYTES:
                n_dropped = len(self._buffer) - MAX_HEADER_BYTES // 2
                self._garbage(n_dropped)
                del self._buffer[:n_dropped]
            searched = len(self._buffer)
            if not (yield from self._fill()):
                rest = bytes(self._buffer)
                self._buffer.clear()
                return rest or None
        return self._cut(end + 1)

    def _take(self, n_bytes: int) -> "_Steps[bytes]":
        while len(self._buffer) < n_bytes:
            if not (yield from self._fill(n_bytes - len(self._buffer))):
                raise StreamBroken(f"the stream ended inside a body: {len(self._buffer)} of {n_bytes} bytes")
        return self._cut(n_bytes)

    def _skip(self, n_bytes: int) -> "_Steps[None]":
        while n_bytes > len(self._buffer):
            n_bytes -= len(self._buffer)
            self._buffer.clear()
            if not (yield from self._fill()):
                raise StreamBroken("the stream ended inside a body that was too long")
        del self._buffer[:n_bytes]

    def _cut(self, n_bytes: int) -> bytes:
        if n_bytes == len(self._buffer):  # usually one message at a time
            piece = bytes(self._buffer)
            self._buffer.clear()
            return piece
        with memoryview(self._buffer) as view:
            piece = bytes(view[:n_bytes])
        del self._buffer[:n_bytes]
        return piece

    def _fill(self, n_wanted_bytes: int = 0) -> "_Steps[bool]":
        self.n_wanted_bytes = min(max(n_wanted_bytes, _CHUNK_BYTES), _LARGE_CHUNK_BYTES)
        if not self._has_ended:
            chunk = yield None
            self._buffer += chunk
            self._has_ended = not chunk
        return not self._has_ended


def _length_of(values: list[bytes]) -> int | BadFrame:
    if len(set(values)) > 1:
        return BadFrame("Content-Length was given twice, with different values")
    if not values[0].isdigit():
        return BadFrame(f"Content-Length is not a number: {values[0][:40]!r}")
    if len(values[0]) > MAX_LENGTH_DIGITS:
        raise StreamBroken(f"Content-Length has {len(values[0])} digits")
    return int(values[0])


def lsp_frame(body: bytes) -> bytes:
    """Return the body with its header."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
