"""Names of our own files in other people's folders, and what to do with those of dead processes.

A name says who made it: `.fileops-PID-START-RANDOM.tmp` (or `.journal`), START being the process's start time as
the kernel counts it, in base 36. Its maker holds flock(2) on it for as long as it is in use. So a file is a
left-over when nobody holds the lock and its maker is gone; the lock also speaks for makers in other containers,
whose pids mean nothing here.
"""

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from fileops.platform import descriptors
from fileops.platform.locks import try_lock

_NAME = re.compile(r"\.fileops-(?P<pid>\d{1,10})-(?P<start>[0-9a-z]{1,16})-[0-9a-f]{12}\.(?P<kind>tmp|journal)")
_PREFIX = ".fileops-"


@dataclass(frozen=True, slots=True)
class OwnFile:
    name: str
    pid: int
    start: str
    kind: str

    @property
    def is_ours(self) -> bool:
        """Made by this process."""
        return self.pid == os.getpid() and self.start == _own_start(self.pid)

    @property
    def is_in_use(self) -> bool:
        """By what the name says; the lock has the last word. Of our own those count that we still work with."""
        if self.is_ours:
            return self.name in _at_work
        return start_time(self.pid) == self.start


_at_work: set[str] = set()  # our own names between `new_name` and `done_with`; too young ones are not locked yet


def new_name(kind: str) -> str:
    """Say `done_with` when the file is gone, in its place, or given up."""
    pid = os.getpid()
    name = f"{_PREFIX}{pid}-{_own_start(pid)}-{secrets.token_hex(6)}.{kind}"
    _at_work.add(name)
    return name


def done_with(name: str) -> None:
    _at_work.discard(name)


def list_own_files(folder: "str | int") -> Iterator[OwnFile]:
    """All our files in a folder, dead and alive. Raises OSError."""
    for name in os.listdir(folder):
        if name.startswith(_PREFIX) and (match := _NAME.fullmatch(name)):
            yield OwnFile(name, int(match["pid"]), match["start"], match["kind"])


def remove_if_dead(leftover: OwnFile, dir_fd: int) -> bool:
    """For temp files. A file that cannot be looked at or removed stays: it is not ours to fight over."""
    with suppress(OSError):
        fd = os.open(leftover.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=dir_fd)
        try:
            is_file = stat.S_ISREG(os.fstat(fd).st_mode)  # else it only bears such a name
            if is_file and not leftover.is_in_use and try_lock(fd):
                os.unlink(leftover.name, dir_fd=dir_fd)
                return True
        finally:
            descriptors.close(fd)
    return False


def start_time(pid: int) -> str | None:
    """None for a process that is gone; "0" where the system does not tell start times."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except FileNotFoundError:
        return None if os.path.exists("/proc/self/stat") else _start_without_proc(pid)
    except OSError:
        return "0"
    return _in_base_36(int(fields[19]))  # field 22 of proc_pid_stat(5), counted behind the name


def _start_without_proc(pid: int) -> str | None:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        pass
    return "0"


@cache
def _own_start(pid: int) -> str:
    """By pid, because a forked child is another maker."""
    return start_time(pid) or "0"


def _in_base_36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits or "0"
