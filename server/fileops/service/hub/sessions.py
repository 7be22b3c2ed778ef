"""Registry of the sessions of a shared daemon: whose they are, what they did, and how long they are kept.

A session outlives its connection, so that a host that restarts its server continues with what it has read. Records are
updated on any thread; one lock guards them.
"""

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Container

from msgspec import Struct
from msgspec.structs import replace

from fileops.model.events import ApprovalModeChanged, DidEdit, DidRead, Event
from fileops.model.sessions import NO_SESSION, SessionName, base_in
from fileops.ports import EventSink
from fileops.service.hub.names import KnownNames, has_own_id, is_of_host

KEPT_S = 3600.0  # after its connection has ended
MAX_KEPT = 256  # of these; the least recently used end first
NOTIFY_EVERY_S = 0.5


class SessionRecord(Struct, frozen=True, kw_only=True):
    """A session. label: for people, see `SessionRegistry.meet`. last_seen: seconds since the epoch.

    connections: those that have used it and have not ended, most recent use last. A host that restarts its server has
    two for a moment. folders: of the last one, as given and canonical, as far as they were known then.
    """

    session_id: SessionName
    host: str
    label: str
    connections: tuple[str, ...]
    folders: tuple[str, ...] = ()
    n_reads: int = 0
    n_edits: int = 0
    last_seen: float = 0.0
    used_at: float = 0.0  # monotonic

    @property
    def is_connected(self) -> bool:
        return bool(self.connections)


class SessionRegistry:
    """Keeps the sessions, see the module.

    on_change: called on any thread, after a session or its record has changed.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic, names: KnownNames | None = None) -> None:
        self._names = names or KnownNames()
        self.on_change: Callable[[], None] = lambda: None
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._records: dict[SessionName, SessionRecord] = {}

    def all(self) -> tuple[SessionRecord, ...]:
        """Return the sessions in the order of first use."""
        with self._lock:
            return tuple(self._records.values())

    def get(self, session_id: SessionName) -> SessionRecord | None:
        with self._lock:
            return self._records.get(session_id)

    def was_there(self, session_id: SessionName) -> bool:
        """Return whether there is, or ever was, a session of this name, in any daemon."""
        with self._lock:
            if session_id not in self._names.labels:
                self._names.recall()
            return session_id in self._names.labels

    def named_since(self) -> float:
        """Return the time since which a name means one session."""
        with self._lock:
            self._names.recall()
            return self._names.since

    def bases(self) -> set[str]:
        """Return the bases of the names of all sessions that there have been, in any daemon."""
        with self._lock:
            self._names.recall()
            return {base_in(session_id) for session_id in self._names.labels}

    def find_named(self, host: str, own_id: str) -> SessionRecord | None:
        """Return the most recently used connected session `HOST…:ID`. Args: host: see is_of_host."""
        with self._lock:
            found = [
                record
                for record in self._records.values()
                if record.is_connected and is_of_host(record.session_id, host, own_id)
            ]
        return max(found, key=lambda record: record.used_at, default=None)

    def connections_of(self, own_id: str) -> set[str]:
        """Return the connections of the sessions to which a host gives this id."""
        with self._lock:
            records = [record for record in self._records.values() if has_own_id(record.session_id, own_id)]
        return {name for record in records for name in record.connections}

    def meet(
        self, session_id: SessionName, connection: str, host: str, program: str, folders: tuple[str, ...] = ()
    ) -> SessionRecord:
        """Return the record of a session that this connection uses.

        Args: folders: the connection's. program: the name of the host's program. A new session gets it as its label,
        with a number if another session has, or had, it: "Codex", "Codex 2". A label never changes, and is never
        another session's, so that people can rely on it.
        """
        with self._lock:
            record = self._find_or_make(session_id, connection, host, program, folders)
            is_new = self._records.get(session_id) is None
            self._records[session_id] = record
        if is_new:
            self.on_change()
        return record

    def note(
        self,
        event: DidRead | DidEdit,
        connection: str,
        host: str,
        program: str,
        folders: tuple[str, ...] = (),
    ) -> None:
        """Record what a session of this connection did. Args: program, folders: see `meet`."""
        with self._lock:
            met = self._find_or_make(event.session_id, connection, host, program, folders)
            self._records[event.session_id] = replace(
                met,
                n_reads=met.n_reads + isinstance(event, DidRead),
                n_edits=met.n_edits + isinstance(event, DidEdit),
                last_seen=event.timestamp,
            )
        self.on_change()

    def _find_or_make(
        self, session_id: SessionName, connection: str, host: str, program: str, folders: tuple[str, ...]
    ) -> SessionRecord:
        """See `meet`. The lock is held."""
        record = self._records.get(session_id)
        if record is None:
            label = self._names.claim(session_id, lambda taken: _free_label(program, taken))
            record = SessionRecord(session_id=session_id, host=host, label=label, connections=(), last_seen=time.time())
        connections = (*_without(record.connections, connection), connection)
        return replace(record, connections=connections, folders=folders or record.folders, used_at=self._monotonic())

    def disconnect(self, connection: str) -> list[SessionName]:
        """Remove the connection from its sessions; those without another are kept for KEPT_S from now on.

        Returns the latter.
        """
        with self._lock:
            now = self._monotonic()
            used = {
                record.session_id: replace(record, connections=_without(record.connections, connection), used_at=now)
                for record in self._records.values()
                if connection in record.connections
            }
            self._records |= used
        self.on_change()
        return [session_id for session_id, record in used.items() if not record.is_connected]

    def drop(self, session_id: SessionName) -> None:
        with self._lock:
            known = self._records.pop(session_id, None)
        if known is not None:
            self.on_change()

    def find_expired(self) -> list[SessionName]:
        """Return the sessions without a connection that must end now."""
        with self._lock:
            left = sorted(
                (record for record in self._records.values() if not record.is_connected),
                key=lambda record: record.used_at,
            )
            too_old = self._monotonic() - KEPT_S
            n_over = max(len(left) - MAX_KEPT, 0)
            return [record.session_id for n, record in enumerate(left) if n < n_over or record.used_at <= too_old]


def _free_label(program: str, taken: Container[str]) -> str:
    numbered = (f"{program} {n}" for n in itertools.count(2))
    return next(label for label in itertools.chain([program], numbered) if label not in taken)


def _without(connections: tuple[str, ...], connection: str) -> tuple[str, ...]:
    return tuple(other for other in connections if other != connection)


class ConnectionEvents:
    """See ports.EventSink: the events that one connection's requests cause."""

    def __init__(
        self,
        sessions: SessionRegistry,
        router: EventSink,
        connection: str,
        describe: Callable[[], tuple[str, str, tuple[str, ...]]],
    ) -> None:
        """Args: describe: returns the host of the connection's sessions, its program's name, and its folders."""
        self._sessions = sessions
        self._router = router
        self._connection = connection
        self._describe = describe

    def publish(self, event: Event) -> None:
        # What a person does by their editor, such as an undo, belongs to no session.
        if isinstance(event, DidRead | DidEdit) and event.session_id != NO_SESSION:
            self._sessions.note(event, self._connection, *self._describe())
        elif isinstance(event, ApprovalModeChanged):
            self._sessions.on_change()
        self._router.publish(event)


class Throttle:
    """Calls a function soon after it was requested, and at most every `every_s`. Requests may come on any thread."""

    def __init__(self, call: Callable[[], None], every_s: float = NOTIFY_EVERY_S) -> None:
        self._loop = asyncio.get_running_loop()
        self._call = call
        self._every_s = every_s
        self._is_due = False
        self._called_at = -every_s

    def request(self) -> None:
        if not self._is_due:
            self._is_due = True
            try:
                self._loop.call_soon_threadsafe(self._schedule)
            except RuntimeError:  # the loop is closed
                self._is_due = False

    def _schedule(self) -> None:
        rest_s = self._called_at + self._every_s - self._loop.time()
        self._loop.call_later(max(rest_s, 0.0), self._run)

    def _run(self) -> None:
        self._is_due = False
        self._called_at = self._loop.time()
        self._call()
