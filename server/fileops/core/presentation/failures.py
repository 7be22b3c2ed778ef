"""The sentences about failures: for the model the text of the failed tool, for the user a message.

The tools' texts for the model are specified character for character and never localised.
"""

from collections.abc import Sequence

from fileops.core.presentation.phrases import format_count, lines_named
from fileops.core.text import cut
from fileops.model import errors
from fileops.model.edits import LineRange, Relevance
from fileops.model.errors import FileOpsError
from fileops.model.notebooks import MENDED_AS_TEXT, NotebookFault
from fileops.model.requests import Tool
from fileops.model.settings import OutputTexts

EMPTY_NOTEBOOK = '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'

_USE_PARTS = (
    "Please use offset and limit parameters to read specific portions of the file, or use the `rg` command to "
    "search for specific content."
)
_USE_NOTEBOOK_EDIT = "Use NotebookEdit tool instead."
SPECIFIED = OutputTexts()
_MAX_LINES_NAMED = 20

# Advice for a failure of the operating system that has no hint.
_ASK_FOR_PERMISSION = "Give this user permission, or choose another place."
_FREE_SPACE = "Free some space, then try again."
_CONSENT = (
    "The user can open the file's folder in an editor with fileops, run `fileops-server review` in a terminal, or "
    "start the agent's server with `--protected allow`."
)
_CONVERT = " `jupyter nbconvert --to notebook --nbformat 4` converts it."
_CHECK_DISK = "Try again; if it fails again, check the file, its folder and its disk."


def failure_text(error: FileOpsError, tool: Tool, path: str, texts: OutputTexts = SPECIFIED) -> str:
    """Return the text of a failed tool for the model."""
    advice = _USE_PARTS if texts.read_advice is None else texts.read_advice
    match error:
        case errors.NotRead(cell_id=str(cell), cell_lines=lines):
            return f"Cell {cell} has not been read yet. {_read_first(lines)}"
        case errors.NotRead(is_partial=True):
            return "Only a part of the file has been read. Read the whole file before writing to it, or use Edit."
        case errors.ModifiedExternally(relevance=Relevance(cell_id=str(cell))):
            return (
                f"Cell {cell} was changed or removed since you read it. Other cells can still be edited. Read the "
                "notebook again before you change this one."
            )
        case errors.NotRead():
            return "File has not been read yet. Read it first before writing to it."
        case errors.ModifiedExternally():
            return "File has been modified externally. Either by user or a linter. Read it first before writing to it."
        case errors.TooLarge(size_bytes=size, max_kb=max_kb):
            return f"File content ({size / 1024:.1f}KB) exceeds maximum allowed size ({max_kb}KB). {advice}".rstrip()
        case errors.TooManyChars(n_chars=n, max_chars=max_chars):
            return f"File content ({n} chars) exceeds maximum allowed tokens ({max_chars}). {advice}".rstrip()
        case _:
            return f"<tool_use_error>{error_text(error, tool, path, texts)}</tool_use_error>"


def _other_form(path: str) -> str:
    return f"There is a file whose name differs only in its Unicode form. Use this path, copied as it is: {path}"


def _read_first(lines: LineRange | None) -> str:
    return "Read it first." if lines is None else f"Read {lines_named((lines,))} first."


def error_text(error: FileOpsError, tool: Tool, path: str, texts: OutputTexts = SPECIFIED) -> str:
    match error:
        case errors.FileMissing() if tool == "edit_notebook":
            return f"File does not exist. A new notebook without cells is a file with the text {EMPTY_NOTEBOOK}"
        case errors.FileMissing(other_form=str(other)):
            return f"File does not exist. {_other_form(other)}"
        case errors.FileMissing():
            return "File does not exist."
        case errors.IsDirectory():
            return f"Illegal operation on a directory. {tool}"
        case errors.NoMatch(old_string=old, other_cell=other) if tool == "edit_notebook":
            where = "" if other is None else f" It is in cell {other}."
            return f"String to replace not found in the source of the cell.{where}\nString: {old}"
        case errors.NoMatch(old_string=old):
            return f"String to replace not found in file.\nString: {old}"
        case errors.HunkNotFound(anchor=None, elsewhere=(), is_whole_text=False, old_string=old):
            return f"{failure_message(error)}\nLines:\n{old}"
        case errors.HunkAmbiguous(old_string=old):
            return (
                f"{failure_message(error)} Add lines above or below the change to it, or name the class or function "
                f"after '@@'.\nLines:\n{old}"
            )
        case errors.NoChange() if tool == "edit_notebook":
            return "No changes to make: the notebook is so already."
        case errors.NoChange():
            return "No changes to make: old_string and new_string are exactly the same."
        case errors.AlreadyExists(other_form=str(other)):
            return f"Cannot create new file - file already exists. {_other_form(other)}"
        case errors.AlreadyExists():
            return "Cannot create new file - file already exists."
        case errors.MultipleMatches(n_matches=n, old_string=old):
            return (
                f"Found {n} matches of the string to replace, but replace_all is false. To replace all occurrences, "
                "set replace_all to true. To replace only one occurrence, please provide more context to uniquely "
                f"identify the instance.\nString: {old}"
            )
        case errors.CountMismatch(n_expected=expected, n_found=found):
            return f"Failed to edit, expected {expected} occurrence(s) but found {found}."
        case errors.NotAbsolute():
            return f"File path must be absolute: {path}"
        case errors.OutsideRoots():
            return f"File path must be within the root directory: {path}"
        case errors.BinaryFile():
            return f"Cannot {'read' if tool == 'read' else 'edit'} binary files."
        case errors.NotebookFile():
            advice = _USE_NOTEBOOK_EDIT if texts.notebook_advice is None else texts.notebook_advice
            return f"File is a Jupyter Notebook. {advice}".rstrip()
        case errors.ProcessingFailed(processor=processor, reason=reason):
            return f"The processor {processor} failed: {reason}\nNothing was written."
        case errors.ValidationFailed(validator=validator, reason=reason):
            return f"The validator {validator} refuses the edit: {reason}\nNothing was written."
        case _:
            return " ".join(filter(None, (failure_message(error), _advice(error))))


def _advice(error: FileOpsError) -> str:
    """Return what the model should do next, unless the failure's own sentence says so."""
    match error:
        case errors.NotPermitted(fault=fault) if fault:
            return "Ask the user to correct it."
        case errors.NotPermitted(is_rule_file=True):
            return "Nothing was written. Ask the user to change it."
        case errors.NotPermitted():
            return "Do not try to read it in another way; ask the user if you need it."
        case errors.NotRegularFile():
            return "Only regular files can be read and edited."
        case errors.NotEncodable(fault="mixed"):
            return (
                "Nothing was written. Use ASCII characters only, or ask the user to name the file's encoding in the "
                "option `encodings` (over MCP: --encoding GLOB=NAME)."
            )
        case errors.NotEncodable(fault="bytes"):
            return "Nothing was written. Edit a smaller place, which leaves these characters out."
        case errors.NotEncodable(fault="state"):
            return "Nothing was written. Edit whole lines."
        case errors.NotEncodable(fault="binary"):
            return "Nothing was written. Write an escape in the syntax of the file, such as \\0 or \\x00, instead."
        case errors.NotEncodable():
            return "Nothing was written. Use characters that the encoding has."
        case errors.InvalidPattern():
            return "The syntax is RE2's, without lookaround and without backreferences in the pattern."
        case errors.StrategyFailed(strategy="exact"):
            return "Nothing was written. Replace fewer places, or give a shorter text."
        case errors.StrategyFailed():
            return "Nothing was written. Use another strategy, or the exact text."
        case errors.SetUnsupported():
            return "Nothing was written. Make smaller sets, or single edits."
        case errors.SetConflict():
            return "Read these files again."
        case errors.Rejected(what="command"):
            return "It was not run. Do not retry the same command; ask the user what they want instead."
        case errors.Rejected(reason=reason) if reason:
            return "Nothing was written."
        case errors.Rejected():
            return "Nothing was written. Do not retry the same edit; ask the user what they want instead."
        case errors.ApprovalTimedOut(what="command"):
            return "It was not run. Try again when the user is available."
        case errors.NobodyDecided(what="command"):
            return "It was not run. You may ask the user, or send it again."
        case errors.NobodyDecided():
            return "Nothing was written. You may ask the user, or send it again."
        case errors.ConsentUnavailable():
            return f"Nothing was written. {_CONSENT}"
        case errors.TooManyReviews():
            return "Nothing was written. Wait for them."
        case errors.ApprovalTimedOut():
            return "Nothing was written. You may send it again."
        case errors.ApplyRefused():
            return "Read the file again before you retry, or ask the user to save it."
        case errors.DocumentUnknown():
            return "Read it again. If that fails too, ask the user to close the file in the editor and open it again."
        case errors.HunkNotFound(elsewhere=elsewhere, wants_end=wants_end) if elsewhere:
            return "Leave that out." if wants_end else "Write the hunks in the order of the file."
        case errors.HunkNotFound(is_whole_text=True):
            return "Read the file again."
        case errors.HunkNotFound():
            return "Copy a line of the file, or leave it out."
        case errors.UndoConflict(cells=cells) if cells:
            return f"Read the notebook and edit {'cell' if len(cells) == 1 else 'cells'} {', '.join(cells)}."
        case errors.UndoConflict(ranges=ranges) if ranges:
            return f"Read {lines_named(ranges)} and edit the text that should change."
        case _:
            return ""


def failure_message(error: FileOpsError) -> str:
    """Return one sentence for the user, with advice if there is any."""
    match error:
        case errors.FileMissing(other_form=str(other)):
            return f"The file does not exist. {_other_form(other)}"
        case errors.FileMissing():
            return "The file does not exist."
        case errors.IsDirectory():
            return "The path is a directory."
        case errors.NotAbsolute():
            return "The path is not absolute."
        case errors.OutsideRoots():
            return "The path is outside the workspace folders."
        case errors.NotPermitted(is_rule_file=True, is_other_name=True, source=source):
            return f"The file is another name of {source}, which says what agents must not read."
        case errors.NotPermitted(is_rule_file=True):
            return "The file says what agents must not read, so the user has to approve the edit, and cannot be asked."
        case errors.NotPermitted(source=source, fault=fault) if fault:
            return f"Agents may not read or edit files here, because {source} cannot be used. {fault}"
        case errors.NotPermitted(source=source):
            return f"Agents may not read or edit this file: {source} excludes it."
        case errors.PermissionRefused(reason=reason, hint=hint):
            return f"The operating system refused access: {reason}. {hint or _ASK_FOR_PERMISSION}"
        case errors.NotRegularFile(kind=kind):
            return f"Not a regular file but a {kind}."
        case errors.BinaryFile():
            return "The file is binary."
        case errors.ImageUnreadable(reason=reason):
            return f"The image cannot be read: {reason}."
        case errors.NotebookFile():
            return "The file is a Jupyter notebook, which is not edited as text."
        case errors.NotebookInvalid(fault=fault, reason=reason, line=line):
            where = "" if line is None else f" (line {line})"
            return f"The notebook cannot be read or edited by cells: {reason}{where}.{_instead_of_cells(fault)}"
        case errors.CellNotFound(cell_id="", last=last):
            where = "" if last is None else f' The last cell is "{last}".'
            return f"The edit names no cell: say after which one, by its id.{where}"
        case errors.CellNotFound(cell_id=cell_id, same_id=same) if same:
            return f'{len(same)} cells have the id "{cell_id}". Use instead one of: {", ".join(same)}.'
        case errors.CellNotFound(cell_id=cell_id, at_index=str(name)):
            return f'No cell has the id "{cell_id}". The cell at this index has the id "{name}": use that.'
        case errors.CellNotFound(cell_id=cell_id, n_cells=n):
            return (
                f'No cell has the id "{cell_id}". The notebook has {format_count(n, "cell")}; read it to see their ids.'
            )
        case errors.CellConflict(cell_id=cell_id, reason=reason):
            return f"Cell {cell_id} cannot be changed in this way: {reason}."
        case errors.TooLarge(size_bytes=size, max_kb=max_kb):
            return f"The file has {size / 1024:.1f} KB; {max_kb} KB may be read without offset and limit."
        case errors.TooManyChars(n_chars=n, max_chars=max_chars):
            return f"The selected lines have {n} characters; {max_chars} may be read at once."
        case errors.NotRead(cell_id=str(cell)):
            return f"Cell {cell} was not read in this session before the edit."
        case errors.NotRead(is_partial=True):
            return "Only a part of the file was read in this session before the whole was to be written."
        case errors.NotRead():
            return "The file was not read in this session before the edit."
        case errors.ModifiedExternally(relevance=Relevance(cell_id=str(cell))):
            return f"Cell {cell} of the notebook changed since it was read."
        case errors.ModifiedExternally():
            return "The file changed since it was read."
        case errors.NoMatch():
            return "The text to replace was not found in the file."
        case errors.InvalidPatch(line=line, reason=reason):
            return f"The patch cannot be used. Line {line}: {reason}."
        case errors.HunkNotFound(patch_line=line, anchor=anchor) if anchor is not None:
            return f"The line {cut(anchor, 200)!r} after '@@', at line {line} of the patch, is not in the file."
        case errors.HunkNotFound(patch_line=line, elsewhere=elsewhere, wants_end=wants_end) if elsewhere:
            wanted = "at the end of the file" if wants_end else "below the hunk before it"
            return f"The hunk at line {line} of the patch is at {_at_lines(elsewhere)} of the file, and not {wanted}."
        case errors.HunkNotFound(patch_line=line, is_whole_text=True):
            return f"The patch deletes the file at line {line}, but the file has other text than that."
        case errors.HunkNotFound(patch_line=line):
            return f"The lines of the hunk at line {line} of the patch are not in the file."
        case errors.HunkAmbiguous(patch_line=line, n_matches=n, lines=lines):
            return (
                f"The lines of the hunk at line {line} of the patch are at {n} places of the file: {_at_lines(lines)}."
            )
        case errors.MultipleMatches(n_matches=n):
            return f"The text to replace occurs {n} times."
        case errors.CountMismatch(n_expected=expected, n_found=found):
            return f"Failed to edit, expected {format_count(expected, 'occurrence')} but found {found}."
        case errors.NoChange(same_strings=True):
            return "The old and the new text are the same."
        case errors.NoChange():
            return "The edit would not change any byte."
        case errors.AlreadyExists(other_form=str(other)):
            return f"The file already exists. {_other_form(other)}"
        case errors.AlreadyExists():
            return "The file already exists."
        case errors.NotEncodable(fault="mixed", characters=characters):
            return f"The file is not valid UTF-8, and {characters!a} would mix UTF-8 into its own encoding."
        case errors.NotEncodable(fault="bytes", encoding=encoding, characters=characters):
            return f"The codec {encoding} would write {characters!a} with other bytes than the file has."
        case errors.NotEncodable(fault="state", encoding=encoding):
            return f"The codec {encoding} cannot write this change without changing other bytes."
        case errors.NotEncodable(fault="binary", line=line, column=column):
            return f"A NUL character in line {line}, column {column} would make the file binary."
        case errors.NotEncodable(encoding=encoding, characters=characters):
            return f"The file's encoding {encoding} cannot hold {characters!a}."
        case errors.InvalidPattern(reason=reason):
            return f"The pattern cannot be used: {reason}."
        case errors.StrategyFailed(strategy=strategy, reason=reason):
            return f"The strategy {strategy} failed: {reason}."
        case errors.ProcessingFailed(processor=processor, reason=reason):
            return f"The processor {processor} failed: {' '.join(reason.split()).rstrip('.')}."
        case errors.ValidationFailed(validator=validator, reason=reason):
            return f"The validator {validator} refuses the edit: {' '.join(reason.split()).rstrip('.')}."
        case errors.Rejected(what="edit", reason=reason) if reason:
            end = "" if reason.rstrip().endswith((".", "!", "?")) else "."  # what to do next follows
            return f"The proposed edit was rejected: {reason}{end}"
        case errors.NobodyDecided(what="command"):
            return "Nobody decided about this command: the question was closed without an answer."
        case errors.NobodyDecided(editor_left=True):
            return "Nobody decided about this edit: the editor that was asked has gone."
        case errors.NobodyDecided():
            return "Nobody decided about this edit: the question was closed without an answer."
        case errors.ConsentUnavailable():
            return "This edit needs a person's consent, and this host cannot ask for it."
        case errors.TooManyReviews(n_waiting=n):
            return f"{n} edits of this session wait for a decision."
        case errors.Rejected(what=what):
            return f"The proposed {what} was rejected."
        case errors.CommandTimedOut(timeout_s=timeout_s):
            return f"The command and its child processes were terminated after {timeout_s:g} seconds."
        case errors.CommandNotStarted(reason=reason):
            return f"The command could not be started: {reason}."
        case errors.ApprovalTimedOut(timeout_s=timeout_s, what="edit"):
            return f"Nobody decided about this edit within {timeout_s:g} seconds."
        case errors.ApprovalTimedOut(timeout_s=timeout_s, what=what):
            return f"The proposed {what} was not answered within {timeout_s:g} seconds."
        case errors.ApplyRefused(reason=reason):
            return f"The editor did not apply the edit: {reason}."
        case errors.DocumentUnknown(reason=reason):
            return f"The text that the editor shows for the file is not known: {reason}."
        case errors.SetUnsupported(reason=reason):
            return f"These changes cannot be made together: {reason}."
        case errors.SetConflict(files=files, reason=reason, kept=kept):
            where = f" The old contents are in {', '.join(kept)}." if kept else ""
            return f"The changes were undone, but not in {', '.join(files)}: {reason}.{where}"
        case errors.UndoConflict(explanation=explanation, ranges=ranges):
            loss = " without losing later changes" if ranges else ""
            return f"The edit cannot be undone{loss}{_after_colon(explanation)}."
        case errors.UnknownTarget(explanation=explanation):
            return f"There is nothing to undo: {explanation}."
        case errors.PlanChanged():
            return "The undo would not do what its preview showed, because files have changed. Look at it again."
        case errors.TooManyFiles(n_files=n_files, max_files=max_files):
            limit = f"{n_files} files would be changed, but at most {max_files} at once."
            return f"{limit} Continue in parts: name a folder, a turn or a command."
        case errors.NotRecorded(path=path):
            return f"Changes are not recorded{'' if path is None else f' in {path}'}."
        case errors.DiskFull(reason=reason, hint=hint):
            return f"There is no space to write the file: {reason}. {hint or _FREE_SPACE}"
        case errors.ConnectionFailed(where=where, reason=reason, is_unsure=is_unsure):
            advice = "It is not known whether the edit was made: read the file again." if is_unsure else "Try again."
            return f"There is no connection to {where}: {reason}. {advice}"
        case errors.IoFailure(reason=reason, hint=hint):
            return f"The file could not be read or written: {reason}. {hint or _CHECK_DISK}"
        case _:
            raise TypeError(type(error).__name__)


def _at_lines(lines: Sequence[int]) -> str:
    """Name the first lines: "line 3", "lines 3, 9 and 4 more"."""
    shown = ", ".join(map(str, lines[:_MAX_LINES_NAMED]))
    n_more = len(lines) - _MAX_LINES_NAMED
    return f"{'line' if len(lines) == 1 else 'lines'} {shown}{f' and {n_more} more' if n_more > 0 else ''}"


def _after_colon(explanation: str) -> str:
    return f": {explanation}" if explanation else ""


def _instead_of_cells(fault: NotebookFault) -> str:
    if fault in MENDED_AS_TEXT:
        return " Its text can be edited instead."
    return _CONVERT if fault == "version" else ""
