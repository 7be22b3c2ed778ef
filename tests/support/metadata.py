"""What a file has beside its bytes: mode, owner, attributes, ACL, inode flags; and an edit that has to keep them."""

import os
import struct
import subprocess
import sys
from typing import Any

from contract.recording import RecordingHooks
from fileops.fs.local.filesystem import LocalFileSystem
from fileops.model.edits import Splice
from fileops.model.files import Committed


def edit(fs: LocalFileSystem, path: str, new: bytes = b"new ") -> Committed:
    return fs.replace(fs.read(path), [Splice(0, 0, new)], RecordingHooks())


def facts(path: str) -> tuple[Any, ...]:
    assert sys.platform == "linux"
    status = os.lstat(path)
    attributes = {name: os.getxattr(path, name) for name in os.listxattr(path)}
    return status.st_mode, status.st_uid, status.st_gid, attributes


def acl(*entries: tuple[int, int, int]) -> bytes:
    """The value of system.posix_acl_access (linux/posix_acl_xattr.h): tag, permissions, id."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


NONE = 0xFFFFFFFF
SHARED_ACL = acl((1, 6, NONE), (2, 6, 1234), (4, 4, NONE), (16, 6, NONE), (32, 4, NONE))


def flags_of(path: str) -> str:
    """As `lsattr -p` has them: the project and the letters, without that of extents, which the kernel sets."""
    told = subprocess.run(["lsattr", "-p", path], check=True, capture_output=True, text=True).stdout.split()
    return f"{told[0]} {told[1].replace('-', '').replace('e', '')}"
