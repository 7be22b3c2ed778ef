"""Command line: options, log, and the choice of the command to run.

Imports are deferred until they are needed, so `--version` and `--help` answer immediately.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from fileops import __version__

if TYPE_CHECKING:
    from fileops.model.settings import EncodingRule

ABOUT = """\
A daemon through which AI agents and people edit the same files at the same time.

Without a command it serves JSON-RPC 2.0 in LSP frames on stdin and stdout, as language servers do; an editor or an
agent starts it. `demo` shows its purpose in a minute."""

HELLO = f"""\
fileops-server {__version__} is waiting for a client on stdin: JSON-RPC 2.0 in LSP frames.
Usually an editor or an agent starts it. To see what it does, run: fileops-server demo
To leave: Ctrl-D."""

ABOUT_MCP = """\
Serve the tools Read, Edit and MultiEdit over the Model Context Protocol on stdin and stdout. An agent's host starts it;
`mcp config HOST` prints what the host's configuration needs."""

ABOUT_MCP_CONFIG = """\
Print what a host's configuration needs. With --write, merge it into the host's files: nothing in them is removed,
comments remain, and the change is shown first. It is written after a confirmation on the terminal, or with --yes."""

MCP_HOSTS = ("claude", "claude-plugin", "codex", "gemini", "opencode", "vscode", "cursor", "zed")

HOOK_HOSTS = ("claude", "claude-plugin", "codex", "gemini")

FURTHER_TOOLS = {"+write": "Write", "+undo": "Undo"}  # of `mcp`, by the name that the option gives them

LOG_LEVELS = ("debug", "info", "warning", "error")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    options = _parser().parse_args(argv)
    if options.command == "demo":
        from fileops.demo.story import run_demo

        return run_demo(options.directory)
    if options.command == "mcp" and options.mcp_command is not None:
        return _run_mcp_command(options)
    _log_to(options.log_file, options.log_level)
    if options.command == "mcp":
        return _serve_mcp(options)
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(HELLO + "\n")
    from fileops.compose.private import serve

    return serve()


def _serve_mcp(options: argparse.Namespace) -> int:
    import logging

    from fileops.compose.private import serve_mcp
    from fileops.mcp.options import McpOptions
    from fileops.mcp.roots import is_usable

    roots = [os.path.abspath(root) for root in options.roots]
    for root in roots:
        if not os.path.isdir(root):
            _refuse_mcp(f"--root {root} is not a folder. Name one that exists.")
        if not is_usable(root, os.environ):
            _refuse_mcp(f"--root {root} is the home folder or contains it. Name the folder of a project.")
    wanted = [name for name in options.tools.split(",") if name]
    if unknown := [name for name in wanted if name not in FURTHER_TOOLS]:
        _refuse_mcp(f"--tools {unknown[0]} is not known. There are {', '.join(FURTHER_TOOLS)}.")
    further_tools = [tool for name, tool in FURTHER_TOOLS.items() if name in wanted]
    if options.max_read_bytes is not None and options.max_read_bytes < 1:
        _refuse_mcp("--max-read-bytes must be at least 1.")
    encodings = [_encoding_rule(rule) for rule in options.encodings]
    if options.freshness == "relevant":
        logging.getLogger(__name__).warning("--freshness relevant is not available yet; mtime is used")
    return serve_mcp(
        McpOptions(
            roots=roots, session=options.session, approve=options.approve, protected=options.protected,
            freshness=options.freshness, confine=options.confine, further_tools=further_tools,
            notices=options.notices, max_read_bytes=options.max_read_bytes, encodings=encodings,
        )
    )  # fmt: skip


def _encoding_rule(rule: str) -> "EncodingRule":
    from fileops.core.globs import pattern_of
    from fileops.core.legacy_text import fault_of_encoding
    from fileops.model.settings import EncodingRule

    glob, is_given, encoding = rule.rpartition("=")
    if not is_given:
        _refuse_mcp(f"--encoding {rule} has no `=`. Give a glob and an encoding, such as '*.txt=gbk'.")
    try:
        pattern_of(glob)
    except ValueError as error:
        _refuse_mcp(f"--encoding {rule}: the glob {error}.")
    if (fault := fault_of_encoding(encoding)) is not None:
        _refuse_mcp(f"--encoding {rule}: {encoding or 'the name'} {fault}.")
    return EncodingRule(glob=glob, encoding=encoding)


def _refuse_mcp(sentence: str) -> NoReturn:
    sys.stderr.write(f"fileops-server mcp: {sentence}\n")
    sys.exit(2)


def _run_mcp_command(options: argparse.Namespace) -> int:
    module = {"config": "fileops.mcp.config.command", "hook": "fileops.attach.hook"}[options.mcp_command]
    return import_module(module).main(options)


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
        help="show what the daemon does",
        description="Start the daemon, read, edit, be refused, read again. Your own files are not changed.",
    )
    demo.add_argument(
        "directory",
        metavar="DIRECTORY",
        nargs="?",
        help="work on a copy of this folder's text files instead of an example",
    )
    mcp = commands.add_parser(
        "mcp",
        help="serve agents over the Model Context Protocol",
        description=ABOUT_MCP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_mcp_options(mcp)
    return parser


def _add_mcp_options(mcp: argparse.ArgumentParser) -> None:
    mcp.add_argument(
        "--root", metavar="DIR", action="append", default=[], dest="roots",
        help="a folder in which files may be edited; may be given several times (default: what the host names)",
    )  # fmt: skip
    mcp.add_argument("--session", metavar="NAME", help="the session's name in the history and in messages to others")
    mcp.add_argument(
        "--approve", choices=("person", "ask", "host", "never"), default="person",
        help="who consents to an edit: the person, if the edit needs it (default); the person, for each edit; the "
        "host, which asks before it calls; or none of them",
    )  # fmt: skip
    mcp.add_argument(
        "--protected", choices=("ask", "allow"), default="ask",
        help="if the host cannot ask the person about a protected file such as .env or .git/config: refuse the edit "
        "(default), or apply it",
    )  # fmt: skip
    mcp.add_argument(
        "--freshness", choices=("mtime", "content", "relevant"), default="mtime",
        help="when a file counts as changed: if its time or size differs (default), if its content differs, or if the "
        "change touches the edit (not available yet: treated as mtime)",
    )  # fmt: skip
    mcp.add_argument(
        "--confine", choices=("edits", "all"), default="edits",
        help="what is refused outside the roots: edits (default), or edits and reads",
    )  # fmt: skip
    mcp.add_argument(
        "--tools", metavar="+NAME", default="", help=f"further tools, separated by commas: {', '.join(FURTHER_TOOLS)}"
    )
    mcp.add_argument(
        "--notices", choices=("on", "off"), default="on",
        help="report to the agent what changed in files that it has read (default: on)",
    )  # fmt: skip
    mcp.add_argument(
        "--max-read-bytes", metavar="N", type=int,
        help="refuse reads whose text is longer, because the host would cut it (default: 40000; none for Claude Code)",
    )  # fmt: skip
    mcp.add_argument(
        "--encoding", metavar="GLOB=NAME", action="append", default=[], dest="encodings",
        help="the encoding of the files that match the glob, such as '*.txt=gbk' (a codec of Python; may be given "
        "several times); without it, files are UTF-8 or begin with a byte order mark",
    )  # fmt: skip
    mcp.add_argument("--private", action="store_true", help="serve from this process alone")
    mcp_commands = mcp.add_subparsers(dest="mcp_command", metavar="COMMAND", prog="fileops-server mcp")
    config = mcp_commands.add_parser(
        "config",
        help="print or write a host's configuration",
        description=ABOUT_MCP_CONFIG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_mcp_config_options(config)
    hook = mcp_commands.add_parser(
        "hook", help="answer a host's hook", description="Read a hook's JSON on stdin and answer it on stdout."
    )
    hook.add_argument("host", metavar="HOST", choices=HOOK_HOSTS, help=", ".join(HOOK_HOSTS))


def _add_mcp_config_options(config: argparse.ArgumentParser) -> None:
    config.add_argument("host", metavar="HOST", choices=MCP_HOSTS, help=", ".join(MCP_HOSTS))
    config.add_argument(
        "--read-only-sandbox", action="store_true", help="codex: a read-only sandbox in place of the hook"
    )
    config.add_argument(
        "--command", metavar="PATH", default="fileops-server", dest="server_command",
        help="the program that the host starts (default: fileops-server, found on the host's PATH)",
    )  # fmt: skip
    config.add_argument("--write", action="store_true", help="merge it into the host's files, after showing a diff")
    config.add_argument("--yes", action="store_true", help="with --write: do not ask; needed without a terminal")
    config.add_argument(
        "--replace", action="store_true", help="with --write: replace values that differ; without it they are an error"
    )
    config.add_argument(
        "--directory", metavar="DIR", default="",
        help="with --write: where the files of a project or a plugin go (default: the current folder)",
    )  # fmt: skip


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
    logging.getLogger("pygls").setLevel(max(root.level, logging.WARNING))  # else it logs params with texts and secrets
