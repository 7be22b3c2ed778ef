"""A modern client's repeated call: which answer counts for the file as it is now."""

import pytest

from fileops.core.diff.unified import change_of
from fileops.mcp.elicitation import InputRequired, modern_dialogue
from fileops.mcp.protocol import JsonObject
from fileops.mcp.request_state import StateSeal
from fileops.model.approval import ApprovalRequest, Once
from fileops.model.digest import content_digest
from fileops.model.edits import Rebased, Splice
from fileops.model.errors import ModifiedExternally
from fileops.model.files import TextFormat
from fileops.model.sessions import SessionName
from support.core_models import LIMITS

CALL = "call"
ACCEPTED: JsonObject = {"approve": {"action": "accept", "content": {"decision": "apply"}}}
LINES = b"".join(b"line %d\n" % number for number in range(1, 21))


def question_about(data: bytes, new: bytes, *, is_rebased: bool) -> ApprovalRequest:
    start = data.index(b"line 15")
    change = change_of(
        data, TextFormat(), (Splice(start, start + 7, new),), file_path="/w/f", operation="modify", limits=LIMITS
    )
    return ApprovalRequest(
        title="t",
        description="d",
        file_path="/w/f",
        session_id=SessionName("s"),
        change=change,
        original_text=None,
        proposed_text=None,
        original_digest=content_digest(data),
        rebased=Rebased(changed_by="external", ranges=(), diff=None, shown=LINES) if is_rebased else None,
    )


async def answered(first: ApprovalRequest, second: ApprovalRequest) -> object:
    """The decision on the second question of a client that was asked the first and accepted it."""
    seal = StateSeal()
    with pytest.raises(InputRequired) as asked:
        await modern_dialogue(seal, CALL, None, None, "codex").decide(first)
    state = seal.seal(CALL, asked.value.asked)
    return await modern_dialogue(seal, CALL, state, ACCEPTED, "codex").decide(second)


async def test_answer_holds_for_the_same_lines_of_a_file_changed_in_others() -> None:
    first = question_about(LINES, b"mine", is_rebased=False)
    assert await answered(first, first) == Once()
    assert await answered(first, question_about(b"theirs\n" + LINES, b"mine", is_rebased=True)) == Once()


async def test_other_lines_are_asked_about_again() -> None:
    first = question_about(LINES, b"mine", is_rebased=False)
    with pytest.raises(InputRequired):
        await answered(first, question_about(b"theirs\n" + LINES, b"other", is_rebased=True))


async def test_changed_content_is_refused_if_edits_are_not_rebased() -> None:
    first = question_about(LINES, b"mine", is_rebased=False)
    with pytest.raises(ModifiedExternally):
        await answered(first, question_about(b"theirs\n" + LINES, b"mine", is_rebased=False))
