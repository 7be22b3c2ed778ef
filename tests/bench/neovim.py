"""What a key costs in Neovim beside 1,000 changes that are not kept: python tests/bench/neovim.py [N_CHANGES].

Three Neovims show the same text on screens of their own: one is attached to a daemon that has the changes, one has the
plugin off, and one has a language server instead, which answers nothing. They are typed into in turn, each key once the
one before is drawn, and the processor time of each Neovim is read from itself. The daemon runs at its own place and is
ended. What a person feels is measured by neovim_terminal.py.
"""

import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))

from clients.neovim.world import NO_PYTHON, PLUGIN, Neovim, neovim
from fileops_client import FileOpsClient
from support.daemon_process import place

N_LINES = 10_000
N_READ = 2_000  # of the lines at once
N_TURNS = 16
COLUMNS, ROWS = 116, 32
LETTERS = "the quick brown fox jumps over the lazy dog and back"
USED_MS = """luaeval('(function()
local used = vim.uv.getrusage()
return (used.utime.sec + used.stime.sec) * 1e3 + (used.utime.usec + used.stime.usec) / 1e3
end)()')""".replace("\n", " ")
SILENT_SERVER = """lua vim.api.nvim_create_autocmd('BufReadPost', { callback = function(event)
  vim.lsp.start({ name = 'silent', root_dir = vim.fn.getcwd(), cmd = function()
    local is_closing = false
    local answers = { initialize = { capabilities = { textDocumentSync = { openClose = true, change = 2 } } } }
    return {
      request = function(method, _, callback)
        vim.schedule(function() callback(nil, answers[method]) end)
        return true, 1
      end,
      notify = function() return true end,
      is_closing = function() return is_closing end,
      terminate = function() is_closing = true end,
    }
  end }, { bufnr = event.buf })
end })""".replace("\n", " ")
ATTACHED = "luaeval('#vim.lsp.get_clients({ bufnr = 0 })')"
MARKED = "luaeval('#require(\"fileops.unkept.marks\").lines(vim.api.nvim_get_current_buf())')"


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A Neovim to be typed into. is_ready: an expression that is true once all that it shows is there."""

    name: str
    folder: Path
    arguments: tuple[str, ...]
    is_ready: str = "1"


@asynccontextmanager
async def contenders(n_changes: int) -> AsyncGenerator[tuple[Neovim, list[Contender]]]:
    """The three, and the program for all of them, while the daemon runs."""
    with place() as here, tempfile.TemporaryDirectory(prefix="fo-") as folder:
        os.environ.update(here.env)
        here.start()
        project, other = Path(folder) / "project", Path(folder) / "other"
        for each in (project, other):
            (each / ".git").mkdir(parents=True)
            (each / "text.txt").write_text("".join(f"<{number}> a line\n" for number in range(N_LINES)))
        text = project / "text.txt"
        async with FileOpsClient.attach(socket=str(here.socket), root=project, host="agent") as agent:
            for first in range(1, N_LINES, N_READ):
                await agent.read(text, offset=first, limit=N_READ)
            places = range(0, N_LINES, N_LINES // n_changes)
            edits = [(f"<{number}> a line\n", f"<{number}> a changed line\n") for number in places]
            result = await agent.multi_edit(text, edits, timeout_s=300)
            assert result.ok, result.output
        (other / "text.txt").write_text(text.read_text())
        attached: dict[str, object] = {"cmd": [sys.executable, "-m", "fileops"], "server": {"ask": "never"}}
        off = _settings({"autostart": False})
        yield (
            neovim("new", Path(folder)),
            [
                Contender(
                    name=f"with {n_changes:,} changes",
                    folder=project,
                    arguments=_settings(attached),
                    is_ready=f"{MARKED} == {n_changes}",
                ),
                Contender(name="without the plugin", folder=other, arguments=off),
                Contender(
                    name="with a language server instead",
                    folder=other,
                    arguments=(*off, "--cmd", SILENT_SERVER),
                    is_ready=f"{ATTACHED} == 1",
                ),
            ],
        )


def command(nvim: Neovim, one: Contender, *arguments: str) -> list[str]:
    look = f"set rtp^={PLUGIN} termguicolors noruler noshowcmd laststatus=2 shortmess+=I"
    common = [nvim.program, "--clean", "-n", "--cmd", NO_PYTHON, "--cmd", look]
    return [*common, *arguments, *one.arguments, "text.txt"]


async def main() -> None:
    async with contenders(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000) as (nvim, all_three):
        shown = {one.name: Screen(nvim, one) for one in all_three}
        try:
            for one in all_three:
                shown[one.name].until(one.is_ready)
            _measure(shown)
        finally:
            for each in shown.values():
                each.end()


class Screen:
    """A Neovim whose screen is this program, over its pipes."""

    def __init__(self, nvim: Neovim, one: Contender) -> None:
        self._process = subprocess.Popen(
            command(nvim, one, "--embed"),
            cwd=one.folder,
            env=nvim.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        self._received = b""
        self._n_sent = self._n_drawn = 0
        self._call("nvim_ui_attach", COLUMNS, ROWS, {"rgb": True, "ext_linegrid": True})

    def key(self, keys: str) -> None:
        """Type, and wait until it is drawn."""
        n_drawn = self._n_drawn
        self._send("nvim_input", keys)
        while self._n_drawn == n_drawn:
            self._read()

    def ask(self, expression: str) -> Any:
        return self._call("nvim_eval", expression)

    def until(self, expression: str) -> None:
        Neovim.wait_for(lambda: bool(self.ask(expression)), expression)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()

    def _call(self, method: str, *arguments: object) -> Any:
        request = self._send(method, *arguments)
        while True:
            message = self._read()
            if message[:2] == [1, request]:
                assert message[2] is None, message[2]
                return message[3]

    def _send(self, method: str, *arguments: object) -> int:
        assert self._process.stdin is not None
        self._n_sent += 1
        self._process.stdin.write(msgspec.msgpack.encode([0, self._n_sent, method, arguments]))
        return self._n_sent

    def _read(self) -> list[Any]:
        assert self._process.stdout is not None
        while (found := _first_of(self._received)) is None:
            self._received += os.read(self._process.stdout.fileno(), 1 << 16)
        message, size = found
        self._received = self._received[size:]
        if message[:2] == [2, "redraw"]:
            self._n_drawn += sum(event[0] == "flush" for event in message[2])
        return message


def _first_of(received: bytes) -> tuple[list[Any], int] | None:
    """The first message and its size; None if it has not all been received."""
    try:
        return cast("list[Any]", msgspec.msgpack.decode(received)), len(received)
    except msgspec.DecodeError as problem:
        end = re.search(r"trailing characters \(byte (\d+)\)", str(problem))
        return (cast("list[Any]", msgspec.msgpack.decode(received[: int(end[1])])), int(end[1])) if end else None


def _settings(given: dict[str, object]) -> tuple[str, str]:
    return "--cmd", f"lua vim.g.fileops = vim.json.decode([==[{json.dumps(given)}]==])"


def _measure(shown: dict[str, Screen]) -> None:
    costs: dict[str, list[float]] = {name: [] for name in shown}
    for turn in range(N_TURNS + 1):
        for name, one in shown.items():
            cost = _typed(one, N_LINES // 2 + turn)
            if turn:  # the first one loads what typing needs
                costs[name].append(cost)
    marked, *others = costs.items()
    for name, values in costs.items():
        median, least = statistics.median(values), min(values)
        sys.stdout.write(f"a key {name}: median {median:.3f} ms, {least:.3f} to {max(values):.3f} ms\n")
    for name, values in others:
        ratios = [one / other for one, other in zip(marked[1], values, strict=True)]
        median, least = statistics.median(ratios), min(ratios)
        sys.stdout.write(f"ratio of turns to {name}: median {median:.2f}, {least:.2f} to {max(ratios):.2f}\n")


def _typed(shown: Screen, line: int) -> float:
    """The processor time of each letter that is typed at the end of a line, in milliseconds."""
    shown.key(f"{line}GA")
    shown.until("mode() ==# 'i'")
    before = float(shown.ask(USED_MS))
    for letter in LETTERS:  # each by itself, so that it is drawn
        shown.key(letter)
    cost = (float(shown.ask(USED_MS)) - before) / len(LETTERS)
    shown.key("<Esc>")
    shown.until("mode() ==# 'n'")
    return cost


if __name__ == "__main__":
    asyncio.run(main())
