"""Translation of `fileops/history` and `fileops/undo`. Loaded when they are first used."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from fileops.core.presentation.failures import failure_message
from fileops.model.history import AppliedEdit
from fileops.model.requests import HistoryRequest, UndoRequest
from fileops.model.results import UndoFileOutcome, UndoResult
from fileops.model.sessions import SessionName
from fileops.rpc.decode import InvalidParams
from fileops.wire import types as wire
from fileops.wire.convert import tool_result, ui_extra_of
from fileops.wire.failures import failure_details

if TYPE_CHECKING:
    from fileops.wire.details import UndoDetails
    from fileops.wire.details import UndoneFile as UndoneFileDetails


def history_request(params: wire.HistoryParams, of: SessionName | None) -> HistoryRequest:
    return HistoryRequest(file_path=params.file_path, session_id=of, limit=params.limit)


def undo_request(params: wire.UndoParams, *, of: SessionName | None, by: SessionName, has_user: bool) -> UndoRequest:
    """Translate the params of an undo. Raises: InvalidParams.

    Args: of: the session that they name. by: the session that undoes, if no user does. has_user: whether a user can.
    """
    if params.set_id is not None and params.edit_id is not None:
        raise InvalidParams("cannot be combined with edit_id", ".set_id")
    names_one = params.edit_id is not None or params.set_id is not None
    if not names_one and params.session_id is None:
        raise InvalidParams("edit_id, set_id or session_id is required")
    if names_one and params.file_path is not None:
        raise InvalidParams("goes with session_id, not with edit_id or set_id", ".file_path")
    return UndoRequest(
        edit_id=params.edit_id,
        set_id=params.set_id,
        session_id=of,
        file_path=params.file_path,
        by_session=None if has_user and _is_by_user(params) else by,
        dry_run=params.dry_run or False,
        is_approved=params.approved or False,
    )


def _is_by_user(params: wire.UndoParams) -> bool:
    """Return whether the client's user undoes: they approved it, and named no session with an edit or a set."""
    names_one = params.edit_id is not None or params.set_id is not None
    return bool(params.approved) and (not names_one or params.session_id is None)


def undo_result(outcome: UndoResult) -> wire.ToolResult:
    """Translate the result of an undo. After a failure, `details` names the file, and what stays undone."""
    files = outcome.files
    ui_extras = [ui_extra_of(file.change, file.file_path) for file in files]
    undone = [edit_id for file in files for edit_id in file.edit_ids if not file.modified_by_user]
    undone_files = [_file_undo(file, ui_extra) for file, ui_extra in zip(files, ui_extras, strict=True)]
    if outcome.error is not None:
        failed: UndoDetails = {**failure_details(outcome.error)}
        if outcome.file_path is not None:
            failed["file_path"], failed["undone"], failed["files"] = outcome.file_path, undone, undone_files
        result = tool_result(outcome.output, outcome.error, None, failed)
        message = " ".join(filter(None, (failure_message(outcome.error), outcome.note)))
        return msgspec.structs.replace(result, error=wire.ErrorInfo(code=outcome.error.code, message=message))
    whole = msgspec.structs.replace(ui_extras[0], diff="".join(ui_extra.diff for ui_extra in ui_extras))
    details: UndoDetails = {
        "undone": undone,
        "edit_id": files[0].edit_id if len(files) == 1 else None,
        "applied_to": files[0].applied_to,
        "modified_by_user": any(file.modified_by_user for file in files),
        "dry_run": outcome.dry_run,
        "files": undone_files,
    }
    if outcome.needs_approval is not None:
        details["needs_approval"] = outcome.needs_approval
    return tool_result(outcome.output, None, whole, details)


def _file_undo(file: UndoFileOutcome, ui_extra: wire.UiExtra) -> "UndoneFileDetails":
    return {
        "file_path": file.file_path,
        "undone": [] if file.modified_by_user else list(file.edit_ids),
        "edit_id": file.edit_id,
        "outcome": file.outcome,
        "applied_to": file.applied_to,
        "ui_extra": ui_extra,
    }


def history_result(edits: Iterable[AppliedEdit]) -> wire.HistoryResult:
    return wire.HistoryResult(edits=[_history_entry(edit) for edit in edits])


def _history_entry(edit: AppliedEdit) -> wire.HistoryEntry:
    return wire.HistoryEntry(
        edit_id=edit.edit_id,
        file_path=edit.file_path,
        session_id=edit.session_id,
        timestamp=edit.timestamp,
        operation=edit.kind if edit.renamed_from is None else "rename",
        summary=edit.summary,
        diff=edit.diff,
        stats=wire.Stats(added=edit.n_added, removed=edit.n_removed),
        undoable=edit.undone_by is None,
        undone_by=edit.undone_by,
        undoes=list(edit.undoes),
        set_id=msgspec.UNSET if edit.set_id is None else edit.set_id,
        cells=list(edit.cells) or msgspec.UNSET,
        rebased=msgspec.UNSET
        if edit.changed_by is None
        else {
            "changed_by": edit.changed_by,
            "n_foreign_hunks": edit.n_foreign_hunks,
        },
    )
