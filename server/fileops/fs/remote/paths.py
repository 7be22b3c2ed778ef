"""Paths of a mapped folder: in its URL, here, and on its host; and the check that a file is the one at its path."""

import posixpath
import random

from fileops.fs.remote.backend import Backend, RemoteEntry
from fileops.model.errors import IsDirectory, NotRegularFile, OutsideRoots
from fileops.model.internal_errors import PathMoved

_N_LOOKS = 8  # at each step of a path


def label_of(url: str) -> str:
    """Return protocol and host of a URL, without secrets."""
    protocol, _, rest = url.partition("://")
    host = rest.partition("/")[0].rpartition("@")[2]
    return f"{protocol}://{host}"


def folder_in(url: str) -> str:
    """Return the absolute folder that a URL names: the part after the host if its kind of URL has one."""
    protocol, _, rest = url.partition("://")
    if protocol in {"memory", "file", "local"}:
        return "/" + rest.strip("/")
    return "/" + rest.partition("/")[2].strip("/") if protocol in {"sftp", "ssh", "ftp", "smb"} else rest.rstrip("/")


class RemotePaths:
    """`prefix` is a canonical local path, not "/"; `base` an absolute path on the host."""

    def __init__(self, prefix: str, base: str) -> None:
        self.prefix = prefix
        self.base = posixpath.normpath(base)
        self._below_base = self.base.rstrip("/") + "/"

    def far(self, path: str) -> str:
        """Return the remote path of a normalized local path. Raises: OutsideRoots."""
        if path == self.prefix:
            return self.base
        if not path.startswith(self.prefix + "/"):
            raise OutsideRoots(path=path)
        return self._below_base + path[len(self.prefix) + 1 :]

    def near(self, far: str) -> str:
        """Return the local path of a normalized remote one, which is the base or below it."""
        return self.prefix if far == self.base else f"{self.prefix}/{far[len(self._below_base) :]}"

    def has(self, far: str) -> bool:
        """Return whether a normalized remote path is the base or below it."""
        return far == self.base or far.startswith(self._below_base)

    def steps(self, far: str) -> list[str]:
        """Return the folders below the base, topmost first, and the path; only the base if it is the path."""
        names = far[len(self._below_base) :].split("/") if far != self.base else []
        steps = [self._below_base + "/".join(names[: i + 1]) for i in range(len(names))]
        return steps or [self.base]


class PathCheck:
    """Checks that a remote file is the one at its path, although SFTP follows links and reports no inode.

    Every folder of the path is checked before and after a file is opened, and the open file must be the one at the
    path. A folder and a link may change places continually, so the checks are many, in random order, and sent together:
    they cost one round trip.
    """

    def __init__(self, paths: RemotePaths, backend: Backend) -> None:
        self._paths = paths
        self._backend = backend

    def entry(self, path: str) -> RemoteEntry | None:
        """Return the entry of a file; None if there is none. Raises: PathMoved, IsDirectory, NotRegularFile."""
        return self._youngest(path, 1)

    def entry_before_opening(self, path: str) -> RemoteEntry | None:
        """Return the most recent entry that many checks find; None if there is none.

        A single check can find a file elsewhere, if a folder and a link change places during it. If that file were then
        opened, and the one at the path is more recent, `require_in_place` would take it for a file that has grown.

        Raises: PathMoved, IsDirectory, NotRegularFile.
        """
        return self._youngest(path, self._n_looks)

    def require_in_place(self, far: str, opened: RemoteEntry, before: RemoteEntry) -> None:
        """Raise PathMoved unless the open file is the one at the path. `before` is its entry before it was opened.

        Owner, mode, time and size are compared. A file that grows while it is read is between its two entries.
        """
        if not self._backend.has_links:
            return
        for step, entry in self._look(far, self._n_looks):
            if entry is None or entry.kind != ("file" if step == far else "folder"):
                raise PathMoved(path=self._paths.near(far))
            if step == far and not _is_one_file(before, opened, entry):
                raise PathMoved(path=self._paths.near(far))

    @property
    def _n_looks(self) -> int:
        return _N_LOOKS if self._backend.has_links else 1

    def _youngest(self, path: str, n_looks: int) -> RemoteEntry | None:
        far = self._paths.far(path)
        looks = self._look(far, n_looks)
        if any(entry is not None and entry.kind == "link" for _, entry in looks):
            raise PathMoved(path=path)
        if any(entry is None or entry.kind != "folder" for step, entry in looks if step != far):
            return None
        found = [entry for step, entry in looks if step == far and entry is not None]
        if any(entry.kind == "folder" for entry in found):
            raise IsDirectory
        if any(entry.kind != "file" for entry in found):
            raise NotRegularFile(kind="device, pipe or socket")
        return max(found, key=_age, default=None)

    def _look(self, far: str, n_times: int) -> list[tuple[str, RemoteEntry | None]]:
        """Return the steps of the path with their entries: once and topmost first, or several times in random order.

        The first of several checks is of the file. So it takes two exchanges to show the folder first and then another
        file, and these would have to guess the order.
        """
        steps = self._paths.steps(far) * n_times
        if n_times > 1:
            random.shuffle(steps)
            steps.insert(0, far)
        return list(zip(steps, self._backend.stat_many(steps), strict=True))


def _is_one_file(before: RemoteEntry, opened: RemoteEntry, after: RemoteEntry) -> bool:
    return _rights(opened) == _rights(after) and _age(before) <= _age(opened) <= _age(after)


def _rights(entry: RemoteEntry) -> tuple[int, int, int]:
    return entry.mode, entry.uid, entry.gid


def _age(entry: RemoteEntry) -> tuple[int, int]:
    return entry.mtime_ns, entry.size_bytes
