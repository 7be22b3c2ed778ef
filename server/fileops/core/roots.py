"""Confinement: which paths lie inside the folders a client opened. Pure; knows nothing of links.

A decision about a canonical path holds because the filesystem refuses to follow a link when it opens one
(`PathMoved`). A hard link inside a folder to a file that also has a name outside is inside: it is that file's
name, and the filesystem knows no other truth.
"""

from collections.abc import Iterable

from msgspec import Struct

from fileops.model.errors import OutsideRoots


class Roots(Struct, frozen=True):
    """folders: canonical paths. Without any, everything is outside; what is not confined has no Roots (None)."""

    folders: tuple[str, ...] = ()

    @classmethod
    def of(cls, folders: Iterable[str]) -> "Roots":
        """Sorted, each once, without those that lie inside another."""
        kept: list[str] = []
        for folder in sorted({_bare(folder) for folder in folders}):
            if not any(is_inside(other, folder) for other in kept):
                kept.append(folder)
        return cls(tuple(kept))

    def contains(self, canonical_path: str) -> bool:
        if not _is_canonical(canonical_path):
            return False
        return any(is_inside(folder, canonical_path) for folder in self.folders)

    def require_inside(self, canonical_path: str, given_path: str) -> None:
        """Raises: OutsideRoots, with the path as the caller gave it (where it leads is not told)."""
        if not self.contains(canonical_path):
            raise OutsideRoots(path=given_path)


def is_inside(folder: str, path: str) -> bool:
    """The folder itself counts. Both canonical; whole components are compared, letter for letter."""
    folder = _bare(folder)
    return folder in {"/", path} or path.startswith(folder + "/")


def _bare(folder: str) -> str:
    return folder.rstrip("/") or "/"


def _is_canonical(path: str) -> bool:
    """A path that still holds `..` must never be judged by its letters."""
    return path.startswith("/") and not any(part in {".", ".."} for part in path.split("/"))
