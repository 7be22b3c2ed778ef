"""Composition root: the only module that names concrete adapters. Imports are deferred until they are needed."""

import gc
import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fileops.fs.overlay.filesystem import OverlayFileSystem
    from fileops.fs.remote.router import RouterFileSystem
    from fileops.history.journal import History
    from fileops.lsp.server import ClientContext
    from fileops.mcp.options import McpOptions
    from fileops.model.documents import BufferEdit
    from fileops.model.events import Event
    from fileops.model.settings import Settings
    from fileops.ports import (
        Approver,
        CommandApprover,
        Corrector,
        EventSink,
        Executor,
        ExecutorChoice,
        FileSystem,
        HistoryStore,
    )
    from fileops.service.fileops import FileOps
    from fileops.telemetry.calls import Sink
    from fileops.wire.types import FilesystemOptions


def serve() -> int:
    """Serve one LSP client on stdin and stdout; returns the exit status."""
    gc.disable()  # thousands of classes are made by the imports, and none of them is garbage
    import fileops.fs.local.filesystem  # pyright: ignore[reportUnusedImport]  # needed at `initialize`, as the next
    import fileops.history.journal  # noqa: F401  # pyright: ignore[reportUnusedImport]
    from fileops.lsp.server import LspServer
    from fileops.lsp.stdio import serve_stdio

    gc.freeze()
    gc.enable()
    return serve_stdio(LspServer(build_service))


def build_service(context: "ClientContext") -> "FileOps":
    """Build the service of one LSP client. Called at its `initialize`, on the event loop."""
    import asyncio
    import threading

    from fileops.fs.local.filesystem import LocalFileSystem
    from fileops.fs.overlay.filesystem import OverlayFileSystem
    from fileops.history.journal import History
    from fileops.lsp.approver import LspApprover
    from fileops.lsp.client import is_editor
    from fileops.lsp.text_sync import DocumentSync
    from fileops.lsp.undo_actions import LensRefresh, UndoActions
    from fileops.lsp.workspace_edit import LspEditor

    settings, options, client = context.settings, context.options, context.client
    disk = LocalFileSystem()
    remote = _remote(options.filesystems, disk) if options.filesystems else None
    editor = LspEditor(client, asyncio.get_running_loop())
    files = OverlayFileSystem(remote or disk, editor, lambda: client.position_encoding)
    by_message = options.approval_fallback == "message"
    approver = LspApprover(client, timeout_s=settings.approval_timeout_s, use_message_fallback=by_message)
    DocumentSync(files).register(context.add_standard)
    if is_editor(client.capabilities):
        files.load()
    history = History(_history_store(context) if options.history == "persistent" else None)
    service = compose(
        settings, context.folders, events=context.events, files=files, approver=approver, history=history,
        corrector=_corrector(context) if settings.correction else None,
        remote=remote, sinks=_telemetry(),
        commands=_command_approver(context, use_message_fallback=by_message) if options.bash else None,
    )  # fmt: skip
    service.when_work_waits(context.on_request_done)
    threading.Thread(target=disk.recover_all, args=(service.folders,), name="fileops-recovery", daemon=True).start()
    UndoActions(service, client, context.progress).register(context.add_standard, code_lens=options.code_lens or False)
    if options.code_lens:
        context.listen(LensRefresh(client).on_event)
    return service


def serve_mcp(options: "McpOptions") -> int:
    """Serve one MCP client on stdin and stdout; returns the exit status."""
    import threading

    gc.disable()  # as in `serve`
    from fileops.fs.local.filesystem import LocalFileSystem
    from fileops.fs.overlay.filesystem import OverlayFileSystem
    from fileops.history.journal import History
    from fileops.mcp.server import McpServer
    from fileops.rpc.line_framing import LineParser, line_frame
    from fileops.rpc.session import StreamSession
    from fileops.rpc.standard_io import serve_standard_io

    disk = LocalFileSystem()

    def build(approver: "Approver") -> "FileOps":
        files = OverlayFileSystem(disk, NoEditor(), lambda: "utf-8")
        return compose(
            options.settings, (), events=NoEvents(), files=files, approver=approver, history=History(None),
            sinks=_telemetry(),
        )  # fmt: skip

    def session(for_reading: int, for_writing: int) -> StreamSession:
        def recover() -> None:
            folders = server.service.folders
            threading.Thread(target=disk.recover_all, args=(folders,), name="fileops-recovery", daemon=True).start()

        server = McpServer(build, options, recover=recover)
        return StreamSession(
            server, for_reading, for_writing, end_of_input=lambda: 0, parser=LineParser(), frame=line_frame
        )

    gc.freeze()
    gc.enable()
    return serve_standard_io(session)


class NoEditor:
    """See ports.Editor: no document is ever open, so no edit is ever sent."""

    checks_version = False

    def apply(
        self, edit: "BufferEdit", *, is_current: "Callable[[], bool]", on_cancel: "Callable[[Callable[[], None]], None]"
    ) -> None:
        from fileops.model.errors import ApplyRefused

        raise ApplyRefused(reason="no editor is connected")


class NoEvents:
    """See ports.EventSink: the client is notified of nothing, since no host shows notifications to its model."""

    def publish(self, event: "Event") -> None:
        pass


def _check_validators(names: "Sequence[str]") -> None:
    """Raises: InvalidParams, if one is not installed."""
    from fileops.rpc.decode import InvalidParams
    from fileops.service.catalog import validator_names

    for index, name in enumerate(names):
        if name not in validator_names():
            installed = ", ".join(validator_names()) or "none"
            place = f".initializationOptions.validators[{index}]"
            raise InvalidParams(f"no such validator is installed; there are: {installed}", place)


def _remote(filesystems: "Sequence[FilesystemOptions]", disk: "FileSystem") -> "RouterFileSystem":
    """Map remote filesystems into the disk. Raises: InvalidParams, if one of them is not supported."""
    from fileops.fs.remote.mounts import Mount, mounted, unsupported_reason
    from fileops.rpc.decode import InvalidParams

    for index, entry in enumerate(filesystems):
        if (reason := unsupported_reason(entry.url)) is not None:
            raise InvalidParams(reason, f".initializationOptions.filesystems[{index}].url")
    mounts = [Mount(prefix=entry.prefix, url=entry.url, options=entry.options or {}) for entry in filesystems]
    return mounted(disk, mounts)


def _corrector(context: "ClientContext") -> "Corrector":
    from fileops.lsp.corrector import LspCorrector

    return LspCorrector(context.client, timeout_s=context.settings.correction_timeout_s)


def _command_approver(context: "ClientContext", *, use_message_fallback: bool) -> "CommandApprover":
    from fileops.lsp.approver import LspCommandApprover

    return LspCommandApprover(
        context.client, timeout_s=context.settings.approval_timeout_s, use_message_fallback=use_message_fallback
    )


def _executors(remote: "RouterFileSystem | None") -> "ExecutorChoice":
    """Choose where commands run: on this host, or on the host that the working directory is mapped from."""
    from fileops.model.errors import CommandNotStarted
    from fileops.shell.process import ShellExecutor

    def executor_at(cwd: str) -> "tuple[Executor, str]":
        if remote is None or not remote.is_remote(cwd):
            return ShellExecutor(), cwd
        host = remote.ssh_host(cwd)
        if host is None:
            raise CommandNotStarted(reason="no commands can be run in this filesystem")
        command, remote_cwd = host
        return ShellExecutor(command), remote_cwd

    return executor_at


def _history_store(context: "ClientContext") -> "HistoryStore":
    """Return the persistent store. The client is shown a warning when it fails."""
    import asyncio
    from contextlib import suppress

    from fileops.history.store import DiskHistoryStore, default_folder
    from fileops.lsp import methods

    loop, client = asyncio.get_running_loop(), context.client

    def warn(sentence: str) -> None:
        params = {"type": methods.WARNING, "message": f"fileops-server: {sentence}"}
        with suppress(RuntimeError):  # the loop is closed, so the client is gone
            loop.call_soon_threadsafe(client.notify, methods.WINDOW_SHOW_MESSAGE, params)

    return DiskHistoryStore(default_folder(), tell=warn)


def compose(
    settings: "Settings",
    folders: Sequence[str],
    *,
    events: "EventSink",
    files: "OverlayFileSystem",
    approver: "Approver",
    history: "History",
    corrector: "Corrector | None" = None,
    remote: "RouterFileSystem | None" = None,
    sinks: "tuple[Sink, ...]" = (),
    commands: "CommandApprover | None" = None,
) -> "FileOps":
    """Build a service over files as the user sees them. Args: folders: absolute paths of the workspace."""
    from fileops.service.fileops import ClientAdapters, FileOps
    from fileops.service.plugins.registry import register_plugins
    from fileops.service.workspace import Workspace
    from fileops.tracking.freshness import Freshness
    from fileops.watch import factory, stat_scan

    plugins = register_plugins()
    _check_validators(settings.validators)
    moved = stat_scan.changed_paths
    if remote is not None:
        from fileops.fs.remote.router import scan_with_poll
        from fileops.watch.polling import Poller

        poller = Poller(remote.stat, lambda path: freshness.hint(path))  # noqa: PLW0108  # it is made below
        moved = scan_with_poll(remote.is_remote, stat_scan.changed_paths, poller.watch)
    freshness = Freshness(
        files, events, SystemClock(), mode=settings.freshness, open_watch=factory.open_directory_watch,
        moved=moved, is_open=files.is_open,
    )  # fmt: skip
    files.on_change = freshness.hint
    workspace = Workspace(fs=files, freshness=freshness, history=history, clock=SystemClock(), plugins=plugins)
    client = ClientAdapters(
        approver=approver,
        events=events,
        corrector=corrector,
        sinks=sinks,
        executor_at=_executors(remote) if commands else None,
        command_approver=commands,
        on_closed=workspace.close,
    )
    return FileOps(workspace, client, settings, folders)


def _telemetry() -> "tuple[Sink, ...]":
    """Return the sinks that OpenTelemetry's environment variables ask for, usually none."""
    if not any(name.startswith("OTEL_") for name in os.environ):
        return ()
    from fileops.telemetry.otel import telemetry_from

    telemetry = telemetry_from(os.environ)
    return () if telemetry is None else (telemetry,)


class SystemClock:
    """See ports.Clock."""

    def time_ns(self) -> int:
        return time.time_ns()
