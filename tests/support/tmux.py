"""A terminal with a program in it, by tmux: keys go in, and what is on the screen comes out."""

import asyncio
import contextlib
import os
import shutil
import signal
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from pathlib import Path

import pytest

from support.ending import IS_MEASURED, LAST_WORDS_S
from support.patience import PATIENCE_S

LOOK_S = 0.05


def tmux() -> str:
    """The program. Skips the test where it is missing, or fails with FILEOPS_REQUIRE_TMUX=1, as in CI."""
    found = shutil.which("tmux")
    if found is None:
        if os.environ.get("FILEOPS_REQUIRE_TMUX") == "1":
            pytest.fail("tmux is not installed", pytrace=False)
        pytest.skip("tmux is not installed")
    return found


class Terminal:
    """One window of a separate tmux server."""

    def __init__(self, program: str, folder: Path, env: Mapping[str, str]) -> None:
        config = folder / "tmux.conf"
        # Its default message scrolls what a program printed last, in the first line, out of sight.
        config.write_text('set -g remain-on-exit on\nset -g remain-on-exit-format ""\n', encoding="ascii")
        self._tmux = [program, "-S", str(folder / "tmux.sock"), "-f", str(config)]
        self._env = {name: value for name, value in env.items() if name != "TMUX"}

    async def run(self, *arguments: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *self._tmux,
            *arguments,
            env=self._env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        assert process.returncode == 0, err.decode()
        return out.decode()

    async def press(self, *keys: str) -> None:
        """Press keys by their names in tmux: `a`, `Space`, `Enter`, `Escape`, `C-c`."""
        await self.run("send-keys", *keys)

    async def type(self, text: str) -> None:
        await self.run("send-keys", "-l", text)

    async def resize(self, columns: int, rows: int) -> None:
        await self.run("resize-window", "-x", str(columns), "-y", str(rows))

    async def screen(self, *, with_styles: bool = False) -> str:
        return await self.run("capture-pane", "-p", *(["-e"] if with_styles else []))

    async def end_program(self) -> None:
        """End the program as one that is asked to, and wait for its last words: tmux only hangs up."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(await self.run("display-message", "-p", "#{pane_pid}")), signal.SIGTERM)
        deadline = time.monotonic() + LAST_WORDS_S
        while time.monotonic() < deadline:
            if (await self.run("display-message", "-p", "#{pane_dead}")).strip() == "1":
                return
            await asyncio.sleep(LOOK_S)

    async def until(self, *texts: str, holds: Callable[[str], bool] = lambda _: True) -> str:
        """Wait until all texts are on the screen; returns it."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            screen = await self.screen()
            if all(text in screen for text in texts) and holds(screen):
                return screen
            assert time.monotonic() < deadline, f"{texts} not on the screen:\n{screen}"
            await asyncio.sleep(LOOK_S)


@contextlib.asynccontextmanager
async def terminal(
    command: Sequence[str], *, cwd: Path, env: Mapping[str, str], folder: Path, columns: int = 80, rows: int = 24
) -> AsyncGenerator[Terminal]:
    """Run a command in a terminal, which stays when the command has ended. folder: of the tmux server's socket."""
    window = Terminal(tmux(), folder, env)
    size = ["-x", str(columns), "-y", str(rows)]
    await window.run("new-session", "-d", *size, "-c", str(cwd), *command)
    try:
        yield window
    finally:
        if IS_MEASURED:
            await window.end_program()
        await window.run("kill-server")
