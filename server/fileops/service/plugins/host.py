"""The process in which plugins run: requests on stdin, answers on stdout, one at a time. Started by process.py.

It imports nothing of the daemon, and the daemon survives whatever a plugin does to it. Its memory is limited and its
output goes to stderr. It ends with the pipe that it reads from, however the daemon ended. A frame is a length in four
bytes and a JSON text in ASCII, in which lone surrogates (bytes that were not text) survive.
"""

import json
import os
import pkgutil
import resource
import struct
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from io import TextIOWrapper
from itertools import islice
from queue import SimpleQueue
from typing import Any, cast

LENGTH = struct.Struct(">I")
MAX_ANSWER_BYTES = 256 << 20
_SPARE_CPU_S = 5  # ends a loop that holds the interpreter's lock after the daemon ended


def main(memory_mb: int, timeout_s: float) -> None:
    requests_fd, answers_fd = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    # The process ends without the interpreter's own flush.
    cast("TextIOWrapper", sys.stdout).reconfigure(line_buffering=True)
    with suppress(ValueError, OSError):  # the system's own limit is lower
        resource.setrlimit(resource.RLIMIT_AS, (memory_mb << 20, memory_mb << 20))
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    requests: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read_all, args=(requests_fd, requests.put), daemon=True).start()
    _write(answers_fd, b"")
    while True:
        request = requests.get()
        _limit_cpu(timeout_s)
        answer = json.dumps(_answer(json.loads(request))).encode("ascii")
        if len(answer) > MAX_ANSWER_BYTES:
            answer = json.dumps({"failed": "its answer is too large"}).encode("ascii")
        _write(answers_fd, answer)


def _answer(request: dict[str, Any]) -> dict[str, object]:
    """Return the result as `places` or `text`, an exception as `failed`, or the type of any other result as `odd`."""
    try:
        answer: object = _load(request["value"])(*request["arguments"])
        if "max_places" in request:
            given = islice(cast("Any", answer), request["max_places"])
            return {"places": [(int(start), int(end), str(new)) for start, end, new in given]}
        return {"text": answer} if answer is None or isinstance(answer, str) else {"odd": type(answer).__name__}
    except MemoryError:
        return {"failed": "MemoryError: it needs more memory than plugins are given", "is_last": True}
    except BaseException as error:  # noqa: BLE001 - foreign code: anything that it raises is a failure
        return {"failed": f"{type(error).__name__}: {error}"}


def _load(reference: str) -> Callable[..., object]:
    """As `EntryPoint.load` of importlib.metadata, whose import would take longer than all the rest of this process."""
    return pkgutil.resolve_name(reference.partition("[")[0].replace(" ", ""))


def _limit_cpu(timeout_s: float) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime + timeout_s) + _SPARE_CPU_S, hard))


def _read_all(fd: int, put: Callable[[bytes], None]) -> None:
    """Runs in a separate thread, so that the process ends with the daemon even while a plugin runs."""
    while header := _read(fd, LENGTH.size):
        put(_read(fd, *LENGTH.unpack(header)))
    os._exit(0)


def _read(fd: int, n_bytes: int) -> bytes:
    """Return b"" at the end."""
    data = bytearray()
    while len(data) < n_bytes:
        chunk = os.read(fd, n_bytes - len(data))
        if not chunk:
            return b""
        data += chunk
    return bytes(data)


def _write(fd: int, body: bytes) -> None:
    rest = memoryview(LENGTH.pack(len(body)) + body)
    while rest:
        rest = rest[os.write(fd, rest) :]
