"""What commands print: names that are no text, and an output that is closed, full or not read to its end."""

import itertools
import os
import re
import shlex
import subprocess
from urllib.parse import quote

import pytest

from fileops.arguments import parser
from support.daemon_process import FILEOPS, Place, attached

NOT_UTF8 = b"caf\xe9"
STRICT = {"PYTHONIOENCODING": "utf-8:strict"}
PRINTING = [
    ("--help",), ("--version",), ("schema",), ("status",), ("status", "--json"), ("mcp", "config", "claude"),
    ("demo", "/nonexistent"),
]  # fmt: skip
ENDS = ("| true", ">&-", "2>&-", "> /dev/full")


def test_commands_print_names_that_are_not_utf8(here: Place) -> None:
    folder = os.path.join(os.fsencode(here.folder), NOT_UTF8)
    os.mkdir(folder)
    with attached(here, "attach") as client:
        client.initialize(rootUri="file://" + quote(folder))
        status = here.run("status", env=STRICT)
        assert (status.returncode, status.stderr) == (0, b"")
        assert b"caf\\udce9" in status.stdout
        stop = here.run("status", "--stop", env=STRICT)
        assert (stop.returncode, stop.stderr) == (0, b"")
    for said in (b"written", b"already configured"):
        config = here.run("mcp", "config", "vscode", "--write", "--yes", "--directory", os.fsdecode(folder), env=STRICT)
        assert (config.returncode, config.stderr) == (0, b"")
        assert b"caf\\udce9" in config.stdout
        assert said in config.stdout


@pytest.mark.parametrize("command", [("status", "--socket"), ("demo",)], ids=["status", "demo"])
def test_missing_place_that_is_not_utf8_is_named(here: Place, command: tuple[str, ...]) -> None:
    place = os.path.join(os.fsencode(here.folder), NOT_UTF8)
    done = here.run(*command, os.fsdecode(place), env=STRICT)
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"caf" in done.stdout


@pytest.mark.parametrize(
    ("command", "end"), [*zip(PRINTING, itertools.cycle(ENDS)), *((("status",), end) for end in ENDS)]
)
def test_unwritable_output_ends_a_command_without_a_traceback(here: Place, command: tuple[str, ...], end: str) -> None:
    script = f'exec 3>&2; ({shlex.join([*FILEOPS, *command])}; echo "status $?" >&3) {end}'
    done = subprocess.run(["/bin/bash", "-c", script], env=here.process_env, capture_output=True, check=False)
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr
    assert re.search(rb"status [01]\n", done.stderr)


UNBUFFERED = {"PYTHONUNBUFFERED": "1"}


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("schema", {}),
        ("--version", {}),
        pytest.param("schema", UNBUFFERED, marks=pytest.mark.real_start),  # which costs less than a server for two
        pytest.param("--help", UNBUFFERED, marks=pytest.mark.real_start),
    ],
    ids=["schema", "version", "schema unbuffered", "help unbuffered"],
)
def test_full_output_is_named(here: Place, command: str, more: dict[str, str]) -> None:
    environment = {**here.process_env, **more}
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*FILEOPS, command], env=environment, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert done.stderr == b"fileops-server: stdout could not be written: No space left on device.\n"


WITH_HELP = (
    "",
    "attach",
    "blame",
    "daemon",
    "demo",
    "diff",
    "keep",
    "log",
    "mcp",
    "mcp config",
    "review",
    "status",
    "undo",
)


@pytest.mark.parametrize("command", WITH_HELP)
def test_help_fits_a_terminal(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        parser().parse_args([*command.split(), "--help"])
    text = capsys.readouterr().out
    assert "usage: fileops-server" in text
    assert [line for line in text.splitlines() if len(line) > 80] == []
