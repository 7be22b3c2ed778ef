"""How folders spell a path that names an existing file, on filesystems where several spellings are one name.

macOS, and volumes of macOS and Windows elsewhere, find `Read.me` as `READ.ME`; macOS also finds `é` as `e` with a
combining accent. The path that is checked, locked, tracked and compared must always be the same, so `resolve` returns
the folders' spelling.

On macOS the kernel knows it. On Linux the code tests now and then whether a filesystem ignores case, and then lists the
folders. Single folders of ext4, f2fs or tmpfs that ignore case (chattr +F) are not noticed, since their filesystems as
a whole do not.
"""

import fcntl
import os
import sys
import time

from fileops.core.globs import fold
from fileops.platform import descriptors, syscalls

_ASKED_AGAIN_AFTER_S = 60.0  # a device number may be reused after a mount
_MAX_PATH_BYTES = 1024  # MAXPATHLEN of macOS, which F_GETPATH needs
_OTHER_CASE = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

# By device: whether it ignores case, and until when that is valid (monotonic). Threads may ask twice; both are right.
_ignores_case: dict[int, tuple[bool, float]] = {}


def spell(path: str, fd: int) -> str:
    """Return the path of the open file `fd` as its folders spell it.

    Args: path: absolute, without links. fd: of the file or folder there; O_PATH is enough.
    """
    if sys.platform == "darwin":
        found = os.fsdecode(fcntl.fcntl(fd, fcntl.F_GETPATH, bytes(_MAX_PATH_BYTES)).rstrip(b"\0"))
        # For a file with several hard links the kernel returns any of its names.
        return found if fold(found) == fold(path) else _as_listed(path, os.fstat(fd).st_dev)
    device = os.fstat(fd).st_dev
    known = _ignores_case.get(device)
    if known is None or known[1] < time.monotonic():
        known = _ask(path, fd, device)
    return _as_listed(path, device) if known[0] else path


def real_path(path: str) -> str:
    """Return the path without links, as its folders spell it, as far as it exists and can be opened."""
    path = os.path.realpath(path)
    try:
        fd = os.open(path, getattr(os, "O_PATH", os.O_NONBLOCK) | os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return path
    try:
        return spell(path, fd)
    finally:
        descriptors.close(fd)


def _ask(path: str, fd: int, device: int) -> tuple[bool, float]:
    """Find out whether a filesystem ignores case: whether a name on the path is also found in the other case."""
    answer = False if syscalls.kind_of_filesystem(fd) != "other" else _finds_other_case(path, device)
    known = answer is True, time.monotonic() + _ASKED_AGAIN_AFTER_S
    if answer is not None:
        _ignores_case[device] = known
    return known


def _finds_other_case(path: str, device: int) -> bool | None:
    """Return None if that is unknown: no name on the path has an ASCII letter."""
    for folder, name in reversed(_names_on(path, device)):
        other = name.translate(_OTHER_CASE)
        if other == name:
            continue
        try:
            if not os.path.samestat(os.lstat(f"{folder}/{other}"), os.lstat(f"{folder}/{name}")):
                return False
            return not {name, other} <= {entry.name for entry in os.scandir(folder or "/")}  # no hard links
        except FileNotFoundError:
            return False
        except OSError:
            return None
    return None


def _names_on(path: str, device: int) -> list[tuple[str, str]]:
    """Return the folder ("" for the root) and the name of each step of the path that is on the device."""
    steps: list[tuple[str, str]] = []
    while path:
        folder, _, name = path.rpartition("/")
        try:
            if not name or os.lstat(folder or "/").st_dev != device:
                break
        except OSError:
            break
        steps.append((folder, name))
        path = folder
    return steps[::-1]


def _as_listed(path: str, device: int) -> str:
    """Return the path with its names as the folders list them. A name that no folder lists stays as it is."""
    steps = _names_on(path, device)
    if not steps:
        return path
    spelled_path = steps[0][0]
    for _, name in steps:
        spelled_path = f"{spelled_path}/{_find_listed_name(spelled_path, name)}"
    return spelled_path


def _find_listed_name(folder: str, name: str) -> str:
    try:
        with os.scandir(folder or "/") as entries:
            inodes = {entry.name: entry.inode() for entry in entries}
        if name in inodes:
            return name
        inode = os.lstat(f"{folder}/{name}").st_ino
    except OSError:  # it must not be listed, or was removed
        return name
    alike = [listed for listed in inodes if fold(listed) == fold(name)]
    # A short name, as on FAT, is only listed under the long one.
    found = alike or [listed for listed, listed_inode in inodes.items() if listed_inode == inode]
    return found[0] if len(found) == 1 else name
