"""The command line and the composition root: the only place that names concrete adapters.

Nothing heavy is imported before it is known to be needed: `--version` and `--help` answer at once.
"""

import argparse
import gc
import os
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fileops import __version__

if TYPE_CHECKING:
    from fileops.calls import Sink
    from fileops.fs.router import RouterFileSystem
    from fileops.history import History
    from fileops.lsp.buffers import EditorBuffers
    from fileops.lsp.server import Wiring
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
    from fileops.service import FileOps
    from fileops.settings import Settings
    from fileops.wire.types import FilesystemOptions

ABOUT = """\
A daemon through which AI agents read and edit files beside a person.

Without a command it serves JSON-RPC 2.0 in LSP frames on stdin and stdout, as language servers do; an editor or an
agent starts it. `demo` shows in a minute what it is good for."""

HELLO = f"""\
fileops-server {__version__} is waiting for a client on stdin: JSON-RPC 2.0 in LSP frames.
Usually an editor or an agent starts it. To see what it does, run: fileops-server demo
To leave: Ctrl-D."""

LOG_LEVELS = ("debug", "info", "warning", "error")


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status."""
    options = _parser().parse_args(argv)
    if options.command == "demo":
        from fileops.demo.story import run_demo

        return run_demo(options.directory)
    _log_to(options.log_file, options.log_level)
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(HELLO + "\n")
    return _serve()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fileops-server", description=ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"fileops-server {__version__}")
    parser.add_argument("--log-file", metavar="FILE", help="write the log to FILE instead of stderr")
    parser.add_argument("--log-level", choices=LOG_LEVELS, default="warning", help="default: warning")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", prog=parser.prog
    )  # else it lays out a help text
    demo = commands.add_parser(
        "demo",
        help="show the daemon at work",
        description="Start the daemon, read, edit, be refused, read again; nothing of yours is changed.",
    )
    demo.add_argument(
        "directory",
        metavar="DIRECTORY",
        nargs="?",
        help="work on a copy of this folder's text files instead of an example",
    )
    return parser


def _log_to(log_file: str | None, level: str) -> None:
    import logging

    handler: logging.Handler
    if log_file is None:
        handler = logging.StreamHandler(sys.stderr)
    else:
        try:
            handler = logging.FileHandler(log_file, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            sys.exit(f"fileops-server: cannot write the log to {log_file}: {error.strerror}")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level.upper())
    logging.getLogger("pygls").setLevel(max(root.level, logging.WARNING))  # below, it logs whole params: texts, secrets


def _serve() -> int:
    import asyncio
    import threading

    gc.disable()  # thousands of classes are made by the imports, and none of them is garbage
    from fileops.fs.local import LocalFileSystem
    from fileops.history import History
    from fileops.lsp.server import FileOpsServer, Wiring
    from fileops.lsp.stdio import serve_stdio

    def build(wiring: Wiring) -> "FileOps":
        from fileops.lsp.agent_edits import AgentEdits
        from fileops.lsp.applying import LspEditor
        from fileops.lsp.approver import LspApprover
        from fileops.lsp.buffers import EditorBuffers
        from fileops.lsp.capabilities import is_editor
        from fileops.lsp.sync import DocumentSync

        settings, client = wiring.settings, wiring.client
        editor = LspEditor(client, asyncio.get_running_loop())
        disk = LocalFileSystem()
        remote = _remote(wiring.options.filesystems, disk) if wiring.options.filesystems else None
        buffers = EditorBuffers(remote or disk, editor, lambda: client.position_encoding)
        falls_back = wiring.options.approval_fallback == "message"
        approver = LspApprover(client, timeout_s=settings.approval_timeout_s, falls_back=falls_back)
        DocumentSync(buffers).register(wiring.add_standard)
        if is_editor(client.capabilities):
            buffers.load()
        history = History(_history_store(wiring) if wiring.options.history == "persistent" else None)
        service = compose(
            settings, wiring.folders, events=wiring.events, files=buffers, approver=approver, history=history,
            corrector=_corrector(wiring) if settings.correction else None,
            remote=remote, sinks=_telemetry(),
            commands=_command_approver(wiring, falls_back=falls_back) if wiring.options.bash else None,
        )  # fmt: skip
        service.when_work_waits(wiring.less_work)
        threading.Thread(target=disk.recover_all, args=(service.folders,), name="fileops-recovery", daemon=True).start()
        AgentEdits(service, client, wiring.progress).register(
            wiring.add_standard, code_lens=wiring.options.code_lens or False
        )
        if wiring.options.code_lens:
            from fileops.lsp.lens_refresh import LensRefresh

            wiring.listen(LensRefresh(client).heard)
        return service

    gc.freeze()
    gc.enable()
    return serve_stdio(FileOpsServer(build))


def _check_validators(names: "Sequence[str]") -> None:
    """Raises: InvalidParams, where one is not installed."""
    from fileops.core.validation import VALIDATORS
    from fileops.wire.decode import InvalidParams

    for index, name in enumerate(names):
        if name not in VALIDATORS:
            there = ", ".join(sorted(VALIDATORS)) or "none"
            place = f".initializationOptions.validators[{index}]"
            raise InvalidParams(f"no such validator is installed; there are: {there}", place)


def _remote(filesystems: "Sequence[FilesystemOptions]", disk: "FileSystem") -> "RouterFileSystem":
    """The disk with what is mapped into it. Raises: InvalidParams, where there is no such filesystem."""
    from fileops.fs.mounting import Mount, mounted, why_unusable
    from fileops.wire.decode import InvalidParams

    for index, one in enumerate(filesystems):
        if (reason := why_unusable(one.url)) is not None:
            raise InvalidParams(reason, f".initializationOptions.filesystems[{index}].url")
    return mounted(disk, [Mount(prefix=one.prefix, url=one.url, options=one.options or {}) for one in filesystems])


def _corrector(wiring: "Wiring") -> "Corrector":
    from fileops.lsp.corrector import LspCorrector

    return LspCorrector(wiring.client, timeout_s=wiring.settings.correction_timeout_s)


def _command_approver(wiring: "Wiring", *, falls_back: bool) -> "CommandApprover":
    from fileops.lsp.command_approver import LspCommandApprover

    return LspCommandApprover(wiring.client, timeout_s=wiring.settings.approval_timeout_s, falls_back=falls_back)


def _executors(remote: "RouterFileSystem | None") -> "ExecutorChoice":
    """Commands run where their working directory is: here, or on the host that it is mapped from."""
    from fileops.errors import CommandNotStarted
    from fileops.executors.shell import ShellExecutor

    def executor_at(cwd: str) -> "tuple[Executor, str]":
        if remote is None or not remote.is_remote(cwd):
            return ShellExecutor(), cwd
        host = remote.ssh_host(cwd)
        if host is None:
            raise CommandNotStarted(reason="no commands can be run in this filesystem")
        command, there = host
        return ShellExecutor(command), there

    return executor_at


def _history_store(wiring: "Wiring") -> "HistoryStore":
    """What becomes of it is told to the client as a warning."""
    import asyncio
    from contextlib import suppress

    from fileops.fs.history_store import DiskHistoryStore, default_folder
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
    files: "EditorBuffers",
    approver: "Approver",
    history: "History",
    corrector: "Corrector | None" = None,
    remote: "RouterFileSystem | None" = None,
    sinks: "tuple[Sink, ...]" = (),
    commands: "CommandApprover | None" = None,
) -> "FileOps":
    """The service over files as the person sees them. folders: absolute paths of the workspace."""
    from fileops.freshness import Freshness
    from fileops.fs import watcher
    from fileops.plugins import register_plugins
    from fileops.service import FileOps, World

    plugins = register_plugins()
    _check_validators(settings.validators)
    moved = watcher.moved
    if remote is not None:
        from fileops.fs.polling import Poller
        from fileops.fs.router import moved_with_poll

        poller = Poller(remote.stat, lambda path: freshness.hint(path))  # noqa: PLW0108  # it is made below
        moved = moved_with_poll(remote.is_remote, watcher.moved, poller.watch)
    freshness = Freshness(
        files, events, SystemClock(), mode=settings.freshness, open_watch=watcher.open_folder_watch,
        moved=moved, is_open=files.is_open,
    )  # fmt: skip
    files.on_change = freshness.hint
    world = World(
        fs=files,
        freshness=freshness,
        approver=approver,
        events=events,
        clock=SystemClock(),
        history=history,
        corrector=corrector,
        sinks=sinks,
        executor_at=_executors(remote) if commands else None,
        command_approver=commands,
        plugins=plugins,
    )
    return FileOps(world, settings, folders)


def _telemetry() -> "tuple[Sink, ...]":
    """What the standard environment variables ask for, which usually is nothing."""
    if not any(name.startswith("OTEL_") for name in os.environ):
        return ()
    from fileops.telemetry import telemetry_from

    telemetry = telemetry_from(os.environ)
    return () if telemetry is None else (telemetry,)


class SystemClock:
    """See ports.Clock."""

    def time_ns(self) -> int:
        return time.time_ns()


if __name__ == "__main__":
    sys.exit(main())
