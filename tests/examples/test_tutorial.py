"""`docs/tutorial/first-agent.md`, step by step, with the programs that it prints."""

import asyncio
import re
import signal
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from support.daemon_process import place
from support.examples import TUTORIAL, tutorial_programs
from support.patience import PATIENCE_S

BEFORE = "bread = 2\ncheese = 1\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, code in tutorial_programs().items():
        (tmp_path / name).write_text(code)
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "trip.py").write_text(BEFORE)
    return tmp_path


@pytest.fixture
def environment() -> Generator[dict[str, str]]:
    with place() as made:
        yield made.process_env


class Terminal:
    """A program and what it has printed."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.shown = ""

    async def until(self, text: str) -> None:
        """Read on until the text is shown that was not read before."""
        assert self.process.stdout is not None
        read = ""
        async with asyncio.timeout(PATIENCE_S):
            while text not in read:
                chunk = await self.process.stdout.read(1024)
                assert chunk, f"{self.shown!r} does not end with {text!r}"
                read += chunk.decode()
                self.shown += chunk.decode()

    async def type(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        await self.process.stdin.drain()


@asynccontextmanager
async def running(folder: Path, environment: dict[str, str], *arguments: str) -> AsyncGenerator[Terminal]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        cwd=folder,
        env=environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield Terminal(process)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def test_page_contains_the_three_tutorial_programs() -> None:
    assert set(tutorial_programs()) == {"model.py", "agent.py", "reviewer.py"}


async def test_agent_alone_asks_again_if_the_file_has_changed(folder: Path, environment: dict[str, str]) -> None:
    file = folder / "shop" / "trip.py"
    async with running(folder, environment, "agent.py", "shop", "alone") as agent:
        await agent.until("[y/n] ")
        file.write_text(f"{BEFORE}apples = 4\n")
        await agent.type("y")
        await agent.until("[y/n] ")
        await agent.type("n")
        await agent.until("\nI could not: ")
    first, second = agent.shown.split("[y/n] ")[:2]
    assert " apples = 4\n" not in first
    assert " apples = 4\n" in second
    assert "Edit: modified_externally" not in agent.shown
    assert "Edit: rejected\n" in agent.shown
    assert file.read_text() == f"{BEFORE}apples = 4\n"


async def test_agent_alone_prints_what_the_page_shows(folder: Path, environment: dict[str, str]) -> None:
    shown = re.search(r"\$ python agent.py shop alone\n(.*?)```", TUTORIAL, re.DOTALL)
    assert shown is not None
    async with running(folder, environment, "agent.py", "shop", "alone") as agent:
        await agent.until("[y/n] ")
        await agent.type("y")
        await agent.until("Done.\n")
    assert agent.shown == shown[1].replace("/tmp/first-agent", str(folder)).replace("[y/n] y\n", "[y/n] ")
    assert (folder / "shop" / "trip.py").read_text() == "bread = 2\ncheese = 3\n"


async def test_reviewer_decides_for_an_agent_over_the_shared_daemon(folder: Path, environment: dict[str, str]) -> None:
    async with running(folder, environment, "reviewer.py", "shop") as reviewer:
        await reviewer.until("Waiting for edits.\n")
        async with running(folder, environment, "agent.py", "shop", "shared") as agent:
            await reviewer.until("[y/n] ")
            assert "[y/n]" not in agent.shown
            await reviewer.type("y")
            await agent.until("Edit: ok\nDone.\n")
        await reviewer.until(f"shopper-1 has edited {folder}/shop/trip.py\n")
        reviewer.process.send_signal(signal.SIGINT)
        assert await reviewer.process.wait() == 0
        assert reviewer.process.stdout is not None
        assert b"Traceback" not in await reviewer.process.stdout.read()
    assert (folder / "shop" / "trip.py").read_text() == "bread = 2\ncheese = 3\n"
