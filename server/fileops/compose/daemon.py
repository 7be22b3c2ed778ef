"""The process of a shared daemon, and the state that serves its clients."""

import asyncio
import gc
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from fileops.attach.handshake import BadRequest
from fileops.compose.hook_connection import HookConnection
from fileops.compose.hooked_hosts import HookedHosts, report_of
from fileops.compose.lsp_connection import LspConnection
from fileops.compose.mcp_connection import McpConnection
from fileops.compose.state import EXPIRE_EVERY_S, DaemonState, Hub, HubConnection
from fileops.daemon import process
from fileops.daemon.peer import ancestors_of, host_of, is_of_one_host
from fileops.fs.spelling import real_path
from fileops.model.sessions import SessionName
from fileops.rpc.decode import InvalidParams
from fileops.service.hub.hooks import HookReport, note_report
from fileops.service.hub.names import agent_name, base_of
from fileops.service.session_work import WorkingSession

if TYPE_CHECKING:
    from fileops.attach.handshake import AttachRequest, Hook
    from fileops.daemon.process import DaemonOptions
    from fileops.rpc.session import StreamSession

log = logging.getLogger(__name__)

# Hosts whose hooks may run below another host, such as in an editor's terminal: found by their session's id only.
MAY_RUN_BELOW_OTHERS = frozenset({"copilot-cli", "cursor", "antigravity"})
MAX_UNATTACHED = 64  # hooks' sessions that wait for their client
# The names of the hooks' hosts as MCP clients, where `mcp hook` uses another name.
CLIENT_NAMES = {"claude": "claude-code", "codex": "codex-mcp-client", "gemini": "gemini-cli"}

# Imported before the loop runs, because everything else would wait for the imports.
OF_A_RECORD = ("fileops.record.recorder", "fileops.record.stored_edits")


class HookedSession(NamedTuple):
    """The session that a hook is about, and the connection that uses it."""

    connection: HubConnection
    session_id: "SessionName"


def serve_daemon(options: "DaemonOptions") -> int:
    """Serve the clients that attach; return the exit status. Call it with the garbage collector off, see `cli`."""
    with suppress(ImportError):  # Python may lack sqlite3; the first client then gets a message
        for module in OF_A_RECORD:
            import_module(module)
    gc.freeze()
    gc.enable()
    return process.serve_daemon(options, SharedDaemonState)


class UnattachedSession(NamedTuple):
    """A hook's session without a client (yet): some hosts call hooks before they start their servers."""

    hook: "Hook"
    ancestors: Sequence[int]
    cwd: str | None
    session: "WorkingSession"


class SharedDaemonState(DaemonState):
    """See daemon.shared_service.SharedService."""

    def __init__(self, socket: str = "") -> None:
        """Args: socket: where the daemon listens."""
        super().__init__()
        self._hub = Hub(socket, self.end_session)
        self._unattached: dict[str, UnattachedSession] = {}  # by the names of their sessions
        self._finding: set[asyncio.Task[None]] = set()
        self.hooked = HookedHosts(self, self._hub, self._note_hooked)
        asyncio.get_running_loop().call_later(EXPIRE_EVERY_S, self._look_for_hosts)

    @property
    def hub(self) -> Hub:
        return self._hub

    def open_session(
        self, attachment: "AttachRequest", name: str, for_reading: int, for_writing: int
    ) -> "StreamSession":
        """See SharedService. Args: name: of the connection, never used twice."""
        import msgspec

        connection = (LspConnection if attachment.protocol == "lsp" else McpConnection)(self, attachment, name)
        try:
            session = connection.serve(for_reading, for_writing)
        except msgspec.ValidationError as fault:
            raise BadRequest(f"options: {fault}") from None
        except InvalidParams as fault:
            option = fault.path.rpartition(".")[2]
            raise BadRequest(f"The option {option} {fault.reason}") from None
        if self._unattached and isinstance(connection, McpConnection):
            finding = asyncio.get_running_loop().create_task(self._attach_those_of(connection))
            self._finding.add(finding)
            finding.add_done_callback(self._finding.discard)
        return session

    def describe(self) -> list[dict[str, object]]:
        return [connection.describe() for connection in tuple(self.hub.connections.values())]

    def waiting_reviews(self) -> list[dict[str, object]]:
        return [
            {
                "review_id": review.review_id,
                "label": review.session.label,
                "file_path": review.asked.file_path,
                "asked_at": review.asked_at,
            }
            for review in self.reviews.list_waiting()
        ]

    def list_unsettled(self) -> list[dict[str, object]]:
        return [
            {"journal": unsettled.journal, "reason": unsettled.reason, "n_files": unsettled.n_files}
            for unsettled in self.local.list_unsettled()
        ]

    async def language_servers(self) -> list[dict[str, object]]:
        import msgspec

        diagnosis = None if self._parts is None else self._parts.workspace.diagnosis
        described = () if diagnosis is None else await diagnosis.describe()
        return [msgspec.to_builtins(server) for server in described]

    async def notices(self, hook: "Hook") -> list[str]:
        found = None if self._is_forged(hook) else await self._session_of(hook, ancestors_of(hook.pid))
        return [] if found is None else await found.connection.notices(found.session_id)

    async def note_views(self, hook: "Hook", file_paths: Sequence[str], output: str) -> Sequence[str]:
        found = None if self._is_forged(hook) else await self._session_of(hook, ancestors_of(hook.pid))
        if found is None:
            return ()
        await found.connection.note_views(found.session_id, file_paths, output)
        return await self.hooked.tell_of_unsaved(found.session_id, file_paths)

    async def reset(self, hook: "Hook") -> None:
        found = None if self._is_forged(hook) else await self._session_of(hook, ancestors_of(hook.pid))
        if found is not None:
            found.connection.reset(found.session_id)

    async def record(self, hook: "Hook", report: Mapping[str, object]) -> None:
        import msgspec

        try:
            checked = msgspec.convert(report, HookReport)
        except msgspec.ValidationError as fault:
            raise BadRequest(str(fault)) from None
        if self._parts is None:
            return  # without a client there is no folder to record
        ancestors = ancestors_of(hook.pid)  # before the hook may end
        if self._is_forged(hook):
            log.warning("a hook of process %d names session %s of another host", hook.pid, hook.own_id)
            return
        cwd = None if checked.cwd is None else await asyncio.to_thread(real_path, checked.cwd)
        unattached = _describe_unattached(hook, ancestors, cwd)
        found = await self._session_of(hook, ancestors)
        if found is None:
            self._unattached[unattached.session.session_id] = unattached
            while len(self._unattached) > MAX_UNATTACHED:
                del self._unattached[next(iter(self._unattached))]
            await note_report(self._parts.workspace.work, unattached.session, checked)
            return
        self._attach(unattached, found)
        if cwd is not None and self._parts.recorder is not None:  # first, because a command waits for its folders
            await asyncio.to_thread(self._parts.recorder.record, cwd, found.connection.name)
        await note_report(self._parts.workspace.work, self._describe_working(found, cwd), checked)

    async def companion(self, hook: "Hook", body: Mapping[str, object]) -> Mapping[str, object]:
        report = report_of(body)
        ancestors = ancestors_of(hook.pid)  # before the hook may end
        if self._is_forged(hook):
            return {}
        found = await self._session_of(hook, ancestors)
        client = found.connection if found is not None and isinstance(found.connection, McpConnection) else None
        if report.event == "owner":
            return {"is_connected": client is not None}
        host = CLIENT_NAMES.get(hook.host, hook.host)
        session_id = SessionName(base_of(host, hook.own_id)) if found is None else found.session_id
        return await self.hooked.answer(report, host, session_id, host_of(hook.pid), client)

    def n_hooked(self) -> int:
        return len(self.hooked)

    def describe_guarded(self) -> list[dict[str, object]]:
        self.hooked.end_lost()
        return [connection.describe_guard() for connection in self.hooked.all()]

    def _note_hooked(self, connection: HookConnection) -> None:
        """Give a new connection the turns that its host's hooks began before."""
        finding = asyncio.get_running_loop().create_task(self._attach_those_of(connection))
        self._finding.add(finding)
        finding.add_done_callback(self._finding.discard)

    def _look_for_hosts(self) -> None:
        self.hooked.end_lost()
        asyncio.get_running_loop().call_later(EXPIRE_EVERY_S, self._look_for_hosts)

    def _is_forged(self, hook: "Hook") -> bool:
        """Return whether a hook names a connected session of a host that has not started the hook."""
        names = self.hub.sessions.connections_of(hook.own_id)
        agents = [
            agent
            for agent in self.hub.connections.values()
            if agent.name in names or (isinstance(agent, McpConnection) and agent.has_session(hook.host, hook.own_id))
        ]
        return any(not is_of_one_host(hook.pid, agent.pid) for agent in agents)

    def _describe_working(self, found: "HookedSession", cwd: str | None) -> "WorkingSession":
        """Describe a hook's session. It also works in the hook's folder."""
        label, roots = found.connection.describe_session(found.session_id)
        roots = tuple(dict.fromkeys((*roots, *(() if cwd is None else (cwd,)))))
        return WorkingSession(session_id=found.session_id, label=label, roots=roots)

    def _attach(self, unattached: "UnattachedSession", found: "HookedSession") -> None:
        """Attach the turn that began before its client attached to the session that was now found."""
        known = self._unattached.pop(unattached.session.session_id, None)
        if known is not None and self._parts is not None and known.session.session_id != found.session_id:
            session = self._describe_working(found, unattached.cwd)
            self._parts.workspace.work.move_turn(known.session.session_id, session)

    async def _attach_those_of(self, agent: "McpConnection | HookConnection") -> None:
        """Find the sessions of the hooks that were called before this client attached."""
        for unattached in tuple(self._unattached.values()):
            found = await self._session_of(unattached.hook, unattached.ancestors)
            if found is not None and found.connection is agent:
                self._attach(unattached, found)

    async def _session_of(self, hook: "Hook", ancestors: Sequence[int]) -> "HookedSession | None":
        """Find a hook's session by its id, or else by its process; None if no client has it.

        By process, the session is that of the client whose parent is the hook's nearest ancestor that is the parent of
        exactly one client. So a session is found even after the host has given it another id, and for a host that gives
        its servers none.
        """
        session = self.hub.sessions.find_named(hook.host, hook.own_id)
        connections = () if session is None else session.connections
        found = [known for name in reversed(connections) if (known := self.hub.connections.get(name)) is not None]
        found.sort(key=lambda known: isinstance(known, HookConnection))  # our tools' own connection first
        if session is not None and found and not isinstance(found[0], HookConnection):
            return HookedSession(found[0], session.session_id)
        agents = [agent for agent in self.hub.connections.values() if isinstance(agent, McpConnection)]
        agent = next((agent for agent in agents if agent.has_session(hook.host, hook.own_id)), None)
        if agent is None and hook.host not in MAY_RUN_BELOW_OTHERS:
            agent = _agent_of_process(agents, ancestors)
        if agent is None and session is not None and found:
            return HookedSession(found[0], session.session_id)
        name = None if agent is None else await agent.session_of_hook(hook.host, hook.own_id)
        return None if agent is None or name is None else HookedSession(agent, name)


def _agent_of_process(agents: "list[McpConnection]", ancestors: Sequence[int]) -> McpConnection | None:
    """Find the agent whose server is the only one of the nearest of these processes."""
    hosts = [host_of(agent.pid) for agent in agents]
    for ancestor in ancestors:
        if hosts.count(ancestor) == 1:
            return agents[hosts.index(ancestor)]
    return None


def _describe_unattached(hook: "Hook", ancestors: Sequence[int], cwd: str | None) -> "UnattachedSession":
    """Describe a hook's session while no client has it. It works in the hook's folder."""
    host = CLIENT_NAMES.get(hook.host, hook.host)
    session = WorkingSession(
        session_id=SessionName(base_of(host, hook.own_id)),
        label=agent_name(host),
        roots=() if cwd is None else (cwd,),
    )
    return UnattachedSession(hook, ancestors, cwd, session)
