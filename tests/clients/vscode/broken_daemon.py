"""The real daemon behind a pipe that spoils what it says: edits claim to have changed nothing.

It acts as a daemon with a bug. The editor's tests must notice; a lane that stays green with it proves nothing.
"""

import json
import subprocess
import sys
import threading
from typing import IO, Any


def read_frame(stream: IO[bytes]) -> bytes | None:
    n_bytes = 0
    while line := stream.readline().strip():
        if line.lower().startswith(b"content-length:"):
            n_bytes = int(line.split(b":")[1])
    return stream.read(n_bytes) if n_bytes else None


def write_frame(stream: IO[bytes], body: bytes) -> None:
    stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    stream.flush()


def spoil(body: bytes) -> bytes:
    message: dict[str, Any] = json.loads(body)
    match message:
        case {"result": {"ui_extra": {"hunks": _} as change}}:
            change["hunks"] = []
        case {"method": "fileops/confirmEdit", "params": question}:
            question["proposed_text"] = question["original_text"]
            question["hunks"] = []
        case _:
            pass
    return json.dumps(message).encode()


def main() -> None:
    daemon = subprocess.Popen([sys.executable, "-P", "-m", "fileops"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert daemon.stdin
    assert daemon.stdout

    def forward(inwards: IO[bytes]) -> None:
        while (body := read_frame(sys.stdin.buffer)) is not None:
            write_frame(inwards, body)
        inwards.close()

    threading.Thread(target=forward, args=(daemon.stdin,), daemon=True).start()
    while (body := read_frame(daemon.stdout)) is not None:
        write_frame(sys.stdout.buffer, spoil(body))
    sys.exit(daemon.wait())


if __name__ == "__main__":
    main()
