"""Names of our own files in other people's folders, and what to do with those of dead processes.

A name says who made it: `.fileops-PID-START-RANDOM.tmp` (or `.journal`), START being the process's start time as
the kernel counts it, in base 36. Its maker holds flock(2) on it for as long as it is in use. So a file is a
left-over when nobody holds the lock and its maker is gone; the lock also speaks for makers in other containers,
whose pids mean nothing here.
"""

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from fileops.fs.locks import try_lock

_NAME = re.compile(r"\.fileops-(?P<pid>\d{1,10})-(?P<start>[0-9a-z]{1,16})-[0-9a-f]{12}\.(?P<kind>tmp|journal)")
_PREFIX = ".fileops-"


@dataclass(frozen=True, slots=True)
class Leftover:
    name: str
    pid: int
    start: str
    kind: str

    @property
    def is_ours(self) -> bool:
        return self.pid == os.getpid() and self.start == _own_start(self.pid)

    @property
    def has_living_maker(self) -> bool:
        return start_time(self.pid) == self.start


def new_name(kind: str) -> str:
    pid = os.getpid()
    return f"{_PREFIX}{pid}-{_own_start(pid)}-{secrets.token_hex(6)}.{kind}"


def is_own_name(name: str) -> bool:
    """Whether a name in a folder is one of ours, of whichever process."""
    return name.startswith(_PREFIX) and _NAME.fullmatch(name) is not None


def found_in(folder: "str | int") -> Iterator[Leftover]:
    """All our files in a folder, dead and alive. Raises OSError."""
    for name in os.listdir(folder):
        if name.startswith(_PREFIX) and (match := _NAME.fullmatch(name)):
            yield Leftover(name, int(match["pid"]), match["start"], match["kind"])


def remove_if_dead(leftover: Leftover, dir_fd: int) -> bool:
    """For temp files. A file that cannot be looked at or removed stays: it is not ours to fight over."""
    with suppress(OSError):
        fd = os.open(leftover.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=dir_fd)
        try:
            if not leftover.has_living_maker and try_lock(fd):
                os.unlink(leftover.name, dir_fd=dir_fd)
                return True
        finally:
            os.close(fd)
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
