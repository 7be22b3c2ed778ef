"""An SFTP subsystem that lets the real one work request by request, and does something to the disk in between.

sshd starts it as `python sftp_proxy.py CONTROL SFTP_SERVER...`. CONTROL is a folder: `log` gets a line per request, and
before the n-th the names in `orders` change places: a JSON object with the two names as `pair` and the numbers as `at`.
"""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO

_KINDS = {3: "open", 4: "close", 5: "read", 6: "write", 7: "lstat", 8: "fstat", 9: "setstat", 10: "fsetstat",
          13: "remove", 14: "mkdir", 15: "rmdir", 16: "realpath", 17: "stat", 18: "rename", 19: "readlink",
          200: "extended"}  # fmt: skip
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_renameat2 = ctypes.CDLL(None, use_errno=True).renameat2


def exchange(one: str, other: str) -> None:
    """The entries of the two names change places, in one step."""
    if _renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), "renameat2 failed")


def _packet(stream: IO[bytes]) -> bytes | None:
    head = stream.read(4)
    return head + stream.read(int.from_bytes(head)) if len(head) == 4 else None


def main(control: Path, command: list[str]) -> None:
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None
    assert server.stdout is not None
    while (request := _packet(sys.stdin.buffer)) is not None:
        with open(control / "log", "a+") as log:
            log.write(f"{_KINDS.get(request[4], str(request[4]))}\n")
            log.seek(0)
            n_request = len(log.readlines())
        orders = json.loads((control / "orders").read_text())
        if n_request in orders["at"]:
            exchange(*orders["pair"])
        server.stdin.write(request)
        server.stdin.flush()
        answer = _packet(server.stdout)  # exactly one, and nothing is sent before it is here
        if answer is None:
            break
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()
    server.stdin.close()
    server.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
