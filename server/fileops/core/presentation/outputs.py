"""Sentences for the model and the user: the output of each tool, and the questions about edits and undos.

The tools' texts for the model are specified character for character and never localised. `path` is always the path as
the caller gave it.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec.structs import replace

from fileops.core.matching.correction import SENTENCES
from fileops.core.presentation.failures import error_text, failure_message, failure_text
from fileops.core.presentation.notebook_texts import sentence_about
from fileops.core.presentation.phrases import format_count
from fileops.core.presentation.titles import relative
from fileops.model import errors
from fileops.model.approval import ApprovalRequest
from fileops.model.changes import ChangeProblem, FileOutcome, Permissions
from fileops.model.edits import Change, Edit, Plan, Rebased
from fileops.model.errors import FileOpsError
from fileops.model.notebooks import CellChange
from fileops.model.results import UndoFileOutcome
from fileops.model.settings import OutputTexts

REMINDER = (
    "<system-reminder>\nWhenever you read a file, you should consider whether it looks malicious. If it does, you "
    "MUST refuse to improve or augment the code. You can still analyze existing code, write reports, or answer "
    "high-level questions about the code behavior.\n</system-reminder>"
)


def read_text(numbered_lines: str, reminder: str | None = None) -> str:
    return f"{numbered_lines}{reminder_part(reminder)}"


def reminder_part(reminder: str | None) -> str:
    """Return what follows the lines of a read. Args: reminder: see Texts."""
    if reminder is None:
        reminder = REMINDER
    return f"\n\n{reminder}" if reminder else ""


def repeated_read_text(path: str) -> str:
    """Return the answer to a read that the session has made before, of a file that has not changed since."""
    return f"{path} is unchanged since you read these lines. If you no longer have them, call Read again."


def past_end_text(offset: int, n_lines: int) -> str:
    return (
        "<system-reminder>Warning: the file exists but is shorter than the provided offset "
        f"({offset}). The file has {max(n_lines, 1)} lines.</system-reminder>"
    )


def image_text(media_type: str) -> str:
    return f"Read image file [{media_type}]"


def created_text(path: str) -> str:
    return f"File created successfully at: {path}"


def edited_text(path: str, edit: Edit, snippet: str) -> str:
    if edit.replace_all:
        return (
            f"The file {path} has been updated. All occurrences of '{edit.old_string}' were successfully replaced "
            f"with '{edit.new_string}'."
        )
    return (
        f"The file {path} has been updated. Here's the result of running `cat -n` on a snippet of the edited file:"
        f"\n{snippet}"
    )


def multi_edited_text(path: str, edits: Sequence[Edit]) -> str:
    lines = [f"Applied {len(edits)} edits to {path}:"]
    lines += [f'{index}. Replaced "{edit.old_string}" with "{edit.new_string}"' for index, edit in enumerate(edits, 1)]
    return "\n".join(lines)


def written_text(path: str, *, has_effect: bool) -> str:
    """Return the output of a write to a file that already existed."""
    return f"The file {path} has been updated." if has_effect else f"The file {path} has this content already."


def with_corrections(output: str, matches: Sequence[str]) -> str:
    """Return `output` and a sentence for each edit whose text was corrected to match."""
    several = len(matches) > 1
    notes = [
        f"Note: {f'edit {index}: ' if several else ''}{SENTENCES[match]}"
        for index, match in enumerate(matches, 1)
        if match in SENTENCES
    ]
    return "\n".join((output, *notes))


def with_dry_run(output: str) -> str:
    """Return `output`, which describes the change as if it had been made, after a note that it was not."""
    return f"Dry run: nothing was written.\n{output}"


def with_processing(output: str, processed_by: Sequence[str], unified_diff: str) -> str:
    """Return `output` and the diff of what processors made of the text."""
    named = f"The processor{'s' if len(processed_by) > 1 else ''} {' and '.join(processed_by)}"
    return f"{output}\n{named} changed the text. The whole change:\n{unified_diff}"


def with_merge(output: str) -> str:
    """Return `output` and a note that the file changed while the user decided."""
    return (
        f"{output}\nNote: others changed other lines of the file while this edit was reviewed; both changes are in it. "
        "Read the file before you edit it again."
    )


def with_unsaved(output: str, paths: Iterable[str]) -> str:
    """Return `output` and a note for each file that has the change only in an editor. Commands still read the old text.

    paths: of the files that are open with unsaved changes.
    """
    notes = [
        f"Note: {path} is open with unsaved changes; the change is in the editor, not on the disk." for path in paths
    ]
    return "\n".join((output.removesuffix("\n") if notes else output, *notes))


def with_user_change(output: str, unified_diff: str) -> str:
    """Return `output` and the diff of the text as the user changed it. output: describes what was written."""
    return f"{output}\nUser modified the proposed change. What was written:\n{unified_diff}"


def with_reason(output: str, reason: str) -> str:
    """Return `output` and the user's reason for not approving all of the change, if there is one."""
    if not reason:
        return output
    newline = "" if output.endswith("\n") else "\n"
    return f"{output}{newline}The user's reason: {reason}"


def command_text(shown: str, exit_code: int | None, error: FileOpsError | None, cwd: str) -> str:
    """Return the output of a shell command, and how it ended unless it succeeded."""
    match error:
        case None if exit_code == 0:
            return shown or "(no output)"
        case None:
            ending = f"Command exited with code {exit_code}"
        case errors.CommandTimedOut(timeout_s=timeout_s):
            ending = f"Command timed out after {timeout_s:g} seconds"
        case _:
            return f"<tool_use_error>{error_text(error, 'read', cwd)}</tool_use_error>"
    return f"{shown}\n\n{ending}" if shown else ending


def question_texts(path: str, plan: Plan, folders: Iterable[str]) -> tuple[str, str]:
    """Return the title and the description of an edit that the user has to approve.

    The title has the path relative to the folders, since files of the same name would look alike.
    """
    change = plan.change
    name = relative(path, folders)
    if plan.creates:
        return f"Confirm Edit: create {name}", f"{path}: a new file of {format_count(change.n_added, 'line')}"
    counts = f"{format_count(change.n_added, 'line')} added, {change.n_removed} removed"
    rebased = "" if plan.rebased is None else f"; {describe_rebase(plan.rebased)}"
    if not plan.edits:
        return f"Confirm Edit: {name}", f"{path}: the whole text written, {counts}{rebased}"
    n_places = sum(plan.n_replacements)
    return f"Confirm Edit: {name}", f"{path}: {format_count(n_places, 'place')} changed, {counts}{rebased}"


def describe_rebase(rebased: Rebased) -> str:
    """Return what an edit was rebased over, for the user."""
    names = {"external": "another program", "buffer": "the editor"}
    who = names.get(rebased.changed_by, rebased.changed_by.removeprefix("session:"))
    return f"rebased over {format_count(len(rebased.ranges), 'change')} by {who}"


def undo_question_texts(path: str, change: Change, n_edits: int, folders: Iterable[str]) -> tuple[str, str]:
    """Return the title and the description of an undo that the user has to approve; see `question_texts`."""
    counts = f"{format_count(change.n_added, 'line')} added, {change.n_removed} removed"
    return f"Undo {format_count(n_edits, 'edit')} in {relative(path, folders)}", f"{path}: {counts}"


def undone_text(
    path: str,
    change: Change,
    n_edits: int,
    outcome: Literal["modified", "removed", "created"],
    *,
    is_dry: bool,
    cells: Sequence[CellChange] = (),
) -> str:
    """Return the sentence for the model about one file of an undo. cells: how the undo changes those of a notebook."""
    done = "would be" if is_dry else "has been" if n_edits == 1 else "have been"
    undone = f"{format_count(n_edits, 'edit')} of {path} {done} undone."
    match outcome:
        case "removed":
            return f"{undone} The file did not exist before and {'would be' if is_dry else 'has been'} removed."
        case "created":
            return f"{undone} The file {'would be' if is_dry else 'has been'} restored."
        case "modified" if change.is_executable is not None:
            is_so = "executable" if change.is_executable else "not executable"
            return f"{undone} The file {'would be' if is_dry else 'is'} {is_so} again."
        case "modified" if cells:
            return " ".join((undone, *map(sentence_about, cells)))
        case "modified" if change.snippet or change.hunks:
            return f"{undone} Here's the result of running `cat -n` on a snippet of the edited file:\n{change.snippet}"
        case "modified":
            return f"{undone} The edit was no longer present in the file."


def set_question_texts(
    questions: Sequence[ApprovalRequest], description: str, *, verb: str = "Confirm"
) -> tuple[str, str]:
    """Return the title and the description of a change set that the user has to approve. description: the agent's."""
    names = ", ".join(question.file_path.rpartition("/")[2] for question in questions[:MAX_NAMED])
    more = f" and {len(questions) - MAX_NAMED} more" if len(questions) > MAX_NAMED else ""
    listed = "\n".join(_list_file(question.change, question.file_path, question.new_path) for question in questions)
    return f"{verb} {format_count(len(questions), 'change')}: {names}{more}", f"{description}\n{listed}".lstrip()


MAX_NAMED = 3  # files of a change set in a title


def _list_file(change: Change, path: str, new_path: str | None, *, is_past: bool = False) -> str:
    """Return one line about a file of a change set."""
    mode = {None: "", True: ", executable", False: ", not executable"}[change.is_executable]
    counts = f"{format_count(change.n_added, 'line')} added, {change.n_removed} removed"
    verb = {"create": "create", "modify": "edit", "rename": "rename", "delete": "delete"}[change.operation]
    if is_past:
        verb = f"{verb.removesuffix('e')}ed"
    match change.operation:
        case "create":
            return f"{verb} {path}: {format_count(change.n_added, 'line')}{mode}"
        case "delete":
            return f"{verb} {path}"
        case "rename":
            return f"{verb} {path} to {new_path}{f': {counts}' if change.hunks else ''}{mode}"
        case "modify":
            return f"{verb} {path}: {counts}{mode}"


def with_mode(change: Change, *, is_executable: bool) -> Change:
    """Return the change of a file that becomes or stops being executable, with git's lines that say so."""
    old, new = ("100644", "100755") if is_executable else ("100755", "100644")
    lines = f"new file mode {new}\n" if change.operation == "create" else f"old mode {old}\nnew mode {new}\n"
    return replace(change, unified=lines + change.unified, is_executable=is_executable)


def with_permissions(change: Change, permissions: Permissions) -> Change:
    """Return the change of a file that gets its old permission bits back."""
    becomes = permissions.is_executable
    return change if change.operation == "create" and not becomes else with_mode(change, is_executable=becomes)


def join_changes(first: Change, second: Change) -> Change:
    """Return the changes of two files as one, for programs that show a single diff."""
    return replace(
        first,
        operation="modify",
        unified=first.unified + second.unified,
        exact=first.exact and second.exact,
        truncated=first.truncated or second.truncated,
        hunks=(*first.hunks, *second.hunks),
        n_added=first.n_added + second.n_added,
        n_removed=first.n_removed + second.n_removed,
        is_executable=None,
        cells=(),
    )


def changes_text(files: Sequence[FileOutcome], dropped: Sequence[str], *, is_dry: bool) -> str:
    """Return the output of a change set. dropped: paths that the user left out."""
    lines = [f"Applied {format_count(len(files), 'change')} together:"]
    lines += [
        f"{index}. {_list_file(file.change, file.file_path, file.new_path, is_past=True)}"
        for index, file in enumerate(files, 1)
    ]
    lines += [
        f"Note: {file.file_path}: {SENTENCES[match].replace('old_string', 'a text to replace', 1)}"
        for file in files
        for match in dict.fromkeys(file.matches)
        if match in SENTENCES
    ]
    lines += map(left_out_text, dropped)
    output = "\n".join(lines)
    if is_dry:
        return with_dry_run(output)
    output = with_unsaved(output, (file.file_path for file in files if file.applied_to == "buffer"))
    by_user = "".join(file.change.unified for file in files if file.modified_by_user)
    return with_user_change(output, by_user) if any(file.modified_by_user for file in files) else output


def undone_set_text(files: Sequence[UndoFileOutcome], dropped: Sequence[str]) -> str:
    """Return the output of the undo of a change set. dropped: paths that the user left out."""
    lines = [f"Undid {format_count(len(files), 'change')} together:"]
    lines += [f"{index}. {_describe_undone(file)}" for index, file in enumerate(files, 1)]
    output = "\n".join([*lines, *map(left_out_text, dropped)])
    output = with_unsaved(output, (file.file_path for file in files if file.applied_to == "buffer"))
    by_user = "".join(file.change.unified for file in files if file.modified_by_user)
    return with_user_change(output, by_user) if any(file.modified_by_user for file in files) else output


def _describe_undone(file: UndoFileOutcome) -> str:
    match file.outcome:
        case "removed":
            return f"removed {file.file_path}"
        case "created":
            return f"restored {file.file_path}"
        case "modified" if file.change.hunks or file.new_path or file.change.is_executable is not None:
            return _list_file(file.change, file.file_path, file.new_path, is_past=True)
        case "modified":
            return f"left {file.file_path}: the edit was no longer present"


def left_out_text(path: str) -> str:
    return f"The user left {path} out; it is as it was."


def changes_failure_text(
    problems: Sequence[ChangeProblem], paths: Sequence[str], texts: OutputTexts, *, is_of_set: bool = False
) -> str:
    """Return the output of a change set that was not written at all. paths: of its changes, as given.

    is_of_set: the failure does not belong to a single change.
    """
    first = problems[0]
    output = failure_text(first.error, "edit", paths[first.change_index] if paths else "", texts)
    if is_of_set:
        return output
    notes = [f"It was change {first.change_index + 1}, {paths[first.change_index]}. No file was changed."]
    notes += [
        f"Change {problem.change_index + 1}, {paths[problem.change_index]}, fails too: {failure_message(problem.error)}"
        for problem in problems[1:]
    ]
    return "\n".join((output, *notes))


def undo_failure_note(path: str, left: Sequence[str]) -> str:
    """Return a note on an undo of several files that failed at `path`. `left` are the files that remain undone."""
    if not left:
        return f"It was {path}. No file was changed."
    return (
        f"It was {path}. {', '.join(left)} {'remains' if len(left) == 1 else 'remain'} undone and could not be "
        "restored. All other files are unchanged. Read the files again before the next edit."
    )
