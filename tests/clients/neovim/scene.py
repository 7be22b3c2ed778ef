"""A small project in Neovim in a terminal, with a daemon and an agent that proposes what a test asks for."""

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clients.neovim.terminal import Terminal, terminal
from clients.neovim.world import Neovim

AGENT = Path(__file__).parent / "agent.lua"
IS_SHARED = "luaeval('require(\"fileops.client.process\").state.shared ~= nil and 1 or 0')"
CART = '''"""A cart and what it costs."""

from dataclasses import dataclass


@dataclass
class Line:
    name: str
    price: float
    count: int = 1


def total(lines):
    sum = 0
    for line in lines:
        sum = sum + line.price * line.count
    return sum


def describe(lines):
    return ", ".join(line.name for line in lines)


def is_free(lines):
    return total(lines) == 0
'''
SHORTER_TOTAL = (
    """def total(lines):
    sum = 0
    for line in lines:
        sum = sum + line.price * line.count
    return sum
""",
    """def total(lines: list[Line]) -> float:
    return sum(line.price * line.count for line in lines)
""",
)
NO_FLOATS = ("    return total(lines) == 0\n", "    return not any(line.price for line in lines)\n")


@dataclass(frozen=True, kw_only=True)
class Scene:
    terminal: Terminal
    cart: Path

    def propose(self, session: str, *steps: tuple[str, str], path: Path | None = None) -> int:
        """The number of the result."""
        edits = json.dumps([{"old_string": old, "new_string": new} for old, new in steps])
        arguments = ", ".join(quoted(text) for text in (session, str(path or self.cart), edits))
        return int(self.terminal.ask(f"v:lua.Agent.multi_edit({arguments})"))

    def run(self, session: str, command: str, description: str) -> int:
        """A shell command; the number of the result."""
        arguments = ", ".join(quoted(text) for text in (session, command, description))
        return int(self.terminal.ask(f"v:lua.Agent.bash({arguments})"))

    def cancel(self, number: int) -> None:
        """The agent gives up what it asked for."""
        self.terminal.ask(f"v:lua.Agent.cancel({number})")

    def result_now(self, number: int) -> str:
        """Empty while it is not there."""
        return self.terminal.ask(f"v:lua.Agent.result({number})")

    def result(self, number: int) -> str:
        """Waits for it."""
        self.terminal.until(f"v:lua.Agent.result({number}) !=# ''")
        return self.terminal.ask(f"v:lua.Agent.result({number})")


def quoted(text: str) -> str:
    """As a literal string of Vim script."""
    return "'" + text.replace("'", "''") + "'"


@contextmanager
def scene(
    nvim: Neovim,
    folder: Path,
    *arguments: str,
    approval_mode: str = "default",
    ask: str = "each_edit",
    review_grace_s: float | None = None,
    columns: int = 116,
    rows: int = 46,
    starts_daemon: bool = False,
) -> Generator[Scene]:
    """starts_daemon: Neovim, as for the first person of the day; else one runs."""
    workspace = folder / "shop"
    workspace.mkdir()
    cart = workspace / "cart.py"
    cart.write_text(CART)
    server: dict[str, Any] = {"approval_mode": approval_mode, "ask": ask, "bash": True}
    if review_grace_s is not None:
        server["review_grace_s"] = review_grace_s
    if not starts_daemon:
        nvim.start_daemon()
    with opened(nvim, workspace, *arguments, server=server, columns=columns, rows=rows) as running:
        yield Scene(terminal=running, cart=cart)


@contextmanager
def opened(
    nvim: Neovim,
    workspace: Path,
    *arguments: str,
    server: dict[str, Any],
    columns: int = 116,
    rows: int = 46,
    name: str = "",
) -> Generator[Terminal]:
    """Neovim with the cart open and the daemon attached. name: distinguishes two of one workspace."""
    settings = {
        "cmd": [sys.executable, "-m", "fileops"],
        "autostart": True,
        "shared": nvim.shares_daemon,
        "server": server,
    }
    with terminal(
        nvim,
        workspace,
        "--cmd",
        f"lua vim.g.fileops = vim.json.decode([==[{json.dumps(settings)}]==])",
        "--cmd",
        f"luafile {AGENT}",
        *arguments,
        "cart.py",
        columns=columns,
        rows=rows,
        name=name,
    ) as running:
        running.until('luaeval(\'require("fileops.client.process").state.status\') ==# "running"')
        assert running.ask(IS_SHARED) == str(int(nvim.shares_daemon))
        yield running
