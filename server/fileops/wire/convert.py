"""Translation between wire and model: params to requests, results to wire results.

Rare requests are translated in separate modules (`history`, `commands`, `views`), which are loaded when they are first
used.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from fileops.core.matching.exact import EXACT, fault_of_strategy
from fileops.core.presentation.failures import failure_message
from fileops.model import errors
from fileops.model.approval import ApprovalRequest
from fileops.model.edits import Change, Edit
from fileops.model.requests import EditRequest, ReadRequest
from fileops.model.results import EditResult, ImageContent, ReadResult
from fileops.model.review import SessionInfo
from fileops.model.sessions import SessionName
from fileops.rpc.decode import InvalidParams
from fileops.wire import types as wire
from fileops.wire.failures import failure_details, rebased_details, suggestions_details
from fileops.wire.notebooks import cell_ui_extras, changed_cells

if TYPE_CHECKING:
    from fileops.wire.details import (
        EditDetails,
        ReadDetails,
        StepDetails,
    )

ORIGINAL_LABEL, PROPOSED_LABEL = "Current", "Proposed"  # of the two sides of a question, as specified


# --- params → requests -------------------------------------------------------------------------------------------


def read_request(params: wire.ReadParams, session: SessionName, max_output_bytes: int | None = None) -> ReadRequest:
    """Raises: InvalidParams."""
    if params.outputs == "full" and params.cell_id is None:
        raise InvalidParams('"full" is for one cell, with `cell_id`', ".outputs")
    return ReadRequest(
        file_path=params.file_path,
        offset=params.offset,
        limit=params.limit,
        session_id=session,
        raw=params.raw or False,
        max_output_bytes=max_output_bytes,
        cell_id=params.cell_id,
        outputs=params.outputs or "summary",
    )


def write_request(params: wire.WriteParams, session: SessionName) -> EditRequest:
    return EditRequest(
        file_path=params.file_path,
        content=params.content,
        tool="write",
        dry_run=params.dry_run or False,
        include_texts=params.include_texts or False,
        session_id=session,
    )


def edit_request(params: wire.EditParams, session: SessionName) -> EditRequest:
    edit = Edit(
        old_string=params.old_string,
        new_string=params.new_string,
        replace_all=params.replace_all or False,
        expected_replacements=params.expected_replacements,
        strategy=_strategy(params.strategy, ".strategy"),
    )
    return EditRequest(
        file_path=params.file_path,
        edits=(edit,),
        tool="edit",
        dry_run=params.dry_run or False,
        include_texts=params.include_texts or False,
        session_id=session,
    )


def multi_edit_request(params: wire.MultiEditParams, session: SessionName) -> EditRequest:
    return EditRequest(
        file_path=params.file_path,
        edits=edits_of(params.edits, ".edits"),
        tool="multi_edit",
        dry_run=params.dry_run or False,
        include_texts=params.include_texts or False,
        session_id=session,
    )


def edits_of(steps: Sequence[wire.EditStep], place: str) -> tuple[Edit, ...]:
    """Raises: InvalidParams."""
    return tuple(
        Edit(
            old_string=step.old_string,
            new_string=step.new_string,
            replace_all=step.replace_all or False,
            strategy=_strategy(step.strategy, f"{place}[{index}].strategy"),
        )
        for index, step in enumerate(steps)
    )


def _strategy(name: str | None, path: str) -> str:
    """Raises: InvalidParams."""
    if name is None:
        return EXACT
    if (fault := fault_of_strategy(name)) is not None:
        raise InvalidParams(fault, path)
    return name


# --- outcomes → results ------------------------------------------------------------------------------------------


def read_result(outcome: ReadResult) -> wire.ToolResult:
    if outcome.picture is not None:
        return _image_result(outcome, outcome.picture)
    details: ReadDetails = {} if outcome.window is None else _read_details(outcome)
    if outcome.page is not None:
        details["cells"] = list(outcome.page.cells)
    if outcome.not_cells is not None:
        fault = outcome.not_cells
        details["not_cells"] = {"fault": fault.fault, "reason": fault.reason, "line": fault.line}
    result = tool_result(outcome.output, outcome.error, None, details)
    if not outcome.pictures:
        return result
    return msgspec.structs.replace(result, attachments=[_attachment(picture) for picture in outcome.pictures])


def _attachment(picture: ImageContent) -> wire.Attachment:
    return wire.Attachment(mime_type=picture.mime_type, data=picture.data, width=picture.width, height=picture.height)


def _image_result(outcome: ReadResult, picture: ImageContent) -> wire.ToolResult:
    details: ReadDetails = {
        "mime_type": picture.file_type,
        "width": picture.file_width,
        "height": picture.file_height,
        "n_frames": picture.n_frames,
        "size_bytes": outcome.size_bytes,
        "mtime": _seconds(outcome.mtime_ns),
        "source": outcome.source,
    }
    return msgspec.structs.replace(tool_result(outcome.output, None, None, details), attachments=[_attachment(picture)])


def edit_result(outcome: EditResult, file_path: str) -> wire.ToolResult:
    """Translate the result of an edit of `file_path`, which is as the caller gave it."""
    ui_extra = None if outcome.change is None else ui_extra_of(outcome.change, file_path)
    details: EditDetails = _edit_details(outcome) if outcome.error is None else {**failure_details(outcome.error)}
    if outcome.is_multi and (outcome.error is None or "edit_index" in details):
        details["edits"] = _step_results(outcome)
    if outcome.suggestions is not None:
        details = {**details, **suggestions_details(outcome.suggestions)}
    if outcome.syntax is not None:
        details["syntax"] = outcome.syntax
    if outcome.error is not None and outcome.modified_by_user:
        details["modified_by_user"] = True
    return tool_result(outcome.output, outcome.error, ui_extra, details)


def tool_result(
    output: str, error: errors.FileOpsError | None, ui_extra: wire.UiExtra | None, details: Mapping[str, object]
) -> wire.ToolResult:
    if error is None:
        return wire.ToolResult(status="success", output=output, error=None, ui_extra=ui_extra, details=details)
    failure = wire.ErrorInfo(code=error.code, message=failure_message(error))
    return wire.ToolResult(status="error", output=output, error=failure, ui_extra=None, details=details)


def _read_details(outcome: ReadResult) -> "ReadDetails":
    window, fmt = outcome.window, outcome.format
    assert window is not None and fmt is not None
    details: ReadDetails = {
        "start_line": window.start_line,
        "end_line": window.end_line,
        "total_lines": window.total_lines,
        "next_offset": window.next_offset,
        "n_lines_hidden": window.n_lines_hidden,
        "encoding": outcome.encoding or fmt.encoding,
        "bom": bool(fmt.bom),
        "newline": window.newline,
        "size_bytes": outcome.size_bytes,
        "mtime": _seconds(outcome.mtime_ns),
        "source": outcome.source,
    }
    if outcome.document_version is not None:
        details["document_version"] = outcome.document_version
    if outcome.is_raw:
        details["text"] = window.text
    return details


def _edit_details(outcome: EditResult) -> "EditDetails":
    details: EditDetails = {
        "replacements": sum(outcome.n_replaced),
        "created": outcome.created,
        "applied_to": outcome.applied_to,
        "match": match_of(outcome.matches),
        "match_lines": [line for lines in outcome.match_lines for line in lines],
        "modified_by_user": outcome.modified_by_user,
        "edit_id": outcome.edit_id,
        "dry_run": outcome.dry_run,
    }
    if any(edit.is_proposed for edit in outcome.edits):
        details["corrected"] = [
            {"edit_index": index, "old_string": edit.old_string, "new_string": edit.new_string}
            for index, edit in enumerate(outcome.edits)
            if edit.is_proposed
        ]
    if outcome.change is not None and outcome.change.cells:
        details["cells"] = changed_cells(outcome.change.cells)
    if outcome.commit is not None:
        details["commit"] = outcome.commit
    if outcome.processed_by:
        details["processed_by"] = list(outcome.processed_by)
    if outcome.not_formatted is not None:
        details["not_formatted"] = outcome.not_formatted
    if outcome.needs_approval is not None:
        details["needs_approval"] = outcome.needs_approval
    if outcome.rebased is not None:
        details["rebased"] = rebased_details(outcome.rebased)
    if outcome.texts is not None:
        details["original_text"], details["proposed_text"] = outcome.texts.original, outcome.texts.proposed
    return details


def _step_results(outcome: EditResult) -> "list[StepDetails]":
    """Return the outcome of each step of a multi edit. After a failure none was applied, even if it is `ok`."""
    if outcome.error is None:
        steps = zip(outcome.n_replaced, outcome.matches, outcome.match_lines, strict=True)
        return [
            {"index": index, "status": "ok", "replacements": n, "match": match, "match_lines": list(lines)}
            for index, (n, match, lines) in enumerate(steps)
        ]
    failed: int = getattr(outcome.error, "edit_index", 0)
    return [
        {"index": index, "status": "ok" if index < failed else "failed" if index == failed else "not_tried"}
        for index in range(len(outcome.edits))
    ]


def match_of(matches: tuple[str, ...]) -> str | None:
    """Return how the edits matched: "exact" only if all did, otherwise the first other way."""
    return next((match for match in matches if match != "exact"), matches[0] if matches else None)


def ui_extra_of(change: Change, file_path: str) -> wire.UiExtra:
    return wire.UiExtra(
        diff=change.unified,
        exact=change.exact,
        truncated=change.truncated,
        operation=change.operation,
        file_path=file_path,
        hunks=change.hunks,
        stats=wire.Stats(added=change.n_added, removed=change.n_removed),
        first_changed_line=change.first_changed_line,
        cells=cell_ui_extras(change.cells, file_path) or msgspec.UNSET,
    )


def confirm_params(
    question: ApprovalRequest, session: SessionInfo | msgspec.UnsetType = msgspec.UNSET
) -> wire.ConfirmEditParams:
    change = question.change
    return wire.ConfirmEditParams(
        type="edit",
        title=question.title,
        description=question.description,
        file_path=question.file_path,
        session_id=question.session_id,
        operation="create" if change.operation == "create" else "modify",  # older clients know no other operations
        diff=change.unified,
        hunks=change.hunks,
        original_text=question.original_text,
        proposed_text=question.proposed_text,
        original_label=ORIGINAL_LABEL,
        proposed_label=PROPOSED_LABEL,
        session=session,
        rebased=msgspec.UNSET if question.rebased is None else {**rebased_details(question.rebased)},
        cells=cell_ui_extras(question.change.cells, question.file_path) or msgspec.UNSET,
    )


def _seconds(ns: int | None) -> float | None:
    return None if ns is None else ns / 1e9
