"""Several daemons, several sessions each, and an outside writer, all on the same files: is anything lost or torn?

    python tests/faults/race.py --seconds 60

A file is a table: a generation in its first and its last line, and a line per writer. Each writer raises the
generation and puts a number never used before into its own line; it leaves the other lines as it saw them. So
a read whose first and last line differ is torn; a line that goes back without the outside writer having put it back
is a lost edit; a line of the outside writer that goes back is a write over bytes that no agent saw.

The outside writer does not ask: it reads, and some moments later renames its own file over the one it read (or,
with --outside in-place, writes into it). It may overwrite what agents did in between; its own writes
must never go, unless it wrote into a file that had been replaced since it opened it. The files with two names are
written in place by the daemons and left alone by it. It may see for a moment what a daemon puts in place and reverts,
because that daemon noticed the outside write; agents may not see it.
"""

import argparse
import asyncio
import math
import os
import random
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from fileops_client import FileOpsClient

Outside = Literal["none", "swap", "in-place"]
OUTSIDE = "outside"
_LINE = re.compile(r"^\s*\d+→(.*)$", re.MULTILINE)
_FILLERS = tuple("x" * n for n in (1, 60, 700, 1500))


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    seconds: float = 10.0
    n_daemons: int = 2
    n_sessions: int = 3
    n_files: int = 3
    n_linked: int = 1
    outside: Outside = "swap"
    seed: int = 1


@dataclass(slots=True, kw_only=True)
class OutsideWrite:
    """ended: when it was done, on the monotonic clock; numbers: of all writers, as they were written.

    is_late: the file had been replaced when the writer checked, so perhaps before the write. Then the write is gone;
    otherwise a daemon that replaced the file afterwards has kept it.
    """

    numbers: dict[str, int]
    ended: float = math.inf
    is_late: bool = False


@dataclass(slots=True)
class Record:
    """What is known of one file. acked: writer → (number, when its request was sent), last acknowledged."""

    path: str
    is_linked: bool
    acked: dict[str, tuple[int, float]] = field(default_factory=dict)
    outside: list[OutsideWrite] = field(default_factory=list)

    @property
    def last_outside(self) -> int:
        """The number that is surely in the file, or a later one."""
        return next((write.numbers[OUTSIDE] for write in self._newest_first if not write.is_late), 0)

    def is_current(self, number: int) -> bool:
        """Whether the outside write of this number is the last one. A late one is, and counts, once it is found."""
        for write in self._newest_first:
            if write.numbers[OUTSIDE] == number:
                write.is_late = False
                return True
            if not write.is_late:
                return False
        return number == 0

    @property
    def _newest_first(self) -> list[OutsideWrite]:
        return [write for write in reversed(self.outside) if write.ended < math.inf]


@dataclass(slots=True)
class Report:
    n_edits: int = 0
    n_reads: int = 0
    n_outside: int = 0
    n_overwritten: int = 0
    n_glimpses: int = 0  # by the outside writer, of reverted edits
    n_late: int = 0  # outside writes in place that went into a file that had been replaced since it was opened
    refusals: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self) -> str:
        lines = [
            f"{self.seconds:.0f} s: {self.n_edits} edits, {self.n_reads} reads, {self.n_outside} outside writes",
            f"refused: {dict(self.refusals)}; overwritten by the outside writer afterwards: {self.n_overwritten}",
            f"edits seen that were taken back: {self.n_glimpses}; outside writes into a file that had been replaced: "
            f"{self.n_late}; faults: {len(self.faults)}",
            *self.faults[:20],
        ]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Table:
    """A file's content as the writers see it."""

    first: int
    last: int
    numbers: dict[str, int]
    fillers: dict[str, str]  # so that lines grow and shrink
    mtime: float = 0.0

    @property
    def is_torn(self) -> bool:
        return self.first != self.last

    def text(self) -> str:
        lines = [self.line(who) for who in self.numbers]
        return "\n".join((f"first {self.first:010d}", *lines, f"last {self.last:010d}", ""))

    def line(self, who: str) -> str:
        return f"{who} {self.numbers[who]:010d} {self.fillers[who]}"

    def raised(self, who: str, number: int, filler: str) -> "Table":
        return Table(self.first + 1, self.last + 1, {**self.numbers, who: number}, {**self.fillers, who: filler})


def parse(lines: Sequence[str]) -> Table | None:
    """None for what is no table (cut off, or with something between)."""
    words = [line.split(" ", 2) for line in lines]
    if len(words) < 3 or any(len(w) != 3 for w in words[1:-1]) or any(len(w) < 2 or not w[1].isdigit() for w in words):
        return None
    if words[0][0] != "first" or words[-1][0] != "last":
        return None
    rows = words[1:-1]
    return Table(int(words[0][1]), int(words[-1][1]), {w[0]: int(w[1]) for w in rows}, {w[0]: w[2] for w in rows})


class Race:
    def __init__(self, folder: str, setting: Setting) -> None:
        self.setting = setting
        self.report = Report()
        self._random = random.Random(setting.seed)
        self._over = threading.Event()
        who = [f"d{d}s{s}" for d in range(setting.n_daemons) for s in range(setting.n_sessions)]
        writers = (*who, OUTSIDE)
        self._records: list[Record] = []
        for i in range(setting.n_files + setting.n_linked):
            is_linked = i >= setting.n_files
            path = f"{folder}/file{i}"
            Path(path).write_text(Table(0, 0, dict.fromkeys(writers, 0), dict.fromkeys(writers, _FILLERS[1])).text())
            if is_linked:
                os.link(path, f"{folder}/twin{i}")
            self._records.append(Record(path, is_linked))
        self._folder = folder

    async def run(self) -> Report:
        started = time.monotonic()
        outside = threading.Thread(target=self._write_outside)
        if self.setting.outside != "none":
            outside.start()
        try:
            async with asyncio.timeout(self.setting.seconds + 60), asyncio.TaskGroup() as group:
                for d in range(self.setting.n_daemons):
                    group.create_task(self._daemon(d))
        finally:
            self._over.set()
            if outside.is_alive():
                outside.join()
        for record in self._records:
            self._judge_end(record)
        litter = sorted(name for name in os.listdir(self._folder) if name.startswith("."))
        if litter:
            self._fault(f"litter: {litter}")
        self.report.seconds = time.monotonic() - started
        return self.report

    # --- agents ------------------------------------------------------------------------------------------------

    async def _daemon(self, d: int) -> None:
        async with FileOpsClient.start(root=self._folder) as client:
            ends_at = time.monotonic() + self.setting.seconds
            async with asyncio.TaskGroup() as group:
                for s in range(self.setting.n_sessions):
                    group.create_task(self._agent(client, f"d{d}s{s}", ends_at))

    async def _agent(self, client: FileOpsClient, who: str, ends_at: float) -> None:
        dice = random.Random(f"{self.setting.seed} {who}")
        number = 0
        while time.monotonic() < ends_at:
            record = dice.choice(self._records)
            table = await self._read(client, who, record)
            if table is None:
                continue
            if dice.random() < 0.2:
                await asyncio.sleep(dice.random() * 0.01)
            number += 1
            may_grow = record.is_linked or self.setting.outside != "in-place"  # a write in place keeps the length
            filler = dice.choice(_FILLERS) if may_grow else table.fillers[who]
            await self._edit(client, who, record, table, table.raised(who, number, filler))

    async def _read(self, client: FileOpsClient, who: str, record: Record) -> Table | None:
        """The file's content, judged; None if the outside writer is to blame for what cannot be used."""
        acked = record.acked.get(who)
        floor = record.last_outside
        answer = await client.read(record.path, session_id=who)
        self.report.n_reads += 1
        if not answer.ok:
            self._fault(f"{who}: read of {record.path} refused: {answer.code}")
            return None
        table = parse(_LINE.findall(answer.output))
        if table is None or table.is_torn:
            if record.is_linked or self.setting.outside != "in-place":
                self._fault(f"{who}: torn read of {record.path}: {answer.output[:400]!r}")
            return None
        if table.numbers[OUTSIDE] < floor:
            self._fault(f"{who}: {record.path}: outside write {floor} is gone, {table.numbers[OUTSIDE]} stands")
        if acked is not None and table.numbers[who] < acked[0]:
            self._judge_loss(record, who, acked, table.numbers[who])
        return replace(table, mtime=answer.details.get("mtime") or 0.0)

    async def _edit(self, client: FileOpsClient, who: str, record: Record, seen: Table, new: Table) -> None:
        edits = [
            (f"first {seen.first:010d}", f"first {new.first:010d}"),
            (seen.line(who), new.line(who)),
            (f"last {seen.last:010d}", f"last {new.last:010d}"),
        ]
        sent = time.monotonic()
        answer = await client.multi_edit(record.path, edits, session_id=who)
        if answer.ok:
            self.report.n_edits += 1
            record.acked[who] = (new.numbers[who], sent)
            return
        self.report.refusals[str(answer.code)] += 1
        if answer.code != "modified_externally":
            self._fault(f"{who}: edit of {record.path} refused: {answer.code} {answer.error}")
            return
        now = await self._read(client, who, record)
        if now == seen:
            self._fault(f"{who}: edit of {record.path} refused although nothing changed: {answer.details}")

    def _judge_loss(self, record: Record, who: str, acked: tuple[int, float], stands: int) -> None:
        number, sent = acked
        if any(write.numbers[who] < number and write.ended >= sent for write in record.outside):
            self.report.n_overwritten += 1
            record.acked[who] = (stands, sent)
        else:
            self._fault(f"{who}: {record.path}: acknowledged edit {number} is gone, {stands} stands")

    # --- the outside writer ------------------------------------------------------------------------------------

    def _write_outside(self) -> None:
        number = 0
        while not self._over.wait(self._random.random() * 0.02):
            record = self._random.choice([record for record in self._records if not record.is_linked])
            number += 1
            self._write_once(record, number)

    def _write_once(self, record: Record, number: int) -> None:
        table = parse(Path(record.path).read_text().splitlines())
        if table is None or table.is_torn:
            if self.setting.outside != "in-place":
                self._fault(f"outside: torn read of {record.path}")
            return
        if not record.is_current(table.numbers[OUTSIDE]):  # noticed and put back at once, or lost
            self.report.n_glimpses += 1
            until = time.monotonic() + 5
            while table is None or not record.is_current(table.numbers[OUTSIDE]):
                if time.monotonic() > until:
                    self._fault(f"outside: {record.path}: his write {record.last_outside} is gone")
                    return
                table = parse(Path(record.path).read_text().splitlines())
        filler = self._random.choice(_FILLERS) if self.setting.outside == "swap" else table.fillers[OUTSIDE]
        new = table.raised(OUTSIDE, number, filler)
        data = new.text().encode()
        write = OutsideWrite(numbers=new.numbers)
        record.outside.append(write)
        if self.setting.outside == "swap":
            own = f"{self._folder}/outside.tmp"
            Path(own).write_bytes(data)
            os.rename(own, record.path)
        else:
            with open(record.path, "r+b", buffering=0) as file:
                file.write(data)
                write.is_late = not self._stands(record, file.fileno())
        write.ended = time.monotonic()
        self.report.n_late += write.is_late
        self.report.n_outside += not write.is_late

    def _stands(self, record: Record, fd: int) -> bool:
        """False: the file that was opened has been replaced, perhaps before this was written (see GUARANTEES.md)."""
        until = time.monotonic() + 5
        while (own := os.fstat(fd)).st_nlink:
            if os.path.samestat(own, os.stat(record.path)):
                return True
            if time.monotonic() > until:
                self._fault(f"outside: {record.path}: the file that he wrote into has another name")
                return True
            time.sleep(0.0005)  # it is being put back or taken away
        return False

    # --- the end -----------------------------------------------------------------------------------------------

    def _judge_end(self, record: Record) -> None:
        table = parse(Path(record.path).read_text().splitlines())
        if table is None or table.is_torn:
            self._fault(f"torn at the end: {record.path}")
            return
        if not record.is_current(table.numbers[OUTSIDE]):
            self._fault(f"at the end: {record.path}: outside write {record.last_outside} is gone")
        for who, acked in record.acked.items():
            if table.numbers[who] < acked[0]:
                self._judge_loss(record, who, acked, table.numbers[who])

    def _fault(self, fault: str) -> None:
        self.report.faults.append(fault)


def run(setting: Setting) -> Report:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(Race(os.path.realpath(folder), setting).run())


def main() -> int:
    parser = argparse.ArgumentParser(description="Daemons, sessions and an outside writer on the same files.")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--daemons", type=int, default=2)
    parser.add_argument("--sessions", type=int, default=3, help="of each daemon")
    parser.add_argument("--files", type=int, default=3)
    parser.add_argument("--linked", type=int, default=1, help="files with two names, written in place")
    parser.add_argument("--outside", choices=("none", "swap", "in-place"), default="swap")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    given = parser.parse_args()
    setting = Setting(
        seconds=given.seconds,
        n_daemons=given.daemons,
        n_sessions=given.sessions,
        n_files=given.files,
        n_linked=given.linked,
        outside=given.outside,
        seed=given.seed,
    )
    report = run(setting)
    sys.stdout.write(f"{setting}\n{report}\n")
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
