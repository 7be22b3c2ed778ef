"""Whether a remote file is the one at its path, although SFTP opens by name, follows links, and reports no inode.

Every folder of the path is looked at before a file is opened and again afterwards, when the open file must be the one
at the path. A folder and a link may change places all the time. So the looks are many and in random order, and all are
sent together: they cost one round trip.
"""

import random

from fileops.fs.remote.backend import Backend, Entry
from fileops.fs.remote.paths import RemotePaths
from fileops.model.errors import IsDirectory, NotRegularFile
from fileops.model.internal_errors import PathMoved

_N_LOOKS = 8  # at each step of a path


class PathCheck:
    """The looks at the paths of one remote folder."""

    def __init__(self, paths: RemotePaths, backend: Backend) -> None:
        self._paths, self._backend = paths, backend

    def entry(self, path: str) -> Entry | None:
        """Return the entry of a file, None if there is none. Raises: PathMoved, IsDirectory, NotRegularFile."""
        return self._youngest(path, 1)

    def entry_before_opening(self, path: str) -> Entry | None:
        """Return the youngest entry that many looks find, None if there is none.

        A single look can find a file elsewhere, when a folder and a link change places within it. If that one were then
        opened and the file at the path is younger, `require_in_place` would take it for a file that has grown.

        Raises: PathMoved, IsDirectory, NotRegularFile.
        """
        return self._youngest(path, self._n_looks)

    def require_in_place(self, far: str, opened: Entry, before: Entry) -> None:
        """Raise PathMoved unless the open file is the one at the path. `before` is its entry before it was opened.

        Owner, mode, time and size are compared. A file that grows while it is read is between its two entries.
        """
        if not self._backend.has_links:
            return
        for step, entry in self._look(far, self._n_looks):
            if entry is None or entry.kind != ("file" if step == far else "folder"):
                raise PathMoved(path=self._paths.near(far))
            if step == far and not (
                _rights(opened) == _rights(entry) and _age(before) <= _age(opened) <= _age(entry)
            ):  # fmt: skip
                raise PathMoved(path=self._paths.near(far))

    @property
    def _n_looks(self) -> int:
        return _N_LOOKS if self._backend.has_links else 1

    def _youngest(self, path: str, n_looks: int) -> Entry | None:
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

    def _look(self, far: str, n_times: int) -> list[tuple[str, Entry | None]]:
        """Return the steps of the path with what is there: once and topmost first, or several times in random order.

        Of several looks the first is at the file. So it takes two exchanges to show the folder first and then another
        file, and these have to guess the order.
        """
        steps = self._paths.steps(far) * n_times
        if n_times > 1:
            random.shuffle(steps)
            steps.insert(0, far)
        return list(zip(steps, self._backend.stat_many(steps), strict=True))


def _rights(entry: Entry) -> tuple[int, int, int]:
    return entry.mode, entry.uid, entry.gid


def _age(entry: Entry) -> tuple[int, int]:
    return entry.mtime_ns, entry.size_bytes
