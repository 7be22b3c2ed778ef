"""Finds rule files through a FileSystem: on mapped hosts, and in the filesystem of an embedding program."""

from collections.abc import Callable, Iterator

from fileops.model.errors import ConnectionFailed, FileOpsError
from fileops.model.files import Stamp
from fileops.model.internal_errors import PathMoved
from fileops.ports import Clock, FileSystem, RuleFiles

KEPT_NS = 5_000_000_000  # as often as tracked files on mapped hosts are checked (docs/PROTOCOL.md, R-MOUNT-4)


class StatRuleFiles:
    """See ports.RuleFiles. name: of the rule files. kept_ns: for how long an answer is valid."""

    def __init__(self, fs: FileSystem, name: str, clock: Clock, *, kept_ns: int = 0) -> None:
        self._fs = fs
        self._name = name
        self._clock = clock
        self._kept_ns = kept_ns
        self._known: dict[str, tuple[int, bool]] = {}  # path -> when it was checked, and whether it exists

    def above(self, folder: str, *, waits: bool = True) -> tuple[str, ...] | None:
        if not waits:
            return None
        names = [name for name in folder.split("/") if name]
        paths = ["/".join(["", *names[:n], self._name]) for n in range(len(names) + 1)]
        return tuple(path for path in paths if self.exists(path))

    def exists(self, path: str) -> bool:
        """Whether anything has this path. Raises: NeedsShare, ConnectionFailed."""
        known = self._known.get(path)
        if known is not None and self.keeps(path, known[0]):
            return known[1]
        now = self._clock.time_ns()
        try:
            is_there = self._fs.stat(self._fs.resolve(path)) is not None
        except ConnectionFailed:
            raise
        except (FileOpsError, PathMoved):
            # It is not a regular file, or cannot be reached, or a folder above it is being replaced. Reading it shows
            # which. This is not cached: it may be over at the next request, which would still be refused.
            return True
        if self._kept_ns:
            self._known[path] = now, is_there
        return is_there

    def keeps(self, path: str, since_ns: int) -> bool:
        del path
        return 0 <= self._clock.time_ns() - since_ns < self._kept_ns

    def names_of(self, stamp: Stamp, folder: str) -> Iterator[str]:
        """Return None: such filesystems have no hard links that could be found."""
        del stamp, folder
        return iter(())


class RoutedRuleFiles:
    """See ports.RuleFiles: for the local disk and the folders mapped into it."""

    def __init__(self, disk: RuleFiles, mapped: StatRuleFiles, is_mapped: Callable[[str], bool], name: str) -> None:
        self._disk = disk
        self._mapped = mapped
        self._is_mapped = is_mapped
        self._name = name

    def above(self, folder: str, *, waits: bool = True) -> tuple[str, ...] | None:
        inside = list[str]()
        while self._is_mapped(folder):
            inside.append(f"{folder}/{self._name}")
            folder = folder.rpartition("/")[0] or "/"
        if inside and not waits:
            return None
        found = self._disk.above(folder, waits=waits)
        if found is None:
            return None
        return (*found, *(path for path in reversed(inside) if self._mapped.exists(path)))

    def keeps(self, path: str, since_ns: int) -> bool:
        return self._is_mapped(path) and self._mapped.keeps(path, since_ns)

    def names_of(self, stamp: Stamp, folder: str) -> Iterator[str]:
        return self._disk.names_of(stamp, folder)
