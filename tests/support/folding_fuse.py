"""A filesystem that compares names as APFS does: without case, and without the form of Unicode characters.

It keeps the files in a folder of the disk, under the names with which they were made. `folding_disk.py` runs this:
`python folding_fuse.py FOLDER MOUNT_POINT`.
"""

import errno
import os
import sys
import unicodedata
from typing import Any

import mfusepy as fuse


def folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


class Folding:
    """Where a path of the mount is on the disk."""

    def __init__(self, disk: str) -> None:
        self._disk = disk

    def at(self, path: str) -> str:
        place = self._disk
        for name in path.strip("/").split("/"):
            if name:
                place = f"{place}/{self._listed(place, name)}"
        return place

    @staticmethod
    def _listed(folder: str, name: str) -> str:
        try:
            return next((listed for listed in os.listdir(folder) if folded(listed) == folded(name)), name)
        except OSError:
            return name


def main(disk: str, mounted: str) -> None:
    place = Folding(disk)

    class Operations(fuse.Operations):
        use_ns = True

        def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
            status = os.lstat(place.at(path))
            return {
                **{key: getattr(status, key) for key in ("st_mode", "st_ino", "st_nlink", "st_uid", "st_gid")},
                **{key: getattr(status, key) for key in ("st_size", "st_blocks", "st_blksize")},
                **{f"st_{key}": getattr(status, f"st_{key}_ns") for key in ("atime", "mtime", "ctime")},
            }

        def readdir(self, path: str, fh: int) -> list[tuple[str, dict[str, int], int]]:
            folder = place.at(path)
            entries = [(name, os.lstat(f"{folder}/{name}")) for name in (".", "..", *os.listdir(folder))]
            return [(name, {"st_mode": status.st_mode, "st_ino": status.st_ino}, 0) for name, status in entries]

        def readlink(self, path: str) -> str:
            return os.readlink(place.at(path))

        def symlink(self, target: str, source: str) -> int:
            os.symlink(source, place.at(target))
            return 0

        def mkdir(self, path: str, mode: int) -> int:
            os.mkdir(place.at(path), mode)
            return 0

        def rmdir(self, path: str) -> int:
            os.rmdir(place.at(path))
            return 0

        def unlink(self, path: str) -> int:
            os.unlink(place.at(path))
            return 0

        def rename(self, old: str, new: str) -> int:
            source, target = place.at(old), place.at(new)
            if source == target:  # only the spelling changes
                target = f"{os.path.dirname(source)}/{os.path.basename(new)}"
            os.rename(source, target)
            return 0

        def link(self, target: str, source: str) -> int:
            os.link(place.at(source), place.at(target))
            return 0

        def chmod(self, path: str, mode: int) -> int:
            os.chmod(place.at(path), mode)
            return 0

        def chown(self, path: str, uid: int, gid: int) -> int:
            os.chown(place.at(path), uid, gid)
            return 0

        def utimens(self, path: str, times: tuple[int, int] | None = None) -> int:
            os.utime(place.at(path), ns=times) if times else os.utime(place.at(path))
            return 0

        def truncate(self, path: str, length: int, fh: int | None = None) -> int:
            os.truncate(place.at(path), length)
            return 0

        def open(self, path: str, flags: int) -> int:
            return os.open(place.at(path), flags)

        def create(self, path: str, mode: int, fi: Any = None) -> int:
            return os.open(place.at(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)

        def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
            return os.pread(fh, size, offset)

        def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
            return os.pwrite(fh, data, offset)

        def release(self, path: str, fh: int) -> int:
            os.close(fh)
            return 0

        def fsync(self, path: str, datasync: int, fh: int) -> int:
            os.fsync(fh)
            return 0

        def getxattr(self, path: str, name: str, position: int = 0) -> bytes:
            raise fuse.FuseOSError(errno.ENOTSUP)

        def listxattr(self, path: str) -> list[str]:
            return []

        def statfs(self, path: str) -> dict[str, int]:
            status = os.statvfs(disk)
            return {key: getattr(status, key) for key in ("f_bsize", "f_frsize", "f_blocks", "f_bfree", "f_bavail")}

    class Disk(fuse.FUSE):
        def rename_fuse_3(self, old: bytes, new: bytes, flags: int) -> int:
            return -errno.EINVAL if flags else super().rename_fuse_3(old, new, flags)  # which ignores them

    Disk(
        Operations(), mounted, foreground=True, nothreads=True, use_ino=True,
        entry_timeout=0, attr_timeout=0, negative_timeout=0,
    )  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
