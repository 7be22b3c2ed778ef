"""Paths of a mapped folder: here, below its prefix, and on its host, below its base."""

import posixpath

from fileops.model.errors import OutsideRoots


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
        """Whether a normalized remote path is the base or below it."""
        return far == self.base or far.startswith(self._below_base)

    def steps(self, far: str) -> list[str]:
        """Return the folders below the base, topmost first, and the path; only the base if it is the path."""
        names = far[len(self._below_base) :].split("/") if far != self.base else []
        steps = [self._below_base + "/".join(names[: i + 1]) for i in range(len(names))]
        return steps or [self.base]
