"""The edits of this process: what is kept of them, what is forgotten, which content they can bring back."""

import time
from collections.abc import Sequence

from contract.recording import RecordingHooks
from fileops.core.plan import plan
from fileops.core.text import detect_format
from fileops.fs.memory import MemoryFileSystem
from fileops.model.edits import Edit
from fileops.model.sessions import SessionName
from fileops.model.settings import Limits
from fileops.record.history import History
from support.commits import commit_of

PATH = "/w/f"


class Edited:
    """A file that an agent edits, and the history of that."""

    def __init__(self, history: History | None = None) -> None:
        self.disk = MemoryFileSystem()
        self.history = history or History()
        self.n_edits = 0
        self.disk.put(PATH, b"")

    def edit(self, old: str, new: str, undoes: tuple[str, ...] = ()) -> str:
        snapshot = self.disk.read(PATH)
        wish = Edit(old_string=old, new_string=new)
        planned = plan(snapshot, detect_format(snapshot.data), [wish], limits=Limits())
        committed = self.disk.replace(snapshot, planned.splices, RecordingHooks())
        self.n_edits += 1
        self.history.keep(commit_of(planned, committed, str(self.n_edits), time=time.time(), undoes=undoes))
        return str(self.n_edits)

    def ids(self) -> list[str]:
        return [edit.edit_id for edit in self.history.look().edits()]

    def content_after(self, *edit_ids: str) -> Sequence[bytes | None]:
        edits, content_of = self.history.look().edits_of(edit_ids), self.history.own.contents()
        afters = (edits[edit_id].after for edit_id in edit_ids)
        return [None if after is None else content_of(after) for after in afters]


def test_content_after_each_edit_is_available():
    file = Edited()
    file.disk.put(PATH, b"a b c\n")
    file.edit("a", "A")
    file.edit("b", "B")
    file.disk.put(PATH, b"x\nA B c\n")
    file.edit("c", "C")
    contents = [b"A b c\n", b"A B c\n", b"x\nA B C\n"]
    assert file.content_after("1", "2", "3") == contents
    assert file.content_after("3", "2", "1") == contents[::-1]


def test_content_that_the_file_has_had_several_times_is_available():
    file = Edited()
    file.disk.put(PATH, b"a\n")
    for old, new in ("ab", "ba", "ac"):
        file.edit(old, new)
    file.disk.put(PATH, b"b\n")
    file.edit("b", "d")
    assert file.content_after("1", "2", "3", "4") == [b"b\n", b"a\n", b"c\n", b"d\n"]


def test_oldest_edits_are_forgotten_first():
    file = Edited(History(max_bytes=20_000))
    file.disk.put(PATH, b"0\n")
    for n in range(100):
        file.edit(str(n), str(n + 1))
    ids = file.ids()
    assert ids[0] == "100"
    assert 1 < len(ids) < 40
    assert file.history.own.n_bytes <= 20_000
    assert file.history.look().edit("1") is None
    assert file.content_after(ids[-1]) == [f"{ids[-1]}\n".encode()]


def test_one_edit_that_is_larger_than_the_bound_is_kept():
    file = Edited(History(max_bytes=100))
    file.disk.put(PATH, b"x" * 1000 + b"a")
    file.edit("a", "b")
    assert file.ids() == ["1"]


def test_memory_of_forgotten_edits_is_free():
    file = Edited()
    file.disk.put(PATH, b"a\n")
    file.edit("a", "b")
    file.disk.put(PATH, b"c\n")
    file.edit("c", "d")
    file.history.forget("/w")
    assert file.history.own.n_bytes == 0


def test_edits_in_force_are_those_that_no_edit_in_force_undid():
    file = Edited()
    file.disk.put(PATH, b"a\n")
    session = SessionName("s")
    file.edit("a", "b")
    assert [edit.edit_id for edit in file.history.own.in_force(PATH, session)] == ["1"]
    file.edit("b", "a", undoes=("1",))
    assert file.history.own.in_force(PATH, session) == []
    file.edit("a", "b", undoes=("2",))
    assert [edit.edit_id for edit in file.history.own.in_force(PATH, session)] == ["1"]


def test_unwritten_edit_is_not_recorded():
    file = Edited()
    file.disk.put(PATH, b"a\n")
    snapshot = file.disk.read(PATH)
    committed = file.disk.replace(snapshot, (), RecordingHooks())
    wish = Edit(old_string="a", new_string="b")
    planned = plan(snapshot, detect_format(snapshot.data), [wish], limits=Limits())
    file.history.keep(commit_of(planned, committed, "1"))
    assert file.ids() == []
