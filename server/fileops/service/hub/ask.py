"""The switch "ask before each edit": how often people are asked about agents' edits, for each project.

A person sets it in an editor or terminal of the project. It applies to all agents there, now and later, and outlives
the daemon. It does not cover shell commands, which an agent's host runs.

Belongs to the event loop. Worker threads call `AskSwitch.at`: the values are replaced, never modified.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import get_args

from msgspec import Struct

from fileops.core.roots import is_inside
from fileops.model.settings import ApprovalMode, Ask

DEFAULT_ASK: Ask = "protected"
MODE_OF: Mapping[Ask, ApprovalMode] = {"each_edit": "default", "protected": "auto_edit", "never": "yolo"}
_ORDER: tuple[Ask, ...] = get_args(Ask)


def most_asking(values: Iterable[Ask]) -> Ask:
    """Return the value that asks most often. At least one value is required."""
    return min(values, key=_ORDER.index)


class AskSwitch:
    """What was set for each project, by its top folder. Args: kept: what was set before."""

    def __init__(self, kept: Mapping[str, Ask]) -> None:
        self._set = kept

    @property
    def all(self) -> Mapping[str, Ask]:
        """Return the values by the projects' top folders, in the order in which they were set."""
        return self._set

    def at(self, path: str) -> Ask | None:
        """Return what was set for the project that contains this canonical path; None if nothing was."""
        containing = [root for root in self._set if is_inside(root, path)]
        return self._set[max(containing, key=len)] if containing else None

    def set(self, roots: Iterable[str], ask: Ask) -> None:
        """Set the value for these projects and the folders below them."""
        chosen = tuple(roots)
        projects = dict(self._set)
        for root in self._set:
            if any(is_inside(folder, root) for folder in chosen):
                del projects[root]
        projects.update((root, ask) for root in chosen)
        self._set = projects


class ProjectAsk(Struct, frozen=True, kw_only=True):
    """The switch as one editor or terminal shows and sets it, for the projects of its folders.

    folders: those of the client. ask_at: returns the value at a path. set_in: sets and stores it for the projects of
    folders, and notifies all clients that show it.
    """

    folders: Callable[[], tuple[str, ...]]
    ask_at: Callable[[str], Ask | None]
    set_in: Callable[[tuple[str, ...], Ask], Awaitable[None]]

    async def set(self, ask: Ask) -> None:
        """Set the value for the projects of the client's folders."""
        await self.set_in(self.folders(), ask)

    @property
    def current(self) -> Ask:
        """Return the value in the client's folders, the strictest if they differ."""
        return most_asking([self.ask_at(folder) or DEFAULT_ASK for folder in self.folders()] or [DEFAULT_ASK])
