"""Newline-delimited JSON: chunks of bytes in, one JSON text per line out; the text itself is not examined.

`LineParser` does no I/O, so tests and fuzzers can drive it. A line over the limit is reported once and skipped to its
end. Source: MCP, "Transports", stdio.
"""

from collections.abc import Iterator

from fileops.rpc.framing import BadFrame

MAX_LINE_BYTES = 64 << 20  # as much as a body in LSP's framing
_CHUNK_BYTES = 1 << 16
_LARGE_CHUNK_BYTES = 1 << 20  # of a line that is long


class LineParser:
    """Chunks in, lines out, without their line ends. Blank lines are ignored."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._n_searched = 0  # bytes of the buffer that have no newline
        self._n_skipped = 0  # dropped bytes of the current line, which is too long

    @property
    def n_wanted_bytes(self) -> int:
        return _LARGE_CHUNK_BYTES if len(self._buffer) >= _CHUNK_BYTES else _CHUNK_BYTES

    def feed(self, chunk: bytes) -> Iterator[bytes | BadFrame]:
        """Yield the lines that this chunk completes. b"" means that the stream, and its last line, has ended."""
        self._buffer += chunk or b"\n"
        start = 0
        while (end := self._buffer.find(b"\n", max(start, self._n_searched))) >= 0:
            line = self._line(start, end)
            start = end + 1
            if line is not None:
                yield line
        del self._buffer[:start]
        if self._n_skipped or len(self._buffer) > MAX_LINE_BYTES:
            self._n_skipped += len(self._buffer)
            self._buffer.clear()
        self._n_searched = len(self._buffer)

    def _line(self, start: int, end: int) -> bytes | BadFrame | None:
        n_bytes = self._n_skipped + end - start
        self._n_skipped = 0
        if n_bytes > MAX_LINE_BYTES:
            return BadFrame(f"a line of {n_bytes} bytes is over the limit of {MAX_LINE_BYTES}")
        return bytes(self._buffer[start:end]).strip(b" \t\r") or None


def line_frame(body: bytes) -> bytes:
    """Return a JSON text, which contains no newline, as one line."""
    return body + b"\n"
