"""Watches the process that the client named at `initialize`. Source: LSP, InitializeParams.processId."""

import asyncio
import os
import sys
from collections.abc import Callable

POLL_S = 1.0  # if the system has no pidfd
LAST_WORDS_S = 1.0  # for its last output, which a pump may still hold; usually the output ends first


class ParentWatch:
    def __init__(self, loop: asyncio.AbstractEventLoop, on_gone: Callable[[], None]) -> None:
        self._loop = loop
        self._on_gone = on_gone
        self._pidfd: int | None = None
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, pid: int) -> None:
        """Call `on_gone` soon after the process ends, or soon after now if it has already ended."""
        self.close()
        if sys.platform == "linux":
            try:
                pidfd = self._pidfd = os.pidfd_open(pid)
            except ProcessLookupError:
                self._has_ended()
            except (OSError, OverflowError):  # an old kernel, or a sandbox
                self._poll(pid)
            else:
                self._loop.add_reader(pidfd, self._has_ended)
        else:
            self._poll(pid)

    def _has_ended(self) -> None:
        self.close()
        self._timer = self._loop.call_later(LAST_WORDS_S, self._on_gone)

    def close(self) -> None:
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _poll(self, pid: int) -> None:
        if _is_alive(pid):
            self._timer = self._loop.call_later(POLL_S, self._poll, pid)
        else:
            self._has_ended()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
