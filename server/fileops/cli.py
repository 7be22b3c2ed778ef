"""Command line: options, the log, and which command runs.

Nothing heavy is imported before it is known to be needed: `--version` and `--help` answer at once.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fileops import __version__

if TYPE_CHECKING:
    pass


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
    from fileops.compose import serve

    return serve()


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
