"""`fileops/correctEdit`: a request of the daemon to the client."""

from typing import cast

import msgspec

from fileops.model.approval import Correction, CorrectionRequest
from fileops.wire.types import JsonObject


class CorrectEditParams(msgspec.Struct, frozen=True, kw_only=True):
    """nearest: as in the details of a failed edit, or null."""

    file_path: str
    session_id: str
    edit_index: int
    old_string: str
    new_string: str
    reason: str
    nearest: JsonObject | None


def correct_edit_params(question: CorrectionRequest) -> CorrectEditParams:
    nearest = question.nearest
    return CorrectEditParams(
        file_path=question.file_path, session_id=question.session_id, edit_index=question.edit_index,
        old_string=question.old_string, new_string=question.new_string, reason=question.reason,
        nearest=None if nearest is None else msgspec.to_builtins(nearest),
    )  # fmt: skip


def correction_of(answer: object) -> Correction | None:
    """What is no proposal of two strings, the old one not empty, is none at all."""
    if not isinstance(answer, dict):
        return None
    given = cast("JsonObject", answer)
    old, new = given.get("old_string"), given.get("new_string")
    if not isinstance(old, str) or not isinstance(new, str) or not old:
        return None
    return Correction(old_string=old, new_string=new)
