"""Translation of `fileops/applyChanges`. Loaded when it is first used."""

from functools import reduce
from typing import TYPE_CHECKING

from fileops.core.presentation.failures import failure_message
from fileops.core.presentation.outputs import join_changes
from fileops.model.changes import (
    ChangeSetRequest,
    ChangeSetResult,
    CreateFile,
    DeleteFile,
    EditFile,
    FileChange,
    FileOutcome,
    PatchRequest,
    RenameFile,
)
from fileops.model.sessions import SessionName
from fileops.rpc.decode import InvalidParams
from fileops.wire import changes as wire
from fileops.wire.convert import edits_of, match_of, tool_result, ui_extra_of
from fileops.wire.failures import failure_details, suggestions_details
from fileops.wire.notebooks import cell_edits
from fileops.wire.types import ToolResult

if TYPE_CHECKING:
    from fileops.wire.details import ChangedFile as ChangedFileDetails
    from fileops.wire.details import ChangesDetails

# kind -> required keys, and optional keys
_KEYS: dict[str, tuple[set[str], set[str]]] = {
    "edit": (set(), {"edits", "cells"}), "create": ({"content"}, set()), "delete": (set(), set()),
    "rename": ({"new_path"}, {"edits"}),
}  # fmt: skip


def change_set_request(params: wire.ApplyChangesParams, session: SessionName) -> ChangeSetRequest:
    """Raises: InvalidParams."""
    return ChangeSetRequest(
        changes=tuple(_change_of(change, f".changes[{index}]") for index, change in enumerate(params.changes)),
        description=params.description or "",
        session_id=session,
        dry_run=params.dry_run or False,
    )


def patch_request(params: wire.ApplyPatchParams, session: SessionName) -> PatchRequest:
    return PatchRequest(
        patch=params.patch,
        cwd=params.cwd,
        description=params.description or "",
        session_id=session,
        dry_run=params.dry_run or False,
    )


def _change_of(change: wire.FileChange, place: str) -> FileChange:
    """Raises: InvalidParams."""
    wanted, allowed = _KEYS[change.kind]
    given = {key for key in ("edits", "cells", "content", "new_path") if getattr(change, key) is not None}
    for key in sorted(wanted - given):
        raise InvalidParams(f"is required for the kind {change.kind}", f"{place}.{key}")
    for key in sorted(given - wanted - allowed):
        raise InvalidParams(f"does not go with the kind {change.kind}", f"{place}.{key}")
    if change.kind == "edit" and len(given & {"edits", "cells"}) != 1:
        raise InvalidParams("is required for the kind edit, or `cells` for a notebook, not both", f"{place}.edits")
    edits = edits_of(change.edits or (), f"{place}.edits")
    match change.kind:
        case "edit":
            cells = cell_edits(change.cells or (), f"{place}.cells")
            return EditFile(file_path=change.file_path, edits=edits, cells=cells)
        case "create":
            return CreateFile(file_path=change.file_path, content=change.content or "")
        case "delete":
            return DeleteFile(file_path=change.file_path)
        case "rename":
            return RenameFile(file_path=change.file_path, new_path=change.new_path or "", edits=edits)


def change_set_result(outcome: ChangeSetResult) -> ToolResult:
    """Translate the result.

    After a failure, `details` names the change that failed first, and all others that would fail.
    """
    if outcome.error is not None:
        failed: ChangesDetails = {**failure_details(outcome.error)}
        if outcome.problems:
            if (suggestions := outcome.problems[0].suggestions) is not None:
                failed = {**failed, **suggestions_details(suggestions)}  # pyrefly: ignore[bad-unpacking] - a part
            failed["change_index"] = outcome.problems[0].change_index
            failed["problems"] = [
                {
                    "change_index": problem.change_index,
                    "code": problem.error.code,
                    "message": failure_message(problem.error),
                }
                for problem in outcome.problems[1:]
            ]
        return tool_result(outcome.output, outcome.error, None, failed)
    details: ChangesDetails = {
        "set_id": outcome.set_id,
        "files": [_changed_file(file) for file in outcome.files],
        "dropped": list(outcome.dropped),
        "modified_by_user": bool(outcome.dropped) or any(file.modified_by_user for file in outcome.files),
        "dry_run": outcome.dry_run,
    }
    if outcome.needs_approval is not None:
        details["needs_approval"] = outcome.needs_approval
    whole = reduce(join_changes, (file.change for file in outcome.files))
    return tool_result(outcome.output, None, ui_extra_of(whole, outcome.files[0].file_path), details)


def _changed_file(file: FileOutcome) -> "ChangedFileDetails":
    details: ChangedFileDetails = {
        "file_path": file.file_path,
        "operation": file.operation,
        "ui_extra": ui_extra_of(file.change, file.file_path),
        "edit_id": file.edit_id,
        "applied_to": file.applied_to,
        "modified_by_user": file.modified_by_user,
    }
    if (match := match_of(file.matches)) is not None:
        details["match"] = match
    if file.new_path is not None:
        details["new_path"] = file.new_path
    return details
