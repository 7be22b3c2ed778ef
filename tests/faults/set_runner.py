"""A program that applies change sets in children, each of which may be killed or failed at any system call.

It runs under the shim, and gets its orders by lines on its stdin: `prepare` reads the files, `go` applies the set in
a child, `recover` lets a new filesystem look after the folders in a child. It answers each with a line: `ready`, or how
the child ended (`0`, `-9`, or the name of what it raised).
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from fileops.fs.local.filesystem import LocalFileSystem
from fileops.model.changes import FilePlan, Permissions
from fileops.model.edits import Splice
from fileops.model.files import Committed

SET_ID = "5e7" * 10
# What `contents` finds.
BEFORE = {
    "a": b"text of a\n", "b": b"text of b\n", "c": b"text of c\n", "inner/d": b"text of d\n", "inner/e": b"e\n",
    "inner/program": b"exit\n",
}  # fmt: skip
AFTER = {
    "a": b"TEXT of a\n",
    "inner/c": b"text of c\n",
    "e": b"E\n",
    "inner/d": b"TEXT of d\n",
    "inner/program": b"exit\n, executable",
    "made/below/f": b"new\n",
}


class Hooks:
    """SetHooks that do nothing."""

    def prepare(self) -> None:
        pass

    def before(self) -> None:
        pass

    def on_cancel(self, withdraw: Callable[[], None]) -> None:
        pass

    def after(self, committed: tuple[Committed, ...], /) -> None:
        pass


def planned(fs: LocalFileSystem, folder: str) -> list[FilePlan]:
    """Two edits, a deletion, a rename to another folder, one with another text, one new mode, one creation."""
    read = {name: fs.read(f"{folder}/{name}") for name in (*BEFORE, "made/below/f")}
    return [
        FilePlan(snapshot=read["a"], splices=(Splice(0, 4, b"TEXT"),)),
        FilePlan(snapshot=read["b"], removes=True),
        FilePlan(snapshot=read["c"], new_path=f"{folder}/inner/c"),
        FilePlan(snapshot=read["inner/d"], splices=(Splice(0, 4, b"TEXT"),)),
        FilePlan(snapshot=read["inner/e"], new_path=f"{folder}/e", splices=(Splice(0, 1, b"E"),)),
        FilePlan(snapshot=read["inner/program"], permissions=Permissions(becomes_executable=True)),
        FilePlan(snapshot=read["made/below/f"], splices=(Splice(0, 0, b"new\n"),)),
    ]


def contents(folder: Path) -> dict[str, bytes]:
    """What is in the files of the folder, and which of them can be executed."""
    return {
        str(path.relative_to(folder)): path.read_bytes() + (b", executable" if path.stat().st_mode & 0o100 else b"")
        for path in folder.rglob("*")
        if path.is_file()
    }


def in_child(work: Callable[[], object]) -> str:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            work()
        except Exception as failure:  # noqa: BLE001 - its name is the answer
            os.write(writing, type(failure).__name__.encode())
            os._exit(1)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        raised = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return raised or str(code)


def recover(folder: str, state: str) -> None:
    fs = LocalFileSystem(state_folder=state)
    for name in (folder, f"{folder}/inner"):
        fs.recover(name)


def replace_many(folder: str, state: str) -> None:
    """Replace all files of a folder in one set."""
    fs = LocalFileSystem(state_folder=state)
    read = [fs.read(f"{folder}/{name}") for name in os.listdir(folder)]
    files = [FilePlan(snapshot=snapshot, splices=(Splice(0, 3, b"new"),)) for snapshot in read]
    fs.replace_set(SET_ID, files, Hooks())


def main() -> None:
    folder, state = sys.argv[1:]
    fs, files = LocalFileSystem(state_folder=state), list[FilePlan]()
    for line in sys.stdin:
        match line.strip():
            case "prepare":
                fs = LocalFileSystem(state_folder=state)
                files = planned(fs, folder)
                answer = "ready"
            case "go":
                answer = in_child(lambda fs=fs, files=files: fs.replace_set(SET_ID, files, Hooks()))
            case _:
                answer = in_child(lambda: recover(folder, state))
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


def write_all(folder: Path) -> None:
    for name, data in BEFORE.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
        old_ns = time.time_ns() - 10**12  # not young, so no reader waits for its writer
        os.utime(folder / name, ns=(old_ns, old_ns))


if __name__ == "__main__":
    if sys.argv[1] == "many":
        replace_many(*sys.argv[2:])
    else:
        main()
