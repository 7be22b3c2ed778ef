"""Who may be waited for in this thread: the disk always, anybody else only in a worker thread of that one's share.

An editor that does not answer, a host that hangs and a plugin that blocks each keep threads busy. So that they keep no
others from the files of this machine, code that is about to wait for one of them says so, before anything has happened:
in a thread of another share this raises `NeedsShare`, and the work is begun anew in the right one (workers.py).
"""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from fileops.model.errors import FileOpsError

EDITOR, PLUGIN = "editor", "plugin"

Share = str
LOCAL: frozenset[Share] = frozenset()  # of work that waits for nobody but the disk


def mapped(prefix: str) -> Share:
    """Of the filesystem that is mapped to this prefix."""
    return f"mapped {prefix}"


class NeedsShare(BaseException):
    """The work cannot go on in this thread. Nothing has happened yet.

    No Exception: what is caught around another package's code must not take it for a failure of that.
    """

    def __init__(self, share: Share) -> None:
        super().__init__(share)
        self.share = share


class _Here(threading.local):
    allowed: frozenset[Share] | None = None  # None: no worker thread, or one in which everybody may be waited for
    full: frozenset[Share] = LOCAL


_here = _Here()


def require(share: Share, refusal: Callable[[], FileOpsError]) -> None:
    """Before waiting, and before the first step that is not to be done twice.

    Raises: NeedsShare; `refusal()` where too many wait there already.
    """
    if _here.allowed is None or share in _here.allowed:
        return
    if share in _here.full:
        raise refusal()
    raise NeedsShare(share)


def enter(allowed: frozenset[Share] | None) -> None:
    """Make this thread one of this share, or of these together."""
    _here.allowed = allowed


@contextmanager
def refusing(full: frozenset[Share]) -> Generator[None]:
    """Inside, what needs one of these fails."""
    _here.full = full
    try:
        yield
    finally:
        _here.full = LOCAL
