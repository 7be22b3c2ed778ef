"""Answers to calls that did not reach the service."""

import pytest

from fileops.mcp.tools import Arguments, EditArguments, UndoArguments, WriteArguments, answer_failure
from fileops.model.errors import OutsideRoots
from fileops.model.sessions import SessionName

FILE = "/p/f"


@pytest.mark.parametrize(
    ("arguments", "edited"),
    [
        (EditArguments(file_path=FILE, old_string="a", new_string="b"), FILE),
        (WriteArguments(file_path=FILE, content="a"), FILE),
        (UndoArguments(edit_id="1"), None),
    ],
)
def test_failed_edit_is_one_of_the_file_that_was_given(arguments: Arguments, edited: str | None) -> None:
    answer = answer_failure(arguments, OutsideRoots(path=FILE), SessionName("a"))
    assert (answer.result.status, answer.edited) == ("error", edited)
