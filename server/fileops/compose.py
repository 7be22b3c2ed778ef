"""Composition root: the only place that names concrete adapters.

Nothing heavy is imported before it is known to be needed.
"""

import gc
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fileops.fs.overlay.filesystem import OverlayFileSystem
    from fileops.fs.remote.router import RouterFileSystem
    from fileops.history.journal import History
    from fileops.lsp.server import ClientContext
    from fileops.model.settings import Settings
    from fileops.ports import (
        Approver,
        CommandApprover,
        Corrector,
        Events,
        Executor,
        ExecutorChoice,
        FileSystem,
        HistoryStore,
    )
    from fileops.service.fileops import FileOps
    from fileops.telemetry.calls import Sink
    from fileops.wire.types import FilesystemOptions


def serve() -> int:
    import asyncio
    import threading

    gc.disable()  # thousands of classes are made by the imports, and none of them is garbage
    from fileops.fs.local.filesystem import LocalFileSystem
    from fileops.history.journal import History
    from fileops.lsp.server import ClientContext, LspServer
    from fileops.lsp.stdio import serve_stdio

    def build(wiring: ClientContext) -> "FileOps":
        from fileops.fs.overlay.filesystem import OverlayFileSystem
        from fileops.lsp.approver import LspApprover
        from fileops.lsp.client import is_editor
        from fileops.lsp.text_sync import DocumentSync
        from fileops.lsp.undo_actions import LensRefresh, UndoActions
        from fileops.lsp.workspace_edit import LspEditor

        settings, client = wiring.settings, wiring.client
        editor = LspEditor(client, asyncio.get_running_loop())
        disk = LocalFileSystem()
        remote = _remote(wiring.options.filesystems, disk) if wiring.options.filesystems else None
        buffers = OverlayFileSystem(remote or disk, editor, lambda: client.position_encoding)
        by_message = wiring.options.approval_fallback == "message"
        approver = LspApprover(client, timeout_s=settings.approval_timeout_s, use_message_fallback=by_message)
        DocumentSync(buffers).register(wiring.add_standard)
        if is_editor(client.capabilities):
            buffers.load()
        history = History(_history_store(wiring) if wiring.options.history == "persistent" else None)
        service = compose(
            settings, wiring.folders, events=wiring.events, files=buffers, approver=approver, history=history,
            corrector=_corrector(wiring) if settings.correction else None,
            remote=remote, sinks=_telemetry(),
            commands=_command_approver(wiring, use_message_fallback=by_message) if wiring.options.bash else None,
        )  # fmt: skip
        service.when_work_waits(wiring.on_request_done)
        threading.Thread(target=disk.recover_all, args=(service.folders,), name="fileops-recovery", daemon=True).start()
        UndoActions(service, client, wiring.progress).register(
            wiring.add_standard, code_lens=wiring.options.code_lens or False
        )
        if wiring.options.code_lens:
            wiring.listen(LensRefresh(client).on_event)
        return service

    gc.freeze()
    gc.enable()
    return serve_stdio(LspServer(build))


def _check_validators(names: "Sequence[str]") -> None:
    """Raises: InvalidParams, where one is not installed."""
    from fileops.rpc.decode import InvalidParams
    from fileops.service.catalog import validator_names

    for index, name in enumerate(names):
        if name not in validator_names():
            installed = ", ".join(validator_names()) or "none"
            place = f".initializationOptions.validators[{index}]"
            raise InvalidParams(f"no such validator is installed; there are: {installed}", place)


def _remote(filesystems: "Sequence[FilesystemOptions]", disk: "FileSystem") -> "RouterFileSystem":
    """The disk with what is mapped into it. Raises: InvalidParams, where there is no such filesystem."""
    from fileops.fs.remote.mounts import Mount, mounted, unsupported_reason
    from fileops.rpc.decode import InvalidParams

    for index, one in enumerate(filesystems):
        if (reason := unsupported_reason(one.url)) is not None:
            raise InvalidParams(reason, f".initializationOptions.filesystems[{index}].url")
    return mounted(disk, [Mount(prefix=one.prefix, url=one.url, options=one.options or {}) for one in filesystems])


def _corrector(wiring: "ClientContext") -> "Corrector":
    from fileops.lsp.corrector import LspCorrector

    return LspCorrector(wiring.client, timeout_s=wiring.settings.correction_timeout_s)


def _command_approver(wiring: "ClientContext", *, use_message_fallback: bool) -> "CommandApprover":
    from fileops.lsp.approver import LspCommandApprover

    return LspCommandApprover(
        wiring.client, timeout_s=wiring.settings.approval_timeout_s, use_message_fallback=use_message_fallback
    )


def _executors(remote: "RouterFileSystem | None") -> "ExecutorChoice":
    """Commands run where their working directory is: here, or on the host that it is mapped from."""
    from fileops.model.errors import CommandNotStarted
    from fileops.shell.process import ShellExecutor

    def executor_at(cwd: str) -> "tuple[Executor, str]":
        if remote is None or not remote.is_remote(cwd):
            return ShellExecutor(), cwd
        host = remote.ssh_host(cwd)
        if host is None:
            raise CommandNotStarted(reason="no commands can be run in this filesystem")
        command, there = host
        return ShellExecutor(command), there

    return executor_at


def _history_store(wiring: "ClientContext") -> "HistoryStore":
    """What becomes of it is told to the client as a warning."""
    import asyncio
    from contextlib import suppress

    from fileops.history.store import DiskHistoryStore, default_folder
    from fileops.lsp import methods

    loop, client = asyncio.get_running_loop(), wiring.client

    def tell(sentence: str) -> None:
        params = {"type": methods.WARNING, "message": f"fileops-server: {sentence}"}
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            loop.call_soon_threadsafe(client.notify, methods.WINDOW_SHOW_MESSAGE, params)

    return DiskHistoryStore(default_folder(), tell=tell)


def compose(
    settings: "Settings",
    folders: Sequence[str],
    *,
    events: "Events",
    files: "OverlayFileSystem",
    approver: "Approver",
    history: "History",
    corrector: "Corrector | None" = None,
    remote: "RouterFileSystem | None" = None,
    sinks: "tuple[Sink, ...]" = (),
    commands: "CommandApprover | None" = None,
) -> "FileOps":
    """The service over files as the person sees them. folders: absolute paths of the workspace."""
    from fileops.service.fileops import ClientAdapters, FileOps
    from fileops.service.plugins import register_plugins
    from fileops.service.workspace import Workspace
    from fileops.tracking.freshness import Freshness
    from fileops.watch import factory, stat_scan

    plugins = register_plugins()
    _check_validators(settings.validators)
    moved = stat_scan.moved
    if remote is not None:
        from fileops.fs.remote.router import moved_with_poll
        from fileops.watch.polling import Poller

        poller = Poller(remote.stat, lambda path: freshness.hint(path))  # noqa: PLW0108  # it is made below
        moved = moved_with_poll(remote.is_remote, stat_scan.moved, poller.watch)
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
    """What the standard environment variables ask for, which usually is nothing."""
    if not any(name.startswith("OTEL_") for name in os.environ):
        return ()
    from fileops.telemetry.otel import telemetry_from

    telemetry = telemetry_from(os.environ)
    return () if telemetry is None else (telemetry,)


class SystemClock:
    """See ports.Clock."""

    def time_ns(self) -> int:
        return time.time_ns()
