"""Runs shell commands for an agent: approved by the user where required, and limited in time and output.

Owns the order of steps; the executor decides where a command runs. No state is kept between commands.
"""

import asyncio
import codecs
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, suppress

from fileops.core.presentation import outputs
from fileops.core.truncation import HeadTailBuffer
from fileops.model.approval import Always, Once, TimedOut, Undecided
from fileops.model.errors import ApprovalTimedOut, CommandTimedOut, FileOpsError, NobodyDecided, NotAbsolute, Rejected
from fileops.model.requests import CommandRequest
from fileops.model.results import CommandResult
from fileops.model.sessions import SessionName
from fileops.model.settings import ApprovalMode
from fileops.ports import CommandApprover, ExecutorChoice, RunningProcess
from fileops.service.sessions import OpenSession

N_COMMANDS = 8  # at once; further ones wait
STREAM_S = 0.1  # between reports of new output
MAX_REPORT_BYTES = 32 * 1024  # in one report; the result has more

Say = Callable[[str], None]


class CommandRunner:
    """Runs up to N_COMMANDS commands at once.

    executor_at: returns the executor that serves a working directory, and the directory's path there. folders: those of
    the workspace; commands run in the first. recheck: checks all tracked files. running: a context during which the
    session is recorded as running a command line.
    """

    def __init__(
        self,
        *,
        executor_at: ExecutorChoice,
        approver: CommandApprover,
        mode_of: Callable[[SessionName], ApprovalMode],
        open_session: Callable[[SessionName], OpenSession],
        folders: Callable[[], tuple[str, ...]],
        default_cwd: str,
        recheck: Callable[[], None],
        running: Callable[[SessionName, str], AbstractAsyncContextManager[object]],
    ) -> None:
        self._executor_at = executor_at
        self._approver = approver
        self._mode_of = mode_of
        self._open_session = open_session
        self._folders = folders
        self._default_cwd = default_cwd
        self._recheck = recheck
        self._noted_as_running = running
        self._slots = asyncio.Semaphore(N_COMMANDS)
        self._threads = ThreadPoolExecutor(N_COMMANDS, thread_name_prefix="fileops-command")
        self._running: set[RunningProcess] = set()
        self._granted: set[tuple[str, str, str]] = set()

    async def run(self, request: CommandRequest, say: Say | None = None) -> CommandResult:
        """Run the command. While it runs, `say` is called on the loop with new output."""
        cwd = request.cwd or next(iter(self._folders()), self._default_cwd)
        clipped, began = HeadTailBuffer(), time.monotonic()
        code: int | None = None
        error: FileOpsError | None = None
        try:
            if not cwd.startswith("/"):
                raise NotAbsolute(path=cwd)
            await self._require_approval(request, cwd)
            began = time.monotonic()
            async with self._noted_as_running(request.session_id, request.command):
                code = await self._run(request, cwd, clipped, say)
            if code is None:
                error = CommandTimedOut(timeout_s=request.timeout_s)
        except FileOpsError as failure:
            error = failure
        return CommandResult(
            output=outputs.command_text(clipped.text(), code, error, cwd),
            error=error,
            exit_code=code,
            cwd=cwd,
            duration_s=time.monotonic() - began,
            n_output_bytes=clipped.n_bytes,
            is_clipped=clipped.is_clipped,
        )

    def forget(self, session_id: SessionName) -> None:
        """Drop the permanent approvals of this session."""
        self._granted = {grant for grant in self._granted if grant[0] != session_id}

    def close(self) -> None:
        """End all commands. Blocks until they have ended."""
        for running in tuple(self._running):
            running.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)

    async def _require_approval(self, request: CommandRequest, cwd: str) -> None:
        """Raises: Rejected, NobodyDecided, ApprovalTimedOut."""
        grant = (request.session_id, cwd, request.command)
        if self._mode_of(request.session_id) == "yolo" or not self._approver.can_ask or grant in self._granted:
            return
        session = self._open_session(request.session_id)
        match await self._approver.decide(request, cwd):
            case Once():
                return
            case Always():
                if not session.is_closed:
                    self._granted.add(grant)
            case TimedOut(timeout_s):
                raise ApprovalTimedOut(timeout_s=timeout_s, what="command")
            case Undecided():
                raise NobodyDecided(what="command")
            case _:
                raise Rejected(what="command")

    async def _run(self, request: CommandRequest, cwd: str, clipped: HeadTailBuffer, say: Say | None) -> int | None:
        """Return the exit code; None after the timeout. Raises: CommandNotStarted."""
        loop = asyncio.get_running_loop()
        stream = None if say is None else _Stream(loop, say)
        is_cancelled = threading.Event()
        started: list[RunningProcess] = []

        def take(chunk: bytes) -> None:
            clipped.feed(chunk)
            if stream is not None:
                stream.feed(chunk)

        def work() -> int | None:
            if is_cancelled.is_set():
                return None
            executor, there = self._executor_at(cwd)
            running = executor.start(request.command, there)
            self._running.add(running)
            started.append(running)
            try:
                if is_cancelled.is_set():
                    running.kill()
                return running.wait(request.timeout_s, take)
            finally:
                self._running.discard(running)
                self._recheck()

        async with self._slots:  # a cancel of this wait has nothing to end
            done = loop.run_in_executor(self._threads, work)
            try:
                return await asyncio.shield(done)
            except asyncio.CancelledError:
                is_cancelled.set()
                for running in started:
                    running.kill()
                while not done.done():  # the command must end before the caller gets the cancel
                    with suppress(asyncio.CancelledError):
                        await asyncio.wait([done])
                raise
            finally:
                if stream is not None:
                    stream.flush()


class _Stream:
    """Reports new output at intervals. Fed in a worker thread; calls `say` on the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, say: Say) -> None:
        self._loop = loop
        self._say = say
        self._lock = threading.Lock()
        self._waiting = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, chunk: bytes) -> None:
        with self._lock:
            is_first = not self._waiting
            self._waiting += chunk[-MAX_REPORT_BYTES:]
            del self._waiting[:-MAX_REPORT_BYTES]
        if is_first:
            self._loop.call_soon_threadsafe(self._loop.call_later, STREAM_S, self.flush)

    def flush(self) -> None:
        with self._lock:
            waiting, self._waiting = bytes(self._waiting), bytearray()
        if text := self._decoder.decode(waiting):
            self._say(text)
