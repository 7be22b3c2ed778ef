"""Entries of the record, turns and rewinds as lines of text. What agents and files say is shown, but never obeyed."""

import os
import re
import time
from collections.abc import Iterator, Sequence

from fileops.core.presentation.phrases import counted, lines_named
from fileops.terminal.lines import visible
from fileops.terminal.log_groups import Group, GroupedFile, grouped_files
from fileops.terminal.page import Line, plain
from fileops_client import Author, BlamedLines, RecordEntry, Review, Rewind, RewindConflict, Turn, Unkept

MAX_FILES_SHOWN = 50  # in a group
YOU = "You"  # the person, in any editor or terminal
SHOWN_ID_CHARS = 10  # a letter, "-" and 8 digits: rarely repeated among a million entries
_LETTERS = {"create": "A", "modify": "M", "delete": "D", "mode": "X"}
_STYLES = {"+": "added", "-": "removed"}
_HUNK = re.compile(r"@@ -(?P<old>(\d+)(?:,(\d+))?) \+(?P<new>(\d+)(?:,(\d+))?) @@")
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
    line += [_author(entry.by), (f"  {_LETTERS[entry.kind]} {shown_path(entry.path, folder)}", "plain")]
    if entry.content == "kept" and entry.kind != "mode":
        line += [("  ", "plain"), *_size(entry.added, entry.removed)]
    elif entry.content != "kept":
        line.append((f"  ({entry.content.replace('_', ' ')})", "faint"))
    if entry.moved_to is not None:
        line.append((f"  to {shown_path(entry.moved_to, folder)}", "plain"))
    if entry.undoes or entry.rewind_id is not None:
        line.append((f" ({_undoing(entry)})", "faint"))
    if entry.undone_by is not None:
        line.append((" (undone)", "faint"))
    return line


def group_lines(group: Group, turn: Turn | None, folder: str) -> Iterator[Line]:
    """A group of the log: a heading, then a line for each file, unless git wrote them."""
    first = group.entries[0]
    if len(group.entries) == 1 and group.turn_id is None and group.rewind_id is None:
        by_git = "" if group.move is None else f"  (when git wrote: {visible(group.move.words)})"
        yield [*entry_line(first, folder), (by_git, "faint")]
        return
    files = grouped_files(group)
    whole = group.turn_id or group.rewind_id or ""
    heading: Line = [(f"{short_id(whole):<{SHOWN_ID_CHARS}}", "id"), (f"  {when(first.time)}  ", "plain")]
    if group.move is not None:
        heading.append((f"git {visible(group.move.words)}", "name"))
    else:
        heading.append((_session_of(first.by) if group.turn_id is not None else author_name(first.by), "name"))
    if group.rewind_id is not None:
        heading.append((f"  {_undoing_of(group)}", "plain"))
    elif turn is not None and turn.title:
        heading.append((f"  {visible(turn.title)}", "plain"))
    heading.append((f"  ({counted(len(files), 'file')}", "faint"))
    if any(file.without_content is None for file in files):
        heading += [(" ", "faint"), *_size(sum(file.added for file in files), sum(file.removed for file in files))]
    heading.append((f"{_undone_of(group)})", "faint"))
    yield heading
    if group.move is not None:
        return
    for file in files[:MAX_FILES_SHOWN]:
        yield _file_line(file, folder)
    if len(files) > MAX_FILES_SHOWN:
        yield [(f"  ... and {len(files) - MAX_FILES_SHOWN} more: `log --all` and `log PATH` list them", "faint")]


def _file_line(file: GroupedFile, folder: str) -> Line:
    name = shown_path(file.path, folder)
    if file.moved_from is not None and file.letter == "R":
        name = f"{shown_path(file.moved_from, folder)} to {name}"
    line: Line = [(f"  {file.letter} {name}", "plain")]
    if file.without_content is not None:
        line.append((f"  ({file.without_content.replace('_', ' ')})", "faint"))
    elif file.letter != "X" and not file.is_rename_only:  # what changed with a rename is not counted
        line += [("  ", "plain"), *_size(file.added, file.removed)]
    if all(entry.undone_by is not None for entry in file.entries):
        line.append((" (undone)", "faint"))
    return line


def _size(added: int, removed: int) -> Line:
    return [(f"+{added}", "added"), (" ", "plain"), (f"-{removed}", "removed")]


def _undone_of(group: Group) -> str:
    n_changes, n_undone = len(group.entries), sum(entry.undone_by is not None for entry in group.entries)
    if group.is_cut:
        return f": the newest {n_changes} changes, {n_undone} undone"
    if not n_undone:
        return ""
    return ", undone" if n_undone == n_changes else f", {n_undone} of {counted(n_changes, 'change')} undone"


def _undoing_of(group: Group) -> str:
    n_undone = len({entry_id for entry in group.entries for entry_id in entry.undoes})
    what = counted(n_undone, "change") if n_undone else "a part of a change"
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


def _undoing(entry: RecordEntry) -> str:
    match entry.undoes:
        case (undone,):
            return f"undoes {short_id(undone)}"
        case ():
            return "undoes a part"
        case _:
            return f"undoes {len(entry.undoes)} changes"


def turn_line(turn: Turn) -> Line:
    """One turn: when it began, who did it, what was asked, and how much changed."""
    title = f"  {visible(turn.title)}" if turn.title else ""
    undone = f", {turn.n_undone} undone" if turn.n_undone else ""
    is_open = "" if turn.ended is not None else ", not ended"
    return [
        (short_id(turn.turn_id), "id"),
        (f"  {when(turn.began)}  ", "plain"),
        (visible(turn.label), "name"),
        (title, "plain"),
        (f"  ({counted(turn.n_entries, 'change')} in {counted(turn.n_files, 'file')}{undone}{is_open})", "faint"),
    ]


def files_of(review: Review) -> list[str]:
    """The files that a review is about."""
    return [file.file_path for file in review.files] or [review.file_path]


def change_lines(waiting: Sequence[Review], unkept: Unkept, folder: str) -> Iterator[Line]:
    """What waits for the person, then what is not kept: a heading for each turn and a line for each of its files."""
    if waiting:
        yield [("Waiting for you", "name"), (f": {counted(len(waiting), 'edit')}", "plain")]
    for review in waiting:
        names = ", ".join(shown_path(name, folder) for name in files_of(review))
        yield plain(f"  {visible(review.review_id)}  {visible(review.session.label)}  {names}")
    if waiting:
        yield plain("To decide: fileops-server review, or review accept ID, review reject ID")
    kinds = {file.file_path: file.operation for file in unkept.files}
    old_names = {file.file_path: file.moved_from for file in unkept.files if file.moved_from is not None}
    labels = {change.change_id: change.label for file in unkept.files for change in file.changes}
    without_lines = {change.change_id for file in unkept.files for change in file.changes if change.kind == "file"}
    for session in unkept.sessions:
        for turn in session.turns:
            began = "" if turn.began is None else f"  {when(turn.began)}"
            title = f"  {visible(turn.title)}" if turn.title else ""
            yield [(short_id(turn.turn_id or ""), "id"), (began, "plain"), ("  ", "plain"),
                   (visible(session.label), "name"), (title, "plain")]  # fmt: skip
            paths = {file.file_path for file in turn.files}
            old_of = {path: old for path, old in old_names.items() if {path, old} <= paths and kinds[old] == "delete"}
            for file in turn.files:
                if file.file_path in old_of.values():
                    continue  # the line of its new name stands for both
                if (old := old_of.get(file.file_path)) is not None:
                    yield plain(f"  R {shown_path(old, folder)} to {shown_path(file.file_path, folder)}")
                    continue
                letter = _LETTERS[kinds[file.file_path]]
                name = f"  {letter} {shown_path(file.file_path, folder)}  "
                size: Line = [("(whole file)", "faint")]
                if not without_lines.issuperset(file.change_ids):
                    size = _size(file.added, file.removed)
                shared = dict.fromkeys(labels.get(change_id, session.label) for change_id in file.change_ids)
                by = "".join(f"  ({visible(label)})" for label in shared if label != session.label)
                yield [(name, "plain"), *size, (by, "faint")]
    if unkept.n_changes:
        n_changes, n_files = counted(unkept.n_changes, "change"), counted(unkept.n_files, "file")
        how = "To see them: fileops-server log ID; to decide: keep PATH or undo ID"
        yield plain(f"Not kept: {n_changes} in {n_files}. {how}")


def detail_lines(entry: RecordEntry, folder: str) -> Iterator[Line]:
    """One entry in several lines."""
    yield [("change ", "plain"), (entry.entry_id, "id")]
    yield [("Author:  ", "plain"), _author(entry.by), (f"  (evidence: {entry.evidence})", "faint")]
    yield plain(f"Time:    {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(entry.time))}")
    yield plain(f"File:    {shown_path(entry.path, folder)}")
    for name, value in (("Turn", entry.turn_id), ("Command", entry.command_id), ("Undone by", entry.undone_by)):
        if value is not None:
            yield plain(f"{name + ':':<9}{value}")
    if entry.gap is not None:
        why = "the content before is not known" if entry.gap == "baseline" else "made while no daemon was running"
        yield plain(f"Note:    {why}")
    if entry.content != "kept":
        yield plain(f"Note:    the content is not kept ({entry.content.replace('_', ' ')})")


def diff_lines(diff: str, folder: str) -> Iterator[Line]:
    """A unified diff with file names relative to the folder."""
    lines = iter(diff.removesuffix("\n").split("\n") if diff else ())
    for line in lines:
        head = _HUNK.match(line)
        if head is None:
            is_name = line.startswith(("--- ", "+++ "))
            yield [(line[:4] + shown_path(_path_of(line[4:]), folder), "name")] if is_name else plain(visible(line))
            continue
        yield [(visible(line), "hunk")]
        body = list(_body(lines, int(head[3] or 1), int(head[6] or 1)))
        if head[2] == head[5] == "1":
            body = _without_mark(body)
        for shown in _without_line_ends(body):
            yield [(visible(shown), _STYLES.get(shown[:1], "plain"))]


def reversed_diff(diff: str) -> str:
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
            result += _reversed_body(_body(lines, int(head[3] or 1), int(head[6] or 1)))
        elif line.startswith(("--- ", "old mode ")):  # the new name or mode follows
            after, n_chars = next(lines), 4 if line.startswith("-") else 9
            result += (line[:n_chars] + after[n_chars:], after[:n_chars] + line[n_chars:])
        elif line.startswith("new file mode "):
            result.append("deleted" + line.removeprefix("new"))
        else:
            result.append(line)
    return "\n".join([*result, ""])


def _reversed_body(body: Iterator[str]) -> Iterator[str]:
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


def blame_lines(lines: Sequence[BlamedLines], texts: Sequence[str]) -> Iterator[Line]:
    """Each line of a file, preceded by its author. texts: the lines of the file."""
    authors = [
        (short_id(part.entry_id or ""), "" if part.by is None else author_name(part.by), part.time) for part in lines
    ]
    width = max((len(label) for _, label, _ in authors), default=0)
    for part, (entry_id, label, changed_at) in zip(lines, authors, strict=True):
        for number in range(part.first_line, part.first_line + part.n_lines):
            moment = "" if changed_at is None else when(changed_at)
            yield [
                (f"{entry_id:<{SHOWN_ID_CHARS}}", "id"),
                (f"  {moment:<8}  {label:<{width}}  ", "faint"),
                (f"{number:>4}) {visible(texts[number - 1])}", "plain"),
            ]


def rewind_lines(rewind: Rewind, folder: str, done: str) -> Iterator[Line]:
    """What a rewind did or would do. done: "undone", or "redone" if the rewind is of an undo."""
    is_partial = rewind.n_undone == 0 and len(rewind.files) > 0
    changes = "Parts of changes" if is_partial else counted(rewind.n_undone, "change")
    verb = "would be" if rewind.dry_run else "was" if rewind.n_undone == 1 else "were"
    yield plain(f"{changes} in {counted(len(rewind.files), 'file')} {verb} {done}.")
    for file in rewind.files:
        outcome = "" if file.outcome == "modified" else f"  ({file.outcome})"
        yield [
            (f"  {shown_path(file.file_path, folder)}  ", "plain"),
            (f"+{file.added}", "added"),
            (" ", "plain"),
            (f"-{file.removed}", "removed"),
            (outcome, "faint"),
        ]
    for conflict in rewind.conflicts:
        yield [(_conflict(conflict, folder), "warning")]


def unshown_lines(conflicts: Sequence[RewindConflict], folder: str) -> Iterator[Line]:
    """The changes that a diff omits."""
    for conflict in conflicts:
        yield [(_conflict(conflict, folder, "not shown"), "warning")]


def _conflict(conflict: RewindConflict, folder: str, verb: str = "left") -> str:
    where = f", {lines_named(conflict.ranges)}" if conflict.ranges else ""
    by = f" ({', '.join(map(author_name, conflict.by))})" if conflict.by else ""
    n_left, why = counted(len(conflict.entries), "change"), _LEFT.get(conflict.reason, conflict.reason)
    because = f": {visible(conflict.message)}" if conflict.message else f", because {why}"
    return f"  {shown_path(conflict.file_path, folder)}{where}: {n_left} {verb}{because}{by}"


def shown_path(path: str, folder: str) -> str:
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
