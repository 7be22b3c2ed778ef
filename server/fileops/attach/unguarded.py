"""What a hook remembers between its processes: which sessions were guarded, and since when no daemon has answered.

One small file for each session, in the folder of the daemon's state. Standard library only; a fault changes nothing.
"""

import os
import time
from contextlib import suppress

from fileops.attach.callers import Caller

KEPT_S = 86400.0
MAX_NAME_BYTES = 100  # of a session; a file's name has twice as many characters


def note_answer(caller: Caller) -> str | None:
    """Note that the daemon has answered. Return once, if the session was guarded before, since when it had not."""
    path = _path_of(caller)
    with suppress(OSError):
        try:
            with open(path, encoding="ascii") as file:
                since = file.read(20)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
            _forget_old(os.path.dirname(path))
            since = ""
            _write(path, "")
        if since:
            _write(path, "")
            return since
    return None


def note_silence(caller: Caller) -> None:
    """Note that no daemon answers, if the session was guarded before."""
    path = _path_of(caller)
    with suppress(OSError):
        if os.stat(path).st_size == 0:
            _write(path, time.strftime("%H:%M"))


def forget(caller: Caller) -> None:
    with suppress(OSError):
        os.unlink(_path_of(caller))


def _path_of(caller: Caller) -> str:
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    name = f"{caller.session_host}:{caller.own_id}".encode("utf-8", "surrogatepass")
    if len(name) > MAX_NAME_BYTES:
        from hashlib import blake2b  # loads OpenSSL, for which a host would wait

        name = blake2b(name, digest_size=16).digest()
    return os.path.join(base, "fileops-server", "guarded", name.hex())


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, text.encode("ascii"))
    finally:
        os.close(fd)


def _forget_old(folder: str) -> None:
    with os.scandir(folder) as entries:
        old = [entry.path for entry in entries if time.time() - entry.stat().st_mtime > KEPT_S]
    for path in old:
        os.unlink(path)
