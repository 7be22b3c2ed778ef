"""A client that speaks bytes: what a well-behaved library would never send can be sent, and stdout is held strictly.

Every wait is bounded. Any output on stdout outside a well-formed frame fails the test that closes the client.
"""

import contextlib
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from types import EllipsisType
from typing import Any

from support.ending import end_process
from support.patience import PATIENCE_S

Message = dict[str, Any]
SEAM_DAEMON = (sys.executable, str(Path(__file__).with_name("seam_daemon.py")))
HASTY_DAEMON = (sys.executable, str(Path(__file__).with_name("hasty_daemon.py")))
DAEMON = (sys.executable, "-m", "fileops")


def frame(body: bytes | object) -> bytes:
    data = body if isinstance(body, bytes) else json.dumps(body).encode("ascii")
    return b"Content-Length: %d\r\n\r\n%b" % (len(data), data)


def edit_of(path: Path | str, old: str = "two", new: str = "2", **more: object) -> Message:
    """Params of `fileops/edit`."""
    return {"file_path": str(path), "old_string": old, "new_string": new, **more}


class RawClient:
    def __init__(
        self,
        command: Sequence[str] = DAEMON,
        env: dict[str, str] | None = None,
        cwd: str | None = None,
        *,
        reads: bool = True,
        before_start: Callable[[], None] | None = None,
    ) -> None:
        """reads: whether it takes what the daemon writes before `start_reading`. before_start: called in the child."""
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            preexec_fn=before_start,  # noqa: PLW1509
        )
        self.received: list[Message] = []  # in order; `claim` takes out
        self.garbage: list[bytes] = []
        self._err: list[bytes] = []
        self._changed = threading.Condition()
        self._ended = False
        self._next_id = 0
        self._may_read = threading.Event()
        if reads:
            self.start_reading()
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._read, self._read_err)]
        for thread in self._threads:
            thread.start()

    # --- sending -----------------------------------------------------------------------------------------------

    def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        rest = memoryview(data)
        while rest:
            rest = rest[self.process.stdin.write(rest) or 0 :]

    def send(self, message: object) -> None:
        self.send_bytes(frame(message))

    def request(self, method: str, params: object = ..., *, msg_id: Any = None) -> Any:
        """The id it was sent with. params: `...` for none at all."""
        self._next_id += 1
        own_id = self._next_id if msg_id is None else msg_id
        message = {"jsonrpc": "2.0", "id": own_id, "method": method}
        self.send(message if isinstance(params, EllipsisType) else {**message, "params": params})
        return own_id

    def notify(self, method: str, params: object = ...) -> None:
        message = {"jsonrpc": "2.0", "method": method}
        self.send(message if isinstance(params, EllipsisType) else {**message, "params": params})

    def reply(self, msg_id: Any, result: object) -> None:
        self.send({"jsonrpc": "2.0", "id": msg_id, "result": result})

    def send_in_background(self, data: bytes) -> None:
        """For more than the daemon takes at once."""
        threading.Thread(target=self.send_bytes, args=(data,), daemon=True).start()

    # --- receiving ---------------------------------------------------------------------------------------------

    def start_reading(self) -> None:
        self._may_read.set()

    def claim(self, fits: Callable[[Message], bool], patience_s: float | None = None) -> Message:
        """The first message that fits, waited for; it is taken out of `received`."""
        until = time.monotonic() + (PATIENCE_S if patience_s is None else patience_s)
        with self._changed:
            while True:
                for index, message in enumerate(self.received):
                    if fits(message):
                        return self.received.pop(index)
                rest_s = until - time.monotonic()
                if self._ended or rest_s <= 0:
                    raise AssertionError(f"no such message; have {self.received!r}; stderr: {self.stderr[-2000:]}")
                self._changed.wait(rest_s)

    def answer(self, msg_id: Any) -> Message:
        return self.claim(lambda message: message.get("id") == msg_id and "method" not in message)

    def call(self, method: str, params: object = ...) -> Message:
        return self.answer(self.request(method, params))

    def result(self, method: str, params: object = ...) -> Any:
        answer = self.call(method, params)
        assert "result" in answer, answer
        return answer["result"]

    def read(self, path: Path | str, **more: object) -> Any:
        return self.result("fileops/read", {"file_path": str(path), **more})

    def error(self, method: str, params: object = ...) -> Any:
        answer = self.call(method, params)
        assert "error" in answer, answer
        return answer["error"]

    def notification(self, method: str) -> Any:
        return self.claim(lambda message: message.get("method") == method and "id" not in message).get("params")

    def question(self, method: str) -> Message:
        """A request of the server."""
        return self.claim(lambda message: message.get("method") == method and "id" in message)

    def initialize(self, capabilities: object = None, **params: object) -> Message:
        given: Message = {"processId": None, "rootUri": None, "capabilities": capabilities or {}, **params}
        answer = self.call("initialize", given)
        self.notify("initialized", {})
        return answer

    # --- the end -----------------------------------------------------------------------------------------------

    @property
    def stderr(self) -> str:
        return b"".join(self._err).decode("utf-8", "replace")

    def close_stdin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def wait(self, patience_s: float | None = None) -> int:
        """The exit status; everything the process wrote has been received then."""
        bound_s = PATIENCE_S if patience_s is None else patience_s
        status = self.process.wait(bound_s)
        for thread in self._threads:
            thread.join(bound_s)
        return status

    def shut_down(self) -> int:
        assert self.result("shutdown") is None
        self.notify("exit")
        return self.wait()

    def close(self) -> None:
        self.start_reading()
        end_process(self.process)
        self.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()
        assert self.garbage == []

    def _read(self) -> None:
        assert self.process.stdout is not None
        data = bytearray()
        self._may_read.wait()
        while chunk := self.process.stdout.read(1 << 20):
            data += chunk
            self._take_frames(data)
        with self._changed:
            if data:
                self.garbage.append(bytes(data))
            self._ended = True
            self._changed.notify_all()

    def _take_frames(self, data: bytearray) -> None:
        """Cut whole frames off the front."""
        while (end := data.find(b"\r\n\r\n", 0, 100)) >= 0 or len(data) >= 100:
            header = bytes(data[: max(end, 0)])
            if not header.startswith(b"Content-Length: ") or b"\n" in header:
                self.garbage.append(bytes(data[:1000]))
                data.clear()
                return
            body_start, size = end + 4, int(header.removeprefix(b"Content-Length: "))
            if len(data) < body_start + size:
                return
            message = json.loads(data[body_start : body_start + size])
            del data[: body_start + size]
            with self._changed:
                self.received.append(message)
                self._changed.notify_all()

    def _read_err(self) -> None:
        assert self.process.stderr is not None
        while chunk := self.process.stderr.read(1 << 16):
            self._err.append(chunk)


def has_ended(pidfd: int, patience_s: float | None = None) -> bool:
    return bool(select.select([pidfd], [], [], PATIENCE_S if patience_s is None else patience_s)[0])


@contextlib.contextmanager
def raw_client(command: Sequence[str] = DAEMON, **options: Any) -> Generator[RawClient]:
    client = RawClient(command, **options)
    try:
        yield client
    finally:
        client.close()
