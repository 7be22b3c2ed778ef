"""The process at the other end of a Unix socket, and whether it is confined as this one is.

Otherwise a sandboxed program could make the daemon write where its sandbox forbids it to. Linux shows what confines a
process: `NoNewPrivs`, the number of seccomp filters, and the user and mount namespaces. What cannot be read counts as
different.
"""

import errno
import logging
import os
import select
import socket
import struct
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Literal

from msgspec import Struct

log = logging.getLogger(__name__)

_SO_PEERPIDFD = 77  # <asm-generic/socket.h>, since Linux 6.5
_LOCAL_PEERCRED = 1  # <sys/un.h> of macOS, with struct xucred
MAX_ANCESTORS = 8  # a hook is a child of its host, or of a shell or two below it
MAX_ANCESTORS_OF_COMMANDS = 32  # of a command: shells, build tools, and what they start
_STARTERS = frozenset({"sh", "bash", "dash", "zsh", "env", "uv", "uvx", "npx", "npm", "pipx"})
_FIELDS = (b"NoNewPrivs:", b"Seccomp:", b"Seccomp_filters:")


class PeerProcess(Struct, frozen=True):
    """The process that connected. pid: 0 if the kernel does not report it."""

    pid: int
    uid: int


def peer_of(connection: socket.socket) -> PeerProcess:
    """Return the process that connected. Raises: OSError."""
    if sys.platform == "linux":
        pid, uid, _gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return PeerProcess(pid, uid)
    _version, uid = struct.unpack("II", connection.getsockopt(0, _LOCAL_PEERCRED, 8))
    return PeerProcess(0, uid)


def parent_of(pid: int) -> int:
    """Return the parent of a process; 0 if there is none or it cannot be read."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return int(stat.read().rpartition(b")")[2].split()[1])  # the name in front may contain anything
    except (OSError, ValueError, IndexError):
        return 0


def ancestors_of(pid: int, limit: int = MAX_ANCESTORS) -> list[int]:
    """Return a process's parent, its parent, and so on, without the system's first process."""
    found: list[int] = []
    while len(found) < limit and (pid := parent_of(pid)) > 1:
        found.append(pid)
    return found


def is_of_one_host(pid: int, other: int) -> bool:
    """Return whether the same program started both processes, or one of them started the other.

    If either process is unknown, so is the answer, and this returns True.
    """
    if not pid or not other or pid == other or not (parent := parent_of(other)):
        return True
    return not {other, parent, host_of(other)}.isdisjoint([pid, *ancestors_of(pid, MAX_ANCESTORS_OF_COMMANDS)])


def host_of(pid: int) -> int:
    """Return the program that had a server started: its parent, or what is above shells, `uvx`, `npx` and the like.

    0 if it cannot be known.
    """
    host = parent_of(pid)
    for _ in range(MAX_ANCESTORS):
        above = parent_of(host)
        if above <= 1 or _name_of(host).partition(" ")[0] not in _STARTERS:  # npm calls itself `npm exec NAME`
            break
        host = above
    return host


def _name_of(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as comm:
            return comm.read().strip()
    except OSError:
        return ""


def variables_of(pid: int, names: Iterable[str]) -> list[str]:
    """Return which of these names were set in the environment with which a process was started."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            environment = file.read().rstrip(b"\0").split(b"\0")
    except OSError:
        return []
    is_set = {name for name, _, value in (variable.partition(b"=") for variable in environment) if value}
    return [name for name in names if name.encode() in is_set]


def refusal_of(connection: socket.socket, peer: PeerProcess) -> Literal["uid", "confined", "exhausted"] | None:
    """Return why the peer is not served; None if it is. Another user is refused, even root.

    Without a free descriptor nothing can be looked up, which says nothing about the peer.
    """
    if peer.uid != os.geteuid():
        return "uid"
    if sys.platform == "linux" and peer.pid != os.getpid():
        return _refusal_of_process(connection, peer.pid)
    return None


def _refusal_of_process(connection: socket.socket, pid: int) -> Literal["confined", "exhausted"] | None:
    try:
        ours, theirs = confinement_of(os.getpid()), confinement_of(pid)
        is_alive = _is_alive(connection)
    except OSError as fault:
        if not is_exhaustion(fault):
            raise
        log.warning("process %d is refused: %s", pid, fault)
        return "exhausted"
    if ours is None or ours != theirs or not is_alive:
        log.warning("process %d is refused: it is confined by %s, the daemon by %s", pid, theirs, ours)
        return "confined"
    return None


def confinement_of(pid: int) -> tuple[str, ...] | None:
    """Return what confines a process; None if that cannot be read. Raises: OSError, without a free descriptor."""
    try:
        with open(f"/proc/{pid}/status", "rb") as status:
            fields = [line.decode("ascii", "replace").strip() for line in status if line.startswith(_FIELDS)]
        return (*fields, *(os.readlink(f"/proc/{pid}/ns/{name}") for name in ("user", "mnt")))
    except OSError as fault:
        if is_exhaustion(fault):
            raise
        return None


def is_exhaustion(fault: OSError) -> bool:
    """Return whether this process, or the whole system, has no free descriptor or memory."""
    return fault.errno in {errno.EMFILE, errno.ENFILE, errno.ENOMEM}


def _is_alive(connection: socket.socket) -> bool:
    """Return whether the connected process still exists, so that its pid cannot have been another's when looked up."""
    try:
        option = connection.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD, struct.calcsize("i"))
    except OSError as fault:
        if fault.errno != errno.ENOPROTOOPT:
            raise
        return True  # an older kernel: the pid is trusted
    (pidfd,) = struct.unpack("i", option)
    try:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)  # readable when the process has ended
        return not poll.poll(0)
    finally:
        with suppress(OSError):
            os.close(pidfd)
