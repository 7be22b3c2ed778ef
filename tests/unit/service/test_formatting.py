"""A step that formats never fails or holds up the edit of which it is a part."""

from concurrent.futures import Future

import pytest

from fileops.model.diagnostics import Formatted
from fileops.service import formatting
from fileops.service.formatting import Formatting


def test_language_servers_that_never_answer_do_not_hold_up_an_edit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formatting, "WAIT_S", 0.005)
    step = Formatting(lambda _text, _ranges: Future[Formatted]())  # as of a loop that has ended
    assert step.process("/w/a.py", "x = 1\n", "x  =  2\n") == "x  =  2\n"
    assert step.not_formatted == "the language servers did not answer"
