"""The process in which plugins run, spoken to as the daemon does: frames of a length and a JSON text."""

import json
import subprocess
import sys
from collections.abc import Generator
from typing import Any

import pytest

from fileops.service.plugins.host import LENGTH
from support.patience import PATIENCE_S

MEMORY_MB = 1024
START = f"from fileops.service.plugins.host import main; main({MEMORY_MB}, {PATIENCE_S})"


class Host:
    """One process, and the frames that go there and back."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self.requests = process.stdin
        self.answers = process.stdout
        assert self.frame() == b""  # it is ready

    def frame(self) -> bytes:
        return self.answers.read(*LENGTH.unpack(self.answers.read(LENGTH.size)))

    def ask(self, value: str, *arguments: object, **more: object) -> dict[str, Any]:
        request = {"value": value, "arguments": arguments, **more}
        body = json.dumps(request).encode("ascii")
        self.requests.write(LENGTH.pack(len(body)) + body)
        self.requests.flush()
        return json.loads(self.frame())


@pytest.fixture
def host() -> Generator[Host]:
    command = [sys.executable, "-c", START]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Host(process)
        process.kill()


def test_host_answers_in_turn_and_ends_with_its_pipe(host: Host) -> None:
    """It ends by itself, since a daemon that was killed cannot end it."""
    assert host.ask("posixpath:basename", "/a/b\udcff") == {"text": "b\udcff"}
    assert host.ask("operator:truth", 3) == {"odd": "bool"}
    assert host.ask("builtins : str.upper [extra]", "a") == {"text": "A"}  # as an entry point may be written
    assert host.ask("builtins:list", [[0, 1, "x"], [2, 3, "y"]], max_places=1) == {"places": [[0, 1, "x"]]}
    assert host.ask("builtins:print", "to stderr, not between two frames") == {"text": None}
    host.requests.close()
    assert host.process.wait(PATIENCE_S) == 0
    assert host.answers.read() == b""


@pytest.mark.parametrize(
    ("value", "arguments", "failed"),
    [
        ("no_such_module:f", [], "ModuleNotFoundError: No module named 'no_such_module'"),
        ("operator:truediv", [1, 0], "ZeroDivisionError: division by zero"),
        ("sys:exit", [3], "SystemExit: 3"),
    ],
)
def test_plugin_that_raises_fails_alone(host: Host, value: str, arguments: list[object], failed: str) -> None:
    assert host.ask(value, *arguments) == {"failed": failed}
    assert host.ask("posixpath:basename", "/a/b") == {"text": "b"}


def test_plugin_that_needs_more_memory_than_there_is_was_the_last_one(host: Host) -> None:
    answer = host.ask("builtins:bytearray", MEMORY_MB << 20)
    assert answer == {"failed": "MemoryError: it needs more memory than plugins are given", "is_last": True}
