"""What this system lets the tests do. `tests/support/lacking/run.py` takes it away."""

import ctypes
import os
import sys
import tempfile

import pytest

from fileops.model.internal_errors import WatchError
from fileops.platform import syscalls
from fileops.watch.factory import FolderStreams


def _can_exchange() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("one", "other"):
            with open(f"{folder}/{name}", "w", encoding="ascii"):
                pass
        dir_fd = os.open(folder, os.O_RDONLY)
        try:
            return syscalls.exchange("one", "other", dir_fd)
        finally:
            os.close(dir_fd)


def _has_attributes() -> bool:
    libc = ctypes.CDLL(None, use_errno=True)
    with tempfile.NamedTemporaryFile() as file:
        return getattr(libc, "fsetxattr", None) is not None and (
            libc.fsetxattr(file.fileno(), b"user.note", b"x", ctypes.c_size_t(1), 0) == 0
        )


def _has_inotify() -> bool:
    watch = FolderStreams().watch(_ignore, _ignore, _ignore)
    try:
        watch.add(os.path.realpath(tempfile.gettempdir()))
    except WatchError:
        return False
    finally:
        watch.close()
    return sys.platform == "linux"


def _ignore(*_: object) -> None: ...


HAS_PROC = os.path.exists("/proc/self/stat")
HAS_ATTRIBUTES = _has_attributes()
needs_proc = pytest.mark.skipif(not HAS_PROC, reason="needs /proc")
needs_exchange = pytest.mark.skipif(not _can_exchange(), reason="files cannot be exchanged here")
needs_openat2 = pytest.mark.skipif(not syscalls.has_open_without_links(), reason="needs openat2")
needs_inotify = pytest.mark.skipif(not _has_inotify(), reason="needs inotify")
