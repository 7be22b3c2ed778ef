"""Work done in a child process: as another user, with its own mounts, or until it is killed."""

import contextlib
import ctypes
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

NOBODY = 65534
_CLONE_NEWNS = 0x00020000
_write = os.write  # `killed_at` is not to hit the answer

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may do this")


@dataclass(frozen=True)
class Ended:
    """value: what the work returned, or the exception's class name. is_killed: by a signal."""

    value: Any
    is_killed: bool


def in_child(
    work: Callable[[], object], *, uid: int | None = None, when_stopped: Callable[[], object] | None = None
) -> Ended:
    """Args: when_stopped: called when the child has stopped itself (SIGSTOP), which then goes on."""
    with tempfile.TemporaryFile() as answer:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns where threads live; none forks back
            pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException):
                _work(work, uid, answer.fileno())
            os._exit(0)
        _, status = os.waitpid(pid, 0 if when_stopped is None else os.WUNTRACED)
        while when_stopped is not None and os.WIFSTOPPED(status):
            try:
                when_stopped()
            finally:
                os.kill(pid, signal.SIGCONT)
                _, status = os.waitpid(pid, os.WUNTRACED)
        written = os.pread(answer.fileno(), 1 << 24, 0)
    return Ended(pickle.loads(written) if written else None, os.WIFSIGNALED(status))


def _work(work: Callable[[], object], uid: int | None, answer_fd: int) -> None:
    try:
        if uid is not None:
            assert sys.platform == "linux"  # of those who call it, see `as_root`
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        value = work()
    except BaseException as error:  # noqa: BLE001  # its name is the answer
        if isinstance(error, AssertionError):
            traceback.print_exc()
        value = type(error).__name__
    _write(answer_fd, pickle.dumps(value))


def own_mounts() -> None:
    """Mounts made from here on are seen by this process alone, and go with it."""
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    mount("--make-rprivate", "/")


def mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True)


def killed_at(n_call: int, *, is_half: bool) -> None:
    """Have this process killed at its n-th call that writes; a write of bytes is done by half where asked."""

    def die(call: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        if is_half:
            fd, data, *rest = arguments
            call(fd, memoryview(data)[: len(data) // 2], *rest)
        os.kill(os.getpid(), signal.SIGKILL)

    _before_call(n_call, die)


def calls_of(work: Callable[[], object]) -> list[str]:
    """Do work in this process. Returns its calls that write, to each of which `killed_at` may come."""
    made = _before_call(0, lambda _call, _arguments: None)
    work()
    return made


def _before_call(n_call: int, do: Callable[[Callable[..., Any], tuple[Any, ...]], None]) -> list[str]:
    """Returns where the names of all calls are noted."""
    made: list[str] = []

    def counting(name: str) -> Callable[..., Any]:
        call = getattr(os, name)

        def counted(*arguments: Any, **named: Any) -> Any:
            made.append(name)
            if len(made) == n_call:
                do(call, arguments)
            return call(*arguments, **named)

        return counted

    for name in (
        "open", "write", "pwrite", "fsync", "rename", "link", "unlink", "ftruncate", "posix_fallocate", "fchmod",
        "fchown", "setxattr", "utime", "mkdir", "rmdir", "close",
    ):  # fmt: skip
        setattr(os, name, counting(name))
    return made


def beside_call(n_call: int, work: Callable[[], object], meanwhile: Callable[[], object]) -> tuple[Ended, bool]:
    """Do work in a child that stops before its n-th call that writes, until something else was done here.

    Returns how the child ended, and whether it made so many calls.
    """
    stopped = False

    def stop(_call: Callable[..., Any], _arguments: tuple[Any, ...]) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)

    def held() -> object:
        _before_call(n_call, stop)
        return work()

    def when_stopped() -> None:
        nonlocal stopped
        stopped = True
        meanwhile()

    return in_child(held, when_stopped=when_stopped), stopped
