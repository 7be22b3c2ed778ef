"""The place of the shared daemon: its socket, and the files beside it.

All programs of a user have to find the same place. `XDG_RUNTIME_DIR` and `TMPDIR` are therefore ignored: agent hosts
remove or change them, and two places mean two daemons that do not see each other's unsaved text.
"""

import os
import stat
import sys
from collections.abc import Mapping
from typing import NamedTuple

VARIABLE = "FILEOPS_SOCKET"
MAX_PATH_BYTES = 107 if sys.platform == "linux" else 103  # sun_path of unix(7), without the NUL
_DARWIN_USER_TEMP_DIR = 65537  # _CS_DARWIN_USER_TEMP_DIR of <unistd.h>, which Python has no name for


class AttachRefused(Exception):
    """The client cannot be served at all, not even by this process. The message says why, and what to do."""


class Address(NamedTuple):
    """Absolute paths. lock: held while the daemon is started or its socket is removed. record: what `status` reads."""

    socket: str
    lock: str
    record: str

    @property
    def folder(self) -> str:
        return os.path.dirname(self.socket)

    @property
    def stem(self) -> str:
        return os.path.basename(self.socket).removesuffix(".sock")


def find_address(given: str | None, environ: Mapping[str, str]) -> Address:
    """Return the daemon's place. Creates nothing. Raises: AttachRefused.

    Args: given: the path of the option `--socket`.
    """
    path = os.path.abspath(given or environ.get(VARIABLE) or os.path.join(_default_folder(), "arbiter.sock"))
    n_bytes = len(os.fsencode(path))
    if n_bytes > MAX_PATH_BYTES:
        raise AttachRefused(f"The socket's path is too long: {n_bytes} bytes of {MAX_PATH_BYTES}. Name a shorter one.")
    stem = path.removesuffix(".sock")
    return Address(path, f"{stem}.lock", f"{stem}.json")


def require_private_folder(folder: str, *, create: bool) -> None:
    """Refuse a folder that another user could have created or could write to. Raises: AttachRefused.

    Args: create: create the folder if it is missing. Otherwise a missing folder is accepted: it contains nothing.
    """
    try:
        if create:
            os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise AttachRefused(f"The folder {folder} could not be made: {error.strerror}. Name another socket.") from None
    try:
        status = os.lstat(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise AttachRefused(f"The folder {folder} cannot be used: {error.strerror}. Name another socket.") from None
    if (fault := _fault_of(status)) is not None:
        raise AttachRefused(
            f"The folder {folder} {fault}. Name a socket in a folder that only you can enter (mode 0700), "
            f"with {VARIABLE}."
        )


def _fault_of(status: os.stat_result) -> str | None:
    if not stat.S_ISDIR(status.st_mode):
        return "is not a folder"
    if status.st_uid != os.geteuid():
        return f"belongs to another user (uid {status.st_uid})"
    if status.st_mode & 0o077:
        return f"is open to other users (mode {stat.S_IMODE(status.st_mode):04o}, not 0700)"
    return None


def _default_folder() -> str:
    uid = os.geteuid()
    if sys.platform == "darwin":
        return os.path.join(os.confstr(_DARWIN_USER_TEMP_DIR) or "/tmp", f"fileops-{uid}")
    runtime = f"/run/user/{uid}"
    try:
        is_ours = _fault_of(os.lstat(runtime)) is None
    except OSError:
        is_ours = False
    return os.path.join(runtime, "fileops") if is_ours else f"/tmp/fileops-{uid}"
