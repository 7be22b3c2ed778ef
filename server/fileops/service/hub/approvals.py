"""Approval routing: which editors an agent's write concerns, and which mode applies to it.

The rules are in docs/PROTOCOL.md, section "Shared daemon". `mode_at` and `find_roots` are called in worker threads,
everything else on the event loop. The queue of reviews decides who is asked, and acts on the answer.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from msgspec import Struct

from fileops.core.roots import Roots, is_inside
from fileops.model.approval import Always
from fileops.model.sessions import SessionName
from fileops.model.settings import ApprovalMode, Ask
from fileops.service.hub.ask import MODE_OF, AskSwitch, most_asking
from fileops.service.hub.modes import SessionModes, strictest

Approve = Literal["person", "ask", "host", "never"]

# The default, unless a person or an editor sets another. "default" asks about each edit, "auto_edit" about protected
# files.
UNDECIDED_MODE: dict[Approve, ApprovalMode] = {
    "person": "auto_edit", "ask": "default", "host": "auto_edit", "never": "yolo",
}  # fmt: skip


class AskedEditor(Struct, frozen=True, kw_only=True):
    """An editor, for approvals. can_ask: whether it can ask its user about others' edits.

    stated: its option `ask`; None if it sets none.
    """

    can_ask: bool
    stated: Ask | None
    folders: Callable[[], tuple[str, ...]]
    is_open: Callable[[str], bool]

    def concerns(self, path: str) -> bool:
        return self.can_ask and self.has(path)

    def has(self, path: str) -> bool:
        return any(is_inside(folder, path) for folder in self.folders()) or self.is_open(path)


def _find_stated(editors: Iterable[AskedEditor]) -> Ask | None:
    """Return the editors' option `ask`, the strictest value if they differ; None if none sets it."""
    stated: list[Ask] = [editor.stated for editor in editors if editor.stated is not None]
    return most_asking(stated) if stated else None


class AskedEditors:
    """The connected editors. switch: what their users have set for their projects."""

    def __init__(self, switch: AskSwitch) -> None:
        self.switch = switch
        self._editors: Mapping[str, AskedEditor] = {}  # replaced on the event loop, never modified

    def connect(self, name: str, editor: AskedEditor) -> None:
        self._editors = {**self._editors, name: editor}

    def disconnect(self, name: str) -> None:
        self._editors = {known: editor for known, editor in self._editors.items() if known != name}

    def all(self) -> tuple[AskedEditor, ...]:
        """Return the editors that can ask their users."""
        return tuple(editor for editor in self._editors.values() if editor.can_ask)

    def is_asked(self, name: str, path: str) -> bool:
        """Return whether this editor's user is asked about this path."""
        editor = self._editors.get(name)
        return editor is not None and editor.concerns(path)

    def has(self, name: str, path: str) -> bool:
        """Return whether the path is in a folder of this editor or open in it, even if the editor cannot ask."""
        editor = self._editors.get(name)
        return editor is not None and editor.has(path)

    def always_at(self, name: str, *paths: str) -> Always:
        """Return where "always" applies if this editor's user says it: in the editor's folders, and to these files."""
        editor = self._editors.get(name)
        return Always((*(() if editor is None else editor.folders()), *paths))

    def ask_at(self, path: str) -> Ask | None:
        """Return what a person has set for the project of a canonical path, or else what its editors begin with."""
        chosen = self.switch.at(path)
        if chosen is not None:
            return chosen
        return _find_stated(self.find_concerned(path))

    def find_concerned(self, path: str) -> tuple[AskedEditor, ...]:
        """Return the editors that can ask their users about this canonical path."""
        return tuple(editor for editor in self._editors.values() if editor.concerns(path))


class AgentRouting:
    """The approval mode for one agent's edits, which depends on the editors that a file concerns.

    modes: what was decided about each session.
    """

    def __init__(self, editors: AskedEditors, *, approve: Approve, modes: SessionModes) -> None:
        self._editors = editors
        self._modes = modes
        self._approve: Approve = approve

    def mode_at(self, session_id: SessionName, path: str) -> ApprovalMode:
        """Return the session's mode for a write of this canonical path."""
        return self._mode(session_id, path, self._editors.find_concerned(path))

    def mode_in(self, session_id: SessionName, folders: tuple[str, ...]) -> ApprovalMode:
        """Return the session's mode in all of its client's folders; without any, wherever an editor is concerned."""
        if not folders:
            return self._mode(session_id, None, self._editors.all())
        return strictest(self.mode_at(session_id, folder) for folder in folders)

    def find_roots(self, path: str) -> Roots | None:
        """Return the folders of the editors that this canonical path concerns; None if there are no such editors.

        The agent's own folders do not count. Otherwise it could name `.git` as its folder, and so lift the protection
        of `.git`.
        """
        editors = self._editors.find_concerned(path)
        return Roots.of(folder for editor in editors for folder in editor.folders()) if editors else None

    def _mode(self, session_id: SessionName, path: str | None, editors: tuple[AskedEditor, ...]) -> ApprovalMode:
        decided = self._modes.of(session_id)
        is_approved = path is not None and decided.is_approved_in(path)
        if not editors:  # then the agent's host asks, so what its user said counts
            is_approved = is_approved or decided.is_approved_by_own_user
        return decided.in_place_of(self._find_undecided_mode(path, editors), is_approved=is_approved)

    def _find_undecided_mode(self, path: str | None, editors: tuple[AskedEditor, ...]) -> ApprovalMode:
        """Return the mode if nothing was decided about the session itself."""
        mode = UNDECIDED_MODE[self._approve]
        chosen = None if path is None else self._editors.switch.at(path)
        if chosen is None and self._approve in {"person", "never"}:
            chosen = _find_stated(editors)
        if chosen is None:
            return mode
        if self._approve in {"ask", "host"} or not editors:  # without an editor, nobody can revoke "never"
            return strictest((mode, MODE_OF[chosen]))
        return MODE_OF[chosen]
