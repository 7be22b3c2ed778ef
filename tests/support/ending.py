"""Ends processes at the end of a test: killed, but asked first where coverage is measured.

A killed process leaves no data. Without measurement the question would only cost time, a few ten milliseconds per test.
"""

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from typing import Any

IS_MEASURED = "COVERAGE_PROCESS_CONFIG" in os.environ
LAST_WORDS_S = 10.0  # a process that hangs, or is stopped, writes none


def end_process(process: "subprocess.Popen[Any]") -> None:
    """End a child; the caller waits for it."""
    if IS_MEASURED and process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(LAST_WORDS_S)
    if process.poll() is None:
        process.kill()


def end_daemon(pid: int, has_ended: Callable[[float], bool]) -> None:
    """End a process that is no child. has_ended: waits for its end, up to so many seconds."""
    with suppress(ProcessLookupError):
        if IS_MEASURED:
            os.kill(pid, signal.SIGTERM)
            if has_ended(LAST_WORDS_S):
                return
        os.kill(pid, signal.SIGKILL)
