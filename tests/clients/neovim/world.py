"""A Neovim of the tests: which program, with which surroundings, and how to ask a running one."""

import os
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from clients.places import editor
from support.daemon_process import FILEOPS
from support.patience import PATIENCE_S

REPOSITORY = Path(__file__).parents[3]
PLUGIN = REPOSITORY / "clients" / "neovim"
# Else the first Python file that is opened has each python3 of the machine started, to look for a provider: a second.
NO_PYTHON = "let g:loaded_python3_provider = 0"
# The oldest version that is supported, too: all specs run there (test_plugin.py), and of what is done by keys a sample.
on_both = pytest.mark.parametrize("nvim", ["floor", "new"], indirect=True)


@dataclass(frozen=True, kw_only=True)
class Neovim:
    """name: "floor" or "new". environment: with its own homes, so that no user's configuration is read.

    shares_daemon: it attaches to a shared daemon, which keeps the record; else it has a private one.
    """

    name: str
    program: str
    environment: dict[str, str]
    shares_daemon: bool

    @property
    def version(self) -> tuple[int, ...]:
        first = subprocess.run([self.program, "--version"], capture_output=True, text=True, check=True).stdout
        return tuple(int(part) for part in first.split("\n")[0].removeprefix("NVIM v").split("-")[0].split("."))

    def start_daemon(self) -> None:
        """Start the shared daemon that it will attach to, with its variables: a tenth of what it costs Neovim."""
        command = (*FILEOPS, "daemon", "--detach")
        subprocess.run(command, env=self.environment, capture_output=True, timeout=PATIENCE_S, check=True)

    def ask(self, address: str, expression: str) -> str:
        """A running Neovim's value of a Vim expression; "" where it does not answer (yet)."""
        with socket.socket(socket.AF_UNIX) as channel:
            channel.settimeout(PATIENCE_S)
            try:
                channel.connect(address)
                return evaluated(channel, expression)
            except (FileNotFoundError, ConnectionError):  # it does not listen yet, or has ended
                return ""

    def until(self, address: str, expression: str) -> None:
        """Wait until the expression is true in a running Neovim."""
        self.wait_for(lambda: self.ask(address, expression) == "1", expression)

    @staticmethod
    def wait_for(condition: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"waited in vain for {what}")
            time.sleep(0.02)


def evaluated(channel: socket.socket, expression: str) -> str:
    """What Neovim answers to one request of its RPC; "" for an error."""
    channel.sendall(msgspec.msgpack.encode([0, 1, "nvim_eval", [expression]]))
    received = b""
    while part := channel.recv(65536):
        received += part
        try:
            _type, _id, problem, value = msgspec.msgpack.decode(received)
        except msgspec.DecodeError:  # cut off: the rest is on its way
            continue
        return "" if problem is not None else str(value).strip()
    return ""


def neovim(name: str, home: Path) -> Neovim:
    """Skips (or fails) where it is not installed."""
    program = editor(f"nvim-{name}/bin/nvim")
    homes = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("NVIM", "VIM", "FILEOPS_"))}
    log = {"FILEOPS_LOG": str(home / "fileops.log"), "NVIM_LOG_FILE": str(home / "nvim.log")}
    socket = {"FILEOPS_SOCKET": os.environ.get("FILEOPS_SOCKET", str(home / "s.sock"))}
    environment = kept | homes | log | socket
    return Neovim(name=name, program=program, environment=environment, shares_daemon=True)
