"""A host's settings file: read with care, and replaced in one step.

A file that is a link, that another user owns, or that has other names is not changed: replacing it would break what the
user arranged.
"""

import errno
import os
import stat
import tempfile
from dataclasses import dataclass

from fileops.platform.syscalls import exchange

MAX_BYTES = 16 << 20
BOM = "\ufeff"
TEMP_PREFIX = ".fileops-config-"


class UnusableFile(Exception):
    """The file cannot be changed safely; the message says why."""


@dataclass(frozen=True)
class SettingsFile:
    """A file as it was read; `status` is None if it did not exist."""

    path: str
    data: bytes
    status: os.stat_result | None

    @property
    def text(self) -> str:
        """The text without a byte order mark."""
        try:
            return self.data.decode("utf-8").removeprefix(BOM)
        except UnicodeDecodeError:
            raise UnusableFile(f"{self.path} is not UTF-8.") from None

    def encode(self, text: str) -> bytes:
        return ((BOM if self.data.startswith(BOM.encode()) else "") + text).encode()


def read(path: str) -> SettingsFile:
    """Return the file, or raise UnusableFile if it must not be replaced."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return SettingsFile(path, b"", None)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UnusableFile(
                f"{path} is a symbolic link to {os.path.realpath(path)}. Change that file by hand."
            ) from None
        raise UnusableFile(f"{path} cannot be read: {error.strerror}.") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnusableFile(f"{path} is not a regular file.")
        if status.st_uid != os.geteuid():
            raise UnusableFile(f"{path} belongs to another user.")
        if status.st_nlink != 1:
            raise UnusableFile(f"{path} has further names (hard links). Change it by hand.")
        with os.fdopen(os.dup(descriptor), "rb") as file:
            data = file.read(MAX_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(data) > MAX_BYTES:
        raise UnusableFile(f"{path} is larger than {MAX_BYTES} bytes.")
    return SettingsFile(path, data, status)


def missing_folders(path: str) -> list[str]:
    """Return the folders above a file that do not exist, the outermost first."""
    missing: list[str] = []
    folder = os.path.dirname(path)
    while folder and not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing[::-1]


def replace(file: SettingsFile, text: str) -> None:
    """Write the text in one step; raise UnusableFile if the file has changed since it was read."""
    folder = os.path.dirname(file.path) or "."
    try:
        os.makedirs(folder, exist_ok=True)
        descriptor, temp = tempfile.mkstemp(prefix=TEMP_PREFIX, dir=folder)
    except OSError as error:
        raise UnusableFile(f"{folder} cannot be written: {error.strerror}.") from None
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(file.encode(text))
            out.flush()
            os.fchmod(out.fileno(), stat.S_IMODE(file.status.st_mode) if file.status else 0o644 & ~_umask())
            os.fsync(out.fileno())
        _require_unchanged(file, file.path)
        if file.status is None:
            os.link(temp, file.path)  # fails if the file was created since
        else:
            _exchange(file, temp)
    except OSError as error:
        raise UnusableFile(f"{file.path} cannot be written: {error.strerror}.") from None
    finally:
        if os.path.lexists(temp):
            os.unlink(temp)


def remove(file: SettingsFile) -> None:
    """Remove the file; raise UnusableFile if it has changed since it was read."""
    try:
        _require_unchanged(file, file.path)
        with tempfile.TemporaryDirectory(prefix=TEMP_PREFIX, dir=os.path.dirname(file.path)) as aside:
            moved = os.path.join(aside, os.path.basename(file.path))
            os.rename(file.path, moved)
            try:
                _require_unchanged(file, moved)
            except UnusableFile:
                os.link(moved, file.path, follow_symlinks=False)  # fails if there is a newer file, which stays
                raise
    except OSError as error:
        raise UnusableFile(f"{file.path} cannot be removed: {error.strerror}.") from None


def _require_unchanged(file: SettingsFile, path: str) -> None:
    present = read(path)
    if (present.data, present.status is None) != (file.data, file.status is None):
        raise UnusableFile(f"{file.path} was changed by another program. Run the command again.")


def _exchange(file: SettingsFile, temp: str) -> None:
    """Put the temp file in the place of the file, and what was there in the temp file's.

    Another program may write the file after the last look at it. So what was replaced is compared as well, and put
    back if it is not what was read.
    """
    folder = os.open(os.path.dirname(file.path) or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        names = os.path.basename(temp), os.path.basename(file.path)
        if not exchange(*names, folder):
            os.replace(temp, file.path)  # this filesystem cannot exchange two names
            return
        try:
            _require_unchanged(file, temp)
        except UnusableFile:
            exchange(*names, folder)
            raise
    finally:
        os.close(folder)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
