"""The journal of edits: what it keeps, what it forgets, which content it can bring back."""

from collections.abc import Sequence

from contract.recording import RecordingHooks
from fileops.core.plan import plan
from fileops.core.text import detect_format
from fileops.fs.memory import MemoryFileSystem
from fileops.history.journal import History
from fileops.model.digest import content_digest
from fileops.model.edits import Edit
from fileops.model.history import AppliedEdit
from fileops.model.settings import Limits
from support.commits import commit_of

PATH = "/w/f"


class Journalled:
    """A file that an agent edits, with everything written down."""

    def __init__(self, history: History) -> None:
        self.disk = MemoryFileSystem()
        self.history = history
        self.n_edits = 0
        self.disk.put(PATH, b"")

    def edit(self, old: str, new: str) -> str:
        snapshot = self.disk.read(PATH)
        wish = Edit(old_string=old, new_string=new)
        planned = plan(snapshot, detect_format(snapshot.data), [wish], limits=Limits())
        committed = self.disk.replace(snapshot, planned.splices, RecordingHooks())
        self.n_edits += 1
        self.history.keep(commit_of(planned, committed, str(self.n_edits), time=float(self.n_edits)))
        return str(self.n_edits)


def test_content_after_each_edit_is_available():
    history = History()
    file = Journalled(history)
    file.disk.put(PATH, b"a b c\n")
    file.edit("a", "A")
    file.edit("b", "B")
    file.disk.put(PATH, b"x\nA B c\n")
    file.edit("c", "C")
    assert [history.content_after(edit_id) for edit_id in ("1", "2", "3", "4")] == [
        b"A b c\n", b"A B c\n", b"x\nA B C\n", None,
    ]  # fmt: skip


def test_oldest_edits_are_forgotten_first():
    history = History(max_bytes=20_000)
    file = Journalled(history)
    file.disk.put(PATH, b"0\n")
    for n in range(100):
        file.edit(str(n), str(n + 1))
    edits = history.edits()
    assert edits[0].edit_id == "100"
    assert 1 < len(edits) < 40
    assert history.n_bytes <= 20_000
    assert history.edit("1") is None
    assert history.content_after(edits[-1].edit_id) == f"{edits[-1].edit_id}\n".encode()


def test_one_edit_that_is_larger_than_the_bound_is_kept():
    history = History(max_bytes=100)
    file = Journalled(history)
    file.disk.put(PATH, b"x" * 1000 + b"a")
    file.edit("a", "b")
    assert len(history.edits()) == 1


def test_contents_of_earlier_edits_are_read_from_the_store():
    file = Journalled(History())
    file.disk.put(PATH, b"a\nb\n")
    ids = [file.edit("a", "A"), file.edit("b", "B")]
    loaded = file.history.edits()[::-1]
    history = History(StoreOf(loaded, {b"A\nB\n"}))
    assert [history.content_after(edit_id) for edit_id in ids] == [b"A\nb\n", b"A\nB\n"]
    assert [History(StoreOf(loaded, set())).content_after(edit_id) for edit_id in ids] == [None, None]


class StoreOf:
    """A HistoryStore that has been filled by something else."""

    def __init__(self, loaded: Sequence[AppliedEdit], contents: set[bytes]) -> None:
        self.loaded = loaded
        self._contents = {content_digest(content): content for content in contents}

    def load(self) -> Sequence[AppliedEdit]:
        return self.loaded

    def content(self, digest: bytes) -> bytes | None:
        return self._contents.get(digest)

    def append(self, edit: AppliedEdit, content: bytes | None) -> None:
        raise NotImplementedError


def test_unwritten_edit_is_not_recorded():
    history = History()
    file = Journalled(history)
    file.disk.put(PATH, b"a\n")
    snapshot = file.disk.read(PATH)
    committed = file.disk.replace(snapshot, (), RecordingHooks())
    wish = Edit(old_string="a", new_string="b")
    planned = plan(snapshot, detect_format(snapshot.data), [wish], limits=Limits())
    history.keep(commit_of(planned, committed, "1"))
    assert history.edits() == ()
