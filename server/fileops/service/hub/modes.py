"""Approval modes of sessions: what users have decided about each session, and what an agent demands of itself.

Three parties can change how often a user is asked about a session's edits:

- A user chooses a mode. It replaces everything that was decided before.
- A user answers a question with "always". From then on `default` means `auto_edit`, but only where that user is asked:
for an editor's user in the folders of that editor, for a host's user in the questions that the host gets.
- An agent demands a mode for itself. It can only make the mode stricter.

Belongs to the event loop; worker threads call `of`. The values are replaced, never modified.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from fileops.core.roots import is_inside
from fileops.model.sessions import SessionName
from fileops.model.settings import ApprovalMode

STRICTNESS: Mapping[ApprovalMode, int] = {"yolo": 0, "auto_edit": 1, "default": 2}


class SessionMode(Struct, frozen=True, kw_only=True):
    """What was decided about one session.

    chosen: by a user; None if none has chosen a mode. demanded: by the agent. is_approved_by_own_user: the user whom
    the session's own client asks (over MCP: the host's) said "always". approved_folders: folders for which an editor's
    user did.
    """

    chosen: ApprovalMode | None = None
    demanded: ApprovalMode = "yolo"
    is_approved_by_own_user: bool = False
    approved_folders: tuple[str, ...] = ()

    def in_place_of(self, unset: ApprovalMode, *, is_approved: bool) -> ApprovalMode:
        """Return the mode in force.

        Args: unset: the mode if nothing was decided. is_approved: whether "always" applies here.
        """
        mode = strictest((self.chosen or unset, self.demanded))
        return "auto_edit" if mode == "default" and is_approved else mode

    def is_approved_in(self, path: str) -> bool:
        """Return whether an editor's user said "always" for a folder that contains this path."""
        return any(is_inside(folder, path) for folder in self.approved_folders)


UNDECIDED = SessionMode()


class SessionModes:
    def __init__(self) -> None:
        self._modes: dict[SessionName, SessionMode] = {}

    def of(self, session_id: SessionName) -> SessionMode:
        return self._modes.get(session_id, UNDECIDED)

    def choose(self, session_id: SessionName, mode: ApprovalMode) -> None:
        self._modes[session_id] = SessionMode(chosen=mode)

    def demand(self, session_id: SessionName, mode: ApprovalMode) -> None:
        """Ask at least as often as this mode does. `default` also ends what "always" has allowed."""
        before = self.of(session_id)
        kept = SessionMode(chosen=before.chosen) if mode == "default" else before
        self._modes[session_id] = replace(kept, demanded=strictest((before.demanded, mode)))

    def approve_rest(self, session_id: SessionName, folders: Iterable[str] | None) -> bool:
        """Record an "always" for these folders; None: for the questions of the session's own client.

        Returns whether it is new.
        """
        before = self.of(session_id)
        if folders is None:
            after = replace(before, is_approved_by_own_user=True)
        else:
            after = replace(before, approved_folders=tuple(dict.fromkeys((*before.approved_folders, *folders))))
        self._modes[session_id] = after
        return after != before

    def forget_choices(self, session_id: SessionName) -> None:
        """Forget what users have decided about a session. What the agent demands of itself stays."""
        if (before := self._modes.get(session_id)) is not None:
            self._modes[session_id] = SessionMode(demanded=before.demanded)

    def drop(self, session_id: SessionName) -> None:
        self._modes.pop(session_id, None)


def strictest(modes: Iterable[ApprovalMode]) -> ApprovalMode:
    return max(modes, key=STRICTNESS.__getitem__)
