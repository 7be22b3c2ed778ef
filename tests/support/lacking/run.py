"""Runs a command without what Linux has and macOS lacks: `python tests/support/lacking/run.py COMMAND...`.

The kernel itself refuses the calls (seccomp(2)), as one that does not know them, to the command and to all that it
starts: inotify, openat2, renameat2 with flags, descriptors of processes, extended attributes, eventfd, space in
advance, reads that do not wait, and files without a name. /proc is empty, if this user may mount. `sitecustomize.py`
beside this file takes the names from Python that the server asks for.
"""

import ctypes
import errno
import os
import platform
import struct
import sys
from pathlib import Path

HERE = Path(__file__).parent
# Numbers of calls: syscalls(2), by architecture. Those from 424 on are the same everywhere.
CALLS = {
    "x86_64": {
        "inotify_init": 253, "inotify_add_watch": 254, "inotify_init1": 294, "eventfd": 284, "eventfd2": 290,
        "fallocate": 285, "preadv2": 327, **{f"xattr {n}": 188 + n for n in range(12)},
    },
    "aarch64": {
        "inotify_init1": 26, "inotify_add_watch": 27, "eventfd2": 19, "fallocate": 47, "preadv2": 286,
        **{f"xattr {n}": 5 + n for n in range(12)},
    },
}  # fmt: skip
ANYWHERE = {"pidfd_send_signal": 424, "pidfd_open": 434, "openat2": 437}
RENAMEAT2, OPENAT = {"x86_64": (316, 257), "aarch64": (276, 56)}.get(platform.machine(), (0, 0))
O_TMPFILE = 0o20000000

# linux/bpf_common.h, linux/seccomp.h, linux/prctl.h, linux/sched.h, linux/mount.h
LOAD, JUMP_IF_EQUAL, JUMP_IF_BITS, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 0x40000


class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_void_p))


def argument(n: int) -> int:
    """Where the lower half of an argument is in struct seccomp_data."""
    return 16 + 8 * n + (0 if sys.byteorder == "little" else 4)


def steps() -> bytes:
    """A program of the kernel's filter: which call, and whether it is refused."""
    refused = struct.pack("HBBI", RETURN, 0, 0, REFUSE | errno.ENOSYS)
    code = struct.pack("HBBI", LOAD, 0, 0, 0)  # the number of the call
    for number in (*CALLS[platform.machine()].values(), *ANYWHERE.values()):
        code += struct.pack("HBBI", JUMP_IF_EQUAL, 0, 1, number) + refused
    for number, n_argument, bits in ((RENAMEAT2, 4, 0xFFFFFFFF), (OPENAT, 2, O_TMPFILE)):
        code += struct.pack("HBBI", JUMP_IF_EQUAL, 0, 4, number)
        code += struct.pack("HBBI", LOAD, 0, 0, argument(n_argument))
        code += struct.pack("HBBI", JUMP_IF_BITS, 0, 1, bits) + refused
        code += struct.pack("HBBI", RETURN, 0, 0, ALLOW)
    return code + struct.pack("HBBI", RETURN, 0, 0, ALLOW)


def refuse_calls(libc: ctypes.CDLL) -> None:
    code = ctypes.create_string_buffer(steps())
    program = Program(len(code.raw) // 8, ctypes.addressof(code))
    for result in (
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0),
    ):
        if result != 0:
            raise OSError(ctypes.get_errno(), "this system allows no filter of calls")


def hide_proc(libc: ctypes.CDLL) -> bool:
    """Mount an empty folder over /proc, for this process and what it starts."""
    if libc.unshare(CLONE_NEWNS) != 0 or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) != 0:
        return False
    return libc.mount(b"none", b"/proc", b"tmpfs", 0, None) == 0


def main(command: list[str]) -> None:
    if platform.machine() not in CALLS:
        sys.exit(f"the numbers of the calls of {platform.machine()} are not known here")
    libc = ctypes.CDLL(None, use_errno=True)
    print("without /proc" if hide_proc(libc) else "with /proc: this user may not mount", flush=True)  # noqa: T201
    refuse_calls(libc)
    path = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), *([path] if path else [])])
    os.environ["FILEOPS_LACKING"] = "1"
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
