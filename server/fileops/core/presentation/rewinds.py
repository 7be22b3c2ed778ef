"""Sentences about a rewind, for people and models. Pure."""

from collections.abc import Sequence

from fileops.core.presentation.phrases import format_count, lines_named
from fileops.model.rewind import DecidedCount, LeftReason, RewindConflict, RewindFileOutcome

NOTHING_DECIDED = DecidedCount(0, 0)
MAX_NAMED = 20  # files in one text
_LEFT: dict[LeftReason, str] = {
    "overlaps": "others changed the same text since",
    "unknown_before": "the content before is not known",
    "recreated": "another file is there now",
    "unsure": "its author is not known",
    "not_kept": "its content is not kept",
    "refused": "the file cannot be changed",
    "editor": "the text in the editor is not known",
}


def rewind_text(
    files: Sequence[RewindFileOutcome],
    conflicts: Sequence[RewindConflict],
    *,
    is_dry: bool,
    decided: DecidedCount = NOTHING_DECIDED,
) -> str:
    """Return what a rewind did, or would do, in one line for each file."""
    n_undone = sum(len(file.entries) for file in files)
    done = "would be" if is_dry else "has been" if n_undone == 1 else "have been"
    changes = "Parts of changes" if files and not n_undone else format_count(n_undone, "change")
    lines = [f"{changes} in {format_count(len(files), 'file')} {done} undone."]
    lines += [f"{file.file_path}: {_outcome(file)}" for file in files[:MAX_NAMED]]
    if len(files) > MAX_NAMED:
        lines.append(f"... and {format_count(len(files) - MAX_NAMED, 'more file')}")
    lines += map(format_left, conflicts[:MAX_NAMED])
    if decided.n_entries:
        left_out = f"{format_count(decided.n_entries, 'change')} in {format_count(decided.n_files, 'file')}"
        lines.append(f"Left out: {left_out}, kept, committed or overwritten.")
    return "\n".join(lines)


def rewound_text(n_changes: int, session: str, reason: str) -> str:
    """Return the notice for a session whose changes a person has undone. reason: the person's, "" for none."""
    sentence = f"A person took back {format_count(n_changes, 'change')} of {session}."
    return f"{sentence} Their reason: {reason}" if reason else sentence


def format_left(conflict: RewindConflict) -> str:
    """Return what is left in a file, and why."""
    where = f", {lines_named(conflict.ranges)}" if conflict.ranges else ""
    by = f" ({', '.join(by.label for by in conflict.by)})" if conflict.by else ""
    left = format_count(len(conflict.entries), "change")
    verb = "is" if len(conflict.entries) == 1 else "are"
    why = conflict.message or f"because {_LEFT[conflict.reason]}"
    return f"{conflict.file_path}{where}: {left} {verb} left{':' if conflict.message else ','} {why}{by}"


def _outcome(file: RewindFileOutcome) -> str:
    match file.outcome:
        case "unchanged":
            return "no longer present"
        case "removed" | "created":
            return file.outcome
        case "modified":
            bit = {None: "", True: ", executable again", False: ", no longer executable"}[file.change.is_executable]
            return f"+{file.change.n_added} -{file.change.n_removed}{bit}"


def rewind_question_texts(paths: Sequence[str], n_undone: int, session: str) -> tuple[str, str]:
    """Return the title and the description of a rewind that the user has to approve."""
    shown = [path.rpartition("/")[2] for path in paths[:MAX_NAMED]]
    more = f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
    title = f"Undo {format_count(n_undone, 'change')} in {format_count(len(paths), 'file')}"
    return title, f"{session} asks to undo its changes of {', '.join(shown)}{more}"
