"""Moves the lines of an MCP host to the shared daemon and back, and survives the daemon.

It keeps the host's handshake and the requests in flight. If the daemon is lost it attaches to another one, repeats the
handshake, and answers the tool calls that were in flight, since it cannot know whether they were carried out. A line
longer than MAX_LINE_BYTES is forwarded while it arrives, and only its beginning and end are examined.
"""

import json
import re
import socket
import time
from collections import deque
from collections.abc import Callable, Generator
from typing import Any, NamedTuple, cast

from fileops.attach.pump import Pump
from fileops.attach.starter import DaemonLost

MAX_LINE_BYTES = 1 << 19
MAX_RESENT_BYTES = 1 << 16  # of a request that is sent again to the next daemon: lists, pings
MAX_LOSSES = 3
LOSSES_S = 60.0
LOST_TEXT = (
    "The file server was restarted in the middle of this call; whether the edit was applied is not known. "
    "Read the file again."
)
_MODERN = b'"io.modelcontextprotocol/protocolVersion"'
_ID_AT_THE_START = re.compile(rb'^\s*\{(?:\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,)*\s*"id"\s*:\s*(-?\d+|"[^"\\]*")')
_ID_AT_THE_END = re.compile(rb'"id"\s*:\s*(-?\d+|"[^"\\]*")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')
_N_LOOKED_AT = 512

Attach = Callable[[], socket.socket]


class _PumpPiece(NamedTuple):
    """A line, or a part of a long one. head, tail: of a long line that has ended."""

    data: bytes
    is_whole: bool
    is_end: bool
    head: bytes = b""
    tail: bytes = b""


class LineSplitter:
    """Splits chunks into lines, and very long lines into parts."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._head: bytes | None = None  # of the long line in progress
        self._tail = b""

    @property
    def is_inside_long_line(self) -> bool:
        return self._head is not None

    def feed(self, chunk: bytes) -> Generator[_PumpPiece]:
        *ended, rest = chunk.split(b"\n")
        for part in (*(line + b"\n" for line in ended), rest):
            if not part:
                continue
            is_end = part.endswith(b"\n")
            if self._head is not None:
                self._tail = (self._tail + part)[-_N_LOOKED_AT:]
                yield _PumpPiece(part, is_whole=False, is_end=is_end, head=self._head, tail=self._tail)
                if is_end:
                    self._head = None
                continue
            self._held += part
            if is_end:
                line, self._held = bytes(self._held), bytearray()
                yield _PumpPiece(line, is_whole=True, is_end=True)
            elif len(self._held) > MAX_LINE_BYTES:
                data, self._held = bytes(self._held), bytearray()
                self._head = data[:_N_LOOKED_AT]
                self._tail = data[-_N_LOOKED_AT:]
                yield _PumpPiece(data, is_whole=False, is_end=False)

    def forget(self) -> None:
        """Drop the unfinished line: its rest will never come."""
        self._held = bytearray()
        self._head = None


class McpTraffic:
    """The Traffic of an MCP host, see pump.Traffic.

    attach: connects to another daemon. Raises: DaemonLost, if there is none.
    """

    def __init__(self, attach: Attach) -> None:
        self._attach = attach
        self._from_client = LineSplitter()
        self._from_daemon = LineSplitter()
        self._handshake: list[bytes] = []  # `initialize` and `notifications/initialized`, verbatim
        self._handshake_id: str | None = None
        self._is_repeated = False  # an earlier daemon has answered `initialize`
        self._in_flight: dict[str, bytes | None] = {}  # id as JSON -> the request, if it may be repeated
        self._modern: set[str] = set()  # ids of the requests whose answers need a `resultType`
        self._asked: dict[str, str] = {}  # the daemon's requests: the host's id -> the daemon's id
        self._is_skipping = False  # a long line began at a daemon that is lost
        self._losses: deque[float] = deque(maxlen=MAX_LOSSES)
        self._n_daemons = 1

    # --- from the host -----------------------------------------------------------------------------------------

    def from_client(self, pump: Pump, chunk: bytes) -> None:
        for piece in self._from_client.feed(chunk):
            if piece.is_whole:
                pump.to_daemon.put(self._note(piece.data))
                continue
            if not self._is_skipping:
                pump.to_daemon.put(piece.data)
            if piece.is_end:
                self._end_long_request(pump, piece)

    def _note(self, line: bytes) -> bytes:
        """Note what a line begins or ends, and return it in the form for the daemon."""
        message = _parse(line)
        if message is None:
            return line  # the daemon answers what is not a message
        method, key = message.get("method"), _key(message)
        if method is None:
            return self._reply(line, message, key)
        if method == "notifications/initialized":
            self._handshake = [*self._handshake[:1], line]
        elif method == "notifications/cancelled":
            params = message.get("params")
            if isinstance(params, dict):
                self._in_flight.pop(json.dumps(cast("dict[str, Any]", params).get("requestId")), None)
        elif key is not None:
            if method == "initialize":
                self._handshake = [line]
                self._handshake_id = key
            may_repeat = method != "tools/call" and len(line) <= MAX_RESENT_BYTES
            self._in_flight[key] = line if may_repeat else None
            if _MODERN in line:
                self._modern.add(key)
        return line

    def _reply(self, line: bytes, message: dict[str, Any], key: str | None) -> bytes:
        """Forward an answer. One to a lost daemon's question is dropped: this daemon may have used the same id."""
        if key is None or self._n_daemons == 1:
            self._asked.pop(key or "", None)
            return line
        if (own_key := self._asked.pop(key, None)) is None:
            return b""
        return _encode({**message, "id": json.loads(own_key)})

    def _end_long_request(self, pump: Pump, piece: _PumpPiece) -> None:
        match = _ID_AT_THE_START.match(piece.head) or _ID_AT_THE_END.search(piece.tail)
        if match is not None:
            key = json.dumps(json.loads(match[1]))
            self._in_flight[key] = None
            if self._is_skipping:
                self._answer_lost(pump, key)
        self._is_skipping = False

    # --- from the daemon ---------------------------------------------------------------------------------------

    def from_daemon(self, pump: Pump, chunk: bytes) -> None:
        for piece in self._from_daemon.feed(chunk):
            if piece.is_whole:
                pump.to_client.put(self._deliver(piece.data))
                continue
            pump.to_client.put(piece.data)
            if piece.is_end and (match := _ID_AT_THE_START.match(piece.head)) is not None:
                self._end_call(json.dumps(json.loads(match[1])))

    def _deliver(self, line: bytes) -> bytes:
        """Note what a line of the daemon ends or asks, and return it in the form for the host."""
        message = _parse(line)
        key = None if message is None else _key(message)
        if message is None or key is None:
            return line
        if "method" not in message:
            if key == self._handshake_id and self._is_repeated and key not in self._in_flight:
                return b""
            self._end_call(key)
            return line
        if self._n_daemons == 1:
            self._asked[key] = key
            return line
        shown = f"{message['id']}-{self._n_daemons}"  # the last daemon may have used this id as well
        self._asked[json.dumps(shown)] = key
        return _encode({**message, "id": shown})

    def _end_call(self, key: str) -> None:
        self._in_flight.pop(key, None)
        self._modern.discard(key)

    # --- another daemon ----------------------------------------------------------------------------------------

    def daemon_lost(self, pump: Pump) -> None:
        """Raises: DaemonLost, if there is none, or if it is lost too often."""
        now = time.monotonic()
        if len(self._losses) == MAX_LOSSES and now - self._losses[0] < LOSSES_S:
            raise DaemonLost
        self._losses.append(now)
        if self._from_daemon.is_inside_long_line:
            pump.to_client.put(b"\n")  # the host drops a line that is not JSON, and gets the error below
        self._from_daemon.forget()
        self._is_skipping = self._from_client.is_inside_long_line
        pump.connect(self._attach())
        self._n_daemons += 1
        for key in self._asked:
            pump.to_client.put(_notice("notifications/cancelled", {"requestId": json.loads(key)}))
        self._asked.clear()
        self._repeat(pump)

    def _repeat(self, pump: Pump) -> None:
        self._is_repeated = True
        for line in self._handshake:
            pump.to_daemon.put(line)
        for key, line in list(self._in_flight.items()):
            if line is None:
                self._answer_lost(pump, key)
            elif key != self._handshake_id:
                pump.to_daemon.put(line)

    def _answer_lost(self, pump: Pump, key: str) -> None:
        result: dict[str, Any] = {"content": [{"type": "text", "text": LOST_TEXT}], "isError": True}
        if key in self._modern:
            result["resultType"] = "complete"
        self._end_call(key)
        pump.to_client.put(_encode({"jsonrpc": "2.0", "id": json.loads(key), "result": result}))


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        message: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", message) if isinstance(message, dict) else None


def _key(message: dict[str, Any]) -> str | None:
    msg_id = message.get("id")
    return json.dumps(msg_id) if isinstance(msg_id, str | int) else None


def _notice(method: str, params: object) -> bytes:
    return _encode({"jsonrpc": "2.0", "method": method, "params": params})


def _encode(message: object) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"
