"""Translation of the answer to `fileops/correctEdit`, a request from the daemon to the client."""

from typing import cast

from fileops.model.approval import Correction
from fileops.wire.types import JsonObject


def correction_of(answer: object) -> Correction | None:
    """Decode a proposal of two strings, the first of which is not empty. Any other answer is None."""
    if not isinstance(answer, dict):
        return None
    proposal = cast("JsonObject", answer)
    old, new = proposal.get("old_string"), proposal.get("new_string")
    if not isinstance(old, str) or not isinstance(new, str) or not old:
        return None
    return Correction(old_string=old, new_string=new)
