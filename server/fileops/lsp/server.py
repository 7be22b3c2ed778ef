"""LspServer: registers the handlers of one client's messages. Handlers translate and delegate; they decide nothing.

`fileops/*` requests come from the table in `api/requests.py`. This module knows no adapters: `build`, from the
composition root, builds the service when `initialize` has brought the client's options.
"""

import asyncio
import gc
import importlib
import logging
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from fileops import __version__
from fileops.api.requests import (
    DID_CHANGE_SESSIONS,
    DID_CHANGE_UNKEPT,
    DID_RECORD,
    NOTIFICATIONS,
    REQUESTS,
    Need,
    Request,
    load_deferred,
)
from fileops.api.reviews import DID_CHANGE_REVIEWS
from fileops.api.sessions import sessions_result
from fileops.lsp import methods
from fileops.lsp.capabilities import SERVER_NAME, Feature, server_capabilities
from fileops.lsp.client import Client
from fileops.lsp.dialect import LspDialect, StandardHandler, guarded
from fileops.lsp.notifications import NotificationQueue
from fileops.lsp.params import DidChangeWorkspaceFoldersParams, InitializeParams, ProgressCancelParams
from fileops.lsp.progress import ProgressTokens
from fileops.lsp.workspace_folders import ClientFolders
from fileops.model.events import Event
from fileops.model.sessions import SessionName
from fileops.model.settings import Settings
from fileops.ports import EventSink
from fileops.rpc.decode import InvalidParams, decode
from fileops.service.plugins.catalog import processor_names, strategy_names, validator_names
from fileops.wire.events import message_of, notification_of
from fileops.wire.options import DecodedOptions, decode_options
from fileops.wire.types import Options, Params

if TYPE_CHECKING:
    from fileops.model.record import Entry
    from fileops.service.fileops import FileOps
    from fileops.wire.capabilities import FileopsCapabilities, SharedCapability

log = logging.getLogger(__name__)

PROTOCOL_VERSION = 1
LOAD_DEFERRED_AFTER_S = 0.1  # a client's first requests come together, and share no interpreter with the imports


class ClientContext(Struct, frozen=True, kw_only=True):
    """What the composition root needs of this connection to build the service."""

    settings: Settings
    options: Options
    folders: tuple[str, ...]  # absolute paths of the workspace folders
    client_name: str | None  # as in `clientInfo`
    events: EventSink
    client: Client
    progress: ProgressTokens
    add_standard: "Callable[..., None]"  # see LspServer.add_standard
    listen: "Callable[[Callable[[Event], None]], None]"  # called on the loop, after the client was notified
    on_request_done: Callable[[], None]  # to be called when requests begin to wait for others


Build = Callable[[ClientContext], "FileOps"]


class LspServer:
    def __init__(self, build: Build, notice: str | None = None, *, owns_process: bool = True) -> None:
        """Take what builds the service.

        Args: notice: a sentence that the client's user is shown at `initialize`. owns_process: whether it may tune the
        garbage collection of this process.
        """
        self._notice = notice
        self._owns_process = owns_process
        self.dialect = LspDialect(self)
        self.connection = self.dialect.connection
        self.on_parent: Callable[[int], None] = lambda _pid: None  # called at `initialize`, with the client's process
        self.service: FileOps | None = None
        self.client = Client(self.connection)
        self._progress = ProgressTokens(self.client)
        self._build = build
        self._events: NotificationQueue | None = None
        self._listeners: list[Callable[[Event], None]] = []
        self._features: dict[str, Feature] = {}
        self._folders = ClientFolders()
        self._has_deferred = True  # modules that are neither loaded nor being loaded
        self.view_of_event: Callable[[Event], Event | None] = lambda event: event  # as it is sent, or None
        self.shared: SharedCapability | None = None  # this connection to a shared daemon
        self.requests: list[str] = []
        for request in REQUESTS:
            if request.needs is None:
                self.add_request(request)
        self.add_standard(
            methods.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, self._folders_changed, on_lost=self._folders_not_changed
        )
        self.add_standard(methods.WINDOW_WORK_DONE_PROGRESS_CANCEL, self._progress_cancelled)

    # --- registration ------------------------------------------------------------------------------------------

    def add_request(self, request: Request[Any]) -> None:
        """Register a `fileops/*` request. Its params are decoded strictly into `request.params`."""

        async def handle(raw: object) -> object:
            params: Params = decode({} if raw is None else raw, request.params)
            service = self._ready()
            with (
                service.calls.measured(request.method, _session_of(params, service), InvalidParams),
                self._progress.reporting(params.work_done_token, request.method) as say,
            ):
                result = await request.handle(service, params, *([say] if request.streams_output else []))
            self._load_deferred_soon()
            return result

        try_sync = request.try_sync

        def handle_sync(raw: object) -> object | None:
            try:
                params: Params = decode({} if raw is None else raw, request.params)
            except InvalidParams:
                return None  # `handle` reports it
            if try_sync is None or params.work_done_token is not None:
                return None
            service = self._ready()
            with service.calls.measured(request.method, _session_of(params, service), InvalidParams) as call:
                result = try_sync(service, params)
                call.is_over = result is not None
            return result

        self.requests.append(request.method)
        self.connection.register(request.method, handle, None if try_sync is None else handle_sync)

    def add_standard(
        self,
        method: str,
        handle: Callable[[Any], Any],
        options: dict[str, object] | None = None,
        *,
        on_lost: Callable[[object, str], None] | None = None,
    ) -> None:
        """Register a standard message, before `initialize` ends. Its params are in params.py.

        Args: options: registration options as LSP writes them; the server's capabilities include them. on_lost: called
        with the undecoded params of a notification that could not be handled, and the reason.
        """
        self._features[method] = Feature(handle, options)
        if method in methods.OWN_NOTIFICATIONS:
            self.connection.register_notification(method, guarded(method, handle, on_lost))

    # --- lifecycle ---------------------------------------------------------------------------------------------

    def begin(self, params: object) -> dict[str, object]:
        """Handle `initialize`: build the service. Raises: InvalidParams; then nothing has begun."""
        checked = decode(params, InitializeParams)
        decoded = decode_options(checked.initialization_options)
        if checked.process_id is not None and checked.process_id < 1:
            raise InvalidParams("must be a process id", ".processId")
        self._folders.begin(checked)
        self.client.begin(checked.capabilities)
        self.close_service()
        self._listeners.clear()
        self._events = NotificationQueue(asyncio.get_running_loop(), self._notify_all)
        client_name = None if checked.client_info is None else checked.client_info.name
        self.service = self._build(self._context(decoded, self._events, client_name))
        for request in REQUESTS:
            if request.needs is not None and self._has(request.needs):
                self.add_request(request)
        self._warn_of(decoded.ignored if self._notice is None else (self._notice, *decoded.ignored))
        if checked.process_id is not None:
            self.on_parent(checked.process_id)
        log.info("serving %d workspace folders", len(self._folders.paths))
        capabilities = server_capabilities(checked.capabilities, self._features, self._experimental_capabilities())
        return {"capabilities": capabilities, "serverInfo": {"name": SERVER_NAME, "version": __version__}}

    async def load_standard(self) -> StandardHandler:
        """Raises: ImportError."""
        with _without_collections() if self._owns_process else nullcontext():
            protocol = await asyncio.to_thread(importlib.import_module, "fileops.lsp.pygls_server")
        return protocol.load(self.connection, self._features, self.client.capabilities)

    def _load_deferred_soon(self) -> None:
        if self._has_deferred:
            self._has_deferred = False
            asyncio.get_running_loop().call_later(LOAD_DEFERRED_AFTER_S, self._load_deferred)

    def _load_deferred(self) -> None:
        def load() -> None:
            try:
                load_deferred()
            except (ImportError, OSError) as fault:
                log.warning("a module could not be loaded yet: %s", fault)
                self._has_deferred = True  # the next answer tries again

        try:
            threading.Thread(target=load, name="fileops-load", daemon=True).start()
        except RuntimeError as fault:  # no thread is available
            log.warning("modules could not be loaded yet: %s", fault)
            self._has_deferred = True

    def _context(self, decoded: DecodedOptions, events: EventSink, client_name: str | None) -> ClientContext:
        return ClientContext(
            settings=decoded.settings,
            options=decoded.options,
            folders=self._folders.paths,
            events=events,
            client_name=client_name,
            client=self.client,
            progress=self._progress,
            add_standard=self.add_standard,
            listen=self._listeners.append,
            on_request_done=lambda: self.connection.on_request_done(),  # noqa: PLW0108  # it is set later
        )

    def _warn_of(self, ignored: tuple[str, ...]) -> None:
        for sentence in ignored:
            text = f"fileops-server: {sentence}"
            self.client.notify(methods.WINDOW_SHOW_MESSAGE, {"type": methods.WARNING, "message": text})

    def _experimental_capabilities(self) -> dict[str, object]:
        block: FileopsCapabilities = {
            "protocol_version": PROTOCOL_VERSION,
            "requests": self.requests,
            "notifications": [
                *NOTIFICATIONS,
                *([DID_CHANGE_SESSIONS, DID_RECORD, DID_CHANGE_UNKEPT] if self._has("editor") else ()),
                *([DID_CHANGE_REVIEWS] if self._has("user") else ()),
            ],
            "strategies": strategy_names(),
            "processors": processor_names(),
            "validators": validator_names(),
            "shared": self.shared,
        }
        return {"fileops": block}

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

    def notify_recorded(self, entries: "Sequence[Entry]", n_more: int) -> None:
        """Send entries of the record to an editor that asked for them."""
        from fileops.wire.record import did_record

        self.client.notify(DID_RECORD, did_record(entries, n_more))

    def notify_unkept(self, file_path: str | None) -> None:
        """Notify an editor that what is not kept of a file (None: of many) may be different."""
        from fileops.wire.rewinds import DidChangeUnkeptParams

        self.client.notify(DID_CHANGE_UNKEPT, DidChangeUnkeptParams(file_path=file_path))

    @property
    def n_waiting_for_others(self) -> int:
        """Requests in progress that wait for an editor, a mapped host or a plugin, and not for the disk."""
        return 0 if self.service is None else self.service.n_waiting_for_others

    def flush(self) -> None:
        """Send the notifications that are still waiting."""
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

    def _folders_changed(self, params: DidChangeWorkspaceFoldersParams) -> None:
        for refusal in self._folders.change(params):
            self._warn_of((f"a workspace folder was not added: {refusal}",))
        self._ready().set_folders(self._folders.paths)

    def _folders_not_changed(self, _raw: object, reason: str) -> None:
        self._warn_of((f"a change of the workspace folders could not be read ({reason}): the folders are unchanged",))

    def _progress_cancelled(self, params: ProgressCancelParams) -> None:
        self._progress.cancel(params.token)

    def _notify_all(self, events: Iterable[Event]) -> None:
        with self.connection.batch():
            for published in events:
                if self.service is not None and not self.service.shows(published):
                    continue
                if (event := self.view_of_event(published)) is None:
                    continue
                method, params = notification_of(event)
                if (sentence := message_of(event)) is not None:
                    self._warn_of((sentence,))
                self.client.notify(method, params)
                for listener in self._listeners:
                    listener(event)


def _session_of(params: Params, service: "FileOps") -> SessionName:
    """The session in whose statistics a request counts."""
    given: str | None = getattr(params, "session_id", None)
    return service.names.full(given)


@contextmanager
def _without_collections() -> Generator[None]:
    """As at the start of the process: an import makes thousands of classes, and no garbage."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
