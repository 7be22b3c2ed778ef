"""Everything that a daemon's clients share: files, sessions, trackers, history, path locks and worker threads.

A `FileOps` is one client's view of it. Belongs to the event loop; only the worker threads touch the disk.
"""

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fileops.concurrency.path_locks import PathLocks
from fileops.concurrency.workers import SharedWorkers
from fileops.core.presentation.companion_texts import overwritten_for_person, overwritten_text
from fileops.model.commits import Commit
from fileops.model.record import BySession
from fileops.model.sessions import SessionName
from fileops.ports import ChangeRecorder, Clock, Decisions, FileSystem
from fileops.record.announced_writes import AnnouncedWrites
from fileops.record.history import History
from fileops.record.lost_lines import Losses
from fileops.service.activity import ActivityLog
from fileops.service.agent_lines import AgentLines
from fileops.service.answers.syntax import SyntaxChecker
from fileops.service.client.unreadable import RuleBook
from fileops.service.commit import Committer
from fileops.service.companion.overwritten import merge_over
from fileops.service.diagnosis import Diagnosis
from fileops.service.hub.modes import SessionModes
from fileops.service.in_flight import RequestsInFlight
from fileops.service.reading.refused_places import RefusedPlaces
from fileops.service.rewind.memories import Memories
from fileops.service.session_work import SessionWork
from fileops.service.sessions import OpenSessions
from fileops.telemetry.stats import Statistics
from fileops.tracking.freshness import Freshness

if TYPE_CHECKING:
    from fileops.record.recorder import Recorder
    from fileops.service.plugins.registry import Plugins


class Workspace:
    def __init__(
        self,
        *,
        fs: FileSystem,
        freshness: Freshness,
        history: History,
        clock: Clock,
        rules: RuleBook,
        plugins: "Plugins | None" = None,
        has_many_clients: bool = False,
        recorder: "Recorder | None" = None,
        diagnosis: Diagnosis | None = None,
        saved: FileSystem | None = None,
        losses: Losses | None = None,
    ) -> None:
        """Args: recorder: records who changed what; None if nothing is recorded.

        diagnosis: finds the problems that edits introduce; None if the daemon does not look for them. saved: the files
        without the text of open documents; None if `fs` has none. losses: keeps the lines that writes of hosts' own
        tools have removed; None keeps them in memory.
        """
        self.fs = fs
        self.saved = fs if saved is None else saved
        self.freshness = freshness
        self.history = history
        self.clock = clock
        self.rules = rules
        self._plugins = plugins
        self.path_locks = PathLocks()
        # Held while a keep or a rewind examines and writes files, but not while a person is asked. So the later of two
        # decisions about one change sees what the earlier one did.
        self.deciding = threading.Lock()
        self.has_many_clients = has_many_clients
        self.workers = SharedWorkers(has_many_clients=has_many_clients)
        self.recorder: ChangeRecorder | None = recorder
        self.diagnosis = diagnosis
        self.committer = Committer(
            fs=fs,
            clock=clock,
            keep=history.keep,
            recorder=recorder,
            diagnose=None if diagnosis is None else diagnosis.note_commits,
            note_change=freshness.known_changes.note_commit,
        )
        self.losses = losses or Losses()
        self.announced = AnnouncedWrites(history.keep, self.losses)  # writes that hosts' own tools are about to make
        if recorder is not None:
            recorder.expected.announced = self.announced
            recorder.listeners.on_overwritten = self._note_overwritten
            recorder.listeners.on_found = freshness.known_changes.note_found
        if recorder is not None and diagnosis is not None:
            recorder.listeners.on_observed = diagnosis.note_observed
        self.agent_lines = AgentLines(fs=fs, history=history)
        self.syntax = SyntaxChecker()
        # For all sessions, by full name:
        self.sessions = OpenSessions()
        self.modes = SessionModes()
        self.in_flight = RequestsInFlight()
        self.activity = ActivityLog()
        self.refused_places = RefusedPlaces()
        self.memories = Memories()  # of files whose changes were asked about
        self.work = (
            SessionWork()
            if recorder is None
            else SessionWork(
                recorder.windows,
                recorder.turns,
                at_edge=recorder.drain,
                until_watched=recorder.until_watched,
                flush=recorder.flush,
            )
        )
        self.stats = Statistics(clock.time_ns())
        self.on_session_end: Callable[[SessionName], None] = lambda _session_id: None
        # Called on any thread, with the canonical paths of files in which something was kept or undone.
        self.on_keeping: Callable[[Iterable[str]], None] = lambda _paths: None
        # Waits until everything written so far is in the record of a shared daemon; False if that takes too long.
        self.settle_record: Callable[[], bool] = _has_settled if recorder is None else recorder.settle

    def _note_overwritten(self, commit: Commit, content: bytes) -> str | None:
        """Keep an agent's fresh lines over which an older text was written, and tell its session of them."""
        path = commit.before.path
        merged = merge_over(commit, content)
        loss = self.losses.note(
            path,
            base=commit.before.data,
            theirs=commit.after.data,
            written=content,
            merged=merged,
            may_store=True,  # the recorder reports no overwritten text of files that it does not keep
        )
        if loss is None or merged is None:
            return None
        self.activity.note_overwritten(commit.session_id, overwritten_text(path, loss.lines, loss.loss_id))
        agent = commit.by.label if isinstance(commit.by, BySession) else "an agent"
        return overwritten_for_person(path, len(loss.lines), agent, loss.loss_id)

    def committer_of(self, umask: int | None, label_of: Callable[[SessionName], str]) -> Committer:
        """Return the committer for one client. Args: see Committer."""
        return replace(self.committer, umask=umask, label_of=label_of)

    async def record(self) -> Decisions | None:
        """The record of a shared daemon, opened by its own thread; None if nothing is recorded."""
        return None if self.recorder is None else await self.recorder.wait_until_open()

    def now(self) -> float:
        """Seconds since the epoch."""
        return self.clock.time_ns() / 1e9

    def end_session(self, session_id: SessionName) -> None:
        """Forget what a session has read and was granted. Requests in progress leave no trace of it either."""
        self.sessions.close(session_id)
        self.modes.drop(session_id)
        self.freshness.close_session(session_id)
        self.activity.drop_session(session_id)
        self.refused_places.drop_session(session_id)
        self.stats.drop_session(session_id)
        self.work.session_ended(session_id)
        if self.diagnosis is not None:
            self.diagnosis.end_session(session_id)
        self.on_session_end(session_id)

    @property
    def n_waiting_for_others(self) -> int:
        """How many requests wait for an editor, mapped host or plugin, or for a path lock that such a request holds."""
        return self.workers.n_waiting_for_others(self.path_locks.n_waiting)

    def close(self) -> None:
        """Finish the commits that have begun, and begin no others."""
        self.syntax.close()
        if self.diagnosis is not None:
            self.diagnosis.close()
        if self._plugins is not None:
            self._plugins.close()  # a worker thread may be waiting for a plugin
        self.workers.close()
        if self.recorder is not None:
            self.recorder.close()
        self.freshness.close()


def _has_settled() -> bool:
    return True
