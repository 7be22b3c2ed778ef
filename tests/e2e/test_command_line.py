"""`fileops-server` as a person or an editor starts it."""

import importlib.metadata
import json
import os
import pty
import re
import subprocess
import sys

import pytest

from fileops import __version__
from fileops.arguments import parser
from fileops.cli import main
from support.patience import PATIENCE_S
from support.rawclient import frame

COMMAND = (sys.executable, "-m", "fileops")


def run(*arguments: str, stdin: bytes = b"", flags: tuple[str, ...] = ()) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, *flags, "-m", "fileops", *arguments],
        input=stdin,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_installed_command_runs_the_module() -> None:
    (script,) = importlib.metadata.entry_points(group="console_scripts", name="fileops-server")
    assert script.load() is main


@pytest.mark.parametrize("flag", ["--version", "--help"])
def test_version_and_help_load_no_protocol_stack(flag: str) -> None:
    done = run(flag, flags=("-X", "importtime"))
    loaded = set(re.findall(rb"\| +([\w.]+)$", done.stderr, re.MULTILINE))
    assert done.returncode == 0
    assert b"fileops" in loaded  # the list is what we think it is
    assert loaded.isdisjoint({b"pygls", b"lsprotocol", b"asyncio", b"msgspec", b"watchdog", b"rich"})


def test_version_is_the_package_version() -> None:
    assert run("--version").stdout.decode() == f"fileops-server {__version__}\n"


def test_schema_is_printed_as_json_schema_and_as_openrpc() -> None:
    """R-SCHEMA-1"""
    printed = json.loads(run("schema").stdout)
    assert {"$schema", "version", "protocol_version", "messages", "$defs"} <= printed.keys()
    openrpc = json.loads(run("schema", "--openrpc").stdout)
    assert len(openrpc["methods"]) == len(printed["messages"]) > 40


def test_help_names_the_commands_and_options() -> None:
    text = run("--help").stdout.decode()
    for word in ("demo", "schema", "--log-file", "--log-level", "--version"):
        assert word in text


def test_unknown_option_is_a_usage_error() -> None:
    done = run("--no-such-option")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"--no-such-option" in done.stderr


def test_end_of_input_ends_the_daemon() -> None:
    assert run().stdout == b""


def test_log_is_written_to_the_file_and_not_to_stderr(tmp_path: "os.PathLike[str]") -> None:
    log = os.path.join(tmp_path, "fileops.log")
    done = run("--log-file", log, "--log-level", "debug", stdin=b"Content-Length: 3\r\n\r\n{x}")
    assert done.stderr == b""
    with open(log, encoding="utf-8") as file:
        assert "fileops" in file.read()


def test_log_file_that_cannot_be_written_is_reported(tmp_path: "os.PathLike[str]") -> None:
    done = run("--log-file", os.path.join(tmp_path, "none", "fileops.log"))
    assert done.returncode == 1
    assert b"No such file" in done.stderr
    assert b"Traceback" not in done.stderr


def test_ctrl_d_in_a_terminal_ends_the_daemon_with_status_0() -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(COMMAND, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as daemon:
        os.close(theirs)
        assert daemon.stderr is not None
        assert daemon.stdout is not None
        greeting = [daemon.stderr.readline() for _ in range(3)]
        os.write(ours, b"\x04")
        answers, errors = daemon.stdout.read(), daemon.stderr.read()
    os.close(ours)
    assert b"waiting for a client" in greeting[0]
    assert b"fileops-server demo" in greeting[1]
    assert b"Ctrl-D" in greeting[2]
    assert (answers, errors, daemon.returncode) == (b"", b"", 0)


@pytest.mark.parametrize("arguments", [("--stdio",), ("--log-level", "error", "--stdio")], ids=" ".join)
def test_stdio_option_that_editors_pass_is_accepted(arguments: tuple[str, ...]) -> None:
    """vscode-languageclient appends it to the command for `TransportKind.stdio`."""
    done = run(*arguments, stdin=frame({"jsonrpc": "2.0", "method": "exit"}))
    assert b"usage" not in done.stderr
    assert done.returncode == 1  # an exit without a shutdown; a usage error is 2


@pytest.mark.parametrize("command", [[], ["--shared"], ["attach", "--role", "editor"]], ids=" ".join)
def test_stdio_option_is_accepted_last_by_each_command_for_editors(command: list[str]) -> None:
    assert parser().parse_args([*command, "--stdio"]).stdio
