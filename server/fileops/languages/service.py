"""Asks the language servers about commits, in its own thread, so that nothing else waits for their answers.

The public methods may be called in any thread, and none of them blocks.
"""

import asyncio
import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any

from lsprotocol.types import FileChangeType
from msgspec.structs import replace

from fileops.core.diagnostics.places import ServerPlace, places_of
from fileops.core.diagnostics.report import Edits, compare_text, report_settled, report_unsettled, text_of
from fileops.core.formatting import LineRange
from fileops.core.splices import compose
from fileops.languages.comparison import GIVE_UP_S, MAX_FILE_BYTES, Comparison, compare
from fileops.languages.connection import ServerEnded
from fileops.languages.language_server import LanguageServer
from fileops.languages.pool import LanguageServerPool
from fileops.model.diagnostics import (
    ChangeKind,
    DiagnosticsReport,
    Formatted,
    LanguageServerSetting,
    LanguageServerStatus,
    Problem,
)
from fileops.model.sessions import SessionName

log = logging.getLogger(__name__)

END_IDLE_EVERY_S = 30.0
CLOSE_S = 5.0
_EVENTS = {"create": FileChangeType.Created, "modify": FileChangeType.Changed, "delete": FileChangeType.Deleted}
MAX_REPORTED = 200  # files whose last report can still be corrected


class _ServerJob:
    """A waiting or running comparison, and who waits for it."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self.report: Future[DiagnosticsReport] = Future()


class LanguageServers:
    """The language servers of a daemon.

    on_correction: called in their thread, with a session and a report's correction.
    """

    def __init__(self, on_correction: Callable[[SessionName, DiagnosticsReport], None]) -> None:
        self._report_correction = on_correction
        self._lock = threading.Lock()  # of the next three
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # of the thread
        self._is_closed = False
        # The rest belongs to the loop.
        self._pool = LanguageServerPool(self._take_correction)
        self._queues: dict[str, deque[_ServerJob]] = {}  # by folder; the first job of each is running
        self._reported: OrderedDict[str, Comparison] = OrderedDict()  # by file
        self._tasks: set[asyncio.Task[None]] = set()

    # --- any thread ----------------------------------------------------------------------------------------------

    def prepare(
        self,
        path: str,
        folders: Sequence[str],
        settings: Sequence[LanguageServerSetting],
        read: Callable[[], bytes | None],
    ) -> None:
        """Start the language servers of a file that a session has read, and find its problems before an edit.

        Args: read: returns the content, None if there is none; called in a thread.
        """
        if places := places_of(path, folders, settings):
            for place in places:
                self._run(partial(self._prepare, place, path, read))

    def compare(
        self,
        edits: Edits,
        folders: Sequence[str],
        settings: Sequence[LanguageServerSetting],
        may_know: Callable[[str], bool],
    ) -> "Future[DiagnosticsReport] | None":
        """Compare the problems before and after a commit; return None if no language server checks its files.

        Calls for one file come in the order of its commits. The future never fails. If it is `pending`, a later edit of
        the same file continues from this one, and its report will cover both. Args: may_know: whether the session has
        read this file, and may read it.
        """
        job = _ServerJob(
            Comparison(
                changes=edits.changes,
                edit_ids=edits.edit_ids,
                session_id=edits.session_id,
                severity=edits.severity,
                folders=tuple(folders),
                settings=tuple(settings),
                may_know=may_know,
            )
        )
        if not job.comparison.places() or not self._run(partial(self._enqueue, job)):
            return None
        return job.report

    def format(
        self, places: Sequence[ServerPlace], path: str, text: str, ranges: Sequence[LineRange], timeout_s: float
    ) -> "Future[Formatted]":
        """Format these lines of a text with the first server that can. The future never fails."""
        formatted: Future[Formatted] = Future()

        async def answer() -> None:
            try:
                formatted.set_result(await self._format(places, path, text, ranges, timeout_s))
            finally:
                if not formatted.done():  # the daemon is ending, or an error was logged
                    formatted.set_result(Formatted(not_formatted="the language servers have ended"))

        if not self._run(answer):
            formatted.set_result(Formatted(not_formatted="the language servers have ended"))
        return formatted

    def note_changed(self, files: Sequence[tuple[str, ChangeKind]]) -> None:
        """Take note that others have written these files."""
        if self._thread is not None:
            events = [(path, _EVENTS[kind]) for path, kind in files]
            self._run(partial(self._pool.note_files_changed, events))

    def describe(self) -> "Future[list[LanguageServerStatus]]":
        """Return the language servers that were started."""
        described: Future[list[LanguageServerStatus]] = Future()

        async def describe() -> None:
            described.set_result(self._pool.describe())

        if self._thread is None or not self._run(describe):
            described.set_result([])
        return described

    def close(self) -> None:
        """End all language servers, after a moment by force. Blocks for at most 5 s."""
        with self._lock:
            was_closed, self._is_closed = self._is_closed, True
            thread, loop = self._thread, self._loop
        if thread is not None and loop is not None and not was_closed:
            asyncio.run_coroutine_threadsafe(self._close(loop), loop)
            thread.join(CLOSE_S)
            if thread.is_alive():  # its loop is busy, and ends with the daemon; the servers would not
                self._pool.kill_processes()

    def _run(self, make: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        with self._lock:
            if self._is_closed:
                return False
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._serve, args=(self._loop,), name="fileops-languages", daemon=True
                )
                self._thread.start()
            self._loop.call_soon_threadsafe(self._begin, self._loop, make)
        return True

    # --- its own thread ------------------------------------------------------------------------------------------

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        self._begin(loop, self._end_idle)
        loop.run_forever()
        loop.close()

    def _begin(self, loop: asyncio.AbstractEventLoop, make: Callable[[], Coroutine[Any, Any, None]]) -> None:
        task = loop.create_task(make())
        self._tasks.add(task)
        task.add_done_callback(self._on_end)

    def _on_end(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            log.error("language servers", exc_info=fault)

    async def _close(self, loop: asyncio.AbstractEventLoop) -> None:
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._pool.close()
        loop.stop()

    async def _end_idle(self) -> None:
        while True:
            await asyncio.sleep(END_IDLE_EVERY_S)
            await self._pool.end_idle()

    async def _prepare(self, place: ServerPlace, path: str, read: Callable[[], bytes | None]) -> None:
        with suppress(ServerEnded, TimeoutError):  # a comparison will report it
            async with self._pool.server(place) as server:
                if server.is_open(path):
                    return
                data = await asyncio.to_thread(read)
                if data is not None and len(data) <= MAX_FILE_BYTES and not server.is_open(path):
                    await server.problems(path, text_of(data), GIVE_UP_S)

    async def _format(
        self, places: Sequence[ServerPlace], path: str, text: str, ranges: Sequence[LineRange], timeout_s: float
    ) -> Formatted:
        if len(text.encode("utf-8", "surrogatepass")) > MAX_FILE_BYTES:
            return Formatted(not_formatted="the file has more than 1 MB")
        for place in places:
            name = place.setting.name
            if not self._pool.is_running(place):  # it may be able to once it runs
                if (refusal := self._pool.refusal_of(place)) is not None:
                    return Formatted(not_formatted=f"{name}: {refusal}")
                self._begin(asyncio.get_running_loop(), partial(self._start, place))
                return Formatted(not_formatted=f"{name} was not running. It is being started")
            try:
                async with asyncio.timeout(timeout_s), self._pool.server(place) as server:
                    if not server.formats_lines:
                        continue
                    return Formatted(made=await server.format(path, text, ranges, timeout_s), server=name)
            except ServerEnded as fault:
                return Formatted(not_formatted=f"{name}: {fault}")
            except TimeoutError:
                return Formatted(not_formatted=f"{name} did not answer within {timeout_s:g} s")
        return Formatted(not_formatted=f"{', '.join(place.setting.name for place in places)} cannot format lines")

    async def _start(self, place: ServerPlace) -> None:
        with suppress(ServerEnded):  # the next comparison reports it
            async with self._pool.server(place):
                pass

    async def _enqueue(self, job: _ServerJob) -> None:
        """Run one comparison at a time in each folder, so that its effects on other files are its own."""
        queue = self._queues.setdefault(job.comparison.places()[0].root, deque())
        if len(queue) > 1 and (joined := _join(queue[-1].comparison, job.comparison)) is not None:
            waiting = queue[-1].comparison
            queue[-1].report.set_result(report_unsettled(waiting, "pending", waiting.sources))
            job.comparison = joined
            queue[-1] = job
            return
        queue.append(job)
        if len(queue) > 1:
            return
        while queue:
            running = queue[0]
            running.report.set_result(await self._compare(running.comparison))
            queue.popleft()

    async def _compare(self, comparison: Comparison) -> DiagnosticsReport:
        try:
            report = await compare(self._pool, comparison)
        except Exception as fault:  # a language server is foreign code, and pygls decodes its output
            log.exception("the comparison of problems failed")
            report = report_unsettled(comparison, "unavailable", comparison.sources, f"an internal error ({fault!r})")
        for change in comparison.changes:
            self._reported.pop(change.path_after, None)
            self._reported[change.path_after] = comparison
        while len(self._reported) > MAX_REPORTED:
            self._reported.popitem(last=False)
        return report

    def _take_correction(
        self, server: LanguageServer, path: str, was: tuple[Problem, ...], now: tuple[Problem, ...]
    ) -> None:
        """Take a correction: a server that publishes reported more on a text whose problems counted as settled."""
        comparison = self._reported.get(path)
        if comparison is None:
            return
        given_path = next(change.given_path for change in comparison.changes if change.path_after == path)
        compared = compare_text(given_path, server.text_of(path) or "", was, now)
        report = report_settled(comparison, (server.setting.name,), compared)
        if report.n_introduced or report.n_resolved:
            self._report_correction(comparison.session_id, report)


def _join(first: Comparison, second: Comparison) -> Comparison | None:
    """Return one comparison of both edits if the second continues from the session's first."""
    if (first.session_id, first.settings, first.folders) != (second.session_id, second.settings, second.folders):
        return None
    if len(first.changes) != 1 or len(second.changes) != 1:
        return None
    one, two = first.changes[0], second.changes[0]
    if one.path != two.path or one.new_path is not None or two.new_path is not None:
        return None
    if one.before is None or one.after is None or two.after is None or one.after != two.before:
        return None
    change = replace(two, before=one.before, splices=tuple(compose(one.splices, two.splices)))
    return replace(second, changes=(change,), edit_ids=(*first.edit_ids, *second.edit_ids))
