"""Runs contenders in turn and keeps every time. Ratios are of medians in one run."""

import os
import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(kw_only=True)
class Row:
    """One contender in one scenario. times_s: every counted call, in seconds (or the scenario's own unit)."""

    contender: str
    times_s: list[float] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def median(self) -> float:
        return statistics.median(self.times_s)

    @property
    def p99(self) -> float:
        ordered = sorted(self.times_s)
        return ordered[min(len(ordered) - 1, round(0.99 * (len(ordered) - 1)))]


@dataclass(kw_only=True)
class Result:
    """target: the ratio to reach against `baseline`, where the scenario has one; unit of the rows' times."""

    scenario: str
    title: str
    rows: list[Row]
    baseline: str | None = None
    target: float | None = None
    unit: str = "ms"

    def ratio(self, row: Row) -> float | None:
        base = next((other for other in self.rows if other.contender == self.baseline), None)
        return None if base is None or not base.median else row.median / base.median


def interleaved(
    calls: Mapping[str, Callable[[], object]], *, n_rounds: int, n_warm: int = 2, n_in_a_row: int = 1
) -> list[Row]:
    """Call each contender once per round, in an order that changes; the first `n_warm` rounds are not counted.

    n_in_a_row: calls that each makes when it is its turn, as a caller with several requests does; all count, and the
    first ones, which find the machine's caches full of the others, are kept separate. A call may return a float: then
    that is its time, in seconds, and the clock is not used.
    """
    rows = {name: Row(contender=name) for name in calls}
    firsts: dict[str, list[float]] = {name: [] for name in calls}
    for n in range(n_warm + n_rounds):
        for name in random.sample(list(calls), len(calls)):
            for n_before in range(n_in_a_row):
                start = time.perf_counter()
                value = calls[name]()
                elapsed = value if isinstance(value, float) else time.perf_counter() - start
                if n >= n_warm:
                    rows[name].times_s.append(elapsed)
                    firsts[name] += [elapsed] if n_before == 0 else []
    if n_in_a_row > 1:
        for name, row in rows.items():
            row.notes["first in a row"] = f"{1000 * statistics.median(firsts[name]):.2f} ms"
    return list(rows.values())


def peak_memory_kb(pid: int) -> int:
    """High-water mark of a process's resident memory (Linux), in kB."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    raise LookupError("VmHWM")


def resident_kb(pid: int) -> int:
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    raise LookupError("VmRSS")


def cpu_s(pid: int) -> float:
    """User and system time that a process has used, in seconds (Linux)."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
