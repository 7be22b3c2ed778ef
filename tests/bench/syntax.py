"""What the check of the syntax costs an edit that succeeds: python tests/bench/syntax.py [KIND...] [--rounds N].

Two servers over MCP, one with the texts that are added to answers and one with `--hints off`, make the same edits in
turn, each to its copy of a real file of this project. A kind is a language and what the edit does there. Prints the
processor time of the server and of its children, and the time to the answer: least and median, and the ratios of them.
"""

import argparse
import ast
import itertools
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.pipes import LinePipe

ROOT = Path(__file__).parents[2]
SIZES = (10_000, 100_000)
N_WARM = 10  # edits that are not counted: they load modules and start the child
QUIET_S = 0.01  # after an edit, for what follows its answer
Change = tuple[str, str]  # old and new text


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what the check of the syntax costs.")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; all by default")
    parser.add_argument("--rounds", type=int, default=80, help="edits of each server (default 80)")
    parser.add_argument("--folder", type=Path, help="where the files go (default: temporary)")
    arguments = parser.parse_args()
    if unknown := [kind for kind in arguments.kinds if kind not in KINDS]:
        parser.error(f"no such kind: {', '.join(unknown)}")
    for kind in arguments.kinds or KINDS:
        for size in SIZES:
            with tempfile.TemporaryDirectory(dir=arguments.folder, prefix="fileops-bench-") as folder:
                _measure(kind, size, Path(folder).resolve(), arguments.rounds)


@dataclass
class _Server:
    pipe: LinePipe
    path: Path
    cpu_ms: list[float] = field(default_factory=list)
    children_ms: list[float] = field(default_factory=list)
    answer_ms: list[float] = field(default_factory=list)

    def edit(self, change: Change, *, counts: bool) -> None:
        own, others, start = _cpu_ms(self.pipe.pid), self._of_children(), time.perf_counter()
        result = self.pipe.call(
            "tools/call",
            {
                "name": "Edit",
                "arguments": {"file_path": str(self.path), "old_string": change[0], "new_string": change[1]},
            },
        )
        answer_ms = (time.perf_counter() - start) * 1000
        assert not result["isError"], result
        assert "no longer parses: line" not in str(result["content"][-1]), result
        time.sleep(QUIET_S)
        if counts:
            self.answer_ms.append(answer_ms)
            self.cpu_ms.append(_cpu_ms(self.pipe.pid) - own)
            self.children_ms.append(self._of_children() - others)

    def _of_children(self) -> float:
        tasks = Path(f"/proc/{self.pipe.pid}/task").glob("*/children")
        return sum(_cpu_ms(int(pid)) for task in tasks for pid in task.read_text().split())


def _measure(kind: str, size: int, folder: Path, n_rounds: int) -> None:
    suffix, (text, changes) = kind.partition(" ")[0], KINDS[kind](size)
    servers = [_started(folder, f"{hints}.{suffix}", text, hints) for hints in ("on", "off")]
    for number, change in zip(range(N_WARM + n_rounds), changes, strict=False):
        for server in servers if number % 2 else reversed(servers):
            server.edit(change, counts=number >= N_WARM)
    for server in servers:
        server.pipe.close()
    checked, plain = servers
    subject = f"{kind}, {len(text) // 1000} kB"
    for what, on, off in (
        ("processor time of the server", checked.cpu_ms, plain.cpu_ms),
        ("time to the answer", checked.answer_ms, plain.answer_ms),
    ):
        _say(f"{subject}, {what}: {_compared(on, off)}")
    _say(f"{subject}, processor time of the child: {statistics.median(checked.children_ms):.2f} ms")


def _started(folder: Path, name: str, text: str, hints: str) -> _Server:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "fileops", "mcp", "--private", "--root", str(folder)]
    pipe = LinePipe([*command, *(("--hints", "off") if hints == "off" else ())])
    client = {"name": "bench", "version": "1"}
    pipe.call("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
    pipe.notify("notifications/initialized", {})
    pipe.call("tools/call", {"name": "Read", "arguments": {"file_path": str(path), "limit": 50}})
    return _Server(pipe, path)


def _cpu_ms(pid: int) -> float:
    """Processor time that a process has used, of all its threads. Linux: its clock, see clock_getcpuclockid(3)."""
    try:
        return time.clock_gettime_ns((~pid << 3) | 2) / 1e6
    except OSError:
        return 0.0  # it has ended


def _compared(on: list[float], off: list[float]) -> str:
    middles = statistics.median(on), statistics.median(off)
    paired = statistics.median(with_it / without for with_it, without in zip(on, off, strict=True))
    return (
        f"least {min(on):.2f} and {min(off):.2f} ms, {min(on) / min(off):.2f} x; "
        f"median {middles[0]:.2f} and {middles[1]:.2f} ms, {middles[0] / middles[1]:.2f} x; of pairs {paired:.2f} x"
    )


# --- kinds ---------------------------------------------------------------------------------------------------------


def _statements(size: int) -> tuple[str, Iterator[Change]]:
    """A call is put after a statement of some function, and removed by the next edit."""
    text = _python(size)
    lines = text.splitlines()
    places = [
        (node.end_lineno or node.lineno, node.col_offset)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Assign | ast.Expr | ast.AugAssign)
        and node.col_offset > 0
        and not lines[node.lineno - 1][: node.col_offset].strip()
    ]
    random.Random(1).shuffle(places)

    def changes() -> Iterator[Change]:
        for line, indent in places:
            old = "\n".join(lines[max(0, line - 3) : line]) + "\n"
            new = f"{old}{' ' * indent}note(old, len(text) + 1)\n"
            if text.count(old) == 1:
                yield old, new
                yield new, old

    return text, changes()


def _numbers(size: int) -> tuple[str, Iterator[Change]]:
    """A number becomes another one."""
    text = _with_constants(size)
    return text, ((f"STEP = {number}\n", f"STEP = {number + 1}\n") for number in range(100, 10_000))


def _names(size: int) -> tuple[str, Iterator[Change]]:
    """A name becomes another one, with the lines around it as models send them."""
    text = _with_constants(size)
    return text, _alternating("STEP = 100\nSIZE = first_of(SIZES)\n", "STEP = 100\nSIZE = last_of(SIZES)\n")


def _expressions(size: int) -> tuple[str, Iterator[Change]]:
    """An expression becomes another one."""
    text = _with_constants(size)
    return text, _alternating("SIZE = first_of(SIZES)\n", "SIZE = [each for each in SIZES if each > STEP][0]\n")


def _with_constants(size: int) -> str:
    before, _, after = _python(size).partition("\n\n\n")
    return f"{before}\n\n\nSTEP = 100\nSIZE = first_of(SIZES)\n\n\n{after}"


def _alternating(old: str, new: str) -> Iterator[Change]:
    while True:
        yield old, new
        yield new, old


def _python(size: int) -> str:
    """Real modules one after the other, whose functions have different names."""
    parts, n_chars = list[str](), 0
    for path in sorted((ROOT / "server" / "fileops" / "service").rglob("*.py")):
        part = path.read_text(encoding="utf-8").replace("from __future__ import annotations\n", "")
        parts.append(part[: max(0, size - n_chars)].rpartition("\n\n\n")[0] if n_chars + len(part) > size else part)
        n_chars += len(parts[-1])
        if n_chars >= size * 0.95:
            break
    return "\n\n\n".join(parts) + "\n"


def _json(size: int) -> tuple[str, Iterator[Change]]:
    """A member is put after another one of an object, and removed by the next edit."""
    text, n_items = _json_items(size)
    return text, _added((f'    "name": "item-{n}",\n' for n in _round(n_items)), '    "added": [8, "text"],\n')


def _json_values(size: int) -> tuple[str, Iterator[Change]]:
    text, n_items = _json_items(size)
    name = f'    "name": "item-{n_items // 3}'
    return text, _alternating(f'{name}",\n', f'{name}, changed",\n')


def _json_items(size: int) -> tuple[str, int]:
    n_items = size // 140
    items = [{"name": f"item-{n}", "values": [n, n / 8, None], "title": "Words", "on": True} for n in range(n_items)]
    return json.dumps(items, indent=2) + "\n", n_items


def _toml(size: int) -> tuple[str, Iterator[Change]]:
    """A key is put after another one of a table, and removed by the next edit."""
    text, n_tables = _toml_tables(size)
    return text, _added((f'name = "item-{n}"\n' for n in _round(n_tables)), 'added = [8, "text"]\n')


def _toml_values(size: int) -> tuple[str, Iterator[Change]]:
    text, n_tables = _toml_tables(size)
    return text, _alternating(f'version = "1.0.{n_tables // 3}"\n', 'version = "2.0.0-rc1"\n')


def _toml_tables(size: int) -> tuple[str, int]:
    n_tables = size // 110
    text = "\n".join(
        f'[table-{n}]\nname = "item-{n}"\nvalues = [{n}, 2, 3]\ntitle = "Some words"\nversion = "1.0.{n}"\non = true\n'
        for n in range(n_tables)
    )
    return text, n_tables


def _round(n_places: int) -> Iterator[int]:
    """Endlessly the numbers of all places, from one in the middle on."""
    return (number % n_places for number in itertools.count(n_places // 3))


def _added(places: Iterator[str], line: str) -> Iterator[Change]:
    for place in places:
        yield place, place + line
        yield place + line, place


KINDS: dict[str, Callable[[int], tuple[str, Iterator[Change]]]] = {
    "txt": _statements,
    "py": _statements,
    "py numbers": _numbers,
    "py names": _names,
    "py expressions": _expressions,
    "json": _json,
    "json values": _json_values,
    "toml": _toml,
    "toml values": _toml_values,
}


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
