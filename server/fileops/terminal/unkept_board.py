"""The changes that are not kept, as rows of turns and files, with a cursor on one row and one change of it. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from fileops_client.values import Unkept, UnkeptChange, UnkeptFile, UnkeptSession, UnkeptTurn

RowKey = tuple[str | None, str, str]

MAX_SHOWN_CELLS = 3  # in one line of a list
_LETTERS = {"create": "A", "modify": "M", "delete": "D"}


class UnkeptRow(NamedTuple):
    """The changes of one turn in one file. A renamed file is one row, under its new name.

    added, removed: of a renamed file, how it differs from its text under the old name. without_lines: in
    words, why no lines were counted; None if they were. changes: from top to bottom, without the removal of a rename's
    old name.
    """

    path: str
    moved_from: str | None
    letter: str
    added: int
    removed: int
    without_lines: str | None
    changes: tuple[UnkeptChange, ...]
    change_ids: tuple[str, ...]

    @property
    def is_rename_only(self) -> bool:
        return self.moved_from is not None and not (self.added or self.removed)

    @property
    def cells(self) -> str:
        """In which cells of a notebook the changes are; "" for other files."""
        return name_cells(name for change in self.changes for name in change.cell_ids or ())

    def other_authors(self, label: str) -> list[str]:
        """The authors of the changes, without the one whose turn it is."""
        return [name for name in dict.fromkeys(change.label for change in self.changes) if name != label]


def list_unkept_rows(turn: UnkeptTurn, files: Mapping[str, UnkeptFile]) -> Iterator[UnkeptRow]:
    """The rows of a turn. files: all files of the list, by their paths.

    A renamed file is a row of the turn that changed it last, which may be another than the one that renamed it.
    """
    renamed = {file.moved_from: file for file in files.values() if file.changes and file.moved_from is not None}
    for shown in turn.files:
        file = files[shown.file_path]
        if file.operation == "delete" and file.file_path in renamed:
            continue  # the row of its new name stands for both
        old = None if file.moved_from is None else files.get(file.moved_from)
        if old is not None and old.operation != "delete":
            old = None
        ids = set(shown.change_ids)
        changes = tuple(change for change in file.changes if change.change_id in ids)
        lines = shown if old is None else file.edited
        yield UnkeptRow(
            path=file.file_path,
            moved_from=None if old is None else old.file_path,
            letter=_LETTERS[file.operation] if old is None else "R",
            added=0 if lines is None else lines.added,
            removed=0 if lines is None else lines.removed,
            without_lines=_without_lines(changes),
            changes=changes,
            change_ids=(*shown.change_ids, *(change.change_id for change in (old.changes if old is not None else ()))),
        )


def _without_lines(changes: Sequence[UnkeptChange]) -> str | None:
    if any(change.kind != "file" for change in changes):
        return None
    return next((change.whole_file for change in changes if change.whole_file is not None), "whole file")


def list_turns(unkept: Unkept) -> list[tuple[UnkeptSession, UnkeptTurn]]:
    """All turns, the newest first, of whichever agent; then those whose beginning is not known."""
    turns = [(session, turn) for session in unkept.sessions for turn in session.turns]
    return sorted(turns, key=lambda pair: pair[1].began or 0.0, reverse=True)


def name_cells(names: Iterable[str]) -> str:
    """Return such as "cells load, mean and 2 more"; "" without names."""
    shown = list(dict.fromkeys(names))
    more = f" and {len(shown) - MAX_SHOWN_CELLS} more" if len(shown) > MAX_SHOWN_CELLS else ""
    return f"cell{'s' if len(shown) > 1 else ''} {', '.join(shown[:MAX_SHOWN_CELLS])}{more}" if shown else ""


class BoardTurn(NamedTuple):
    """A turn with its rows."""

    session: UnkeptSession
    turn: UnkeptTurn
    rows: tuple[UnkeptRow, ...]


class UnkeptBoard:
    """The list, the newest turn first, with a cursor on one row and on one change of its file."""

    def __init__(self) -> None:
        self.turns: Sequence[BoardTurn] = ()
        self.n_changes = self.n_files = 0
        self.is_cut = False  # there are more files than are listed
        self._chosen: RowKey | None = None
        self._change = 0

    def take(self, unkept: Unkept) -> None:
        """Show this list. The cursor stays on its row; if that is gone, it is on the one that has its place."""
        before = [key for key, _, _ in self._entries()]
        files = {file.file_path: file for file in unkept.files}
        turns = (BoardTurn(session, turn, tuple(list_unkept_rows(turn, files))) for session, turn in list_turns(unkept))
        self.turns = tuple(turn for turn in turns if turn.rows)
        self.n_changes, self.n_files, self.is_cut = unkept.n_changes, unkept.n_files, unkept.truncated
        keys = [key for key, _, _ in self._entries()]
        if self._chosen not in keys:
            at = before.index(self._chosen) if self._chosen in before else 0
            left = [key for key in (*before[at:], *reversed(before[:at])) if key in set(keys)]
            self._choose(next(iter((*left, *keys)), None))
        n_changes = 0 if self.row is None else len(self.row.changes)
        self._change = min(self._change, max(0, n_changes - 1))

    # --- the cursor ------------------------------------------------------------------------------------------------

    @property
    def chosen(self) -> tuple[BoardTurn, UnkeptRow] | None:
        """The row under the cursor, and its turn."""
        return next(((turn, row) for key, turn, row in self._entries() if key == self._chosen), None)

    @property
    def row(self) -> UnkeptRow | None:
        return None if (chosen := self.chosen) is None else chosen[1]

    @property
    def change(self) -> UnkeptChange | None:
        """The change under the cursor."""
        row = self.row
        return None if row is None or not row.changes else row.changes[self._change]

    @property
    def change_number(self) -> int:
        """The number of the change under the cursor, from 1."""
        return self._change + 1

    def move(self, by: int) -> None:
        """Move the cursor to a row further down or up."""
        keys = [key for key, _, _ in self._entries()]
        if keys:
            at = keys.index(self._chosen) if self._chosen in keys else 0
            self._choose(keys[max(0, min(len(keys) - 1, at + by))])

    def move_turn(self, by: int) -> None:
        """Move the cursor to the first row of a turn further down or up."""
        first: list[RowKey] = []
        at = 0
        for turn in self.turns:
            keys = [_key(turn, row) for row in turn.rows]
            at = len(first) if self._chosen in keys else at
            first += keys[:1]
        if first:
            self._choose(first[max(0, min(len(first) - 1, at + by))])

    def move_change(self, by: int) -> None:
        """Move to a change further down or up in the file; beside the last and the first, to the next row."""
        if (row := self.row) is None:
            return
        if 0 <= self._change + by < len(row.changes):
            self._change += by
            return
        before = self._chosen
        self.move(by)
        chosen = self.chosen
        if self._chosen != before and by < 0 and chosen is not None:
            self._change = max(0, len(chosen[1].changes) - 1)

    def _choose(self, key: RowKey | None) -> None:
        if key != self._chosen:
            self._chosen = key
            self._change = 0

    def _entries(self) -> Iterator[tuple[RowKey, BoardTurn, UnkeptRow]]:
        return ((_key(turn, row), turn, row) for turn in self.turns for row in turn.rows)


def _key(turn: BoardTurn, row: UnkeptRow) -> RowKey:
    return turn.turn.turn_id, turn.session.label, row.path


def count_changes(rows: Iterable[UnkeptRow]) -> int:
    """How many changes are in these rows, as all lists count them: one that several turns made is one."""
    return len({change.change_id for row in rows for change in row.changes})


def find_change(changes: Sequence[UnkeptChange], kind: Literal["-", "+"], new_line: int) -> str | None:
    """The change of a line in a diff. new_line: its place in the present text; of a removed line, where it was."""
    for change in changes:
        last = change.end_line if kind == "+" else max(change.start_line, change.end_line)
        if change.start_line <= new_line <= last:
            return change.change_id
    after = (change.change_id for change in changes if kind == "-" and change.end_line + 1 == new_line)
    return next(after, None)
