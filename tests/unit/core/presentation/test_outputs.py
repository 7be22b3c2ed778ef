"""Every ordered sentence, character for character."""

import pytest

from fileops.core.presentation import outputs
from fileops.core.presentation.failures import Tool, failure_message, failure_text
from fileops.model import errors
from fileops.model.edits import Edit, LineRange
from fileops.model.errors import FAILURES, FileOpsError

P = "/w/as given.txt"
TAGGED = "<tool_use_error>{}</tool_use_error>"


@pytest.mark.parametrize(
    ("failure", "tool", "text"),
    [
        (errors.FileMissing(), "read", "<tool_use_error>File does not exist.</tool_use_error>"),
        (errors.IsDirectory(), "read", TAGGED.format("Illegal operation on a directory. read")),
        (errors.IsDirectory(), "edit", TAGGED.format("Illegal operation on a directory. edit")),
        (errors.IsDirectory(), "multi_edit", TAGGED.format("Illegal operation on a directory. multi_edit")),
        (errors.NotRead(), "edit", "File has not been read yet. Read it first before writing to it."),
        (
            errors.ModifiedExternally(),
            "edit",
            "File has been modified externally. Either by user or a linter. Read it first before writing to it.",
        ),
        (
            errors.TooLarge(size_bytes=262_145, max_kb=256),
            "read",
            "File content (256.0KB) exceeds maximum allowed size (256KB). Please use offset and limit parameters to "
            "read specific portions of the file, or use the `rg` command to search for specific content.",
        ),
        (
            errors.TooLarge(size_bytes=1_550_000, max_kb=100),
            "read",
            "File content (1513.7KB) exceeds maximum allowed size (100KB). Please use offset and limit parameters to "
            "read specific portions of the file, or use the `rg` command to search for specific content.",
        ),
        (
            errors.TooManyChars(n_chars=60_001, max_chars=60_000),
            "read",
            "File content (60001 chars) exceeds maximum allowed tokens (60000). Please use offset and limit "
            "parameters to read specific portions of the file, or use the `rg` command to search for specific "
            "content.",
        ),
        (
            errors.NoMatch(old_string="a\nb"),
            "edit",
            "<tool_use_error>String to replace not found in file.\nString: a\nb</tool_use_error>",
        ),
        (
            errors.NoChange(),
            "edit",
            "<tool_use_error>No changes to make: old_string and new_string are exactly the same.</tool_use_error>",
        ),
        (
            errors.AlreadyExists(),
            "edit",
            "<tool_use_error>Cannot create new file - file already exists.</tool_use_error>",
        ),
        (
            errors.MultipleMatches(old_string="重复行", n_matches=3, lines=(1, 2, 3)),
            "edit",
            "<tool_use_error>Found 3 matches of the string to replace, but replace_all is false. To replace all "
            "occurrences, set replace_all to true. To replace only one occurrence, please provide more context to "
            "uniquely identify the instance.\nString: 重复行</tool_use_error>",
        ),
        (
            errors.CountMismatch(n_expected=1, n_found=3),
            "edit",
            TAGGED.format("Failed to edit, expected 1 occurrence(s) but found 3."),
        ),
        (errors.NotAbsolute(path=P), "edit", TAGGED.format(f"File path must be absolute: {P}")),
        (
            errors.OutsideRoots(path=P),
            "edit",
            TAGGED.format(f"File path must be within the root directory: {P}"),
        ),
        (errors.BinaryFile(), "edit", TAGGED.format("Cannot edit binary files.")),
        (errors.BinaryFile(), "multi_edit", TAGGED.format("Cannot edit binary files.")),
        (errors.BinaryFile(), "read", TAGGED.format("Cannot read binary files.")),
        (
            errors.NotebookFile(),
            "edit",
            TAGGED.format("File is a Jupyter Notebook. Use NotebookEdit tool instead."),
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, FileOpsError) else None,
)
def test_failure_has_its_specified_text(failure: FileOpsError, tool: Tool, text: str) -> None:
    assert failure_text(failure, tool, P) == text


@pytest.mark.parametrize(
    "failure",
    [
        errors.PermissionRefused(reason="Permission denied"),
        errors.DiskFull(reason="No space left on device"),
        errors.IoFailure(reason="Input/output error", hint="Try again."),
    ],
)
def test_other_failures_include_the_systems_reason(failure: FileOpsError) -> None:
    text = failure_text(failure, "edit", P)
    assert text.startswith("<tool_use_error>")
    assert text.endswith("</tool_use_error>")
    assert "try again" in text.lower() or "choose another place" in text
    assert getattr(failure, "reason") in text  # noqa: B009 - three classes share the field by name only


@pytest.mark.parametrize(
    ("failure", "advice"),
    [
        (errors.Rejected(), "Nothing was written. Do not retry the same edit; ask the user what they want instead."),
        (errors.ApprovalTimedOut(timeout_s=600.0), "Nothing was written. You may send it again."),
        (errors.Rejected(what="command"), "It was not run."),
        (errors.ApplyRefused(reason="r"), "Read the file again before you retry, or ask the user to save it."),
        (errors.UndoConflict(ranges=(LineRange(start_line=3, end_line=3),)), "Read line 3 and edit"),
        (
            errors.UndoConflict(ranges=(LineRange(start_line=3, end_line=5), LineRange(start_line=9, end_line=9))),
            "Read lines 3-5, 9 and edit",
        ),
        (errors.NotEncodable(encoding="ascii", characters="\xe9"), "Use characters that the encoding has."),
        (errors.InvalidPattern(reason="r"), "The syntax is RE2's"),
    ],
)
def test_failure_text_names_the_next_step(failure: FileOpsError, advice: str) -> None:
    assert advice in failure_text(failure, "edit", P)
    assert advice not in failure_message(failure)


def test_undo_of_an_unknown_edit_is_not_reported_as_a_conflict() -> None:
    unknown = errors.UndoConflict(reason="unknown_edit", explanation="the history has no such edit")
    assert failure_message(unknown) == "The edit cannot be undone: the history has no such edit."


def _made(failure: type[FileOpsError]) -> FileOpsError:
    fields: dict[str, object] = {
        "path": P, "reason": "r", "kind": "fifo", "size_bytes": 1, "max_kb": 1, "n_chars": 1, "max_chars": 1,
        "old_string": "o", "n_matches": 2, "lines": (1, 2), "n_expected": 1, "n_found": 2, "encoding": "utf-8",
        "characters": "\udc80", "timeout_s": 600.0, "strategy": "s", "processor": "p", "validator": "v", "where": "sftp://host",
        "source": P, "rule": "ask", "n_waiting": 32, "files": (P,), "line": 3, "patch_line": 3,
        "explanation": "no such turn", "n_files": 1001, "max_files": 1000,
        "fault": "It has a fault.", "cell_id": "c1", "same_id": (), "at_index": None, "n_cells": 2, "last": "c2",
    }  # fmt: skip
    names = failure.__dataclass_fields__
    return failure(**{name: fields[name] for name in names if name in fields})


@pytest.mark.parametrize("failure", FAILURES)
def test_every_failure_has_a_sentence_for_the_user_and_a_text_for_the_model(failure: type[FileOpsError]) -> None:
    made = _made(failure)
    sentence = failure_message(made)
    assert sentence[0].isupper() or sentence[0].isdigit()
    assert sentence.endswith(".") or failure is errors.Rejected  # this one ends with the user's own words
    assert "\n" not in sentence
    sentence.encode()  # nothing that JSON cannot carry
    assert failure_text(made, "edit", P)


def test_read_ends_in_the_reminder_without_a_newline() -> None:
    assert outputs.read_text("     1→a") == (
        "     1→a\n\n<system-reminder>\nWhenever you read a file, you should consider whether it looks malicious. If "
        "it does, you MUST refuse to improve or augment the code. You can still analyze existing code, write "
        "reports, or answer high-level questions about the code behavior.\n</system-reminder>"
    )


@pytest.mark.parametrize(("offset", "n_lines", "told"), [(1, 0, 1), (1000, 264, 264), (2, 1, 1)])
def test_offset_past_the_end_is_warned_of(offset: int, n_lines: int, told: int) -> None:
    assert outputs.past_end_text(offset, n_lines) == (
        "<system-reminder>Warning: the file exists but is shorter than the provided offset "
        f"({offset}). The file has {told} lines.</system-reminder>"
    )


def test_successes_have_their_specified_texts() -> None:
    assert outputs.created_text(P) == f"File created successfully at: {P}"
    edit = Edit(old_string="a\nb", new_string="c")
    assert outputs.edited_text(P, edit, "     1→c") == (
        f"The file {P} has been updated. Here's the result of running `cat -n` on a snippet of the edited file:"
        "\n     1→c"
    )
    every = Edit(old_string="重复行", new_string="修改后的行", replace_all=True)
    assert outputs.edited_text(P, every, "unused") == (
        f"The file {P} has been updated. All occurrences of '重复行' were successfully replaced with '修改后的行'."
    )
    assert outputs.multi_edited_text(P, [edit]) == f'Applied 1 edits to {P}:\n1. Replaced "a\nb" with "c"'
    assert outputs.multi_edited_text(P, [edit, every]).splitlines()[0] == f"Applied 2 edits to {P}:"
