"""Names of our temp files and journals in users' folders, and the removal of those of dead processes.

A name contains the process: `.fileops-PID-START-RANDOM.tmp` (or `.journal`, `.far`, `.set`), where START is the start
time of the process as the kernel counts it, in base 36. That process holds flock(2) on the file while it uses it. So a
file is left over if no process holds the lock and its creator is gone. The lock also covers creators in other
containers, whose pids mean nothing here.

A `.set` file may be the only copy of what a change set has replaced. Only the journal of that set says so, and it may
be in a state folder that this process does not know. So such a file is never removed because of its name alone.
"""

import os
import random
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

from msgspec import Struct

from fileops.platform import descriptors
from fileops.platform.locks import try_lock

_NAME = re.compile(r"\.fileops-(?P<pid>\d{1,10})-(?P<start>[0-9a-z]{1,16})-[0-9a-f]{12}\.(?P<kind>tmp|journal|far|set)")
_PREFIX = ".fileops-"
_ENDED = (b"Z", b"X")  # states of a process whose parent has not waited for it


class OwnFile(Struct, frozen=True):
    """A temp file or journal of a daemon, described by its name."""

    name: str
    pid: int
    start: str
    kind: str

    @property
    def is_ours(self) -> bool:
        """Return whether this process created it."""
        return self.pid == os.getpid() and self.start == _own_start(self.pid)

    @property
    def is_in_use(self) -> bool:
        """Return whether its creator, as named, still uses it. The lock decides in the end."""
        if self.is_ours:
            return self.name in _in_use
        return start_time(self.pid) == self.start


_random = random.Random()  # seeded by the kernel once, not for each edit
_in_use: set[str] = set()  # between `new_name` and `release`; some are not locked yet


def new_name(kind: str) -> str:
    """Return a new name. Call `release` once the file is removed, renamed or given up."""
    name = f"{_PREFIX}{_own_process()}-{_random.getrandbits(48):012x}.{kind}"
    _in_use.add(name)
    return name


def release(name: str) -> None:
    _in_use.discard(name)


def list_own_files(folder: "str | int") -> Iterator[OwnFile]:
    """Yield all our files in a folder, of dead and living processes. Raises: OSError."""
    for name in os.listdir(folder):
        if name.startswith(_PREFIX) and (match := _NAME.fullmatch(name)):
            yield OwnFile(name, int(match["pid"]), match["start"], match["kind"])


def is_set_file(name: str) -> bool:
    """Return whether this is the name of a file of a change set, which may be a backup."""
    match = _NAME.fullmatch(name)
    return match is not None and match["kind"] == "set"


def is_temp_file(name: str) -> bool:
    match = _NAME.fullmatch(name)
    return match is not None and match["kind"] == "tmp"


def remove_if_dead(leftover: OwnFile, dir_fd: int) -> bool:
    """Remove a temp file of a dead process; return whether it was removed. Failures are ignored."""
    with suppress(OSError):
        fd = os.open(leftover.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=dir_fd)
        try:
            is_file = stat.S_ISREG(os.fstat(fd).st_mode)  # else only the name matches
            if is_file and not leftover.is_in_use and try_lock(fd):
                os.unlink(leftover.name, dir_fd=dir_fd)
                return True
        finally:
            descriptors.close(fd)
    return False


def start_time(pid: int) -> str | None:
    """Return the start time of a process; None if it has ended, "0" if the system does not provide it."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except FileNotFoundError:
        return None if os.path.exists("/proc/self/stat") else _start_without_proc(pid)
    except OSError:
        return "0"
    if fields[0] in _ENDED:
        return None
    return _in_base_36(int(fields[19]))  # field 22 of proc_pid_stat(5)


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
    """Return our own start time, by pid, because a forked child is another process."""
    return start_time(pid) or "0"


@cache
def _own_process() -> str:
    """Return the start of our names after the prefix; computed once, because each edit makes a name."""
    pid = os.getpid()
    return f"{pid}-{_own_start(pid)}"


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_own_process.cache_clear)


def _in_base_36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits or "0"
