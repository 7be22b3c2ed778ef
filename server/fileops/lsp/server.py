"""LspServer: a pygls language server for one client, with a feature for each message that it serves.

The features of `fileops/*` requests come from the table in `api/requests.py`; those of standard messages are here, in
`text_sync.py` and in `change_actions.py`. Handlers translate and delegate; they decide nothing. This module knows no
adapters: `build`, from the composition root, builds the service once `initialize` has brought the client's options.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from msgspec import Struct
from pygls.lsp.server import LanguageServer

from fileops import __version__
from fileops.api.requests import (
    DID_CHANGE_ASK,
    DID_CHANGE_SESSIONS,
    DID_CHANGE_UNKEPT,
    DID_RECORD,
    NOTIFICATIONS,
    REQUESTS,
    Need,
    Request,
    ask_result,
)
from fileops.api.reviews import DID_CHANGE_REVIEWS
from fileops.api.sessions import sessions_result
from fileops.lsp.client import Client
from fileops.lsp.converter import converter
from fileops.lsp.notifications import NotificationQueue
from fileops.lsp.progress import ProgressTokens
from fileops.lsp.protocol import Protocol
from fileops.lsp.workspace_folders import ClientFolders
from fileops.model.events import Event
from fileops.model.sessions import SessionName
from fileops.model.settings import Settings
from fileops.ports import EventSink
from fileops.rpc.connection import Connection
from fileops.rpc.decode import InvalidParams
from fileops.rpc.errors import REQUEST_FAILED, RequestRefused, RpcError
from fileops.service.plugins.catalog import processor_names, strategy_names, validator_names
from fileops.wire.events import message_of, notification_of
from fileops.wire.options import DecodedOptions, decode_options
from fileops.wire.record import did_record
from fileops.wire.rewinds import DidChangeUnkeptParams
from fileops.wire.types import Params

if TYPE_CHECKING:
    from fileops.model.record import Entry
    from fileops.service.fileops import FileOps
    from fileops.wire.capabilities import FileopsCapabilities, SharedCapability

log = logging.getLogger(__name__)

PROTOCOL_VERSION = 1

_NOTEBOOKS = types.NotebookDocumentSyncOptions(
    notebook_selector=[types.NotebookDocumentFilterWithNotebook(notebook="jupyter-notebook")], save=True
)
_ELSEWHERE = "Do it in an editor, or in a terminal that no agent has started."


class ClientContext(Struct, frozen=True, kw_only=True):
    """What the composition root needs from this connection to build the service."""

    settings: Settings
    folders: tuple[str, ...]  # absolute paths of the workspace folders
    client_name: str | None  # as in `clientInfo`
    events: EventSink
    client: Client
    progress: ProgressTokens
    server: "LspServer"  # to register the features that only this client needs
    listen: "Callable[[Callable[[Event], None]], None]"  # called on the loop, after the client was notified
    on_request_done: Callable[[], None]  # to be called when requests begin to wait for others


Build = Callable[[ClientContext], "FileOps"]


class LspServer(LanguageServer):
    protocol: Protocol  # pyrefly: ignore[bad-override-mutable-attribute] - see protocol_cls

    def __init__(self, build: Build, notice: str | None = None) -> None:
        """Take what builds the service. Args: notice: a sentence that is shown to the client's user at `initialize`."""
        super().__init__(
            "fileops-server",
            __version__,
            types.TextDocumentSyncKind.Incremental,
            _NOTEBOOKS,
            protocol_cls=Protocol,
            converter_factory=converter,
        )
        self._notice = notice
        self.on_parent: Callable[[int], None] = lambda _pid: None  # called at `initialize`, with the client's process
        self.service: FileOps | None = None
        self.client = Client(self.connection)
        self._progress = ProgressTokens(self.client)
        self._build = build
        self._events: NotificationQueue | None = None
        self._listeners: list[Callable[[Event], None]] = []
        self._folders = ClientFolders()
        self.view_of_event: Callable[[Event], Event | None] = lambda event: event  # as it is sent, or None
        self.shared: SharedCapability | None = None  # this connection to a shared daemon
        self.requests: list[str] = []
        for request in REQUESTS:
            if request.needs is None:
                self.add_request(request)
        self._add_standard_features()

    @property
    def connection(self) -> Connection:
        """See rpc.session.Server."""
        return self.protocol.connection

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Only log the error; pygls would show every error to the user."""
        log.error("%s: %s", getattr(source, "__name__", source), error)

    # --- features ------------------------------------------------------------------------------------------------

    def add_request(self, request: Request[Any]) -> None:
        """Register a `fileops/*` request. Its params are decoded strictly into `request.params`."""
        self.protocol.own_params[request.method] = request.params
        self.requests.append(request.method)

        @self.feature(request.method)
        def handle(params: Any) -> object:
            if request.try_sync is not None and params.work_done_token is None:
                result = self._try_sync(request, params)
                if result is not None:
                    return result
            return self._serve(request, params)

    def _try_sync(self, request: Request[Any], params: Params) -> object | None:
        service = self._ready()
        with service.calls.measure(request.method, _session_of(params, service), InvalidParams) as call:
            result = None if request.try_sync is None else request.try_sync(service, params)
            call.is_over = result is not None
        return result

    async def _serve(self, request: Request[Any], params: Params) -> object:
        service = self._ready()
        if request.is_persons(params) and (program := service.agent_above()) is not None:
            sentence = f"{program} has started this command, but only a person may do that. {_ELSEWHERE}"
            raise RequestRefused(RpcError(REQUEST_FAILED, sentence))
        with (
            service.calls.measure(request.method, _session_of(params, service), InvalidParams) as call,
            self._progress.report(params.work_done_token, request.method, lambda: call.n_waits > 0) as say,
        ):
            return await request.handle(service, params, *([say] if request.streams_output else []))

    def _add_standard_features(self) -> None:
        @self.feature(types.INITIALIZE)
        def initialize(params: types.InitializeParams) -> None:
            before = [dict(table) for table in self.protocol.registered]
            requests = tuple(self.requests)
            try:
                self._begin(params)
            except BaseException:  # the client may try again
                for table, earlier in zip(self.protocol.registered, before, strict=True):
                    table.clear()
                    table.update(earlier)
                self.requests[:] = requests
                raise

        @self.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
        def folders_changed(params: types.DidChangeWorkspaceFoldersParams) -> None:
            for refusal in self._folders.change(params):
                self.client.warn(f"a workspace folder was not added: {refusal}")
            self._ready().set_folders(self._folders.paths)

        def folders_lost(_params: object, reason: str) -> None:
            self.client.warn(
                f"a change of the workspace folders could not be read ({reason}): the folders are unchanged"
            )

        self.protocol.on_lost[types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS] = folders_lost

        @self.feature(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
        def progress_cancelled(params: types.WorkDoneProgressCancelParams) -> None:
            self._progress.cancel(params.token)

    # --- lifecycle ---------------------------------------------------------------------------------------------

    def _begin(self, params: types.InitializeParams) -> None:
        """Build the service. Raises: InvalidParams; nothing has begun then."""
        decoded = decode_options(params.initialization_options)
        if params.process_id is not None and params.process_id < 1:
            raise InvalidParams("must be a process id", ".processId")
        self._folders.begin(params)
        self.close_service()
        self._listeners.clear()
        self._events = NotificationQueue(asyncio.get_running_loop(), self._notify_all)
        client_name = None if params.client_info is None else params.client_info.name
        self.service = self._build(self._context(decoded, self._events, client_name))
        for request in REQUESTS:
            if request.needs is not None and self._has(request.needs):
                self.add_request(request)
        for sentence in decoded.ignored if self._notice is None else (self._notice, *decoded.ignored):
            self.client.warn(sentence)
        if params.process_id is not None:
            self.on_parent(params.process_id)
        log.info("serving %d workspace folders", len(self._folders.paths))

    def progress_of(
        self, token: types.ProgressToken | None, method: str
    ) -> AbstractContextManager[Callable[[str], None] | None]:
        """See ProgressTokens.reporting."""
        return self._progress.report(token, method)

    def _context(self, decoded: DecodedOptions, events: EventSink, client_name: str | None) -> ClientContext:
        return ClientContext(
            settings=decoded.settings,
            folders=self._folders.paths,
            events=events,
            client_name=client_name,
            client=self.client,
            progress=self._progress,
            server=self,
            listen=self._listeners.append,
            on_request_done=lambda: self.connection.on_request_done(),  # noqa: PLW0108  # it is set later
        )

    def fileops_capabilities(self) -> "FileopsCapabilities":
        """Return what is announced as `capabilities.experimental.fileops`."""
        return {
            "protocol_version": PROTOCOL_VERSION,
            "requests": self.requests,
            "notifications": [
                *NOTIFICATIONS,
                *([DID_CHANGE_SESSIONS, DID_CHANGE_ASK, DID_RECORD, DID_CHANGE_UNKEPT] if self._has("editor") else ()),
                *([DID_CHANGE_REVIEWS] if self._has("user") else ()),
            ],
            "strategies": strategy_names(),
            "processors": processor_names(),
            "validators": validator_names(),
            "shared": self.shared,
        }

    def _has(self, need: Need) -> bool:
        service = self._ready()
        match need:
            case "bash":
                return service.bash is not None
            case "editor":
                return self._lists_sessions
            case "user":
                return service.reviews is not None

    @property
    def _lists_sessions(self) -> bool:
        return self.shared is not None and self.shared["role"] == "editor"

    def notify_sessions(self) -> None:
        """Send the sessions of a shared daemon to its editor."""
        if self.service is not None:
            self.client.notify(DID_CHANGE_SESSIONS, sessions_result(self.service))

    def notify_ask(self) -> None:
        """Notify an editor of a shared daemon of the switch "ask before each edit"."""
        if self.service is not None:
            self.client.notify(DID_CHANGE_ASK, ask_result(self.service))

    def notify_recorded(self, entries: "Sequence[Entry]", n_more: int) -> None:
        """Send entries of the record to an editor that asked for them."""
        self.client.notify(DID_RECORD, did_record(entries, n_more))

    def notify_unkept(self, file_path: str | None, *, is_typed: bool) -> None:
        """Notify an editor that a file's unkept changes (None: many files') may have changed. See the params."""
        self.client.notify(DID_CHANGE_UNKEPT, DidChangeUnkeptParams(file_path=file_path, typed=is_typed))

    @property
    def n_waiting_for_others(self) -> int:
        """Return how many requests wait for an editor, a mapped host or a plugin, and not for the disk."""
        return 0 if self.service is None else self.service.n_waiting_for_others

    def flush(self) -> None:
        """Send the notifications that still wait."""
        if self._events is not None:
            self._events.flush()

    def close_service(self) -> None:
        """Close the service. Blocks until commits in progress are done."""
        if self.service is not None:
            self.service.close()
            self.service = None

    # --- handlers ----------------------------------------------------------------------------------------------

    def _ready(self) -> "FileOps":
        if self.service is None:
            raise RuntimeError("a request came past the lifecycle check")
        return self.service

    def _notify_all(self, events: Iterable[Event]) -> None:
        with self.connection.batch():
            for published in events:
                if self.service is not None and not self.service.shows(published):
                    continue
                if (event := self.view_of_event(published)) is None:
                    continue
                method, params = notification_of(event)
                if (sentence := message_of(event)) is not None:
                    self.client.warn(sentence)
                self.client.notify(method, params)
                for listener in self._listeners:
                    listener(event)


def _session_of(params: Params, service: "FileOps") -> SessionName:
    """Return the session whose statistics include a request."""
    given: str | None = getattr(params, "session_id", None)
    return service.names.full(given)
