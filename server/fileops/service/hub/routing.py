"""Event routing: each event reaches its session's connection, and the editors that work with its file.

Events are published on any thread, even under locks. So each connection decides on the event loop which it sends.
"""

from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from fileops.core.roots import is_inside
from fileops.model.events import ApprovalModeChanged, BecameStale, DidRecover, Event, WatcherHealth
from fileops.model.sessions import SessionName
from fileops.ports import EventSink
from fileops.service.hub.names import SessionNames


class EventRouter:
    """Passes each event on to all connections; see ports.EventSink."""

    def __init__(self) -> None:
        self._sinks: Mapping[str, EventSink] = {}  # replaced on the event loop, never modified

    def connect(self, connection: str, sink: EventSink) -> None:
        self._sinks = {**self._sinks, connection: sink}

    def disconnect(self, connection: str) -> None:
        self._sinks = {name: sink for name, sink in self._sinks.items() if name != connection}

    def publish(self, event: Event) -> None:
        for sink in self._sinks.values():
            sink.publish(event)


class EventView:
    """One connection's view of the events: which of them it is sent, and under which names.

    folders: an editor's, as given and canonical; none for an agent. is_open: whether the editor has this path open.
    paths_of: the canonical paths of what a session read under a name. is_connected: whether a session has a connection.
    Belongs to the event loop.
    """

    def __init__(
        self,
        names: SessionNames,
        folders: Callable[[], tuple[str, ...]],
        is_open: Callable[[str], bool],
        paths_of: Callable[[SessionName, str], Iterable[str]],
        is_connected: Callable[[SessionName], bool],
    ) -> None:
        self._names = names
        self._folders = folders
        self._is_open = is_open
        self._paths_of = paths_of
        self._is_connected = is_connected

    def of(self, event: Event) -> Event | None:
        """Return the event with the names that this connection knows; None if it is not sent."""
        if isinstance(event, WatcherHealth):
            return event
        if isinstance(event, DidRecover):
            return event if any(map(self._has, [*(file.file_path for file in event.files), *event.waits_for])) else None
        if not self._names.is_own(event.session_id) and (
            isinstance(event, ApprovalModeChanged) or not self._concerns(event.session_id, event.file_path)
        ):
            return None
        if isinstance(event, BecameStale) and not self._is_connected(event.session_id):
            return None  # an agent that has left cannot be refused an edit
        local = replace(event, session_id=self._names.local(event.session_id))
        return (
            replace(local, source=self._names.local_source(local.source)) if isinstance(local, BecameStale) else local
        )

    def _concerns(self, session_id: SessionName, file_path: str) -> bool:
        """Return whether the editor works with a file. The session may have named the file through a link."""
        return self._has(file_path) or any(map(self._has, self._paths_of(session_id, file_path)))

    def _has(self, path: str) -> bool:
        return any(is_inside(folder, path) for folder in self._folders()) or self._is_open(path)
