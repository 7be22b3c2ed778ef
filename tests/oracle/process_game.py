"""A game of the record against a daemon in a process of its own: it is killed, ended, and stopped for a while.

The rest is `record_game.py`. Commands have processes, too, which stop in the middle of what they write. What the daemon
had not written when it was killed is found by comparison, as a change while nobody looked; nothing more may be missing.
"""

import asyncio
import contextlib
import os
import random
import resource
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Literal
from unittest import mock

from fileops.attach.handshake import AttachRequest, attach_line
from fileops.rpc.standard_io import Ended
from oracle import record_game
from oracle.game import Step
from oracle.record_game import RecordGame, steps_among
from support.daemon_process import Place
from support.patience import PATIENCE_S
from support.shared_daemon import LspClient, editor_capabilities

# Not those that need the daemon in this process.
STEPS: dict[str, float] = {
    **{name: often for name, often in record_game.STEPS.items() if name not in {"stop", "lose", "clock", "restart"}},
    "command_process": 6, "suspend": 3, "kill": 2, "terminate": 1,
}  # fmt: skip
NEEDS_ANSWERS = {"begin", "end", "tool_edit", "descriptors", "kill", "terminate"}
HALVES = 'printf "%s\\n" "$1" >> "$0"; kill -STOP $$; printf "%s\\n" "$2" >> "$0"'


def steps_of(seed: int, n_steps: int) -> list[Step]:
    return steps_among(STEPS, f"process {seed}", n_steps)


def _stopped_in_between(path: Path, words: list[str]) -> "subprocess.Popen[bytes]":
    assert sys.platform == "linux"
    process = subprocess.Popen(("sh", "-c", HALVES, str(path), *words))
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    return process


class _Connection:
    """What an LspClient needs of a session that another process serves."""

    def __init__(self) -> None:
        self._is_over = asyncio.Event()

    async def serve(self) -> Ended:
        await self._is_over.wait()
        return Ended(0)

    def end(self, _status: int) -> None:
        self._is_over.set()


class DaemonProcess:
    """A daemon of a place, and the clients that are connected to it."""

    def __init__(self, place: Place, pid: int) -> None:
        self.pid = pid
        self._place = place
        self._clients: list[LspClient] = []

    async def editor(self, folder: Path, host: str = "nvim") -> LspClient:
        client = await self._connected("editor", host, None)
        options = {"approval_fallback": "none"}
        await client.initialize(folder, capabilities=editor_capabilities(), options=options)
        return client

    async def agent(self, folder: Path, *, host: str, session: str) -> LspClient:
        client = await self._connected("agent", host, session)
        await client.initialize(folder)
        return client

    async def _connected(self, role: Literal["editor", "agent"], host: str, session: str | None) -> LspClient:
        reader, writer = await asyncio.open_unix_connection(str(self._place.socket), limit=64 << 20)
        attachment = AttachRequest(
            version="0", protocol="lsp", role=role, host=host, cwd="/", session=session, pid=os.getpid()
        )
        writer.write(attach_line(attachment))
        await asyncio.wait_for(reader.readline(), PATIENCE_S)
        self._clients.append(LspClient(_Connection(), reader, writer, by_line=False))
        return self._clients[-1]

    async def close(self) -> None:
        for client in self._clients:
            await client.close()


class ProcessGame(RecordGame):
    """folder: a new one, with a short path. Raises: Wrong, at the first thing that the oracle does not allow."""

    ENDS = frozenset({"kill", "terminate"})

    def __init__(self, folder: str, seed: int) -> None:
        super().__init__(folder, seed)
        self._place = Place(Path(folder))
        self._pid = 0
        self._is_suspended = self._is_without_descriptors = False
        self._writing: dict[str, list[subprocess.Popen[bytes]]] = {}  # processes of commands, by agent

    @contextmanager
    def _surroundings(self) -> Generator[None]:
        with mock.patch.dict(os.environ, self._place.env):
            try:
                yield
            finally:
                for process in (process for of_agent in self._writing.values() for process in of_agent):
                    process.kill()
                    process.wait()
                for pid in self._place.daemons():
                    os.kill(pid, signal.SIGKILL)
                    self._place.wait_for_end(pid)

    @asynccontextmanager
    async def _serving(self) -> AsyncGenerator[DaemonProcess]:
        self._pid = await asyncio.to_thread(self._place.start)
        daemon = DaemonProcess(self._place, self._pid)
        try:
            yield daemon
        finally:
            await daemon.close()

    def _can_take(self, name: str) -> bool:
        return not (self._is_suspended and name in NEEDS_ANSWERS)

    # --- commands ----------------------------------------------------------------------------------------------------

    async def command_process(self, dice: random.Random) -> bool:
        """A process of a command that stops between the two words that it writes."""
        agent, path = self._running(dice), self._some_file(dice)
        if agent is None or path is None:
            return False
        words = [self._word(agent, path) for _ in range(2)]
        self._note(f"a process of {agent} writes {words[0]} into {path.name}, and later {words[1]}")
        self._writing.setdefault(agent, []).append(await asyncio.to_thread(_stopped_in_between, path, words))
        return True

    async def _before_end(self, agent: str) -> None:
        for process in self._writing.pop(agent, ()):
            process.send_signal(signal.SIGCONT)
            await asyncio.to_thread(process.wait)

    # --- faults ------------------------------------------------------------------------------------------------------

    async def suspend(self, dice: random.Random) -> bool:
        """The process of the daemon is stopped, and goes on later."""
        if self._is_suspended:
            return False
        self._is_suspended = True
        os.kill(self._pid, signal.SIGSTOP)
        self._note("the daemon is stopped")

        def end() -> None:
            os.kill(self._pid, signal.SIGCONT)
            self._is_suspended = False
            self._note("the daemon goes on")

        self._fault(dice, end)
        return True

    async def descriptors(self, dice: random.Random) -> bool:
        """The process of the daemon can open nothing."""
        assert sys.platform == "linux"
        if self._is_without_descriptors:  # the end of this one would bring back that lack
            return False
        self._is_without_descriptors = True
        held = [int(name) for name in os.listdir(f"/proc/{self._pid}/fd")]
        before = resource.prlimit(self._pid, resource.RLIMIT_NOFILE)
        free = min(set(range(len(held) + 1)) - set(held))
        resource.prlimit(self._pid, resource.RLIMIT_NOFILE, (free, before[1]))
        self._note("no descriptors")

        def end() -> None:
            self._is_without_descriptors = False
            resource.prlimit(self._pid, resource.RLIMIT_NOFILE, before)
            self._note("descriptors again")

        self._fault(dice, end)
        return True

    async def kill(self, _dice: random.Random) -> None:
        """kill -9, at any moment, also while the database is locked or the process is stopped."""
        self._note("the daemon is killed")
        os.kill(self._pid, signal.SIGKILL)
        await self._after_end()

    async def terminate(self, _dice: random.Random) -> None:
        self._end_faults()
        self._note("the daemon is asked to end")
        os.kill(self._pid, signal.SIGTERM)
        await self._after_end()

    async def _after_end(self) -> None:
        await asyncio.to_thread(self._place.wait_for_end, self._pid)
        self._undo_faults_of_dead()
        for agent in tuple(self._writing):  # a command without a daemon
            await self._before_end(agent)
        for report in self._reports:  # a daemon that has ended answers none
            report.cancel()
        await asyncio.gather(*self._reports, return_exceptions=True)

    def _undo_faults_of_dead(self) -> None:
        self._is_suspended = False
        for _, end in self._undo:
            with contextlib.suppress(ProcessLookupError):
                end()
        self._undo.clear()

    # --- the oracle --------------------------------------------------------------------------------------------------

    async def _settle_record(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                if all(entry["settled"] for entry in await self._entries()):
                    return
                await asyncio.sleep(0.1)
