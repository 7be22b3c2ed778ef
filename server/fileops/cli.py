"""Command line: the log, and the choice of the command to run. `arguments.py` has the options.

Imports are deferred until they are needed, so `--version` and `--help` answer immediately.
"""

import errno
import gc
import io
import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn, TextIO, cast

from fileops import __version__

if TYPE_CHECKING:
    import argparse

STDOUT, STDERR = 1, 2
_HOOK_OPTIONS = {"--mode": ("companion", "tools"), "--notebooks": ("host", "ours")}  # of `mcp hook HOST`
OUTPUT_LOST = 1  # exit status
UNWRITABLE = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EIO}

HELLO = f"""\
fileops-server {__version__} is waiting for a client on stdin: JSON-RPC 2.0 in LSP frames.
Usually an editor or an agent starts it. To see what it does, run: fileops-server demo
To leave: Ctrl-D."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command. Returns the exit status."""
    if sys.stderr is None:
        sys.stderr = _discard(STDERR)
    arguments = sys.argv[1:] if argv is None else list(argv)
    given = list(zip(arguments[3::2], arguments[4::2], strict=False))
    if (
        arguments[:2] == ["mcp", "hook"]
        and len(arguments) == 3 + 2 * len(given)
        and all(value in _HOOK_OPTIONS.get(name, ()) for name, value in given)
    ):
        from fileops.attach import (  # a host waits for it, and making the parser takes longer than the hook
            callers,
            hook,
        )

        if arguments[2] in callers.HOSTS:
            named = dict(given)
            has_ours = named.get("--notebooks") == "ours"
            return hook.main(arguments[2], named.get("--mode", "tools"), has_our_notebooks=has_ours)
    from fileops.arguments import parser

    with _guard_output():
        options = parser().parse_args(arguments)
    if options.strategy_functions or options.processor_functions or options.validator_functions:
        _name_plugins(options)
    if (printing := _printing_command(options)) is not None:
        if sys.stdout is None:
            sys.stdout = _discard(STDOUT)
        with _guard_output():
            return printing()
    if options.command == "daemon":
        return _run_daemon(options)
    if options.command == "attach" or options.shared:
        return _serve_attached(options)
    if options.command == "mcp":
        return _serve_mcp(options)
    _log_to(options.log_file, options.log_level)
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(HELLO + "\n")
    from fileops.compose.private import serve

    return serve()


def _configure(options: "argparse.Namespace") -> int:
    """Configure a host. Says why it will not reach the shared daemon, if that is known: a host only says "failed"."""
    from fileops.attach.address import AttachRefused, find_address, require_private_folder
    from fileops.mcp.config import command

    _require_current_folder("mcp config")
    status = command.main(options)
    if options.write and status == 0:
        try:
            require_private_folder(find_address(None, os.environ).folder, create=False)
        except AttachRefused as refusal:
            sys.stderr.write(f"{options.host} will not be able to start the server. {refusal}\n")
    return status


def _printing_command(options: "argparse.Namespace") -> Callable[[], int] | None:
    """Returns the command, if it serves no client and its stdout is for people and scripts."""
    match options.command:
        case "demo":
            from fileops.demo.story import run_demo

            return lambda: run_demo(options.directory)
        case "mcp" if options.mcp_command == "config":
            return lambda: _configure(options)
        case "review":
            if options.list or options.json or options.review_command is not None:
                gc.disable()  # as below; the full screen lives longer
            from fileops.terminal import command as review_command

            return lambda: _without_search(review_command.main, options)
        case "log" | "diff" | "undo" | "redo" | "blame" | "keep" | "changes":
            gc.disable()  # a command ends before its garbage is worth a search
            from fileops.terminal import record

            return lambda: _without_search(record.main, options)
        case "schema":
            return lambda: _print_schema(as_openrpc=options.openrpc)
        case "status":
            return lambda: _control_daemon(options)
        case _:
            return None


def _without_search(command: "Callable[[argparse.Namespace], int]", options: "argparse.Namespace") -> int:
    """Run a command of the terminal. Python's last search for garbage, at the end of the process, finds nothing."""
    status = command(options)
    gc.freeze()
    return status


@contextmanager
def _guard_output() -> Generator[None]:
    """Let stdout take every file name, and end quietly if nobody reads it any more, as with `| head`."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # File names need not be UTF-8.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        try:
            yield
        finally:
            if (stdout := cast("TextIO | None", sys.stdout)) is not None:
                stdout.flush()
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        if error.errno != errno.EPIPE:
            sys.stderr.write(f"fileops-server: stdout could not be written: {error.strerror}.\n")
        sys.stdout = _discard(STDOUT)  # Python flushes it once more when it ends
        sys.exit(OUTPUT_LOST)


def _discard(fd: int) -> io.TextIOWrapper:
    """Make a standard descriptor, which may be closed, discard everything."""
    null = os.open(os.devnull, os.O_WRONLY)
    if null != fd:
        os.dup2(null, fd)
        os.close(null)
    return open(fd, "w", encoding="utf-8", closefd=False)


def _name_plugins(options: "argparse.Namespace") -> None:
    from fileops.service.plugins.named import name_plugins

    if options.shared or options.command not in {None, "daemon"}:
        sys.stderr.write(
            "fileops-server: --strategy, --processor and --validator belong to the process that serves. Give them to "
            "`fileops-server daemon`.\n"
        )
        sys.exit(2)
    try:
        name_plugins(options.strategy_functions, options.processor_functions, options.validator_functions)
    except ValueError as fault:
        sys.stderr.write(f"fileops-server: {fault}\n")
        sys.exit(2)


def _print_schema(*, as_openrpc: bool) -> int:
    import msgspec

    from fileops.schema import json_schema, openrpc

    document = (openrpc if as_openrpc else json_schema).document()
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(document)) + b"\n")
    return 0


def _control_daemon(options: "argparse.Namespace") -> int:
    from fileops.attach import control

    if options.stop:
        return control.stop(options.socket, now=options.now)
    if options.now:
        sys.stderr.write("fileops-server status: --now belongs to --stop. Give both to end the daemon now.\n")
        return 2
    return control.status(options.socket, as_json=options.json)


def _run_daemon(options: "argparse.Namespace") -> int:
    if options.detach:
        from fileops.attach import control

        plugins = [f"--strategy={text}" for text in options.strategy_functions]
        plugins += [f"--processor={text}" for text in options.processor_functions]
        plugins += [f"--validator={text}" for text in options.validator_functions]
        return control.detach(options.socket, options.idle_s, plugins)
    from fileops.daemon.process import DaemonOptions

    _log_to(options.log_file, options.log_level, is_bounded=options.detached)
    gc.disable()  # the imports make thousands of classes, none of which is garbage
    from fileops.compose.daemon import serve_daemon

    return serve_daemon(
        DaemonOptions(
            socket=options.socket, idle_s=options.idle_s, log_file=options.log_file, is_detached=options.detached
        )
    )


def _serve_attached(options: "argparse.Namespace") -> int:
    from fileops.attach import client

    role = "editor" if options.command is None else options.role
    try:
        return client.serve_attached(client.attachment_here("lsp", role, options.host), options.socket)
    except client.NotAttached as reason:
        notice = _privately(reason, options)
    from fileops.compose.private import serve

    return serve(notice)


def _require_current_folder(command: str) -> None:
    try:
        os.getcwd()
    except FileNotFoundError:
        sys.stderr.write(f"fileops-server {command}: The current folder was removed. Change to another one.\n")
        sys.exit(1)


def _serve_mcp(options: "argparse.Namespace") -> int:
    _require_current_folder("mcp")
    given = _mcp_options(options)
    from fileops.attach import client

    attachment = client.attachment_here(
        "mcp", "agent", options.host, roots=options.roots, session=options.session, options=given
    )
    notice: str | None = None
    if not options.private:
        try:
            return client.serve_mcp_attached(attachment, options.socket)
        except client.NotAttached as reason:
            notice = _privately(reason, options)
    if notice is None:
        _log_to(options.log_file, options.log_level)
    from fileops.compose.private import serve_mcp

    return serve_mcp(attachment, notice)


def _privately(reason: Exception, options: "argparse.Namespace") -> str:
    """Say on stderr and in a log file that this process serves alone. Returns the sentence for the client."""
    import logging

    from fileops.attach.client import say

    notice = f"{reason} This session is served privately: other agents and editors do not take part in it."
    say(notice)
    _log_to(options.log_file, options.log_level)
    if options.log_file is not None:
        logging.getLogger(__name__).warning("%s", notice)
    return notice


def _mcp_options(options: "argparse.Namespace") -> dict[str, object]:
    """Check the options of `mcp`. Returns those that differ from their defaults, as JSON has them. See `McpOptions`."""
    from fileops.arguments import FURTHER_TOOLS, MCP_CHOICES

    roots = options.roots = [os.path.abspath(root) for root in options.roots]
    for root in roots:
        from fileops.mcp.roots import is_usable

        if not os.path.isdir(root):
            _refuse_mcp(f"--root {root} is not a folder. Name one that exists.")
        if not is_usable(root, os.environ):
            _refuse_mcp(f"--root {root} is the home folder or contains it. Name the folder of a project.")
    wanted = [name for names in options.tools for name in names.split(",") if name]
    if unknown := [name for name in wanted if name not in FURTHER_TOOLS]:
        _refuse_mcp(f"--tools {unknown[0]} is not known. There are {', '.join(FURTHER_TOOLS)}.")
    if options.max_read_bytes is not None and options.max_read_bytes < 1:
        _refuse_mcp("--max-read-bytes must be at least 1.")
    if options.diagnostics_wait_s is not None and not 0 <= options.diagnostics_wait_s <= 30:
        _refuse_mcp("--diagnostics-wait-s must be from 0 to 30.")
    given: dict[str, object] = {
        "roots": roots,
        "session": options.session,
        "max_read_bytes": options.max_read_bytes,
        "record": options.record,
        "further_tools": [tool for name, tools in FURTHER_TOOLS.items() if name in wanted for tool in tools],
        "encodings": [_encoding_rule(rule) for rule in options.encodings],
        "unreadable": [_parse_glob(glob) for glob in options.unreadable],
        "diagnostics_wait_s": options.diagnostics_wait_s,
        "language_servers": _language_servers(options.language_servers, roots or [os.getcwd()]),
    }
    for choice in MCP_CHOICES:
        if (value := getattr(options, choice.name)) != choice.values[0]:
            given[choice.name] = choice.sent.get(value, value)
    return {name: value for name, value in given.items() if value not in (None, [])}


def _language_servers(path: str | None, roots: list[str]) -> "Sequence[object]":
    """Returns what the user lets the daemon start, as JSON has it: from the given file, else from the user's own."""
    from fileops.wire.language_servers import file_of_the_user, read_language_servers

    own = file_of_the_user()
    if path is None and not os.path.exists(own):
        return []
    try:
        return read_language_servers(path or own, roots)
    except ValueError as fault:
        _refuse_mcp(str(fault))


def _encoding_rule(rule: str) -> dict[str, str]:
    from fileops.core.globs import Glob
    from fileops.core.legacy_text import fault_of_encoding

    glob, is_given, encoding = rule.rpartition("=")
    if not is_given:
        _refuse_mcp(f"--encoding {rule} has no `=`. Give a glob and an encoding, such as '*.txt=gbk'.")
    try:
        Glob(glob)
    except ValueError as error:
        _refuse_mcp(f"--encoding {rule}: the glob {error}.")
    if (fault := fault_of_encoding(encoding)) is not None:
        _refuse_mcp(f"--encoding {rule}: {encoding or 'the name'} {fault}.")
    return {"glob": glob, "encoding": encoding}


def _parse_glob(glob: str) -> str:
    from fileops.core.globs import fault_of_glob

    if (fault := fault_of_glob(glob)) is not None:
        _refuse_mcp(f"--unreadable {glob}: the glob {fault}.")
    return glob


def _refuse_mcp(sentence: str) -> NoReturn:
    sys.stderr.write(f"fileops-server mcp: {sentence}\n")
    sys.exit(2)


def _log_to(log_file: str | None, level: str, *, is_bounded: bool = False) -> None:
    """Args: is_bounded: the file belongs to a daemon that runs for a long time."""
    import logging

    handler: logging.Handler
    if log_file is None:
        handler = logging.StreamHandler(sys.stderr)
    else:
        try:
            if is_bounded:
                from fileops.daemon.log_file import LogFile

                handler = LogFile(log_file)
            else:
                handler = logging.FileHandler(log_file, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            sys.exit(f"fileops-server: cannot write the log to {log_file}: {error.strerror}")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level.upper())
    logging.getLogger("pygls").setLevel(max(root.level, logging.WARNING))  # else it logs params, with texts and secrets
