"""What other ways to edit a file do to it: the table in docs/guide/comparison.md, from runs.

    cd tests && ../.venv/bin/python -m bench.comparison

Each row is one function, which puts the same case before every contender and returns what happened, as a cell. The
contenders are a `str_replace` tool of 40 lines, the reference file server of the Model Context Protocol (installed by
name from npm), and ours. The shim of `tests/faults` (Linux, a C compiler) kills them at system calls and sees fsync.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bench.contenders import McpFilesystem, Ours, StrReplace, install_peers
from faults.injection import Action, Shim, Spot, build, reason_for_none

N_LINES = 10_000
N_CRLFS = 1_000


class Tool(Protocol):
    """A program that edits files for an agent, in a separate process."""

    def look_at(self, path: str) -> str: ...

    def edit(self, path: str, old: str, new: str) -> object:
        """Raises: RuntimeError (refused), EOFError (the program ended)."""
        ...

    def close(self) -> None: ...

    def kill(self) -> None: ...


class ReferenceServer(McpFilesystem):
    def look_at(self, path: str) -> str:
        return str(self.read(path, 1, 3))

    def kill(self) -> None:
        self.rpc.kill()


class OurTool(Ours):
    def look_at(self, path: str) -> str:
        return str(self.read(path, 1, 3))


@dataclass(frozen=True, kw_only=True)
class Effort:
    """n_edits: of each of two agents. n_kills: places among the system calls of an edit."""

    n_edits: int = 100
    n_kills: int = 12


@dataclass(frozen=True)
class Contender:
    title: str
    start: Callable[[str, Mapping[str, str] | None], Tool]


OURS = Contender("fileops-server", lambda root, env: OurTool(root, env=env))
STR_REPLACE = Contender("`str_replace` in 40 lines", StrReplace)


def reference_server(command: Sequence[str], version: str) -> Contender:
    return Contender(f"MCP `server-filesystem` {version}", lambda root, env: ReferenceServer(root, command, env=env))


@contextmanager
def running(contender: Contender, folder: Path, env: Mapping[str, str] | None = None) -> Generator[Tool]:
    tool = contender.start(str(folder), env)
    try:
        yield tool
        tool.close()  # fails if the tool was killed after its answer
    except BaseException:
        tool.kill()
        raise


# --- the rows ----------------------------------------------------------------------------------------------------


def lost_updates(contender: Contender, folder: Path, effort: Effort) -> str:
    """Two agents, each with its own tool, edit different lines of one file at the same time."""
    path = folder / "shared.txt"
    path.write_text("".join(f"line {number:05d} old\n" for number in range(N_LINES)))
    acknowledged: list[int] = []

    def work(first: int) -> None:
        with running(contender, folder) as tool:
            for number in range(first, first + 2 * effort.n_edits, 2):
                while not edited(tool, str(path), f"line {number:05d} old", f"line {number:05d} new"):
                    pass
                acknowledged.append(number)

    agents = [threading.Thread(target=work, args=(first,)) for first in (0, 1)]
    for agent in agents:
        agent.start()
    for agent in agents:
        agent.join()
    lines = path.read_text().splitlines()
    n_lost = sum(f"line {number:05d} new" not in lines for number in acknowledged)
    return f"{n_lost} of {len(acknowledged)} edits lost"


def edited(tool: Tool, path: str, old: str, new: str) -> bool:
    """Whether the tool took the edit, after a read."""
    try:
        tool.look_at(path)
        tool.edit(path, old, new)
    except RuntimeError as refusal:
        if "No match" in str(refusal) or "Could not find" in str(refusal):  # it read what the other was writing
            return False
        if "modified externally" not in str(refusal):
            raise
        return False
    return True


def changed_since_the_read(contender: Contender, folder: Path, _effort: Effort) -> str:
    path = folder / "changed.txt"
    path.write_text("one\ntwo\n")
    with running(contender, folder) as tool:
        tool.look_at(str(path))
        path.write_text("one\ntwo\nthree, by another program\n")
        try:
            tool.edit(str(path), "one", "1")
        except RuntimeError:
            return "refused: read it again"
    return "overwritten silently"


def other_line_ends(contender: Contender, folder: Path, _effort: Effort) -> str:
    path = folder / "crlf.txt"
    before = b"word\r\n" * N_CRLFS + b"last\r\n"
    path.write_bytes(before)
    with running(contender, folder) as tool:
        tool.look_at(str(path))
        tool.edit(str(path), "last", "end")
    n_kept = path.read_bytes().count(b"word\r\n")
    return "all kept" if n_kept == N_CRLFS else f"{N_CRLFS - n_kept:,} of {N_CRLFS:,} changed"


def foreign_byte(contender: Contender, folder: Path, _effort: Effort) -> str:
    path = folder / "latin.txt"
    path.write_bytes(b"caf\xe9\nlast\n")
    with running(contender, folder) as tool:
        try:
            tool.look_at(str(path))
            tool.edit(str(path), "last", "end")
        except RuntimeError:
            return "the file cannot be edited"
    return "kept" if path.read_bytes() == b"caf\xe9\nend\n" else "replaced by U+FFFD"


def kills(contender: Contender, folder: Path, effort: Effort) -> str:
    """Killed at a system call of the edit, or when half of a write is done."""
    path = folder / "file" / "long.txt"
    path.parent.mkdir()
    old = b"first\n" + b"line\n" * 50_000
    new = old.replace(b"first", b"FIRST")
    shim = Shim.over(build(folder), str(path.parent))
    n_torn = n_killed = 0
    calls = calls_of_edit(contender, shim, path, old)
    for action, spot in spots(calls, effort.n_kills):
        path.unlink()
        path.write_bytes(old)
        with suppress(EOFError, BrokenPipeError):
            run_edit(contender, shim, path, action, spot)
        if shim.has_fired:
            n_killed += 1
            n_torn += path.read_bytes() not in {old, new}
    return f"torn in {n_torn} of {n_killed}"


def spots(calls: Sequence[str], n_kills: int) -> list[tuple[Action, Spot]]:
    """Some of the calls, evenly, and half of the first write of each kind."""
    step = max(1, len(calls) // n_kills)
    halves = [(Action.KILL_HALF, Spot(name=name)) for name in ("write", "pwrite") if name in calls]
    return [(Action.KILL, Spot(at=at)) for at in range(1, len(calls) + 1, step)] + halves


def calls_of_edit(contender: Contender, shim: Shim, path: Path, content: bytes) -> list[str]:
    path.write_bytes(content)
    run_edit(contender, shim, path, Action.COUNT, Spot())
    return shim.calls


def run_edit(contender: Contender, shim: Shim, path: Path, action: Action, spot: Spot) -> None:
    with running(contender, path.parent, os.environ | shim.environment) as tool:
        tool.look_at(str(path))
        shim.arm(action, spot)
        tool.edit(str(path), "first", "FIRST")
        shim.disarm()


def synced(contender: Contender, folder: Path, _effort: Effort) -> str:
    path = folder / "file" / "short.txt"
    path.parent.mkdir()
    shim = Shim.over(build(folder), str(path.parent))
    n_syncs = calls_of_edit(contender, shim, path, b"first\n").count("fsync")
    return {0: "no", 1: "the file"}.get(n_syncs, "the file and its folder")


def unsaved_text(contender: Contender, folder: Path, _effort: Effort) -> str:
    """A person has typed into the file, in an editor that has not saved it."""
    path = folder / "open.txt"
    path.write_text("saved\n")
    with running(contender, folder) as tool:
        if isinstance(tool, OurTool):
            document = {"uri": path.as_uri(), "languageId": "text", "version": 1, "text": "typed\n"}
            tool.rpc.notify("textDocument/didOpen", {"textDocument": document})
        return "what the agent reads" if "typed" in tool.look_at(str(path)) else "not seen"


ROWS: dict[str, Callable[[Contender, Path, Effort], str]] = {
    "Two agents make 100 edits each in one file at once": lost_updates,
    "The file changed after the agent read it": changed_since_the_read,
    "The 1,000 CRLF line ends beside an edit": other_line_ends,
    "A byte beside an edit that is not UTF-8": foreign_byte,
    "The file after a kill during the edit": kills,
    "Synced to the disk before the answer": synced,
    "Text typed in an editor and not saved": unsaved_text,
}
WITH_SHIM = {kills, synced}


def cells(contender: Contender, effort: Effort) -> dict[str, str]:
    """Return what happened, by row."""
    has_shim = reason_for_none() is None
    found: dict[str, str] = {}
    for row, happened in ROWS.items():
        if not has_shim and happened in WITH_SHIM:
            continue
        folder = Path(tempfile.mkdtemp(prefix="fileops-comparison-")).resolve()
        try:
            found[row] = happened(contender, folder, effort)
        finally:
            shutil.rmtree(folder)
    return found


def table(columns: Mapping[str, Mapping[str, str]]) -> str:
    """Return Markdown. Args: columns: cells by row, by title."""
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| {row} | " + " | ".join(column.get(row, "") for column in columns.values()) + " |" for row in ROWS]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.comparison", description=__doc__)
    parser.add_argument("--peers-folder", type=Path, default=Path.home() / ".cache" / "fileops-bench")
    peers = install_peers(parser.parse_args().peers_folder)
    contenders = [STR_REPLACE, OURS]
    if (command := peers.mcp_filesystem) is not None:
        contenders.insert(1, reference_server(command, version_of(Path(command[1]))))
    sys.stdout.write(table({one.title: cells(one, Effort()) for one in contenders}) + "\n")
    return 0


def version_of(script: Path) -> str:
    """The version of the npm package that a script of its `dist` belongs to."""
    return json.loads((script.parents[1] / "package.json").read_text(encoding="utf-8"))["version"]


if __name__ == "__main__":
    sys.exit(main())
