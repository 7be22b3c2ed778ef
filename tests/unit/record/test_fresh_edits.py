"""An older text over fresh edits: which of a run of edits it does not have, and which edits are a run."""

import pytest

from contract.recording import RecordingHooks
from fileops.core.plan import plan
from fileops.core.text import detect_format
from fileops.fs.memory import MemoryFileSystem
from fileops.model.edits import Edit
from fileops.model.settings import Limits
from fileops.record.fresh_edits import FRESH_S, FreshEdits
from support.commits import commit_of

PATH = "/w/f"
TEXT = "one\ntwo\nthree\n"


class Edited:
    """A file that sessions edit, one after the other."""

    def __init__(self) -> None:
        self.disk = MemoryFileSystem()
        self.disk.put(PATH, TEXT.encode())
        self.now = 0.0
        self.fresh = FreshEdits(lambda: self.now)

    def edit(self, old: str, new: str, session_id: str = "s") -> None:
        snapshot = self.disk.read(PATH)
        planned = plan(snapshot, detect_format(snapshot.data), [Edit(old_string=old, new_string=new)], limits=Limits())
        committed = self.disk.replace(snapshot, planned.splices, RecordingHooks())
        self.fresh.note(PATH, commit_of(planned, committed, new, session_id=session_id))

    def overwritten_by(self, text: str) -> tuple[str, str] | None:
        """The content before the edits that are lost, and the one after them."""
        found = self.fresh.take_overwritten(PATH, self.disk.read(PATH).digest, text.encode())
        return None if found is None else (found.before.data.decode(), found.after.data.decode())


@pytest.fixture
def file() -> Edited:
    return Edited()


def test_all_edits_of_a_run_are_lost_together(file: Edited) -> None:
    file.edit("one", "1")
    file.edit("three", "3")
    assert file.overwritten_by("one\nTWO\nthree\n") == (TEXT, "1\ntwo\n3\n")
    assert file.overwritten_by("one\nTWO\nthree\n") is None  # it is told once


def test_edits_that_the_text_has_are_not_lost(file: Edited) -> None:
    file.edit("one", "1")
    file.edit("three", "3")
    assert file.overwritten_by("1\nTWO\nthree\n") == ("1\ntwo\nthree\n", "1\ntwo\n3\n")


def test_edits_of_another_session_are_another_run(file: Edited) -> None:
    file.edit("one", "1", session_id="other")
    file.edit("three", "3")
    assert file.overwritten_by(TEXT) == ("1\ntwo\nthree\n", "1\ntwo\n3\n")


def test_edits_are_fresh_for_a_minute(file: Edited) -> None:
    file.edit("one", "1")
    file.now = FRESH_S + 1
    file.edit("three", "3")
    assert file.overwritten_by(TEXT) == ("1\ntwo\nthree\n", "1\ntwo\n3\n")
    file.edit("two", "2")
    file.now *= 3
    assert file.overwritten_by(TEXT) is None
