"""Shares of worker threads: any thread may wait for the disk, but for an editor, host or plugin only in its share.

An editor that does not answer, a host that hangs and a plugin that blocks each keep threads busy. They must not block
work on local files. So code that is about to wait for one of them calls `require` before it has any effect: in a thread
of another share this raises `NeedsShare`, and the work starts again in the right share (workers.py).
"""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from fileops.model.errors import FileOpsError

EDITOR, PLUGIN = "editor", "plugin"

Share = str
LOCAL: frozenset[Share] = frozenset()  # of work that waits only for the disk


def of_editor(name: str) -> Share:
    """Return the share of one of several editors; "" if there is only one."""
    return f"{EDITOR} {name}" if name else EDITOR


def of_mount(prefix: str) -> Share:
    """Return the share of the filesystem that is mapped to this prefix."""
    return f"mapped {prefix}"


class NeedsShare(BaseException):
    """The work cannot continue in this thread. It has had no effect yet.

    Not an Exception, because handlers around other packages' code must not catch it.
    """

    def __init__(self, share: Share) -> None:
        super().__init__(share)
        self.share = share


class _ThreadShares(threading.local):
    allowed: frozenset[Share] | None = None  # None: this thread may wait for all of them
    full: frozenset[Share] = LOCAL


_here = _ThreadShares()


def require(share: Share, refusal: Callable[[], FileOpsError]) -> None:
    """Call this before a wait, and before the first step that must not be repeated.

    Raises: NeedsShare; `refusal()` if too many calls already wait in that share.
    """
    if _here.allowed is None or share in _here.allowed:
        return
    if share in _here.full:
        raise refusal()
    raise NeedsShare(share)


def enter(allowed: frozenset[Share] | None) -> None:
    """Let this thread belong to all of these shares."""
    _here.allowed = allowed


def of_thread() -> frozenset[Share] | None:
    """Return the shares of this thread, for `enter` in a thread that works for it."""
    return _here.allowed


@contextmanager
def wait_for_disk_only() -> Generator[None]:
    """Wait only for the disk inside the block, in a thread that may otherwise wait for anything (the event loop's)."""
    _here.allowed = LOCAL
    try:
        yield
    finally:
        _here.allowed = None


@contextmanager
def refuse(full: frozenset[Share]) -> Generator[None]:
    """Make each `require` of one of these shares fail inside the block."""
    _here.full = full
    try:
        yield
    finally:
        _here.full = LOCAL
