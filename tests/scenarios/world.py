"""The disk of a story: its files, what changed, and what others do to it."""

import os
import shutil
import stat
from dataclasses import dataclass

from scenarios.story import BadStory, Step


@dataclass(frozen=True, slots=True)
class Entry:
    """What exists at a name. `identity` is inode, mode, mtime and content together."""

    kind: int
    mode: int
    mtime_ns: int
    ino: int
    content: bytes


def entry_at(path: str) -> Entry | None:
    try:
        info = os.lstat(path)
    except FileNotFoundError:
        return None
    content = b""
    if stat.S_ISREG(info.st_mode):
        with open(path, "rb") as file:
            content = file.read()
    elif stat.S_ISLNK(info.st_mode):
        content = os.fsencode(os.readlink(path))
    # A folder's mtime is not its content: a temporary file may come and go.
    mtime_ns = 0 if stat.S_ISDIR(info.st_mode) else info.st_mtime_ns
    return Entry(stat.S_IFMT(info.st_mode), stat.S_IMODE(info.st_mode), mtime_ns, info.st_ino, content)


def entries(folder: str) -> dict[str, Entry]:
    """All entries below the folder, by path."""
    found: dict[str, Entry] = {}
    for base, folders, names in os.walk(folder):
        for path in (os.path.join(base, name) for name in (*folders, *names)):
            entry = entry_at(path)
            assert entry is not None, "something vanishes by itself"
            found[path] = entry
    return found


def changes(before: dict[str, Entry], after: dict[str, Entry]) -> dict[str, tuple[Entry | None, Entry | None]]:
    names = before.keys() | after.keys()
    return {name: (before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)}


# --- what others do -------------------------------------------------------------------------------------------


def act(step: Step, path: str, *more: str) -> None:
    """Do what the step's verb says; `more` are the words behind the path."""
    match step.verb, more:
        case "file", _:
            write(step, path)
        case "append", _:
            with open(path, "ab") as file:
                file.write(content_of(step))
        case "swap", _:
            write(step, path + ".other-editor")
            os.replace(path + ".other-editor", path)
        case "forge", _:
            info = os.stat(path)
            write(step, path)
            os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
        case "touch", (seconds,):
            info = os.stat(path)
            os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns + int(float(seconds) * 1e9)))
        case "delete", ():
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
        case "rename", (new,):
            os.rename(path, os.path.join(os.path.dirname(path), new))
        case "chmod", (mode,):
            os.chmod(path, int(mode, 8))
        case "symlink", (target,):
            os.symlink(target, path)
        case "hardlink", (other,):
            os.link(os.path.join(os.path.dirname(path), other), path)
        case "folder", ():
            os.makedirs(path)
        case "fifo", ():
            os.mkfifo(path)
        case _:
            raise BadStory(f"nothing is known of [{step.verb} {' '.join(step.args)}]")


def write(step: Step, path: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content_of(step))
    if "mode" in step.options:
        os.chmod(path, int(step.options["mode"], 8))


BOMS = {
    "utf-8": b"\xef\xbb\xbf",
    "utf-16-le": b"\xff\xfe",
    "utf-16-be": b"\xfe\xff",
    "utf-32-le": b"\xff\xfe\0\0",
    "utf-32-be": b"\0\0\xfe\xff",
}


def content_of(step: Step) -> bytes:
    """The bytes that a `[file]` puts there, or a `[now]` expects."""
    encoding = next((arg for arg in step.args[1:] if arg in BOMS), "utf-8")
    bom = BOMS[encoding] if "bom" in step.args[1:] else b""
    return bom + step.content.as_bytes(encoding)
