"""Corrections of an edit's strings by its client, whose own model may propose others.

The proposed text must occur in the file exactly, like any other. If it does not, the edit fails as it would have
without the question. Nothing is locked during the question.
"""

from msgspec import Struct
from msgspec.structs import replace

from fileops.core.matching.exact import EXACT
from fileops.core.presentation.failures import failure_message
from fileops.model.approval import CorrectedStrings, CorrectionRequest
from fileops.model.errors import FileOpsError, NoMatch
from fileops.model.requests import EditRequest
from fileops.model.results import EditResult

MAX_QUESTIONS = 10  # per multi edit; beyond this, read the file again


class NeedsCorrection(Struct, frozen=True, kw_only=True):
    """An edit that waits for the client's proposal. failed: its result if nothing is proposed."""

    error: NoMatch
    failed: EditResult
    question: CorrectionRequest


def ask_about(request: EditRequest, error: NoMatch, failed: EditResult) -> NeedsCorrection | None:
    """Return the question about a step; None if it was asked before, or if its text is not matched literally.

    failed: the result of the request if nothing is proposed.
    """
    edit = request.edits[error.edit_index]
    if edit.is_proposed or edit.strategy != EXACT or len(request.no_matches) == MAX_QUESTIONS:
        return None
    question = CorrectionRequest(
        file_path=request.file_path,
        session_id=request.session_id,
        edit_index=error.edit_index,
        old_string=edit.old_string,
        new_string=edit.new_string,
        reason=failure_message(error),
        suggested_place=error.suggested_place,
    )
    return NeedsCorrection(error=error, question=question, failed=failed)


def with_proposal(request: EditRequest, error: NoMatch, proposal: CorrectedStrings) -> EditRequest:
    """Return the request with the proposed strings, and with the failure of the caller's own strings."""
    edits = list(request.edits)
    edits[error.edit_index] = replace(
        edits[error.edit_index], old_string=proposal.old_string, new_string=proposal.new_string, is_proposed=True
    )
    return replace(
        request, edits=tuple(edits), no_matches=(*request.no_matches, error), given=request.given or request.edits
    )


def original_error(request: EditRequest, error: FileOpsError) -> FileOpsError:
    """Return the failure of the caller's own strings if `error` is that of a proposal."""
    index = getattr(error, "edit_index", None)
    return next((own for own in request.no_matches if own.edit_index == index), error)
