"""Wire types of `fileops/correctEdit`, a request from the daemon to the client, and their translation."""

from typing import cast

import msgspec

from fileops.model.approval import Correction, CorrectionRequest
from fileops.wire.types import JsonObject


class CorrectEditParams(msgspec.Struct, frozen=True, kw_only=True):
    file_path: str
    session_id: str
    edit_index: int
    old_string: str
    new_string: str
    reason: str
    nearest: JsonObject | None  # as in the details of a failed edit


def correct_edit_params(request: CorrectionRequest) -> CorrectEditParams:
    nearest = request.nearest
    return CorrectEditParams(
        file_path=request.file_path, session_id=request.session_id, edit_index=request.edit_index,
        old_string=request.old_string, new_string=request.new_string, reason=request.reason,
        nearest=None if nearest is None else msgspec.to_builtins(nearest),
    )  # fmt: skip


def correction_of(answer: object) -> Correction | None:
    """Decode a proposal of two strings, the first of which is not empty. Any other answer is None."""
    if not isinstance(answer, dict):
        return None
    proposal = cast("JsonObject", answer)
    old, new = proposal.get("old_string"), proposal.get("new_string")
    if not isinstance(old, str) or not isinstance(new, str) or not old:
        return None
    return Correction(old_string=old, new_string=new)
