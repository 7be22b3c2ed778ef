"""How long a person waits for a key in Neovim beside 1,000 changes that are not kept: neovim_terminal.py [N_CHANGES].

The three Neovims of neovim.py run in pseudo-terminals. They are typed into in turns, in insert mode between two changes
and as fast as people type. The wait is the wall time from a key until the terminal has received the letter and nothing
more follows. The processor time is that of both processes of a Neovim, with what it does between the keys.
"""

import asyncio
import os
import pty
import random
import re
import select
import statistics
import subprocess
import sys
import termios
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.neovim import COLUMNS, N_LINES, ROWS, Contender, command, contenders
from clients.neovim.world import Neovim
from support.patience import PATIENCE_S

N_TURNS = 8
N_AT_ONCE = 10
QUIET_S = 0.005
PACE_S = (0.06, 0.12)
LETTERS = "the quick brown fox jumps over the lazy dogs again".replace(" ", "e")
CONTROL = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")


async def main() -> None:
    n_changes = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    async with contenders(n_changes) as (nvim, all_three):
        terminals = {one.name: Terminal(nvim, one, number) for number, one in enumerate(all_three)}
        try:
            for one in all_three:
                terminals[one.name].until(one.is_ready)
            _measure(terminals, N_LINES // n_changes)
        finally:
            for each in terminals.values():
                each.end()


class Terminal:
    """A Neovim in a pseudo-terminal, which is this program."""

    def __init__(self, nvim: Neovim, one: Contender, number: int) -> None:
        self._nvim, self._socket = nvim, str(one.folder.parent / f"{number}.sock")
        self._screen, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (ROWS, COLUMNS))
        self._process = subprocess.Popen(
            command(nvim, one, "--listen", self._socket),
            cwd=one.folder,
            env=nvim.environment | {"TERM": "xterm-256color"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    def type(self, keys: str) -> None:
        os.write(self._screen, keys.encode())

    def wait_s(self, letter: str) -> float:
        """Type a letter: the time until it is on the screen."""
        received, is_shown, start = b"", False, time.perf_counter()
        end = start
        self.type(letter)
        while part := self._received(QUIET_S if is_shown else PATIENCE_S):
            received, end = received + part, time.perf_counter()
            is_shown = letter.encode() in CONTROL.sub(b"", received)
        assert is_shown, received
        return end - start

    def rest(self, end: float) -> None:
        """Show what comes until then."""
        while (left_s := end - time.perf_counter()) > 0:
            self._received(left_s)

    def until(self, expression: str) -> None:
        def is_true() -> bool:
            self.rest(time.perf_counter() + QUIET_S)
            return self._nvim.ask(self._socket, expression) == "1"

        self._nvim.wait_for(is_true, expression)

    def used_s(self) -> float:
        """The processor time of the terminal's part of Neovim and of the editor behind it."""
        own = self._process.pid
        children = Path(f"/proc/{own}/task/{own}/children").read_text(encoding="ascii").split()
        stats = [stat for pid in (own, *children) for stat in Path(f"/proc/{pid}/task").glob("*/schedstat")]
        return sum(int(stat.read_text(encoding="ascii").split()[0]) for stat in stats) / 1e9

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._screen)

    def _received(self, timeout_s: float) -> bytes:
        """Empty if nothing comes."""
        is_there = select.select([self._screen], [], [], timeout_s)[0]
        return os.read(self._screen, 1 << 16) if is_there else b""


def _measure(terminals: dict[str, Terminal], n_between: int) -> None:
    waits: dict[str, list[list[float]]] = {name: [] for name in terminals}
    used: dict[str, list[float]] = {name: [] for name in terminals}
    for turn in range(N_TURNS + 1):
        line = N_LINES // 2 + turn * n_between + n_between // 2
        for name, (waits_ms, used_ms) in _typed(terminals, line).items():
            if turn:  # the first one loads what typing needs
                waits[name].append(waits_ms)
                used[name].append(used_ms / len(LETTERS))
    for name, turns in waits.items():
        keys = sorted(wait for turn in turns for wait in turn)
        first, median, third = statistics.quantiles(keys, n=4)
        medians = [statistics.median(turn) for turn in turns]
        sys.stdout.write(
            f"a key {name}: median {median:.2f} ms, of turns {min(medians):.2f} to {max(medians):.2f} ms;"
            f" least {keys[0]:.2f}, quartiles {first:.2f} and {third:.2f} ms;"
            f" processor {statistics.median(used[name]):.2f} ms, {min(used[name]):.2f} to {max(used[name]):.2f} ms\n"
        )
    sys.stdout.write(f"load {os.getloadavg()[0]:.0f}\n")


def _typed(terminals: dict[str, Terminal], line: int) -> dict[str, tuple[list[float], float]]:
    """What each letter at the end of a line waits, and the processor time for all of them, in milliseconds.

    Each Neovim gets some letters, then the next one does, so that all meet the same load of the machine.
    """
    for each in terminals.values():
        each.type(f"{line}GA")
        each.until("mode() ==# 'i'")
    typed: dict[str, tuple[list[float], float]] = {name: ([], 0.0) for name in terminals}
    for first in range(0, len(LETTERS), N_AT_ONCE):
        for name in random.sample(list(terminals), len(terminals)):
            waits_ms, used_ms = _typed_at_once(terminals[name], LETTERS[first : first + N_AT_ONCE])
            typed[name] = typed[name][0] + waits_ms, typed[name][1] + used_ms
    for each in terminals.values():
        each.type("\x1b")
        each.until("mode() ==# 'n'")
    return typed


def _typed_at_once(terminal: Terminal, letters: str) -> tuple[list[float], float]:
    terminal.rest(time.perf_counter() + PACE_S[1])
    waits_ms, before = list[float](), terminal.used_s()
    for letter in letters:
        next_key = time.perf_counter() + random.uniform(*PACE_S)
        waits_ms.append(terminal.wait_s(letter) * 1e3)
        terminal.rest(next_key)
    return waits_ms, (terminal.used_s() - before) * 1e3


if __name__ == "__main__":
    asyncio.run(main())
