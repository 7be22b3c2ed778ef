"""Composition root of a private daemon, which serves one client on stdin and stdout. Imports are deferred.

The shared daemon is put together in `shared.py`, of the same parts (`parts.py`).
"""

import gc
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from fileops.compose.parts import (
    NoEvents,
    build_workspace,
    check_plugins,
    command_approver_of,
    corrector_of,
    encoded_files,
    executors,
    mapped_filesystems,
    persistent_store,
    recover_in_background,
    telemetry,
    warner_of,
)

if TYPE_CHECKING:
    from fileops.compose.own_parts import OwnParts
    from fileops.fs.overlay.filesystem import OverlayFileSystem
    from fileops.fs.remote.router import RouterFileSystem
    from fileops.history.journal import History
    from fileops.lsp.server import ClientContext
    from fileops.mcp.host_sessions import HostSessions
    from fileops.mcp.options import McpOptions
    from fileops.model.settings import Settings
    from fileops.ports import Approver, CommandApprover, Corrector, EventSink, Executor, FileSystem, ImageDetector
    from fileops.service.fileops import FileOps
    from fileops.service.hub.names import SessionNames
    from fileops.telemetry.calls import Sink

# Imported while the garbage collector is off; the composition of a service would import them while it is on.
OF_A_SERVICE = (
    "fileops.fs.overlay.filesystem",
    "fileops.fs.local.filesystem",
    "fileops.history.journal",
    "fileops.service.fileops",
    "fileops.service.plugins.registry",
    "fileops.tracking.freshness",
    "fileops.watch.factory",
)
OF_AN_LSP_CLIENT = (
    "fileops.lsp.approver",
    "fileops.lsp.text_sync",
    "fileops.lsp.undo_actions",
    "fileops.lsp.workspace_edit",
)


def serve(notice: str | None = None) -> int:
    """Serve one LSP client on stdin and stdout; returns the exit status. Args: notice: shown to the client's user."""
    gc.disable()  # thousands of classes are made by the imports, and none of them is garbage
    from fileops.lsp.server import LspServer
    from fileops.lsp.stdio import serve_stdio

    for module in (*OF_A_SERVICE, *OF_AN_LSP_CLIENT):
        import_module(module)
    gc.freeze()
    gc.enable()
    return serve_stdio(LspServer(build_service, notice))


def build_service(context: "ClientContext", own: "OwnParts | None" = None) -> "FileOps":
    """Build the service of one LSP client. Called at its `initialize`, on the event loop.

    Args: own: parts of the program that the service is embedded in, in place of the server's.
    """
    import asyncio

    from fileops.fs.local.filesystem import LocalFileSystem
    from fileops.fs.overlay.filesystem import OverlayFileSystem
    from fileops.history.journal import History
    from fileops.lsp.approver import LspApprover
    from fileops.lsp.client import is_editor
    from fileops.lsp.text_sync import DocumentSync
    from fileops.lsp.undo_actions import LensRefresh, UndoActions
    from fileops.lsp.workspace_edit import LspEditor

    settings, options, client = context.settings, context.options, context.client
    local = LocalFileSystem()
    disk = local if own is None or own.filesystem is None else own.filesystem
    remote = mapped_filesystems(options.filesystems, disk) if options.filesystems else None
    saved = encoded_files(remote or disk, settings.encodings)
    files = OverlayFileSystem(saved)
    documents = files.connect(LspEditor(client, asyncio.get_running_loop()), lambda: client.position_encoding)
    by_message = options.approval_fallback == "message"
    approver = None if own is None else own.approver
    if approver is None:
        approver = LspApprover(client, timeout_s=settings.approval_timeout_s, use_message_fallback=by_message)
    DocumentSync(documents).register(context.add_standard)
    if is_editor(client.capabilities):
        files.load()
    warn = warner_of(context)
    history = History(persistent_store(warn) if options.history == "persistent" else None)
    service = compose(
        settings, context.folders, events=context.events, files=files, saved=saved, approver=approver, history=history,
        corrector=corrector_of(context), remote=remote, sinks=telemetry(), commands=command_approver_of(context),
        executor=None if own is None else own.executor,
        image_detector=None if own is None else own.image_detector,
        is_on_disk=disk is local, warn=warn if disk is local else None,
    )  # fmt: skip
    service.when_work_waits(context.on_request_done)
    if disk is local:
        recover_in_background(local.recover_all, service.folders)
    UndoActions(service, client, context.progress).register(context.add_standard, code_lens=options.code_lens or False)
    if options.code_lens:
        context.listen(LensRefresh(client).on_event)
    return service


def serve_mcp(options: "McpOptions", notice: str | None = None) -> int:
    """Serve one MCP client on stdin and stdout; returns the exit status. Args: notice: given to the client's model."""
    gc.disable()  # as in `serve`
    from fileops.fs.local.filesystem import LocalFileSystem
    from fileops.fs.overlay.filesystem import OverlayFileSystem
    from fileops.history.journal import History
    from fileops.mcp.server import McpServer
    from fileops.rpc.line_framing import LineParser, line_frame
    from fileops.rpc.session import StreamSession
    from fileops.rpc.standard_io import serve_standard_io

    disk = LocalFileSystem()

    def build(approver: "Approver", names: "HostSessions") -> "FileOps":
        saved = encoded_files(disk, options.encodings)
        files = OverlayFileSystem(saved)
        return compose(
            options.settings, (), events=NoEvents(), files=files, saved=saved, approver=approver,
            history=History(None), sinks=telemetry(), agent=names,
        )  # fmt: skip

    def session(for_reading: int, for_writing: int) -> StreamSession:
        def recover() -> None:
            recover_in_background(disk.recover_all, server.service.folders)

        server = McpServer(build, options, recover=recover, notice=notice)
        return StreamSession(
            server, for_reading, for_writing, end_of_input=lambda: 0, parser=LineParser(), frame=line_frame
        )

    for module in OF_A_SERVICE:
        import_module(module)
    gc.freeze()
    gc.enable()
    return serve_standard_io(session)


def compose(
    settings: "Settings",
    folders: Sequence[str],
    *,
    events: "EventSink",
    files: "OverlayFileSystem",
    saved: "FileSystem",
    approver: "Approver",
    history: "History",
    corrector: "Corrector | None" = None,
    remote: "RouterFileSystem | None" = None,
    sinks: "tuple[Sink, ...]" = (),
    commands: "CommandApprover | None" = None,
    executor: "Executor | None" = None,
    image_detector: "ImageDetector | None" = None,
    is_on_disk: bool = True,
    warn: "Callable[[str], None] | None" = None,
    agent: "SessionNames | None" = None,
) -> "FileOps":
    """Build a service over files as the user sees them.

    Args: saved: the same without open documents. folders: absolute paths of the workspace. executor, image_detector:
    take the place of the server's. is_on_disk: see build_workspace. warn: is given sentences for the user, on any
    thread. agent: the names of the sessions, if the client is an agent.
    """
    from fileops.service.client.adapters import ClientAdapters, ignore
    from fileops.service.fileops import FileOps
    from fileops.service.hub.names import SessionNames
    from fileops.service.images import ContentDetector

    check_plugins(settings)
    workspace = build_workspace(
        files,
        events,
        history,
        freshness_mode=settings.freshness,
        remote=remote,
        is_on_disk=is_on_disk,
        saved=saved,
    )
    client = ClientAdapters(
        approver=approver,
        events=events,
        corrector=corrector,
        sinks=sinks,
        executor_at=executors(remote, executor) if commands else None,
        command_approver=commands,
        image_detector=image_detector or ContentDetector(),
        on_closed=workspace.close,
        warn=warn or ignore,
        names=agent or SessionNames(),
        is_agent=agent is not None,
    )
    return FileOps(workspace, client, settings, folders)
