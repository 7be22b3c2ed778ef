"""Rules that decide who wrote an observed change of a file, from what is known about the time of the change.

Pure: times are arguments, in seconds of one clock that is never set. Texts are compared as editors show them, without
a BOM and with line feeds at the ends of lines, because an editor reports its text in that form.

The rules are R-BY-1 in docs/PROTOCOL.md (Record); a comment beside each rule has the number of its row. The first rule
that matches decides. The rules err on one side: text that a person wrote is never attributed to an agent while the
person's editor is attached. So a change near a save is unsure even if only one command was running.
"""

import math
from collections.abc import Sequence

from msgspec import Struct

from fileops.core.notebook.editor_cells import is_shown_as
from fileops.model.record import OUTSIDE, By, ByCommand, ByPerson, BySession, CommandRecord, Evidence, KnownBy, unsure

SETTLE_S = 1.0  # an editor reports a save at most this long after the change was read
FORMATTER_S = 2.0  # after a save, the editor's formatter may write
EARLY_S = 0.5  # a save may be reported before the event of its write is read


class Save(Struct, frozen=True, kw_only=True):
    """An editor reported that it saved this text.

    text: None if the editor left with text that it had not reported as saved: it may have saved some.
    """

    person: ByPerson
    time: float
    text: str | None


class Observation(Struct, frozen=True, kw_only=True):
    """A change of one file from one content to another. A text is None if there is no file or it is not text.

    began: when the file was last known to have the content before, or the first event after that. read: when the
    content after was read. commands: those that were open at some time in between, and whose folders contain the file.
    is_certain: False if none of them was open for a part of that time, so that another program may have written.
    n_writes: how many writes were completed in that time; None if that is not known. typed_by: whose unsaved document
    had the new text before the file did. loaded_by: whose document had it then, or loaded it from the file. known_at:
    when the content before was there for certain; that is before `began` if events were lost.
    """

    before_text: str | None
    after_text: str | None
    began: float
    read: float
    commands: tuple[CommandRecord, ...] = ()
    is_certain: bool = True
    n_writes: int | None = 1
    typed_by: ByPerson | None = None
    loaded_by: ByPerson | None = None
    known_at: float = math.inf


class Author(Struct, frozen=True, kw_only=True):
    """The author of an observed change, and what that is based on."""

    by: By
    evidence: Evidence


def attribute(
    change: Observation,
    *,
    saves: Sequence[Save] = (),
    lingering: Sequence[CommandRecord] = (),
    has_later: bool = False,
) -> Author:
    """Return the author. Rows 2 to 8: row 1 needs no observation.

    Args: saves: of this file, oldest first. lingering: ended commands that may have left a process that still writes.
    has_later: whether a later change of the file was observed. A deletion without one is neither a formatter's nor half
    of a save by rename.
    """
    after = change.after_text
    person = change.typed_by or _find_saver(change, after, saves)
    if person is not None:  # row 2
        # Further writes may mean that a command wrote some of it.
        is_alone = not change.commands or change.n_writes == 1
        by = person if is_alone else unsure(*map(_by_command, change.commands), person)
        return Author(by=by, evidence="save")
    if not change.commands and after is not None and change.n_writes != 1:  # row 3: saved, then formatted
        for save in reversed(saves):
            if save.text is not None and change.began - EARLY_S <= save.time <= change.read:
                return Author(by=save.person, evidence="save")
    return _programs(change, () if after is None and not has_later else saves, lingering)


def _find_saver(change: Observation, after: str | None, saves: Sequence[Save]) -> ByPerson | None:
    if after is None:
        return None
    for save in reversed(saves):
        is_near = change.began - EARLY_S <= save.time <= change.read + SETTLE_S
        if is_near and save.text is not None and is_shown_as(after, save.text):
            return save.person
    return None


def _programs(change: Observation, saves: Sequence[Save], lingering: Sequence[CommandRecord]) -> Author:
    since = min(change.began - FORMATTER_S, change.known_at)
    near = next((save for save in reversed(saves) if since <= save.time <= change.read + SETTLE_S), None)
    persons = dict.fromkeys(
        person for person in (None if near is None else near.person, change.loaded_by) if person is not None
    )
    if not change.commands:  # row 4
        commands = [_by_command(command) for command in lingering]  # R-BY-4
        return Author(by=unsure(*commands, *persons) if commands else OUTSIDE, evidence="none")
    candidates: list[KnownBy] = [_by_command(command) for command in change.commands]
    others = (*persons,) if change.is_certain else (*persons, OUTSIDE)
    if others:  # row 5
        return Author(by=unsure(*candidates, *others), evidence="command")
    if len(candidates) == 1:  # row 6
        return Author(by=candidates[0], evidence="command")
    if len({command.session_id for command in change.commands}) == 1:  # row 7
        command = change.commands[0]
        by = BySession(session_id=command.session_id, label=command.label.partition(" · ")[0])
        return Author(by=by, evidence="command")
    return Author(by=unsure(*candidates), evidence="command")  # row 8


def _by_command(command: CommandRecord) -> ByCommand:
    return ByCommand(session_id=command.session_id, command_id=command.command_id, label=command.label)


def to_shown(text: str | None) -> str | None:
    """Return the text as an editor shows it."""
    return None if text is None else text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
