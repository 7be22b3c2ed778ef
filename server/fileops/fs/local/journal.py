"""Journal of a write in place: the old bytes of the region that is about to be overwritten.

Layout: one line of JSON (target, its inode, where the region starts, sizes), the region's old bytes, its new bytes,
and a digest of all that. It is written and synced before the first byte of the target changes, and removed after the
last is synced. So the files alone show what happened, and in each case the journal is removed:

- No valid digest at the end: the target was never touched.
- The target equals the old or the new content: nothing is torn.
- The target is a mix of old and new: the old content is restored.
- The target is anything else: another process has written it since; it is left alone.

The journal (`.journal`) is beside the target, or (`.far`) in the state folder (`default_state_folder`) if that is not
writable. A far journal waits until the folder of its target is there: a missing target alone proves nothing.
"""

import errno
import json
import os
import stat
from typing import Any, cast

import xxhash
from msgspec import Struct
from msgspec.structs import asdict

from fileops.core.roots import folder_of
from fileops.fs.local.named_folders import NamedFolder, open_named
from fileops.fs.local.nofollow import Opener
from fileops.fs.local.own_files import OwnFile, new_name, release
from fileops.platform import descriptors, sync
from fileops.platform.locks import try_lock
from fileops.platform.private_files import NotPrivate, create_locked, open_private

_MAGIC = "fileops journal 1"
_SECTOR_BYTES = 512  # the smallest unit that a disk writes atomically
_MAX_HEADER_BYTES = 65536  # a path of 4 kB, each byte escaped as six, and a margin
_TARGET = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAX_NUMBER = (1 << 63) - 1  # of the system's sizes and times


class JournalRegion(Struct, frozen=True):
    """Bytes [start, end_old) of the old file, which become [start, end_new) of the new one.

    Nothing else changes: the region extends to the end of the file unless both ends are equal.
    """

    start: int
    end_old: int
    end_new: int
    size_old: int
    size_new: int


class _Header(Struct, frozen=True):
    magic: str
    target: str  # a name beside the journal, or an absolute path; as latin-1
    ino: int
    mtime_ns: int
    start: int
    end_old: int
    end_new: int
    size_old: int
    size_new: int
    folder_ino: int = 0  # of a far journal's target; 0 in those of older versions


def default_state_folder() -> str:
    """Return `$XDG_STATE_HOME/fileops-server/journals`, by default under `~/.local/state`."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "fileops-server", "journals")


class Journal:
    """An open journal. Its lock shows that the process that created it is alive."""

    def __init__(self, fd: int, dir_fd: int, name: str) -> None:
        self.fd = fd
        self.dir_fd = dir_fd
        self.name = name

    @classmethod
    def create(cls, dir_fd: int, *, is_far: bool = False) -> "Journal":
        """Create a journal. Raises: OSError, if no file can be created in the folder."""
        name = new_name("far" if is_far else "journal")
        try:
            return cls(create_locked(name, dir_fd), dir_fd, name)
        except OSError:
            release(name)
            raise

    def write(
        self,
        target: str,
        status: os.stat_result,
        region: JournalRegion,
        old: memoryview,
        new: memoryview,
        folder_ino: int = 0,
    ) -> None:
        """Write and sync the journal. `old` and `new` are the whole contents; only the region is copied.

        folder_ino: of the target's folder, if the journal is far from it.
        """
        header = _Header(
            magic=_MAGIC,
            target=os.fsencode(target).decode("latin-1"),
            ino=status.st_ino,
            mtime_ns=status.st_mtime_ns,
            start=region.start,
            end_old=region.end_old,
            end_new=region.end_new,
            size_old=region.size_old,
            size_new=region.size_new,
            folder_ino=folder_ino,
        )
        fields = asdict(header)
        if not folder_ino:
            del fields["folder_ino"]  # older daemons remove a journal with a field that they do not know
        line = json.dumps(fields).encode("ascii") + b"\n"
        pieces = (line, old[region.start : region.end_old], new[region.start : region.end_new])
        digest = xxhash.xxh3_128()
        for piece in pieces:
            digest.update(piece)
        total = sum(len(piece) for piece in pieces) + digest.digest_size
        sync.reserve(self.fd, 0, total)
        for piece in (*pieces, digest.digest()):
            sync.write_all(self.fd, piece)
        sync.sync(self.fd)
        sync.sync_folder(self.dir_fd)

    def remove(self) -> bool:
        """Remove the journal. Return False if that fails; the next recovery then finds nothing torn."""
        try:
            os.unlink(self.name, dir_fd=self.dir_fd)
        except OSError:
            return False
        sync.sync_folder(self.dir_fd)
        return True

    def close(self) -> None:
        release(self.name)
        descriptors.close(self.fd)


def restore(fd: int, region: JournalRegion, old: memoryview, mtime_ns: int) -> None:
    """Restore and sync the old bytes, size and time. `old` is the region's bytes. Raises: OSError."""
    sync.write_at(fd, old, region.start)
    if os.fstat(fd).st_size != region.size_old:
        os.ftruncate(fd, region.size_old)
    os.utime(fd, ns=(os.fstat(fd).st_atime_ns, mtime_ns))
    sync.sync(fd)


def recover(leftover: OwnFile, dir_fd: int, opener: Opener | None = None, used: NamedFolder | None = None) -> bool:
    """Recover a file with the journal of a dead process, or of an earlier failure in this one.

    Returns whether the journal was settled and removed. opener: for journals in the state folder, which contain whole
    paths; without it the target is a neighbour of the journal. used: see `open_named`. Raises: AwayError.
    """
    try:
        fd = open_private(leftover.name, dir_fd)  # a journal from an unpacked archive must not make us write
    except (OSError, NotPrivate):
        return False
    try:
        if leftover.is_in_use or not try_lock(fd):
            return False
        entry = _parse(fd)
        if entry is not None and not _settle(entry, dir_fd, opener, used):
            return False
        os.unlink(leftover.name, dir_fd=dir_fd)
    except OSError:
        return False
    finally:
        descriptors.close(fd)
    return True


def _parse(fd: int) -> tuple[_Header, bytes] | None:
    """Return the header and both regions; None for a journal that was never complete."""
    head = os.pread(fd, _MAX_HEADER_BYTES, 0)
    line, newline, _ = head.partition(b"\n")
    if not newline:
        return None
    try:
        header = _Header(**cast("dict[str, Any]", json.loads(line)))
    except (ValueError, TypeError, RecursionError):  # RecursionError: nested brackets
        return None
    if not _is_sane(header):
        return None
    n_old, n_new = header.end_old - header.start, header.end_new - header.start
    body_start = len(line) + 1
    digest = xxhash.xxh3_128(line + b"\n")
    body = sync.read_at(fd, body_start, n_old + n_new)
    digest.update(body)
    if len(body) != n_old + n_new or os.pread(fd, 64, body_start + len(body)) != digest.digest():
        return None
    return header, body


def _is_sane(header: _Header) -> bool:
    texts = (header.magic, header.target)
    numbers = (header.ino, header.mtime_ns, header.start, header.end_old, header.end_new, header.folder_ino)
    sizes = (header.size_old, header.size_new)
    if not all(type(text) is str for text in texts) or not all(type(n) is int for n in (*numbers, *sizes)):
        return False
    return (
        header.magic == _MAGIC
        and "\0" not in header.target
        and max(abs(header.mtime_ns), header.size_old, header.size_new) <= _MAX_NUMBER
        and max(map(ord, header.target), default=256) < 256
        and 0 <= header.start <= header.end_old <= header.size_old
        and header.start <= header.end_new <= header.size_new
    )


def _settle(entry: tuple[_Header, bytes], dir_fd: int, opener: Opener | None, used: NamedFolder | None) -> bool:
    """Return whether nothing is torn any more. Raises: AwayError, OSError."""
    header, _ = entry
    target = os.fsdecode(header.target.encode("latin-1"))
    if opener is None:
        if "/" in target:  # a journal among a user's files may name only its neighbours
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        return _settle_beside(entry, target, dir_fd)
    folder_fd, _ = open_named(NamedFolder(folder_of(target), header.folder_ino), opener, used)
    try:
        return _settle_beside(entry, os.path.basename(target), folder_fd)
    finally:
        descriptors.close(folder_fd)


def _settle_beside(entry: tuple[_Header, bytes], name: str, dir_fd: int) -> bool:
    header, body = entry
    region = JournalRegion(header.start, header.end_old, header.end_new, header.size_old, header.size_new)
    old, new = memoryview(body)[: region.end_old - region.start], memoryview(body)[region.end_old - region.start :]
    try:
        fd = os.open(name, _TARGET, dir_fd=dir_fd)
    except FileNotFoundError:
        return True
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_ino != header.ino:
            return True
        if not try_lock(fd):
            return False
        if _is_torn(fd, status.st_size, region, old, new):
            restore(fd, region, old, header.mtime_ns)
    finally:
        descriptors.close(fd)
    return True


def _is_torn(fd: int, size: int, region: JournalRegion, old: memoryview, new: memoryview) -> bool:
    """Return whether the file is neither old nor new, but a mix that our interrupted write explains."""
    if not min(region.size_old, region.size_new) <= size <= max(region.size_old, region.size_new):
        return False
    end = min(size, max(region.end_old, region.end_new))
    now = sync.read_at(fd, region.start, end - region.start)
    if (size, now) in {(region.size_new, bytes(new)), (region.size_old, bytes(old))}:
        return False
    first = -region.start % _SECTOR_BYTES  # sectors are counted from the file's start
    ends = [*range(first or _SECTOR_BYTES, len(now), _SECTOR_BYTES), len(now)]
    return all(
        _is_explained(now[at:end], bytes(old[at:end]), bytes(new[at:end]))
        for at, end in zip([0, *ends], ends, strict=False)
    )


def _is_explained(piece: bytes, old: bytes, new: bytes) -> bool:
    """Return whether a piece is new up to some byte, and after it old, or zeros where space was reserved."""
    if piece == new:
        return True
    n_same = next((i for i, (ours, theirs) in enumerate(zip(piece, new, strict=False)) if ours != theirs), len(new))
    return piece[n_same:] == old[n_same:].ljust(len(piece) - n_same, b"\0")
