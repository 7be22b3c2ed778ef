"""What a daemon's connections share. Part of the composition root.

A private daemon is this state with one connection. Belongs to the event loop, except where a comment names a thread.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from fileops.compose import ask_file, files, recording, session_file
from fileops.compose.session_file import NamesInFile
from fileops.concurrency import shares
from fileops.fs.local.filesystem import LocalFileSystem
from fileops.fs.overlay.filesystem import OverlayFileSystem
from fileops.model.record import ByPerson
from fileops.model.sessions import SessionName
from fileops.record.history import History
from fileops.rpc.decode import InvalidParams
from fileops.service.client.unreadable import EditorGlobs
from fileops.service.hub.approvals import AskedEditors
from fileops.service.hub.ask import AskSwitch
from fileops.service.hub.record_feed import RecordFeed
from fileops.service.hub.routing import EventRouter
from fileops.service.hub.sessions import SessionRecord, SessionRegistry, Throttle
from fileops.service.hub.unkept_ahead import UnkeptAhead
from fileops.service.hub.unkept_feed import UnkeptFeed
from fileops.service.review.queue import ReviewQueue
from fileops.telemetry.calls import BorrowedSink
from fileops.watch.factory import FolderStreams

if TYPE_CHECKING:
    from fileops.compose.own_parts import OwnParts
    from fileops.fs.remote.router import RouterFileSystem
    from fileops.model.settings import Ask, FreshnessRule, Settings
    from fileops.ports import EventSink, FileSystem, TextOf
    from fileops.record.recorder import Recorder
    from fileops.service.hub.modes import SessionModes
    from fileops.service.workspace import Workspace
    from fileops.telemetry.calls import Sink

log = logging.getLogger(__name__)

EXPIRE_EVERY_S = 60.0


class HubConnection(Protocol):
    """One client, as the others see it."""

    @property
    def program(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def pid(self) -> int: ...

    @property
    def agent_host(self) -> int:
        """The process of the agent's host; 0 if this is no agent's connection, or it cannot be known."""
        ...

    def describe(self) -> dict[str, object]: ...

    @property
    def folders(self) -> "tuple[str, ...]": ...

    @property
    def settings(self) -> "Settings | None":
        """What its user has set; None until it is served."""
        ...

    def notify_sessions(self) -> None:
        """Send the list of sessions, if this is an editor."""
        ...

    def notify_ask(self) -> None:
        """Send the value of the switch "ask before each edit", if this is an editor."""
        ...

    async def save_document(self, uri: str, version: int) -> bool:
        """Have an editor save a document, if its user wants that. Returns whether it did."""
        ...

    async def notices(self, session_id: SessionName) -> list[str]:
        """Take the texts about others' changes, for a session of this connection."""
        ...

    async def note_views(self, session_id: SessionName, file_paths: "Sequence[str]", output: str) -> None:
        """Count what a shell command's output has shown of these files as read by a session."""
        ...

    def reset(self, session_id: SessionName) -> None:
        """Forget what a session of this connection has read."""
        ...

    def describe_session(self, session_id: SessionName) -> "tuple[str, tuple[str, ...]]":
        """Return the label of a session of this connection, and the folders in which it works."""
        ...


class DaemonState:
    """Disk, open documents, history and worker threads. They are created for the first client, with its options.

    The filesystems and the history are those that this client asks for, because a path has to mean the same to all.
    """

    def __init__(self, own: "OwnParts | None" = None) -> None:
        """Args: own: parts of the embedding program that replace the server's."""
        self.own = own
        self.reviews = ReviewQueue()
        self._loop = asyncio.get_running_loop()
        self.local = LocalFileSystem()
        self.disk: FileSystem = self.local if own is None or own.filesystem is None else own.filesystem
        self._parts: SharedParts | None = None

    @property
    def hub(self) -> "Hub | None":
        """None in a private daemon, which has only one connection."""
        return None

    @property
    def is_on_disk(self) -> bool:
        """Whether paths are on this machine's disk, not in a filesystem of the embedding program."""
        return self.disk is self.local

    def parts(
        self,
        settings: "Settings",
        warn: "Callable[[str], None]",
        freshness: "FreshnessRule",
        events: "EventSink",
    ) -> "SharedParts":
        """Return what is created for the first client, and shared.

        Raises: InvalidParams, if other options are requested.
        """
        if self._parts is None:
            self._parts = SharedParts(self, settings, warn, freshness, events)
        else:
            self._parts.require_same(settings)
        return self._parts

    @property
    def recorder(self) -> "Recorder | None":
        """The record of the shared parts, if they exist and record anything."""
        return None if self._parts is None else self._parts.recorder

    def leave(self, name: str) -> None:
        """Forget a connection and its open documents; its sessions are kept. Called in any thread.

        The hub comes first. An edit whose question arises in between then needs none, because no editor is there. In
        the other order it would need one, with no editor to ask.
        """
        left = [] if self.hub is None else self.hub.leave(name)
        with suppress(RuntimeError):  # the loop is closed, so nothing waits
            self._loop.call_soon_threadsafe(self._forget_view, name)
        if self._parts is not None:
            self._parts.workspace.work.disconnect(left)
            self._parts.files.disconnect(name)
            if self._parts.recorder is not None:
                self._parts.recorder.leave(name)
            self._parts.workspace.workers.end_share(shares.of_editor(name))

    def _forget_view(self, name: str) -> None:
        self.reviews.disconnect(name)
        self.reviews.update_all()
        if self._parts is not None and self._parts.workspace.diagnosis is not None:
            self._parts.workspace.diagnosis.editors.pop(name, None)

    def end_session(self, session_id: SessionName) -> None:
        if self._parts is not None:
            self._parts.workspace.end_session(session_id)

    def recover(self, folders: "tuple[str, ...]") -> None:
        """Settle what dead processes left in these folders, in a thread."""
        if self.is_on_disk:
            files.recover_in_background(self.local.recover_all, folders)

    def close(self) -> None:
        """Finish the commits that have begun. Blocks; call it after all connections have ended."""
        if self._parts is not None:
            self._parts.workspace.close()
            self._parts.close_sinks()


class Hub:
    """What the connections of a shared daemon know about one another: sessions, editors that can ask, routed events."""

    def __init__(self, socket: str, end_session: "Callable[[SessionName], None]") -> None:
        """Args: socket: where the daemon listens."""
        self.router = EventRouter()
        self.editors = AskedEditors(AskSwitch(ask_file.read(ask_file.default_file())))
        self.editor_globs = EditorGlobs()
        self.sessions = SessionRegistry(names=NamesInFile(session_file.default_file()))
        self.connections: dict[str, HubConnection] = {}
        self.recorded = RecordFeed()
        self.unkept = UnkeptFeed()
        self.sessions.on_change = Throttle(self._notify_sessions).request
        self.socket = socket
        self._end_session = end_session
        self._session_bases: set[str] = set()
        asyncio.get_running_loop().call_later(EXPIRE_EVERY_S, self._expire)

    def session_base(self, host: str, connection: str) -> str:
        """Return a name for a connection's sessions, for which the host has none. No session ever had it."""
        taken = self._session_bases | self.sessions.bases()
        name, n = connection, 0
        while name in taken or name.rpartition("-")[0] != host:
            n += 1
            name = f"{host}-{n}"
        self._session_bases.add(name)
        return name

    def all_sessions(self) -> list[SessionRecord]:
        """Return the sessions, with the present folders of their connections: a client resolves its own late."""
        return [self._with_folders(session) for session in self.sessions.all()]

    def _with_folders(self, session: SessionRecord) -> SessionRecord:
        present = (self.connections[name].folders for name in session.connections if name in self.connections)
        folders = tuple(folder for of_one in present for folder in of_one)
        return replace(session, folders=folders) if folders else session

    def leave(self, connection: str) -> list[SessionName]:
        """Forget a connection. Return the sessions for which it was the last one."""
        self.router.disconnect(connection)
        self.recorded.disconnect(connection)
        self.unkept.disconnect(connection)
        self.editors.disconnect(connection)
        self.editor_globs.disconnect(connection)
        self.connections.pop(connection, None)
        return self.sessions.disconnect(connection)

    async def set_ask(self, modes: "SessionModes", folders: "tuple[str, ...]", ask: "Ask") -> "OSError | None":
        """Set how often edits in the projects of these folders are asked about, whatever was said of sessions before.

        Returns why that cannot outlive the daemon, if so. Args: modes: what was said of sessions.
        """
        roots = await asyncio.to_thread(_projects_of, folders)
        self.editors.switch.set(roots, ask)
        concerned = {name for name, known in self.connections.items() if _meet(known.folders, roots)}
        for session in self.sessions.all():
            if concerned.intersection(session.connections):
                modes.forget_choices(session.session_id)
        for name in concerned:
            self.connections[name].notify_ask()
        self.sessions.on_change()
        try:
            await asyncio.to_thread(ask_file.write, ask_file.default_file(), self.editors.switch.all)
        except OSError as fault:
            return fault
        return None

    def person_of(self, editor: str) -> "ByPerson":
        """Return the user of an editor, by its connection's name."""
        connection = self.connections.get(editor)
        return ByPerson(session_id=editor, label="a person" if connection is None else connection.program)

    def end_expired_sessions(self) -> None:
        for session_id in self.sessions.find_expired():
            self._end_session(session_id)

    def _expire(self) -> None:
        self.end_expired_sessions()
        asyncio.get_running_loop().call_later(EXPIRE_EVERY_S, self._expire)

    def _notify_sessions(self) -> None:
        for connection in tuple(self.connections.values()):
            connection.notify_sessions()


def _projects_of(folders: "Sequence[str]") -> "tuple[str, ...]":
    """Return the projects of these folders: the top of the git work tree, or the folder itself. Blocks."""
    from fileops.fs.spelling import real_path
    from fileops.record.git import top_of

    return tuple(dict.fromkeys(top_of(folder) or folder for folder in map(real_path, folders)))


def _meet(folders: "Sequence[str]", others: "Sequence[str]") -> bool:
    """Return whether one of these folders contains one of the others, or is in it."""
    from fileops.core.roots import is_inside

    return any(is_inside(folder, other) or is_inside(other, folder) for folder in folders for other in others)


class SharedParts:
    """Files as their users see them, and the workspace over them."""

    def __init__(
        self,
        state: DaemonState,
        settings: "Settings",
        warn: "Callable[[str], None]",
        freshness: "FreshnessRule",
        events: "EventSink",
    ) -> None:

        self._telemetry = files.telemetry()
        self.sinks: tuple[Sink, ...] = tuple(map(BorrowedSink, self._telemetry))  # for each client
        self._filesystems = settings.filesystems or ()
        self.remote: RouterFileSystem | None = None
        if self._filesystems:
            self.remote = files.map_filesystems(self._filesystems, state.disk)
        self._encodings = settings.encodings or ()
        saved = files.apply_encodings(self.remote or state.disk, self._encodings)
        self.files = OverlayFileSystem(saved)
        self._record = settings.record or "on"
        self._keeps_titles = settings.record_titles is not False
        self.streams = FolderStreams()
        self.recorder = self._start_recorder(state, files.text_of(saved), warn)
        self._history = settings.history or ("memory" if self.recorder is None else "persistent")
        self.workspace: Workspace = files.build_workspace(
            self.files,
            events,
            self._new_history(warn),
            freshness_mode=freshness,
            remote=self.remote,
            is_on_disk=state.is_on_disk,
            has_stamp_at_once=state.local.has_stamp_at_once,
            saved=saved,
            streams=self.streams,
            has_many_clients=state.hub is not None,
            recorder=self.recorder,
        )
        state.local.on_recovered(events.publish)
        self.workspace.work.keeps_titles = self._keeps_titles
        if state.hub is not None:
            self.workspace.on_session_end = state.hub.sessions.drop
            self.workspace.on_keeping = state.hub.unkept.note_kept
            self._note_texts(state.hub)
            if self.recorder is not None:
                prepare = partial(recording.prepare_unkept, self.recorder, saved, self.workspace.memories)
                state.hub.unkept.on_changed = UnkeptAhead(self.workspace.workers, prepare).note

    def _note_texts(self, hub: Hub) -> None:
        """Notify editors to ask again for the changes to keep, after their users have typed near them."""
        hint = self.files.on_change

        def note_text(path: str) -> None:
            hint(path)
            hub.unkept.note_text(path)

        self.files.on_change = note_text

    def _start_recorder(
        self, state: DaemonState, text_of: "TextOf", warn: "Callable[[str], None]"
    ) -> "Recorder | None":
        """Return None if nothing is recorded: a private daemon only has the history of edits."""
        if state.hub is None or self._record == "off" or not state.is_on_disk:
            return None
        try:
            hub, open_stream = state.hub, self.streams.events if self._record == "on" else None
            return recording.start_recorder(
                self.files,
                hub.person_of,
                hub.recorded,
                hub.unkept,
                named_since=hub.sessions.named_since(),
                open_stream=open_stream,
                text_of=text_of,
            )
        except Exception as fault:  # the boundary of an optional part; everything else works without it
            log.exception("nothing is recorded")
            warn(f"Changes are not recorded: {fault}. Everything else works.")
            return None

    def _new_history(self, warn: "Callable[[str], None]") -> History:
        is_persistent = self._history == "persistent"
        if self.recorder is not None or not is_persistent:
            return History(self.recorder, is_persistent=is_persistent)
        return History(open_store=lambda: recording.open_record(warn), warn=warn)

    def close_sinks(self) -> None:
        for sink in self._telemetry:
            sink.close()

    def require_same(self, settings: "Settings") -> None:
        """Raises: InvalidParams."""
        advice = (
            "differs from what the shared daemon began with; end it with `fileops-server status --stop`, "
            "or leave this out"
        )
        if settings.filesystems is not None and settings.filesystems != self._filesystems:
            raise InvalidParams(advice, ".initializationOptions.filesystems")
        if settings.encodings is not None and settings.encodings != self._encodings:
            raise InvalidParams(advice, ".initializationOptions.encodings")
        if settings.history == "persistent" != self._history:  # a history that outlives the daemon is also in memory
            raise InvalidParams(advice, ".initializationOptions.history")
        if settings.record is not None and settings.record != self._record:
            raise InvalidParams(advice, ".initializationOptions.record")
        if settings.record_titles is not None and settings.record_titles != self._keeps_titles:
            raise InvalidParams(advice, ".initializationOptions.record_titles")
