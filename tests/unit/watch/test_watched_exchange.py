"""What those who watch a folder hear of a contested write: editors load a file again by it."""

import ctypes
import os
import struct
from pathlib import Path

from contract.recording import RecordingHooks
from fileops.fs.local.filesystem import LocalFileSystem
from fileops.model.edits import Splice
from support.abilities import needs_inotify

MOVED_FROM, MOVED_TO = 0x40, 0x80
HEADER = struct.Struct("iIII")  # struct inotify_event

pytestmark = needs_inotify


def moves_of(watch_fd: int, name: str) -> list[int]:
    """MOVED_FROM and MOVED_TO of a name, in order."""
    data = os.read(watch_fd, 65536)
    moves: list[int] = []
    while data:
        _, mask, _, length = HEADER.unpack_from(data)
        of = data[HEADER.size : HEADER.size + length].rstrip(b"\0").decode()
        if of == name:
            moves.append(mask & (MOVED_FROM | MOVED_TO))
        data = data[HEADER.size + length :]
    return moves


def test_last_watch_event_of_a_contested_file_is_moved_to(fs: LocalFileSystem, folder: str) -> None:
    path = f"{folder}/f"
    Path(path).write_bytes(b"seen")  # just now, by another process: it is exchanged
    snapshot = fs.read(path)
    libc = ctypes.CDLL(None, use_errno=True)
    watch_fd = libc.inotify_init()
    try:
        assert libc.inotify_add_watch(watch_fd, os.fsencode(folder), MOVED_FROM | MOVED_TO) >= 0
        fs.replace(snapshot, [Splice(0, 0, b"ours ")], RecordingHooks())
        moves = moves_of(watch_fd, "f")
    finally:
        os.close(watch_fd)
    assert Path(path).read_bytes() == b"ours seen"
    assert moves[-1] == MOVED_TO
