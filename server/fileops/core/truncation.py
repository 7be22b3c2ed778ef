"""A buffer that keeps the head and the tail of a long output, in limited memory."""

from collections import deque

MAX_OUTPUT_BYTES = 512 * 1024


class HeadTailBuffer:
    """Keeps the first and the last half of `max_bytes`, and counts what it drops between them."""

    def __init__(self, max_bytes: int = MAX_OUTPUT_BYTES) -> None:
        self._half = max_bytes // 2
        self._head = bytearray()
        self._tail = deque[bytes]()
        self._n_tail = 0
        self.n_bytes = 0

    def feed(self, chunk: bytes) -> None:
        self.n_bytes += len(chunk)
        room = self._half - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if chunk:
            self._tail.append(chunk)
            self._n_tail += len(chunk)
        while self._tail and self._n_tail - len(self._tail[0]) >= self._half:
            self._n_tail -= len(self._tail.popleft())

    @property
    def is_clipped(self) -> bool:
        return self.n_bytes > 2 * self._half

    def text(self) -> str:
        """Decode as UTF-8, invalid bytes as U+FFFD. A line in the middle says how much was dropped, if any."""
        tail = b"".join(self._tail)
        if not self.is_clipped:
            return (bytes(self._head) + tail).decode("utf-8", "replace")
        head = _whole_characters(bytes(self._head))
        tail = tail[-self._half :]
        tail = tail[next((i for i in range(min(4, len(tail))) if tail[i] & 0xC0 != 0x80), 0) :]
        n_dropped = self.n_bytes - len(head) - len(tail)
        return (
            head.decode("utf-8", "replace")
            + f"\n... ({n_dropped} bytes of output are left out here) ...\n"
            + tail.decode("utf-8", "replace")
        )


def _whole_characters(data: bytes) -> bytes:
    """Remove an incomplete character at the end."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            width = 1 if byte < 0x80 else 2 if byte >> 5 == 6 else 3 if byte >> 4 == 14 else 4 if byte >> 3 == 30 else 1
            return data[:-back] if width > back else data
    return data
