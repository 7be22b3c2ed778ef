"""Finds out how edits changed the problems of files: asks editors and language servers, and keeps late reports.

A commit only hands over its texts. The answer to its request waits a moment for the comparison. A later report is sent
with the session's next result.
"""

import asyncio
import hashlib
import threading
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Literal, Protocol

from msgspec import Struct

from fileops.concurrency.delivery import when_delivered
from fileops.core.diagnostics.places import ServerPlace
from fileops.core.diagnostics.positions import Positions
from fileops.core.diagnostics.report import Edits, combine, compare_change, report_settled, report_unsettled, text_of
from fileops.core.formatting import LineRange
from fileops.model.commits import Commit
from fileops.model.diagnostics import (
    ChangeKind,
    CommittedFile,
    DiagnosticsReport,
    Formatted,
    LanguageServerSetting,
    LanguageServerStatus,
    Problem,
    Severity,
)
from fileops.model.documents import DocumentPosition, PositionEncoding
from fileops.model.sessions import SessionName
from fileops.model.settings import Settings

GIVE_UP_S = 30.0  # after this, a pending report becomes unavailable
READ_WAIT_S = 10.0  # for an editor's language server, when a file is read
MAX_LATE = 50  # reports per session that wait for its next result
MAX_TEXTS, MAX_FILES = 4, 200  # for which an editor's answers are kept
MAX_UNPREPARED = 16  # files read before the client named its folders
MAX_COMMITS = 200  # commits whose cancelled requests never ask for a report


class Servers(Protocol):
    """The language servers of the daemon, see languages/service.py. Called in any thread; no method blocks."""

    def prepare(
        self,
        path: str,
        folders: Sequence[str],
        settings: Sequence[LanguageServerSetting],
        read: Callable[[], bytes | None],
    ) -> None: ...

    def compare(
        self,
        edits: Edits,
        folders: Sequence[str],
        settings: Sequence[LanguageServerSetting],
        may_know: Callable[[str], bool],
    ) -> "Future[DiagnosticsReport] | None": ...

    def format(
        self, places: Sequence[ServerPlace], path: str, text: str, ranges: Sequence[LineRange], timeout_s: float
    ) -> "Future[Formatted]": ...

    def note_changed(self, files: Sequence[tuple[str, ChangeKind]]) -> None: ...

    def describe(self) -> "Future[list[LanguageServerStatus]]": ...

    def close(self) -> None: ...


class EditorDiagnostic(Struct, frozen=True):
    """A diagnostic as an editor sends it, with positions as in LSP."""

    start: DocumentPosition
    end: DocumentPosition
    severity: Severity
    code: str
    source: str
    message: str


class EditorAnswer(Struct, frozen=True, kw_only=True):
    """What an editor says about a document. sha256: of its text, as UTF-8 without BOM and with LF line ends."""

    state: Literal["settled", "pending", "unavailable"]
    sha256: str = ""
    diagnostics: tuple[EditorDiagnostic, ...] = ()
    encoding: PositionEncoding = "utf-16"

    def problems(self, text: str) -> tuple[Problem, ...]:
        """Return the diagnostics, with offsets into the text."""
        offset = Positions(text).offset
        found: list[Problem] = []
        for each in self.diagnostics:
            start = offset(each.start.line, each.start.character, self.encoding)
            end = offset(each.end.line, each.end.character, self.encoding)
            found.append(Problem(start, max(start, end), each.severity, each.code, each.source, each.message))
        return tuple(found)


class EditorProblems(Protocol):
    """An attached editor that knows the problems of its documents. name: for people."""

    name: str

    def is_open(self, path: str, /) -> bool: ...

    async def ask(self, path: str, sha256: str | None, wait_s: float) -> EditorAnswer | None:
        """Return None if it does not answer as specified. Args: sha256: of the text to wait for; None for any text."""
        ...


class DiagnosedSession(Struct, frozen=True, kw_only=True):
    """A session whose edits are compared.

    may_know: whether it has read this file and may read it. on_correction: called in any thread with corrections of a
    settled report.
    """

    session_id: SessionName
    folders: tuple[str, ...]
    settings: tuple[LanguageServerSetting, ...]
    severity: Severity
    may_know: Callable[[str], bool]
    on_correction: Callable[[DiagnosticsReport], None]


class _Commit(Struct, frozen=True):
    edits: Edits
    by_servers: "Future[DiagnosticsReport] | None"


class Diagnosis:
    """For all clients of a daemon.

    make_servers: called with a function that takes report corrections, in any thread.
    """

    def __init__(self, make_servers: Callable[[Callable[[SessionName, DiagnosticsReport], None]], Servers]) -> None:
        self._make_servers = make_servers
        self._lock = threading.Lock()  # guards the next three
        self._servers: Servers | None = None
        self._sessions: dict[SessionName, DiagnosedSession] = {}
        self._commits: OrderedDict[str, _Commit] = OrderedDict()  # by edit id
        # Everything below belongs to the event loop.
        self.editors: dict[str, EditorProblems] = {}
        self._answers: OrderedDict[tuple[str, str], OrderedDict[str, EditorAnswer]] = OrderedDict()
        self._questions: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._unchecked: set[tuple[str, str]] = set()  # files for which an editor has no language server

    def begin_session(self, session: DiagnosedSession) -> None:
        """Compare this session's edits from now on; called again with new settings."""
        with self._lock:
            self._sessions[session.session_id] = session

    def end_session(self, session_id: SessionName) -> None:
        """Stop comparing: the session has ended, or has turned diagnostics off."""
        with self._lock:
            self._sessions.pop(session_id, None)

    def note_commits(self, commits: Sequence[Commit]) -> None:
        """Take commits. Called by the worker that made them, in the order of each file's commits."""
        written = [commit for commit in commits if commit.has_changed]
        if not written:
            return
        session_id = written[0].session_id
        with self._lock:
            session, servers = self._sessions.get(session_id), self._servers
        if session is None and servers is None:
            return
        changes = tuple(map(_change_of, written))
        if session is None:
            if servers is not None:
                servers.note_changed([event for change in changes for event in _events_of(change)])
            return
        edit_ids = tuple(commit.edit_id for commit in written)
        edits = Edits(changes=changes, edit_ids=edit_ids, session_id=session_id, severity=session.severity)
        by_servers = None
        if session.settings:
            by_servers = self._present_servers().compare(edits, session.folders, session.settings, session.may_know)
        if by_servers is None and not self.editors:
            return
        with self._lock:
            commit = _Commit(edits, by_servers)
            for edit_id in edit_ids:
                self._commits[edit_id] = commit
            while len(self._commits) > MAX_COMMITS:
                self._commits.popitem(last=False)

    def note_observed(self, path: str, kind: ChangeKind) -> None:
        """Note that something other than the daemon has written a file. Called on any thread."""
        with self._lock:
            servers = self._servers
        if servers is not None:
            servers.note_changed([(path, kind)])

    def format(
        self, places: Sequence[ServerPlace], path: str, text: str, ranges: Sequence[LineRange], timeout_s: float
    ) -> "Future[Formatted]":
        """Have these lines of a text formatted. Called in any thread."""
        return self._present_servers().format(places, path, text, ranges, timeout_s)

    async def describe(self) -> Sequence[LanguageServerStatus]:
        """Return the language servers that have been started."""
        with self._lock:
            servers = self._servers
        return () if servers is None else await asyncio.wrap_future(servers.describe())

    def close(self) -> None:
        """End the language servers."""
        with self._lock:
            servers, self._servers = self._servers, None
        if servers is not None:
            servers.close()

    def _present_servers(self) -> Servers:
        with self._lock:
            if self._servers is None:
                self._servers = self._make_servers(self._correct)
            return self._servers

    def _correct(self, session_id: SessionName, report: DiagnosticsReport) -> None:
        with self._lock:
            session = self._sessions.get(session_id)
        if session is not None:
            session.on_correction(report)

    # --- the event loop ------------------------------------------------------------------------------------------

    def note_read(self, session: DiagnosedSession, path: str, read: Callable[[], bytes | None]) -> None:
        """See ClientDiagnosis.note_read."""
        if (editor := self._open_in(path)) is not None:
            self._ask_at_read(editor, path)
        if self._editor_of(path) is None and session.settings:
            self._present_servers().prepare(path, session.folders, session.settings, read)

    def take(self, edit_ids: Sequence[str]) -> "list[_Commit]":
        """Return the commits of a request, each only once."""
        with self._lock:
            found = [self._commits.pop(edit_id, None) for edit_id in edit_ids]
        return list({id(commit): commit for commit in found if commit is not None}.values())

    async def report(self, commit: _Commit) -> DiagnosticsReport | None:
        """Return how a commit changed the problems; None if no source knows the files."""
        editor = self._editor_of(commit.edits.changes[0].path) if len(commit.edits.changes) == 1 else None
        reason = ""
        if editor is not None:
            found = await self._by_editor(editor, commit.edits)
            if isinstance(found, DiagnosticsReport):
                return found
            editor, reason = self._editor_of(commit.edits.changes[0].path), found  # it may have turned out to have none
        if commit.by_servers is not None:
            return await asyncio.wrap_future(commit.by_servers)
        return report_unsettled(commit.edits, "unavailable", (editor.name,), reason) if editor is not None else None

    def sources_of(self, commit: _Commit) -> tuple[str, ...]:
        """Return the sources that are asked about a commit."""
        with self._lock:
            session = self._sessions.get(commit.edits.session_id)
        editor = self._editor_of(commit.edits.changes[0].path) if len(commit.edits.changes) == 1 else None
        if editor is not None:
            return (editor.name,)
        return () if session is None else tuple(setting.name for setting in session.settings)

    def _editor_of(self, path: str) -> EditorProblems | None:
        editor = self._open_in(path)
        return None if editor is None or (editor.name, path) in self._unchecked else editor

    def _open_in(self, path: str) -> EditorProblems | None:
        return next((editor for editor in self.editors.values() if editor.is_open(path)), None)

    def _ask_at_read(self, editor: EditorProblems, path: str) -> None:
        """Ask now, because a question right before an edit would race with its commit."""
        key = editor.name, path

        async def ask() -> None:
            answer = await editor.ask(path, None, READ_WAIT_S)
            if answer is None or answer.state != "unavailable":
                self._unchecked.discard(key)
            else:
                if len(self._unchecked) >= MAX_FILES:
                    self._unchecked.clear()  # each is found again at its next read
                self._unchecked.add(key)
            if answer is not None and answer.state == "settled":
                self._keep(key, answer)

        if key not in self._questions:
            task = asyncio.get_running_loop().create_task(ask())
            self._questions[key] = task
            task.add_done_callback(lambda _: self._questions.pop(key, None))

    def _keep(self, key: tuple[str, str], answer: EditorAnswer) -> None:
        answers = self._answers.pop(key, OrderedDict[str, EditorAnswer]())
        answers.pop(answer.sha256, None)
        answers[answer.sha256] = answer
        if len(answers) > MAX_TEXTS:
            answers.popitem(last=False)
        self._answers[key] = answers
        if len(self._answers) > MAX_FILES:
            self._answers.popitem(last=False)

    async def _by_editor(self, editor: EditorProblems, edits: Edits) -> DiagnosticsReport | str:
        """Return the editor's comparison, or a clause that says why there is none."""
        (change,) = edits.changes
        key = editor.name, change.path
        old, new = text_of(change.before or b""), text_of(change.after or b"")
        if (question := self._questions.get(key)) is not None:
            await asyncio.wait({question})
        answers = self._answers.get(key)
        before = None if answers is None else answers.get(digest_of(old))
        if before is None and change.before is not None:
            return "the editor did not say those before the edit"
        after = await editor.ask(change.path, digest_of(new), GIVE_UP_S)
        if after is None or after.state != "settled" or after.sha256 != digest_of(new):
            return "the editor did not say those after the edit"
        self._keep(key, after)
        known = () if before is None else before.problems(old)
        return report_settled(edits, (editor.name,), compare_change(change, known, after.problems(new)))


class ClientDiagnosis:
    """For one client; belongs to its event loop.

    folders: returns the workspace folders as they are now. may_know: whether the session has read this file and may
    read it. read: returns the content of a file, or None if it cannot be read; called in a thread. on_late: called
    with each late report and its session.
    """

    def __init__(
        self,
        diagnosis: Diagnosis,
        settings: Settings,
        *,
        folders: Callable[[], tuple[str, ...]],
        may_know: Callable[[SessionName, str], bool],
        read: Callable[[str], bytes | None],
        on_late: Callable[[SessionName, DiagnosticsReport], None],
    ) -> None:
        self._diagnosis = diagnosis
        self._settings = settings
        self._folders = folders
        self._may_know = may_know
        self._read = read
        self._on_late = on_late
        self._loop = asyncio.get_running_loop()
        self._late: defaultdict[SessionName, deque[DiagnosticsReport]] = defaultdict(lambda: deque(maxlen=MAX_LATE))
        self._unprepared: deque[tuple[SessionName, str]] = deque(maxlen=MAX_UNPREPARED)
        self._said: set[tuple[SessionName, str]] = set()
        self._tasks: set[asyncio.Task[DiagnosticsReport | None]] = set()

    def begin(self, session_id: SessionName) -> DiagnosedSession:
        """Compare the session's edits from now on."""

        def correct(report: DiagnosticsReport) -> None:
            self._loop.call_soon_threadsafe(self._note_late, session_id, report)

        session = DiagnosedSession(
            session_id=session_id,
            folders=self._folders(),
            settings=tuple(self._settings.language_servers),
            severity=self._settings.diagnostics_severity,
            may_know=partial(self._may_know, session_id),
            on_correction=correct,
        )
        self._diagnosis.begin_session(session)
        return session

    def note_read(self, session_id: SessionName, path: str) -> None:
        """Find a file's problems before it is edited."""
        if not self._folders():  # an MCP host may name its folders later
            self._unprepared.append((session_id, path))
        else:
            self._diagnosis.note_read(self.begin(session_id), path, partial(self._read, path))

    def note_folders(self) -> None:
        """Note that the client has named its folders."""
        waiting = list(self._unprepared)
        self._unprepared.clear()
        for session_id, path in waiting:
            self.note_read(session_id, path)

    async def report(self, edit_ids: Sequence[str]) -> DiagnosticsReport | None:
        """Return the report on a request's commits, for its answer; None if no source concerns them.

        The edit has been made, so a cancel ends only the wait. The report is then pending.
        """
        commits = self._diagnosis.take(edit_ids)
        if not commits:
            return None
        task = asyncio.get_running_loop().create_task(self._settle(commits))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        with suppress(TimeoutError, asyncio.CancelledError):
            async with asyncio.timeout(self._settings.diagnostics_wait_s):
                return await asyncio.shield(task)
        session_id = commits[0].edits.session_id

        def note(done: "asyncio.Task[DiagnosticsReport | None]") -> None:
            report = None if done.cancelled() else done.result()
            if report is not None and report.state != "pending":  # if pending, a later edit's report covers both
                self._note_late(session_id, report)

        task.add_done_callback(note)
        return combine(
            [report_unsettled(commit.edits, "pending", self._diagnosis.sources_of(commit)) for commit in commits]
        )

    async def _settle(self, commits: "Sequence[_Commit]") -> DiagnosticsReport | None:
        try:
            async with asyncio.timeout(GIVE_UP_S):
                found = await asyncio.gather(*map(self._diagnosis.report, commits))
        except TimeoutError:
            late = [
                report_unsettled(
                    commit.edits,
                    "unavailable",
                    (sources := self._diagnosis.sources_of(commit)),
                    f"{', '.join(sources)} did not answer within {GIVE_UP_S:g} s",
                )
                for commit in commits
            ]
            return combine(late)
        reports = [report for report in found if report is not None]
        return combine(reports) if reports else None

    def _note_late(self, session_id: SessionName, report: DiagnosticsReport) -> None:
        self._late[session_id].append(report)
        self._on_late(session_id, report)

    def late(self, session_id: SessionName) -> tuple[DiagnosticsReport, ...]:
        """Return the reports to send with a result of the session. If it is not sent, they wait for another."""
        reports = tuple(self._late.get(session_id, ()))

        def count() -> None:
            waiting = self._late[session_id]
            for report in reports:
                with suppress(ValueError):  # a session that was forgotten meanwhile
                    waiting.remove(report)

        if reports:
            when_delivered(count)
        return reports

    def is_news(self, session_id: SessionName, report: DiagnosticsReport) -> bool:
        """Return whether a model should read a report. Each session is told only once why nothing is known."""
        if report.state != "unavailable":
            return True
        key = session_id, report.reason or ""
        is_first = key not in self._said
        when_delivered(lambda: self._said.add(key))
        return is_first

    def forget(self, session_id: SessionName) -> None:
        """Forget the session, because it has ended or starts afresh."""
        self._late.pop(session_id, None)
        self._said = {key for key in self._said if key[0] != session_id}
        self._diagnosis.end_session(session_id)


def _events_of(change: CommittedFile) -> list[tuple[str, ChangeKind]]:
    """Return how a commit changed names of files."""
    if change.new_path is not None:
        return [(change.path, "delete"), (change.new_path, "create")]
    if change.after is None:
        return [(change.path, "delete")]
    return [(change.path, "create" if change.before is None else "modify")]


def _change_of(commit: Commit) -> CommittedFile:
    before, after = commit.before, commit.after
    return CommittedFile(
        path=before.path,
        given_path=commit.given_path,
        before=before.data if before.exists else None,
        after=after.data if after.exists else None,
        splices=tuple(commit.plan.splices),
        new_path=None if after.path == before.path else after.path,
    )


def digest_of(text: str) -> str:
    """Return the SHA-256 of a text as editors compute it: UTF-8, LF line ends."""
    return hashlib.sha256(text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace")).hexdigest()
