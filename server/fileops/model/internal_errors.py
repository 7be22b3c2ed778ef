"""Exceptions that end a step inside the server. None of them is returned to a caller."""

from dataclasses import dataclass, field


@dataclass(eq=False, kw_only=True)
class Stale(Exception):
    """A compare-and-swap failed: the file is no longer the one in the snapshot. It is retried, never returned."""

    path: str


@dataclass(eq=False, kw_only=True)
class PathMoved(Exception):
    """A canonical path contains a symlink, because a component of it was replaced. Resolve the path again."""

    path: str


@dataclass(eq=False, kw_only=True)
class PluginFailed(Exception):
    """A plugin failed. `reason` is a clause whose subject is the plugin, or the error that it raised."""

    reason: str


@dataclass(eq=False, kw_only=True)
class Cancelled(Exception):
    """The request was cancelled before its commit began."""

    where: str = field(default="")


@dataclass(eq=False, kw_only=True)
class WatchError(Exception):
    """A folder cannot be watched, so its files are only swept. `reason` is the operating system's message.

    is_missing: the folder does not exist at present, which is not a fault of the watcher. is_full: the system allows
    no more watches to this user.
    """

    folder: str
    reason: str
    is_missing: bool = False
    is_full: bool = False


@dataclass(eq=False, kw_only=True)
class OutOfTime(Exception):
    """Optional work for an answer took longer than allowed. It is left out."""


class NotTheCells(Exception):
    """The text for a notebook has lines above cells that are not those of the notebook. The message says which."""


class UnknownId(Exception):
    """No entry, command, turn or rewind has this id. n_found: how many ids begin with it, if more than one does."""

    def __init__(self, wanted: str, n_found: int = 0) -> None:
        super().__init__(wanted)
        self.wanted, self.n_found = wanted, n_found
