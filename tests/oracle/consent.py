"""Who has to be asked before an agent of a shared daemon writes: the table of R-ROUTE-1, over plain data.

Like the oracle it imports nothing of the server, and is notified who connects, who leaves and what users answer.
A path is protected or not as the game says: it knows its own few files.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

Mode = Literal["yolo", "auto_edit", "default"]
Approve = Literal["person", "ask", "host", "never"]
STRICTNESS: dict[Mode, int] = {"yolo": 0, "auto_edit": 1, "default": 2}
MODES: tuple[Mode, ...] = ("yolo", "auto_edit", "default")
_UNDECIDED: dict[Approve, Mode] = {"person": "auto_edit", "ask": "default", "host": "auto_edit", "never": "yolo"}
ASK_OF: dict[Mode, str] = {"default": "each_edit", "auto_edit": "protected", "yolo": "never"}


def is_inside(folder: str, path: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


@dataclass(frozen=True, slots=True)
class EditorSeat:
    """stated_mode: what its option `ask` means, None if it gives none."""

    name: str
    folders: tuple[str, ...]
    can_ask: bool
    stated_mode: Mode | None = None

    def concerns(self, path: str) -> bool:
        return self.can_ask and any(is_inside(folder, path) for folder in self.folders)


@dataclass(frozen=True, slots=True)
class Due:
    """Who is asked. editors: all at once. by_host: the agent's own host. is_refused: refused without a question."""

    editors: frozenset[str] = frozenset()
    by_host: bool = False
    is_refused: bool = False

    @property
    def is_free(self) -> bool:
        return not (self.editors or self.by_host or self.is_refused)


@dataclass(slots=True)
class Consent:
    """editors: those that are connected. granted: "always" of an editor, by session: in the folders that it had."""

    editors: dict[str, EditorSeat] = field(default_factory=dict[str, EditorSeat])
    granted: dict[str, list[EditorSeat]] = field(default_factory=dict[str, list[EditorSeat]])
    granted_by_host: set[str] = field(default_factory=set[str])
    demanded: dict[str, Mode] = field(default_factory=dict[str, Mode])  # more questions, by an agent itself

    def due(self, session: str, path: str, *, approve: Approve, host_asks: bool, is_protected: bool) -> list[Due]:
        """What is right; several where the rules leave it open."""
        concerned = [editor for editor in self.editors.values() if editor.concerns(path)]
        modes = self._modes(session, path, approve, concerned)
        if session in self.demanded:
            modes |= {max(mode, self.demanded[session], key=STRICTNESS.__getitem__) for mode in modes}
        return [_due(mode, concerned, host_asks=host_asks, is_protected=is_protected) for mode in sorted(modes)]

    def _modes(self, session: str, path: str, approve: Approve, concerned: Sequence[EditorSeat]) -> set[Mode]:
        grants = [editor for editor in self.granted.get(session, ()) if editor.concerns(path)]
        if not concerned:
            mode = _UNDECIDED[approve]
            if session in self.granted_by_host:
                return {loosened(mode)}
            return {mode, loosened(mode)} if grants else {mode}  # the editor that granted it has left
        stated: list[Mode] = [editor.stated_mode for editor in concerned if editor.stated_mode is not None]
        counts = bool(stated) and approve in {"person", "never"}  # editors that say nothing do not count
        mode = strictest(stated) if counts else _UNDECIDED[approve]
        if not grants:
            return {mode}
        names = {editor.name for editor in grants}
        if all(editor.name in names for editor in concerned):
            return {loosened(mode)}
        return {mode, loosened(mode)}  # another editor of the same folder has not granted it


def strictest(modes: Iterable[Mode]) -> Mode:
    return max(modes, key=STRICTNESS.__getitem__)


def loosened(mode: Mode) -> Mode:
    """After "always": no questions but about protected files."""
    return "auto_edit" if mode == "default" else mode


def _due(mode: Mode, concerned: Sequence[EditorSeat], *, host_asks: bool, is_protected: bool) -> Due:
    if mode == "yolo" or (mode == "auto_edit" and not is_protected):
        return Due()
    if concerned:
        return Due(editors=frozenset(editor.name for editor in concerned))
    return Due(by_host=True) if host_asks else Due(is_refused=True)


def code_of_editors(answers: Iterable[object]) -> str | None:
    """The outcome of the answers of all editors that were asked: a code, None for an applied edit.

    The first decision counts, so at most one of the answers may be one. None of them is one: "undecided".
    """
    decisions = [code for code in map(_code_of_editor, answers) if code != "undecided"]
    assert len(set(decisions)) <= 1, "which one came first is not known here"
    return decisions[0] if decisions else "undecided"


def _code_of_editor(answer: object) -> str | None:
    given = _fields(answer)
    if given in ({"outcome": "proceed_once"}, {"outcome": "proceed_always"}):
        return None
    return "rejected" if given.get("outcome") == "cancel" else "undecided"


def codes_of_host(answer: object) -> set[str | None]:
    """The possible outcomes of a host's answer to `elicitation/create`: a code, None for an applied edit."""
    allows = is_consent(answer)
    if allows is not False:
        return {None} if allows else {None, "undecided"}
    given = _fields(answer)
    is_refused = given.get("action") == "accept" and _fields(given.get("content")) == {"decision": "reject"}
    return {"rejected"} if is_refused or given.get("action") == "decline" else {"undecided"}


def _fields(value: object) -> dict[object, object]:
    return dict(value) if isinstance(value, dict) else {}


def is_consent(answer: object) -> bool | None:
    """Whether the answer of a host to `elicitation/create` allows the edit; None if it may be read either way.

    Only an accepted form whose every field says yes allows anything.
    """
    if not isinstance(answer, dict):
        return False
    given: dict[object, object] = dict(answer)
    content = given.get("content")
    if given.get("action") != "accept" or not isinstance(content, dict):
        return False
    values: dict[object, object] = dict(content)
    known = {key: values[key] for key in ("decision", "apply") if key in values}
    yes = {"decision": ("apply", "apply and stop asking"), "apply": (True,)}
    says = [
        any(value is one or (value == one and isinstance(one, str)) for one in yes[key]) for key, value in known.items()
    ]
    if not all(says) or not says:
        return False
    return True if "decision" in known else None  # a field that was not asked for


def stops_asking(answer: object) -> bool:
    if is_consent(answer) is False:
        return False
    assert isinstance(answer, dict)
    return answer["content"].get("decision") == "apply and stop asking"
