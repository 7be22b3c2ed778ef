"""Opens files without following links. Only `resolve` follows them.

There are three ways to open a canonical path, of which the best available is used: openat2, a walk with O_NOFOLLOW, and
a plain open that is compared with the path afterwards. OSErrors leave this module untranslated.
"""

import errno
import os
import stat
import time
from collections.abc import Callable

from fileops.fs.spelling import spell
from fileops.model.errors import FileMissing, IoFailure, IsDirectory, NotAbsolute, NotRegularFile
from fileops.model.files import Stamp
from fileops.model.internal_errors import PathMoved
from fileops.platform import descriptors, syscalls

LEASE_WAIT_S = 5.0
MAX_LINKS = 40  # as in the kernel (path_resolution(7))

O_PATH = getattr(os, "O_PATH", 0)
CLOEXEC = os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | CLOEXEC
PATH_ONLY = O_PATH | CLOEXEC if O_PATH else READ  # for fstat only
FOLDER = os.O_RDONLY | os.O_DIRECTORY | CLOEXEC

Opener = Callable[[str, int], int]


def _open_by_openat2(path: str, flags: int) -> int:
    return syscalls.open_without_links(os.fsencode(path), flags)


def _open_by_walk(path: str, flags: int) -> int:
    """Open each component relative to the folder before it, so that a component replaced by a link is noticed."""
    names = [name for name in path.split("/") if name]
    if not names:
        return os.open("/", flags)
    fd = os.open("/", (O_PATH or os.O_RDONLY) | os.O_DIRECTORY | CLOEXEC)
    for i, name in enumerate(names):
        wanted = flags if i == len(names) - 1 else (O_PATH or os.O_RDONLY) | os.O_DIRECTORY | CLOEXEC
        try:
            below = os.open(name, wanted | os.O_NOFOLLOW, dir_fd=fd)
            if O_PATH and wanted & O_PATH and stat.S_ISLNK(os.fstat(below).st_mode):
                descriptors.close(below)  # O_PATH opens a link itself
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        except OSError as error:
            if error.errno == errno.ENOTDIR and _is_link(name, fd):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from error
            raise
        finally:
            descriptors.close(fd)
        fd = below
    return fd


def _is_link(name: str, dir_fd: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _open_and_compare(path: str, flags: int) -> int:
    """Open on systems without openat.

    A link that is swapped in and out four times between these calls goes unnoticed.
    """
    while True:
        try:
            fd = os.open(path, flags | os.O_NOFOLLOW)
        except NotADirectoryError as error:  # a link where a folder was expected
            if os.path.islink(path):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from error
            raise
        try:
            opened = os.fstat(fd)
            before, named, after = os.path.realpath(path), os.lstat(path), os.path.realpath(path)
            if stat.S_ISLNK(opened.st_mode) or stat.S_ISLNK(named.st_mode) or not before == path == after:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            if os.path.samestat(opened, named):
                return fd
        except BaseException:
            descriptors.close(fd)
            raise
        descriptors.close(fd)  # the file was replaced in between


def best_opener() -> Opener:
    if syscalls.has_open_without_links():
        return _open_by_openat2
    if os.open in os.supports_dir_fd:
        return _open_by_walk
    return _open_and_compare


OPENERS: dict[str, Opener] = {
    "openat2": _open_by_openat2,
    "walk": _open_by_walk,
    "compare": _open_and_compare,
}


def resolve(path: str, opener: Opener) -> str:
    """Return the canonical path: without links, `.` and `..`, and as the folders spell it (fs/spelling.py).

    Components that do not exist are taken literally.

    Raises: NotAbsolute, FileMissing (a name that no file can have), IoFailure (more than 40 links).
    """
    if not path.startswith("/"):
        raise NotAbsolute(path=path)
    try:
        raw = os.fsencode(path)
    except UnicodeEncodeError as error:  # surrogates that do not encode a byte
        raise FileMissing from error
    if b"\0" in raw:
        raise FileMissing
    names = [name for name in path.split("/") if name and name != "."]
    if ".." not in names:
        plain = "/" + "/".join(names)
        try:
            return _spell(plain, opener)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                raise FileMissing from error
    return _spell_as_far_as_it_exists(_resolve_by_steps(names), opener)


def _spell(path: str, opener: Opener) -> str:
    """Return the path of an existing file as its folders spell it. Raises: OSError."""
    if not O_PATH and _is_special(os.lstat(path).st_mode):
        return path
    fd = opener(path, PATH_ONLY)
    try:
        return spell(path, fd)
    finally:
        descriptors.close(fd)


def _spell_as_far_as_it_exists(path: str, opener: Opener) -> str:
    missing: list[str] = []
    while True:
        try:
            return "/".join([_spell(path, opener).rstrip("/"), *reversed(missing)]) or "/"
        except (FileNotFoundError, NotADirectoryError):
            path, _, name = path.rpartition("/")
            missing.append(name)
            path = path or "/"
        except OSError:  # it must not be opened: the opener will say why
            return "/".join([path.rstrip("/"), *reversed(missing)]) or "/"


def _resolve_by_steps(names: list[str]) -> str:
    pending = names[::-1]
    done = ""
    n_links = 0
    while pending:
        name = pending.pop()
        if not name or name == ".":
            continue
        if name == "..":
            done = done.rpartition("/")[0]
            continue
        here = f"{done}/{name}"
        try:
            target = os.readlink(here)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                raise FileMissing from error
            done = here  # not a link, missing or hidden: opening it decides
            continue
        n_links += 1
        if n_links > MAX_LINKS:
            raise IoFailure(reason=os.strerror(errno.ELOOP))
        if target.startswith("/"):
            done = ""
        pending.extend(target.split("/")[::-1])
    return done or "/"


def open_regular(path: str, opener: Opener) -> tuple[int, os.stat_result]:
    """Open a regular file for reading and return the status that it had just before. FIFOs and devices are not opened.

    The caller has to check that the opened file is regular as well, since the path may lead to another one by then.
    Raises: OSError, IsDirectory, NotRegularFile, PathMoved.
    """
    named = None
    try:
        named = os.lstat(path)
    except OSError:
        pass  # the opener raises the reason, and notices links
    else:
        if not stat.S_ISREG(named.st_mode):
            _refuse_irregular(path, opener)
    return _open(lambda: opener(path, READ), named)


def open_regular_in(dir_fd: int, name: str, path: str) -> tuple[int, os.stat_result]:
    """Open a regular file by its name in an open directory, see `open_regular`.

    `path` is the whole path, for errors.
    """
    named = None
    try:
        named = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except OSError:
        pass  # as above
    else:
        if stat.S_ISLNK(named.st_mode):
            raise PathMoved(path=path)
        require_regular(named)
    return _open(lambda: os.open(name, READ | os.O_NOFOLLOW, dir_fd=dir_fd), named)


def _open(open_it: Callable[[], int], named: os.stat_result | None) -> tuple[int, os.stat_result]:
    fd = _open_leased(open_it)
    try:
        return fd, os.fstat(fd) if named is None else named
    except BaseException:
        descriptors.close(fd)
        raise


def _open_leased(open_it: Callable[[], int]) -> int:
    """Open a file, and wait while it has a lease. EAGAIN means that the lease is being broken (fcntl(2), leases)."""
    deadline = None
    while True:
        try:
            return open_it()
        except BlockingIOError:
            now = time.monotonic()
            deadline = deadline or now + LEASE_WAIT_S
            if now > deadline:
                raise
        time.sleep(0.005)


def status_of(path: str, opener: Opener) -> os.stat_result:
    """Return the status of a file of any kind, without following links. Raises: OSError."""
    if not O_PATH and _is_special((status := os.lstat(path)).st_mode):
        return status  # opening a device would act on it
    fd = opener(path, PATH_ONLY)
    try:
        return os.fstat(fd)
    finally:
        descriptors.close(fd)


def require_not_special(path: str) -> None:
    """Refuse a device, FIFO or socket before opening it, on systems without an open for the status alone.

    Raises: OSError, NotRegularFile.
    """
    if not O_PATH and _is_special((status := os.lstat(path)).st_mode):
        require_regular(status)


def _is_special(mode: int) -> bool:
    """Return whether it is a device, a FIFO or a socket."""
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))


def require_regular(status: os.stat_result, fd: int | None = None) -> None:
    mode = status.st_mode
    if not stat.S_ISREG(mode):
        if stat.S_ISDIR(mode):
            raise IsDirectory
        raise NotRegularFile(kind=_kind(mode))
    # A file with blocks on a disk is not a kernel stream, so statfs is needed only for others.
    if status.st_blocks == 0 and fd is not None and syscalls.is_kernel_stream(fd):
        raise NotRegularFile(kind="kernel stream")


def _refuse_irregular(path: str, opener: Opener) -> None:
    """Raise what kind of file this is, without opening it or following a link."""
    if not O_PATH:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            raise PathMoved(path=path)
        return require_regular(status)
    return require_regular(status_of(path, opener))


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "fifo"
    if stat.S_ISSOCK(mode):
        return "socket"
    return "block device" if stat.S_ISBLK(mode) else "character device"


def is_unwritten(before: os.stat_result, after: os.stat_result) -> bool:
    return before.st_mtime_ns == after.st_mtime_ns and before.st_size == after.st_size


_share = dict[int, int]().setdefault  # interns the few device and mode numbers


def stamp_of(status: os.stat_result) -> Stamp:
    mtime_ns, ctime_ns = status.st_mtime_ns, status.st_ctime_ns
    return Stamp(
        dev=_share(status.st_dev, status.st_dev),
        ino=status.st_ino,
        size_bytes=status.st_size,
        mtime_ns=mtime_ns,
        ctime_ns=mtime_ns if ctime_ns == mtime_ns else ctime_ns,
        mode=_share(status.st_mode, status.st_mode),
        uid=status.st_uid,
        gid=status.st_gid,
        n_links=status.st_nlink,
    )
