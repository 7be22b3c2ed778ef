"""The log as people read it: groups for turns, undos, moves of git's HEAD, and other changes made together.

Groups are sorted by their newest entries, and so are the entries within a group. Pure.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from fileops.terminal.head_moves import HeadMove
from fileops_client.author import Author
from fileops_client.values import EditedLines, RecordEntry

TOGETHER_S = 600.0  # between two changes by one author outside any known turn
BY_GIT_S = 2.0  # between files that git wrote together, or a file and its log entry, whose times are whole seconds


class Group(Struct, kw_only=True):
    """turn_id, or rewind_id of a person's rewind: that of all its entries. move: of HEAD, when git wrote the files.

    is_cut: older entries of the group are missing here. undone: the listed entries that this group undid. n_undone: how
    many edits these are, or those that a redo restored; a rename is one.
    """

    turn_id: str | None = None
    rewind_id: str | None = None
    move: HeadMove | None = None
    is_cut: bool = False
    entries: list[RecordEntry] = []
    undone: list[RecordEntry] = []
    n_undone: int = 0

    @property
    def is_redo(self) -> bool:
        return bool(self.undone) and all(map(is_undo, self.undone))

    @property
    def is_run(self) -> bool:
        """Whether its entries share only their author and their time."""
        return self.turn_id is None and self.rewind_id is None and self.move is None


class GroupedFile(Struct, frozen=True, kw_only=True):
    """The entries of one file in a group, newest first. moved_from: the file's name before the group renamed it."""

    path: str
    moved_from: str | None
    entries: Sequence[RecordEntry]

    @property
    def letter(self) -> str:
        """`A`, `M`, `D`, `R`, or `X` if only the executable bit changed."""
        kinds, oldest = [entry.kind for entry in self.entries], self.entries[-1]
        if kinds[0] == "delete":
            return "D"
        if oldest.kind == "create" and (oldest.moved_from is None or self.moved_from is None):
            return "A"
        if self.moved_from is not None:
            return "R"
        return "X" if set(kinds) == {"mode"} else "M"

    @property
    def added(self) -> int:
        return sum(lines.added for lines in self._own())

    @property
    def removed(self) -> int:
        return sum(lines.removed for lines in self._own())

    @property
    def without_content(self) -> str | None:
        """Says why no lines are counted, if none of the contents is kept."""
        return None if any(entry.content == "kept" for entry in self.entries) else self.entries[0].content

    @property
    def is_rename_only(self) -> bool:
        return self.letter == "R" and not (self.added or self.removed)

    def _own(self) -> Iterator[RecordEntry | EditedLines]:
        """What changed lines. A rename, which has two entries, changes those that differ under the new name."""
        for entry in self.entries:
            is_half = entry.kind in {"create", "delete"} and (entry.moved_from or entry.moved_to) is not None
            if self.moved_from is None or not is_half:
                yield entry
            elif entry.edited is not None:
                yield entry.edited


def is_undo(entry: RecordEntry) -> bool:
    """Whether it is an undo or a redo. Its `undoes` names only entries that it undid completely."""
    return bool(entry.undoes) or entry.rewind_id is not None


def groups_of(entries: Sequence[RecordEntry], moves: Sequence[HeadMove]) -> list[Group]:
    """Args: entries: newest first. moves: the moves of HEAD, see head_moves."""
    groups: list[Group] = []
    named: dict[tuple[str | None, str | None], Group] = {}
    for entry in entries:
        name = _name_of(entry)
        group = named.get(name) if any(name) else groups[-1] if groups and _continues(groups[-1], entry) else None
        if group is None:
            group = Group(turn_id=name[0], rewind_id=name[1])
            groups.append(group)
            named[name] = group
        group.entries.append(entry)
    known = {entry.entry_id: entry for entry in entries}
    for group in groups:
        named_ids = [entry_id for entry in group.entries for entry_id in entry.undoes]
        group.undone = [known[entry_id] for entry_id in named_ids if entry_id in known]
        meant = [entry_id for entry in group.undone for entry_id in entry.undoes] if group.is_redo else named_ids
        group.n_undone = len({name for name in meant if name not in known or known[name].moved_to is None})
        if group.is_run and group.entries[0].by.kind == "outside":
            group.move = _move_of(group, moves)
    return list(_join(groups))


def _name_of(entry: RecordEntry) -> tuple[str | None, str | None]:
    """Returns the turn that an entry belongs to, or the rewind if a person made it."""
    if entry.by.kind == "person":
        return None, entry.rewind_id
    return (entry.turn_id if entry.by.kind in {"session", "command"} else None), None


def _continues(group: Group, entry: RecordEntry) -> bool:
    """Whether an entry belongs to this group, the newest of those already made.

    Programs' changes are first divided into bursts, because git may have written a whole burst and nothing else.
    """
    newer = group.entries[-1]
    together_s = BY_GIT_S if entry.by.kind == "outside" else TOGETHER_S
    return group.is_run and _is_same(newer.by, entry.by) and newer.time - entry.time <= together_s


def _is_same(author: Author, other: Author) -> bool:
    return author.kind == other.kind and (author.kind == "person" or author.label == other.label)


def _move_of(group: Group, moves: Sequence[HeadMove]) -> HeadMove | None:
    """Returns the last move of HEAD that fits the time of the entries."""
    began, ended = group.entries[-1].time - BY_GIT_S, group.entries[0].time + BY_GIT_S
    return next((move for move in reversed(moves) if began <= move.time <= ended), None)


def _join(groups: Sequence[Group]) -> Iterator[Group]:
    """Join programs' changes at short intervals, unless git made them."""
    joined: Group | None = None
    for group in groups:
        is_outside = group.is_run and group.entries[0].by.kind == "outside"
        if joined is not None and is_outside and joined.entries[-1].time - group.entries[0].time <= TOGETHER_S:
            joined.entries += group.entries
            continue
        if joined is not None:
            yield joined
        joined = group if is_outside else None
        if joined is None:
            yield group
    if joined is not None:
        yield joined


def group_files(group: Group) -> list[GroupedFile]:
    """Returns the files of a group, sorted by path. A renamed file is listed under its new name."""
    by_path: dict[str, list[RecordEntry]] = {}
    for entry in group.entries:
        by_path.setdefault(entry.path, []).append(entry)
    first_names: dict[str, str] = {}
    for entry in reversed(group.entries):
        old = entry.moved_from if entry.kind == "create" else None
        if old in by_path and by_path[old][0].moved_to == entry.path and entry.path != old:
            by_path[entry.path] += by_path.pop(old)
            first_names[entry.path] = first_names.pop(old, old)
    files = (
        GroupedFile(path=path, moved_from=first_names.get(path), entries=entries) for path, entries in by_path.items()
    )
    return sorted(files, key=lambda file: file.path)
