"""Entries of the record, turns and rewinds as lines of text. What agents and files say is shown, but never obeyed."""

import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from fileops.core.presentation.phrases import format_count, lines_named
from fileops.platform.page import COLUMN, HANG, Line, cells, plain
from fileops.terminal.lines import cell_heading, visible
from fileops.terminal.log_groups import Group, GroupedFile, group_files
from fileops.terminal.renames import to_shown_files
from fileops.terminal.unkept_board import UnkeptRow, list_turns, list_unkept_rows, name_cells
from fileops.terminal.words import LinePart, divide_by_words, shorten
from fileops_client.author import Author
from fileops_client.rewind import Rewind
from fileops_client.values import BlamedLines, CellUiExtra, RecordEntry, Review, RewindConflict, Turn, Unkept

YOU = "You"  # the person, in any editor or terminal
INCLUDE_DECIDED = "--kept undoes them, too."
SHOWN_ID_CHARS = 10  # a letter, "-" and 8 digits: rarely repeated among a million entries
_LETTERS = {"create": "A", "modify": "M", "delete": "D", "mode": "X"}
_STYLES = {"+": "added", "-": "removed"}
_HUNK = re.compile(r"@@ -(?P<old>(\d+)(?:,(\d+))?) \+(?P<new>(\d+)(?:,(\d+))?) @@")
_BEFORE_NAMES = ("--- ", "+++ ", "rename from ", "rename to ")
_HEADS = re.compile(r"\A--- .*\n\+\+\+ .*\n")
_MARK = "\ufeff"
_LEFT = {
    "overlaps": "others changed the same text since",
    "unknown_before": "the content before is not known",
    "recreated": "another file is there now",
    "unsure": "its author is not known",
    "not_kept": "its content is not kept",
    "editor": "the text in the editor is not known",
    "refused": "the file cannot be changed",
}


def entry_line(entry: RecordEntry, folder: str) -> Line:
    """`e-3c9d12ab  14:02:11  codex · python fix.py  M src/a.py  +3 -1`."""
    line: Line = [(short_id(entry.entry_id), "id"), (f"  {when(entry.time)}  ", "plain")]
    letter, old = _LETTERS[entry.kind], ""
    if entry.moved_from is not None and entry.edited is not None:
        letter, old = "R", f"{shorten_path(entry.moved_from, folder)} to "
    line += [_author(entry.by), COLUMN, (f"{letter} {old}{shorten_path(entry.path, folder)}", "plain")]
    lines = entry if entry.edited is None else entry.edited
    is_counted = entry.kind != "mode" and entry.moved_to is None and (not old or lines.added or lines.removed)
    if entry.content == "kept" and is_counted:
        line += [*_size_columns(lines.added, lines.removed)]
    elif entry.content != "kept":
        line.append((f"  ({entry.content.replace('_', ' ')})", "faint"))
    line += _cells_of((entry,))
    if entry.moved_to is not None:
        line.append((f"  to {shorten_path(entry.moved_to, folder)}", "plain"))
    if entry.undoes or entry.rewind_id is not None:
        line.append((f" ({_describe_undoing(entry)})", "faint"))
    if entry.undone_by is not None:
        line.append((" (undone)", "faint"))
    return line


def group_lines(group: Group, turn: Turn | None, folder: str, most: int | None) -> Iterator[Line]:
    """A group of the log: a heading, then a line for each file, unless git wrote them.

    Args: most: how many files to list; None for all.
    """
    first = group.entries[0]
    if len(group.entries) == 1 and group.turn_id is None and group.rewind_id is None:
        by_git = "" if group.move is None else f"  (when git wrote: {visible(group.move.words)})"
        yield [*entry_line(first, folder), *([(by_git, "faint")] if by_git else [])]
        return
    files = group_files(group)
    whole = group.turn_id or group.rewind_id or ""
    moment = first.time if turn is None else turn.began  # a turn has one time in all lists
    heading: Line = [(f"{short_id(whole):<{SHOWN_ID_CHARS}}", "id"), (f"  {when(moment)}  ", "plain")]
    if group.move is not None:
        heading.append((f"git {visible(group.move.words)}", "name"))
    else:
        heading.append((_session_of(first.by) if group.turn_id is not None else author_name(first.by), "name"))
    if group.rewind_id is not None:
        heading.append((f"  {_describe_undo(group)}", "plain"))
    elif turn is not None and turn.title:
        heading.append((f"  {visible(turn.title)}", "plain"))
    heading.append((f"  ({format_count(len(files), 'file')}", "faint"))
    if any(file.without_content is None for file in files):
        heading += [(" ", "faint"), *_size(sum(file.added for file in files), sum(file.removed for file in files))]
    heading.append((f"{_describe_undone(group)})", "faint"))
    yield heading
    if group.move is not None:
        return
    yield from fold([_file_line(file, folder) for file in files], most, f"`log {short_id(whole) or '--all'}`")


def fold(lines: Sequence[Line], most: int | None, how: str) -> Iterator[Line]:
    """The lines of files; in place of more than `most`, how many more there are. how: the command that lists them."""
    n_listed = len(lines) if most is None or len(lines) <= most else most
    yield from lines[:n_listed]
    if n_more := len(lines) - n_listed:
        yield [(f"  ... and {format_count(n_more, 'more file')}{f': {how}' if how else ''}", "faint")]


def _file_line(file: GroupedFile, folder: str) -> Line:
    name = shorten_path(file.path, folder)
    if file.moved_from is not None and file.letter == "R":
        name = f"{shorten_path(file.moved_from, folder)} to {name}"
    line: Line = [(f"  {file.letter} {name}", "plain")]
    if file.without_content is not None:
        line.append((f"  ({file.without_content.replace('_', ' ')})", "faint"))
    elif file.letter != "X" and not file.is_rename_only:
        line += [*_size_columns(file.added, file.removed)]
    line += _cells_of(file.entries)
    if all(entry.undone_by is not None for entry in file.entries):
        line.append((" (undone)", "faint"))
    return line


def _cells_of(entries: Sequence[RecordEntry]) -> Line:
    """Which cells of a notebook the entries changed, or that they changed none."""
    names = [cell.cell_id for entry in entries for cell in entry.cells]
    if not names:
        others = {entry.other_change for entry in entries}
        (other,) = others if len(others) == 1 else (None,)
        return [(f"  ({other})", "faint")] if other is not None else []
    return [(f"  ({name_cells(visible(name) if name else 'all code cells' for name in names)})", "faint")]


def _size(added: int, removed: int) -> Line:
    return [(f"+{added}", "added"), (" ", "plain"), (f"-{removed}", "removed")]


def _size_columns(added: int, removed: int) -> Line:
    return [COLUMN, (f"+{added}", "added"), (" ", "column"), (f"-{removed}", "removed")]


def _describe_undone(group: Group) -> str:
    counted = [entry for entry in group.entries if entry.moved_to is None]
    n_edits, n_undone = len(counted), sum(entry.undone_by is not None for entry in counted)
    if group.is_cut:
        return f": the newest {n_edits} edits, {n_undone} undone"
    if not n_undone:
        return ""
    return ", undone" if n_undone == n_edits else f", {n_undone} of {format_count(n_edits, 'edit')} undone"


def _describe_undo(group: Group) -> str:
    what = format_count(group.n_undone, "edit") if group.n_undone else "a part of an edit"
    authors = dict.fromkeys(_session_of(entry.by) for entry in group.undone if entry.by.kind != "person")
    by = f" by {', '.join(authors)}" if authors else ""
    return f"{'redo' if group.is_redo else 'undo'} of {what}{by}"


def author_name(by: Author) -> str:
    """Who wrote a change. The person always has the same name."""
    match by.kind:
        case "person":
            return YOU
        case "unsure":
            return f"unsure: {' or '.join(map(author_name, by.candidates))}"
        case _:
            return visible(by.label)


def _session_of(by: Author) -> str:
    """The agent's name, without the program that it ran."""
    return author_name(by).partition(" · ")[0]


def _describe_undoing(entry: RecordEntry) -> str:
    match entry.undoes:
        case (undone,):
            return f"undoes {short_id(undone)}"
        case ():
            return "undoes a part"
        case _:
            return f"undoes {len(entry.undoes)} edits"


def turn_line(turn: Turn, *, is_open: bool) -> Line:
    """One turn: when it began, who did it, what was asked, and how much changed.

    Args: is_open: whether its agent is still there, so that it has not ended if it has no end.
    """
    title = f"  {visible(turn.title)}" if turn.title else ""
    undone = f", {turn.n_undone} undone" if turn.n_undone else ""
    state = ", not ended" if is_open and turn.ended is None else ""
    n_edits = format_count(turn.n_entries - turn.n_renames, "edit")
    n_files = format_count(turn.n_files - turn.n_renames, "file")
    return [
        (short_id(turn.turn_id), "id"),
        (f"  {when(turn.began)}  ", "plain"),
        (visible(turn.label), "name"),
        (title, "plain"),
        (
            f"  ({n_edits} in {n_files}{undone}{state})",
            "faint",
        ),
    ]


def files_of(review: Review) -> list[str]:
    """The files that a review is about."""
    return [file.file_path for file in review.files] or [review.file_path]


def change_lines(waiting: Sequence[Review], unkept: Unkept, folder: str, most: int | None) -> Iterator[Line]:
    """What waits for the person, then what is not kept: a heading for each turn and a line for each of its files.

    Args: most: how many files of a turn to list; None for all.
    """
    if waiting:
        yield [("Waiting for you", "name"), (f": {format_count(len(waiting), 'edit')}", "plain")]
    for review in waiting:
        names = ", ".join(shorten_path(name, folder) for name in files_of(review))
        yield plain(f"  {visible(review.review_id)}  {visible(review.session.label)}  {names}")
    if waiting:
        yield plain("To decide: fileops-server review, or review accept ID, review reject ID")
    of_path = {file.file_path: file for file in unkept.files}
    for session, turn in list_turns(unkept):
        rows = list(list_unkept_rows(turn, of_path))
        if not rows:
            continue  # it only renamed files that a later turn changed
        began = "" if turn.began is None else f"  {when(turn.began)}"
        title = f"  {visible(turn.title)}" if turn.title else ""
        yield [(short_id(turn.turn_id or ""), "id"), (began, "plain"), ("  ", "plain"),
               (visible(session.label), "name"), (title, "plain")]  # fmt: skip
        files = [_unkept_line(row, session.label, folder) for row in rows]
        yield from fold(files, most, f"`log {short_id(turn.turn_id)}`" if turn.turn_id is not None else "")
    if unkept.n_changes:
        n_changes, n_files = format_count(unkept.n_changes, "change"), format_count(unkept.n_files, "file")
        yield plain(f"Not kept: {n_changes} in {n_files}.")
        yield plain("To see them: fileops-server log ID, or fileops-server changes --diff")
        yield plain("To decide: fileops-server changes --screen, fileops-server keep PATH, fileops-server undo ID")


def _unkept_line(row: UnkeptRow, label: str, folder: str) -> Line:
    """Args: label: of the agent whose turn it is."""
    old = "" if row.moved_from is None else f"{shorten_path(row.moved_from, folder)} to "
    is_counted = row.without_lines is None
    size = _size_columns(row.added, row.removed) if is_counted else [COLUMN, (f"({row.without_lines})", "faint")]
    if row.is_rename_only:
        size = []
    notes = [row.cells] if row.cells else []
    by = "".join(f"  ({visible(note)})" for note in (*notes, *row.other_authors(label)))
    name = f"  {row.letter} {old}{shorten_path(row.path, folder)}"
    return [(name, "plain"), *size, *([(by, "faint")] if by else [])]


def detail_lines(entry: RecordEntry, folder: str) -> Iterator[Line]:
    """One entry in several lines."""
    yield [("change ", "plain"), (entry.entry_id, "id")]
    yield [("Author:  ", "plain"), _author(entry.by), (f"  (evidence: {entry.evidence})", "faint")]
    yield plain(f"Time:    {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(entry.time))}")
    yield plain(f"File:    {shorten_path(entry.path, folder)}")
    for name, value in (("Turn", entry.turn_id), ("Command", entry.command_id), ("Undone by", entry.undone_by)):
        if value is not None:
            yield plain(f"{name + ':':<9}{value}")
    if entry.gap is not None:
        why = "the content before is not known" if entry.gap == "baseline" else "made while no daemon was running"
        yield plain(f"Note:    {why}")
    if entry.content != "kept":
        yield plain(f"Note:    the content is not kept ({entry.content.replace('_', ' ')})")


def diff_lines(diff: str, folder: str, width: int | None) -> Iterator[Line]:
    """A unified diff with file names relative to the folder.

    Args: width: of the terminal, at which changed words are marked, and what is far from them in a line longer than
    two rows is left out; None if the lines are not for a person.
    """
    lines = iter(diff.removesuffix("\n").split("\n") if diff else ())
    for line in lines:
        head = _HUNK.match(line)
        if head is None:
            word = next((word for word in _BEFORE_NAMES if line.startswith(word)), None)
            is_name = word is not None
            yield (
                [(word + shorten_path(_path_of(line[len(word) :]), folder), "name")]
                if is_name
                else plain(visible(line))
            )
            continue
        yield [(visible(line), "hunk")]
        body = list(_body(lines, int(head[3] or 1), int(head[6] or 1)))
        if head[2] == head[5] == "1":
            body = _without_mark(body)
        body = [visible(shown) for shown in _without_line_ends(body)]
        if width is None:
            yield from ([(shown, _STYLES.get(shown[:1], "code"))] for shown in body)
        else:
            yield from _with_words(body, width)


def _with_words(body: Sequence[str], width: int) -> Iterator[Line]:
    """The lines of a hunk. The words in which a removed line and the added one in its place differ are marked."""
    at = 0
    while at < len(body):
        n_old = _n_with_sign(body, at, "-")
        n_new = _n_with_sign(body, at + n_old, "+")
        if n_old + n_new == 0:
            yield [(body[at][:1], "code"), HANG, (body[at][1:], "code")]
            at += 1
            continue
        old, new = body[at : at + n_old], body[at + n_old : at + n_old + n_new]
        pairs = [divide_by_words(before[1:], after[1:]) for before, after in zip(old, new, strict=False)]
        for n, line in enumerate(old):
            yield _diff_line(line, pairs[n][0] if n < len(pairs) else (), width)
        for n, line in enumerate(new):
            yield _diff_line(line, pairs[n][1] if n < len(pairs) else (), width)
        at += n_old + n_new


def _n_with_sign(body: Sequence[str], at: int, sign: str) -> int:
    return next((n for n, line in enumerate(body[at:]) if line[:1] != sign), len(body) - at)


def _diff_line(line: str, runs: Sequence[LinePart], width: int) -> Line:
    style = _STYLES[line[:1]]
    if cells(line) > 2 * width:
        runs = shorten(runs)
    words = [(run.text, f"{style}-word" if run.is_changed else style) for run in runs]
    return [(line[:1], style), HANG, *(words or [(line[1:], style)])]


def reverse_diff(diff: str) -> str:
    """The reverse of a unified diff."""
    if not diff:
        return ""
    result: list[str] = []
    lines = iter(re.split(r"\n(?!\\ )", diff.removesuffix("\n")))  # a line and its "\ No newline" are one
    for line in lines:
        head = _HUNK.match(line)
        if head is not None:
            old, new, rest = head["old"], head["new"], line[head.end() :]
            result.append(f"@@ -{new} +{old} @@{rest}")
            result += _reverse_body(_body(lines, int(head[3] or 1), int(head[6] or 1)))
        elif line.startswith(("--- ", "old mode ")):  # the new name or mode follows
            after, n_chars = next(lines), 4 if line.startswith("-") else 9
            result += (line[:n_chars] + after[n_chars:], after[:n_chars] + line[n_chars:])
        elif line.startswith("rename from "):
            after = next(lines)
            result += (
                "rename from " + after.removeprefix("rename to "),
                "rename to " + line.removeprefix("rename from "),
            )
        elif line.startswith("new file mode "):
            result.append("deleted" + line.removeprefix("new"))
        else:
            result.append(line)
    return "\n".join([*result, ""])


def _reverse_body(body: Iterator[str]) -> Iterator[str]:
    added: list[str] = []  # written after the removed ones
    for line in body:
        if line.startswith("-"):
            added.append("+" + line[1:])
        elif line.startswith("+"):
            yield "-" + line[1:]
        else:
            yield from added
            added = []
            yield line
    yield from added


def _path_of(name: str) -> str:
    """The path in a header. Git quotes unusual characters as C does, and ends a path with blanks with a tab."""
    if name.startswith('"') and name.endswith('"') and len(name) > 1:
        return (
            name[1:-1].encode().decode("unicode_escape").encode("latin-1", "replace").decode("utf-8", "surrogateescape")
        )
    return name.removesuffix("\t")


def _body(lines: Iterator[str], n_old: int, n_new: int) -> Iterator[str]:
    """The lines of a hunk. Inside one, `--- x` removes the line `-- x`."""
    while n_old > 0 or n_new > 0:
        line = next(lines, None)
        if line is None:
            return
        n_old -= line[:1] in {"", " ", "-"}
        n_new -= line[:1] in {"", " ", "+"}
        yield line


def _without_mark(body: list[str]) -> list[str]:
    """The lines of a hunk without the file's byte order mark, unless the hunk adds or removes the mark."""
    first = {next((n for n, line in enumerate(body) if line[:1] in {sign, " "}), None) for sign in "-+"}
    has_mark = all(n is not None and body[n].startswith(_MARK, 1) for n in first)
    return [line.replace(_MARK, "", 1) if has_mark and n in first else line for n, line in enumerate(body)]


def _without_line_ends(body: list[str]) -> list[str]:
    """The lines of a hunk without carriage returns at their ends, unless one line changes nothing else."""
    texts = {sign: {line[1:].removesuffix("\r") for line in body if line[:1] == sign} for sign in "-+"}
    return body if texts["-"] & texts["+"] else [line.removesuffix("\r") for line in body]


def cell_lines(cells: Sequence[CellUiExtra], folder: str, width: int | None) -> Iterator[Line]:
    """How cells of a notebook changed: the name of each, and the diff of its source. Args: width: see diff_lines."""
    for cell in cells:
        yield [(cell_heading(cell), "name")]
        yield from diff_lines(_HEADS.sub("", cell.diff), folder, width)


def reverse_cells(cells: Sequence[CellUiExtra]) -> list[CellUiExtra]:
    """The changes that the reverse makes."""
    reverses: list[CellUiExtra] = []
    for cell in cells:
        kind = "delete" if cell.kind == "insert" else "insert" if cell.kind == "delete" else cell.kind
        reverses.append(replace(cell, kind=kind, diff=reverse_diff(cell.diff)))
    return reverses


def blame_lines(lines: Sequence[BlamedLines], texts: Sequence[str]) -> Iterator[Line]:
    """Each line of a file, preceded by its author. texts: the lines of the file."""
    authors = [
        (short_id(part.entry_id or ""), "" if part.by is None else author_name(part.by), part.time) for part in lines
    ]
    width = max((len(label) for _, label, _ in authors), default=0)
    cell_id = None
    for part, (entry_id, label, changed_at) in zip(lines, authors, strict=True):
        if part.cell_id is not None and part.cell_id != cell_id:
            cell_id = part.cell_id
            yield [(visible(f"cell {cell_id}"), "name")]
        for number in range(part.first_line, part.first_line + part.n_lines):
            moment = "" if changed_at is None else when(changed_at)
            yield [
                (f"{entry_id:<{SHOWN_ID_CHARS}}", "id"),
                (f"  {moment:<8}  {label:<{width}}  ", "faint"),
                (f"{number:>4}) ", "code"),
                HANG,
                (visible(texts[number - 1]), "code"),
            ]


def rewind_lines(rewind: Rewind, folder: str, done: str, most: int | None) -> Iterator[Line]:
    """What a rewind did or would do.

    Args: done: "undone", or "redone" if the rewind is of an undo. most: how many files to list; None for all.
    """
    verb = "would be" if rewind.dry_run else "was" if rewind.n_changes == 1 else "were"
    in_files = to_shown_files(rewind.files)
    yield plain(f"{format_count(rewind.n_changes, 'change')} in {format_count(rewind.n_files, 'file')} {verb} {done}.")
    files: list[Line] = []
    for file in in_files:
        outcome = "" if file.outcome == "modified" else f"  ({file.outcome})"
        old = "" if file.moved_from is None else f"{shorten_path(file.moved_from, folder)} to "
        name = (f"  {old}{shorten_path(file.path, folder)}", "plain")
        size = [] if file.is_rename_only else _size_columns(file.added, file.removed)
        files.append([name, *size, *([(outcome, "faint")] if outcome else [])])
    yield from fold(files, most, "")
    for conflict in rewind.conflicts:
        yield [(_conflict(conflict, folder), "warning")]
    if rewind.n_decided:
        left_out = f"{format_count(rewind.n_decided, 'edit')} in {format_count(rewind.n_decided_files, 'file')}"
        yield plain(f"  Left out: {left_out}, kept, committed or overwritten. {INCLUDE_DECIDED}")


def unshown_lines(conflicts: Sequence[RewindConflict], folder: str) -> Iterator[Line]:
    """The changes that a diff omits."""
    for conflict in conflicts:
        yield [(_conflict(conflict, folder, "not shown"), "warning")]


def _conflict(conflict: RewindConflict, folder: str, verb: str = "left") -> str:
    where = f", {lines_named(conflict.ranges)}" if conflict.ranges else ""
    by = f" ({', '.join(map(author_name, conflict.by))})" if conflict.by else ""
    n_left, why = format_count(len(conflict.entries), "change"), _LEFT.get(conflict.reason, conflict.reason)
    because = f": {visible(conflict.message)}" if conflict.message else f", because {why}"
    return f"  {shorten_path(conflict.file_path, folder)}{where}: {n_left} {verb}{because}{by}"


def shorten_path(path: str, folder: str) -> str:
    """The path relative to the folder, if it is inside."""
    relative = os.path.relpath(path, folder) if os.path.isabs(path) else path
    return visible(path if relative.startswith("..") else relative)


def short_id(whole: str) -> str:
    return whole[:SHOWN_ID_CHARS]


def when(moment: float) -> str:
    """The time, with the date unless it is today."""
    then = time.localtime(moment)
    is_today = then[:3] == time.localtime()[:3]
    return time.strftime("%H:%M:%S" if is_today else "%Y-%m-%d %H:%M:%S", then)


def _author(by: Author) -> tuple[str, str]:
    return (author_name(by), "name")
