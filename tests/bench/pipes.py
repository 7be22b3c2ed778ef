"""Blocking JSON-RPC over a child's pipes, as lean as Python allows: the client must not be what is measured."""

import json
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, cast

import msgspec

Message = dict[str, Any]
_decoder = msgspec.json.Decoder()  # the caller's own decoding of a large answer must not be what is measured


class _Child(ABC):
    def __init__(self, command: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env
        )
        self.pid = self._process.pid
        self._in = cast("IO[bytes]", self._process.stdin)
        self._out = cast("IO[bytes]", self._process.stdout)
        self._id = 0

    @abstractmethod
    def _send(self, message: Message) -> None: ...

    @abstractmethod
    def receive(self) -> Message:
        """Raises: EOFError."""

    def call(self, method: str, params: object) -> Any:
        self.post(method, params)
        return self.answer(self._id)

    def post(self, method: str, params: object) -> int:
        """Send a request without waiting; `answer` takes what comes."""
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        self._in.flush()
        return self._id

    def answer(self, request_id: int) -> Any:
        while True:
            message = self.receive()
            if message.get("id") == request_id and "method" not in message:
                if "error" in message:
                    raise RuntimeError(f"{message['error']}")
                return message["result"]

    def wait_for(self, method: str) -> Any:
        """The params of the next notification of this method."""
        while True:
            message = self.receive()
            if message.get("method") == method:
                return message["params"]

    def notify(self, method: str, params: object) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})
        self._in.flush()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._out.close()
        with suppress(BrokenPipeError):  # what it did not read is lost with it
            self._in.close()

    def close(self) -> None:
        self._in.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._out.close()


class LspPipe(_Child):
    """Content-Length frames."""

    def _send(self, message: Message) -> None:
        body = json.dumps(message).encode()
        self._in.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def receive(self) -> Message:
        n_bytes = 0
        while line := self._out.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                n_bytes = int(value)
        if not n_bytes:
            raise EOFError("the server has gone")
        return cast("Message", _decoder.decode(self._out.read(n_bytes)))


class LinePipe(_Child):
    """A JSON text per line, as MCP's stdio transport has it."""

    def _send(self, message: Message) -> None:
        self._in.write(json.dumps(message).encode() + b"\n")

    def receive(self) -> Message:
        line = self._out.readline()
        if not line:
            raise EOFError("the server has gone")
        return cast("Message", _decoder.decode(line))
