"""Confinement: which paths are inside the folders that a client opened. Pure; knows nothing of links.

A decision about a canonical path stays valid because the filesystem refuses to follow a link when it opens the path
(`PathMoved`). A hard link inside a folder counts as inside, even if the file also has a name outside, since all names
of a file are equal.
"""

from collections.abc import Iterable

from msgspec import Struct

from fileops.model.errors import OutsideRoots


class Roots(Struct, frozen=True):
    """The canonical paths of the folders. Without any, everything is outside; None means no confinement."""

    folders: tuple[str, ...] = ()

    @classmethod
    def of(cls, folders: Iterable[str]) -> "Roots":
        """Return the folders sorted, each once, without those inside another."""
        kept: list[str] = []
        for folder in sorted({_bare(folder) for folder in folders}):
            if not any(is_inside(outer, folder) for outer in kept):
                kept.append(folder)
        return cls(tuple(kept))

    def contains(self, canonical_path: str) -> bool:
        if not _is_canonical(canonical_path):
            return False
        return any(is_inside(folder, canonical_path) for folder in self.folders)

    def require_inside(self, canonical_path: str, given_path: str) -> None:
        """Raise OutsideRoots if the path is outside.

        The error contains the given path and does not reveal its target.
        """
        if not self.contains(canonical_path):
            raise OutsideRoots(path=given_path)


def folder_of(path: str) -> str:
    """Return the folder of a canonical path."""
    return path.rpartition("/")[0] or "/"


def is_inside(folder: str, path: str) -> bool:
    """Return whether the path is the folder or below it. Both are canonical; components are compared literally."""
    folder = _bare(folder)
    return folder in {"/", path} or path.startswith(folder + "/")


def _bare(folder: str) -> str:
    return folder.rstrip("/") or "/"


def _is_canonical(path: str) -> bool:
    """Return whether the path can be compared literally: it is absolute, without `.` and `..`."""
    parts = f"{path}/"
    return path.startswith("/") and "/./" not in parts and "/../" not in parts
