"""Details of failures, of what is added to their answers, and of what an edit was rebased over."""

from typing import TYPE_CHECKING

from fileops.model import errors
from fileops.model.edits import Rebased
from fileops.model.notebooks import ComparedCells
from fileops.model.suggestions import Suggestion, Suggestions
from fileops.wire.notebooks import cell_ui_extras

if TYPE_CHECKING:
    from fileops.wire.details import (
        CellsSinceRead,
        FailureDetails,
        RebasedDetails,
        SuggestionDetails,
        SuggestionsDetails,
    )


def failure_details(error: errors.FileOpsError) -> "FailureDetails":
    details: FailureDetails = {}
    index = getattr(error, "edit_index", None)
    if isinstance(index, int):
        details["edit_index"] = index
    if isinstance(error, errors.InvalidPatch):
        details["patch_line"] = error.line
    elif isinstance(error, errors.HunkNotFound | errors.HunkAmbiguous):
        details["patch_line"] = error.patch_line
    match error:
        case errors.NoMatch(suggested_place=place) | errors.HunkNotFound(suggested_place=place):
            details["suggested_place"] = place
        case errors.MultipleMatches(lines=lines) | errors.CountMismatch(lines=lines):
            details["match_lines"] = list(lines)
        case errors.ModifiedExternally(
            changed_by=changed_by,
            diff_since_read=diff,
            cells_since_read=cells,
            also_changed_by=also,
            relevance=relevance,
        ):
            details["changed_by"] = changed_by
            details["diff_since_read"] = diff
            if cells is not None:
                details = {**details, **_cells_since_read(cells)}
            if also is not None:
                details["also_changed_by"] = also
            if relevance is not None:
                details["relevance"] = relevance
        case errors.ProcessingFailed(processor=processor, reason=reason):
            details["processor"], details["reason"] = processor, reason
        case errors.Rejected(by=by) if by is not None:
            details["decided_by"] = {"kind": "person", "client": by.client}
        case errors.ConsentUnavailable(rule=rule):
            details["decided_by"] = {"kind": "policy", "rule": rule}
        case errors.ValidationFailed(validator=validator, reason=reason):
            details["validator"], details["reason"] = validator, reason
        case errors.NotebookInvalid(fault=fault, reason=reason):
            details["fault"], details["reason"] = fault, reason
        case errors.CellNotFound(cell_id=cell_id, same_id=same, at_index=at_index, last=last):
            details["cell_id"], details["same_id"] = cell_id, list(same)
            details["at_index"], details["last"] = at_index, last
        case errors.NotRead(cell_id=str(cell_id)):
            details["cell_id"] = cell_id
        case errors.CellConflict(cell_id=cell_id, reason=reason):
            details["cell_id"], details["reason"] = cell_id, reason
        case errors.UndoConflict(reason=reason, ranges=ranges, cells=cells):
            details["reason"], details["ranges"] = reason, ranges
            if cells:
                details["cell_ids"] = list(cells)
        case errors.SetConflict(files=files, kept=kept):
            details["left"], details["kept"] = list(files), list(kept)
        case _:
            pass
    return details


def rebased_details(rebased: Rebased) -> "RebasedDetails":
    details: RebasedDetails = {
        "changed_by": rebased.changed_by,
        "n_foreign_hunks": len(rebased.ranges),
        "ranges": rebased.ranges,
        "diff": rebased.diff,
    }
    return details if rebased.cells is None else {**details, **_cells_since_read(rebased.cells)}


def _cells_since_read(cells: ComparedCells) -> "CellsSinceRead":
    if isinstance(cells.compared, str):
        return {"other_change": cells.compared}
    return {"cells_since_read": cell_ui_extras(cells.compared, cells.file_path)}


def suggestions_details(suggestions: Suggestions) -> "SuggestionsDetails":
    details: SuggestionsDetails = {}
    if suggestions.offered:
        details["suggestions"] = [_suggestion_details(each) for each in suggestions.offered]
    if suggestions.failures:
        details["failures"] = suggestions.failures
    if suggestions.shown is not None:
        details["shown"] = suggestions.shown
    return details


def _suggestion_details(suggestion: Suggestion) -> "SuggestionDetails":
    details: SuggestionDetails = {
        "edit_index": suggestion.edit_index,
        "kind": suggestion.kind,
        "start_line": suggestion.start_line,
        "end_line": suggestion.end_line,
        "old_string": suggestion.old_string,
        "note": suggestion.note,
    }
    if suggestion.cell_id is not None:
        details["cell_id"] = suggestion.cell_id
    return details
