"""Three agents, two editors and other programs at the same files: is anything lost, doubled or overwritten unseen?

    python tests/race --seconds 300
    python tests/race --seed 17

An agent over MCP, one that attaches with the Python client and two editors share a daemon; another agent has a
private daemon; other programs write in place and by renames. The seed decides what each of them wants to do; what comes
of it depends on the moment. See ledger.py for what is judged.
"""

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fileops_client import FileOpsClient, Options
from race.agents import Agent, ClientHands, McpHands
from race.disk import Disk, Outsider
from race.editors import CAPABILITIES, Editor
from race.ledger import Ledger
from support.daemon_process import Place, place
from support.in_memory import IN_MEMORY
from support.mcp_client import McpClient

Rule = Literal["mtime", "content", "relevant"]
_RULES: tuple[Rule, ...] = ("mtime", "content", "relevant")
CALL_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    seconds: float
    seed: int
    n_files: int = 5
    n_linked: int = 1
    pause_s: float = 0.05  # of each other program, on average


@dataclass(slots=True)
class Report:
    setting: Setting
    faults: list[str]
    outcomes: dict[str, Counter[str]]
    n_outside: int
    n_late: int
    n_glimpses: int

    def count(self, what: str) -> int:
        """How often that happened to all of them. Args: what: the beginning of an outcome."""
        return sum(n for counted in self.outcomes.values() for name, n in counted.items() if name.startswith(what))

    def __str__(self) -> str:
        lines = [f"{self.setting}"]
        for who, counted in self.outcomes.items():
            lines.append(f"{who}: " + ", ".join(f"{n} {what.strip()}" for what, n in sorted(counted.items())))
        lines.append(
            f"other programs: {self.n_outside} writes, {self.n_late} into files that had been replaced, "
            f"{self.n_glimpses} looks at what was taken back"
        )
        return "\n".join([*lines, f"faults: {len(self.faults)}", *self.faults[:20]])


class Race:
    def __init__(self, folder: str, here: Place, setting: Setting) -> None:
        dice = random.Random(f"setting {setting.seed}")
        self._folder = folder
        self._here = here
        self._setting = setting
        self._ledger = Ledger()
        self._disk = Disk(folder, self._ledger, setting.n_files, setting.n_linked, dice)
        self._rules: list[Rule] = [dice.choice(_RULES) for _ in range(3)]
        self._agents: dict[str, Agent] = {}
        self._editors: dict[str, Editor] = {}

    async def run(self) -> Report:
        outsiders = [
            Outsider(
                who,
                self._disk,
                random.Random(f"{self._setting.seed} {who}"),
                in_place=in_place,
                pause_s=self._setting.pause_s,
            )
            for who, in_place in (("i", True), ("r", False))
        ]
        async with AsyncExitStack() as stack:
            await self._connect(stack)
            ends_at = time.monotonic() + self._setting.seconds
            for outsider in outsiders:
                outsider.start()
            try:
                async with asyncio.timeout(self._setting.seconds + CALL_S), asyncio.TaskGroup() as group:
                    for client in (*self._agents.values(), *self._editors.values()):
                        group.create_task(client.run(ends_at))
            finally:
                for outsider in outsiders:
                    outsider.over.set()
                for outsider in outsiders:
                    await asyncio.to_thread(outsider.join)
        return self._judged()

    async def _connect(self, stack: AsyncExitStack) -> None:
        socket = str(self._here.socket)
        os.environ.update(self._here.env)
        for who in ("e", "f"):
            editor = self._editors[f"editor {who}"] = Editor(who, self._disk, seed=self._setting.seed)
            editor.connect(
                await stack.enter_async_context(
                    FileOpsClient.attach(
                        socket=socket,
                        role="editor",
                        host=f"editor{who}",
                        root=self._folder,
                        handlers=editor.handlers(),
                        capabilities=CAPABILITIES,
                        initialization_options={"ask": "each_edit"},
                        timeout_s=CALL_S,
                    )
                )
            )
        mcp_rule, attached_rule, private_rule = self._rules
        host = McpClient(Path(self._folder), "--freshness", mcp_rule, "--notices", "off", env=self._here.env)
        stack.callback(host.close)
        await asyncio.to_thread(host.begin)
        self._add_agent("m", McpHands(host), mcp_rule, "MCP")
        attached = await stack.enter_async_context(
            FileOpsClient.attach(
                socket=socket,
                host="bot",
                root=self._folder,
                timeout_s=CALL_S,
                initialization_options=Options(freshness=attached_rule),
            )
        )
        for who in ("a", "b"):
            self._add_agent(who, ClientHands(attached, who), attached_rule, f"attached, session {who}")
        private = await stack.enter_async_context(
            FileOpsClient.start(
                root=self._folder, timeout_s=CALL_S, initialization_options=Options(freshness=private_rule)
            )
        )
        self._add_agent("p", ClientHands(private, "p"), private_rule, "private daemon")

    def _add_agent(self, who: str, hands: ClientHands | McpHands, freshness: Rule, label: str) -> None:
        agent = Agent(who, hands, self._disk, freshness=freshness, seed=self._setting.seed)
        self._agents[f"agent {who} ({label}, {freshness})"] = agent

    def _judged(self) -> Report:
        for file in self._disk.files:
            with self._disk.loaded(file) as final:
                self._ledger.judge_text(file.path, final.text, "at the end")
        kept = {Path(file.path).name for file in self._disk.files} | {
            f"twin{n}" for n in range(len(self._disk.files))
        }  # fmt: skip
        litter = sorted(set(os.listdir(self._folder)) - kept)
        if litter:
            self._ledger.fault(f"litter: {litter}")
        if "Traceback" in (log := self._here.log_text()):
            self._ledger.fault(f"the daemon's log: {log[log.index('Traceback') :][:2000]}")
        if len(daemons := self._here.daemons()) != 1:
            self._ledger.fault(f"there are the daemons {daemons}")
        outcomes = {name: client.outcomes for name, client in (*self._agents.items(), *self._editors.items())}
        return Report(
            self._setting, self._ledger.faults, outcomes, self._disk.n_writes, self._disk.n_late, self._disk.n_glimpses
        )


def run(setting: Setting) -> Report:
    with ExitStack() as stack:
        here = stack.enter_context(place())
        folder = stack.enter_context(tempfile.TemporaryDirectory(dir=IN_MEMORY))
        return asyncio.run(Race(os.path.realpath(folder), here, setting).run())


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--files", type=int, default=5)
    parser.add_argument("--linked", type=int, default=1, help="files with two names, written in place")
    given = parser.parse_args()
    setting = Setting(seconds=given.seconds, seed=given.seed, n_files=given.files, n_linked=given.linked)
    sys.stdout.write(f"seed {setting.seed}\n")
    sys.stdout.flush()
    report = run(setting)
    sys.stdout.write(f"{report}\n")
    return 1 if report.faults else 0
