"""Open documents over a filesystem: whose text is the truth, and where an edit goes."""

import threading
from collections.abc import Callable, Sequence

import pytest

from contract.recording import RecordingHooks
from fileops.core.splices import apply
from fileops.fs.memory import MemoryFileSystem
from fileops.fs.overlay.filesystem import OverlayFileSystem
from fileops.model.documents import DocumentPosition
from fileops.model.edits import Splice
from fileops.model.errors import AlreadyExists, ApplyRefused, DocumentUnknown
from fileops.model.files import Committed, Snapshot
from fileops.model.internal_errors import Cancelled, Stale
from fileops.ports import CommitHooks
from support.fake_editor import FakeEditor

PATH = "/w/f"


WAIT_S = 20.0  # for what another thread does; never waited out when all is well


class Disk(MemoryFileSystem):
    """What happens, once, between a wish and its fulfilment: `meanwhile` of a read, `resolving` of a resolve (after the
    answer was found), `committing` of a write. n_resolved: how often a path was resolved.
    """

    def __init__(self) -> None:
        self.now_ns = 10**18
        super().__init__(lambda: self.now_ns)
        self.meanwhile: Callable[[], object] = _nothing
        self.resolving: Callable[[], object] = _nothing
        self.committing: Callable[[], object] = _nothing
        self.n_resolved = 0

    def rest(self) -> None:
        """So long that stamps taken from now on show every change."""
        self.now_ns += 10**10

    def resolve(self, path: str) -> str:
        self.n_resolved += 1
        canonical = super().resolve(path)
        resolving, self.resolving = self.resolving, _nothing
        resolving()
        return canonical

    def read(self, path: str) -> Snapshot:
        meanwhile, self.meanwhile = self.meanwhile, _nothing
        meanwhile()
        return super().read(path)

    def replace(self, snapshot: Snapshot, splices: Sequence[Splice], hooks: CommitHooks) -> Committed:
        committing, self.committing = self.committing, _nothing
        committing()
        return super().replace(snapshot, splices, hooks)


def _nothing() -> None: ...


class Workbench:
    """A disk, an editor over it, and the filesystem that the daemon sees."""

    def __init__(self) -> None:
        self.disk = Disk()
        self.disk.make_folder("/w")
        self.editor = FakeEditor(self.disk, self.disk.put)
        self.fs: OverlayFileSystem = self.editor.buffers

    def on_disk(self) -> bytes:
        return self.disk.read(PATH).data

    def seen(self) -> tuple[bytes, str]:
        snapshot = self.fs.read(PATH)
        return snapshot.data, snapshot.source

    def edit(self, old: bytes, new: bytes, hooks: RecordingHooks | None = None) -> Committed:
        snapshot = self.fs.read(PATH)
        at = snapshot.data.index(old)
        return self.fs.replace(snapshot, (Splice(at, at + len(old), new),), hooks or RecordingHooks())


@pytest.fixture
def bench() -> Workbench:
    bench = Workbench()
    bench.disk.put(PATH, b"one\ntwo\n")
    return bench


# --- whose text counts ------------------------------------------------------------------------------------------


def test_file_without_an_open_document_is_read_from_disk(bench: Workbench):
    assert bench.seen() == (b"one\ntwo\n", "disk")
    assert not bench.fs.is_open(PATH)


def test_open_document_is_read_with_its_version(bench: Workbench):
    bench.editor.open(PATH)
    snapshot = bench.fs.read(PATH)
    assert (snapshot.data, snapshot.source, snapshot.version) == (b"one\ntwo\n", "buffer", 1)
    assert snapshot.stamp == bench.disk.stat(PATH) == bench.fs.stat(PATH)


def test_unsaved_typing_is_read(bench: Workbench):
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "one", "ONE")
    with bench.fs.open(PATH) as stream:
        assert (stream.read(100), stream.source, stream.version) == (b"ONE\ntwo\n", "buffer", 2)
        assert stream.stamp == bench.fs.stat(PATH)
        assert stream.stamp.size_bytes == 8


def test_typing_that_was_undone_leaves_a_clean_document(bench: Workbench):
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "one", "ONE")
    bench.editor.type(uri, "ONE", "one")
    bench.disk.put(PATH, b"moved\n")
    assert bench.seen() == (b"moved\n", "disk")


def test_clean_document_is_superseded_by_a_change_on_disk(bench: Workbench):
    bench.editor.open(PATH)
    bench.disk.put(PATH, b"moved\n")
    assert bench.seen() == (b"moved\n", "disk")


def test_dirty_document_is_not_superseded_by_a_change_on_disk(bench: Workbench):
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "one", "ONE")
    bench.disk.put(PATH, b"moved\n")
    assert bench.seen() == (b"ONE\ntwo\n", "buffer")


def test_document_reloaded_by_the_editor_is_clean_again(bench: Workbench):
    uri = bench.editor.open(PATH)
    bench.disk.put(PATH, b"moved\n")
    bench.editor.reload(uri)
    assert bench.seen() == (b"moved\n", "buffer")
    bench.disk.put(PATH, b"again\n")
    assert bench.seen() == (b"again\n", "disk")


def test_document_opened_with_another_text_is_unsaved(bench: Workbench):
    bench.editor.open(PATH, "from an earlier session\n")
    assert bench.seen() == (b"from an earlier session\n", "buffer")


def test_document_whose_text_the_file_was_given_counts_as_saved(bench: Workbench):
    """R-DOC-2. Its editor need not have written it: an undo, or a save without a report, is the same on the disk."""
    bench.editor.open(PATH, "from an earlier session\n")
    assert bench.seen() == (b"from an earlier session\n", "buffer")
    bench.disk.put(PATH, b"from an earlier session\n")
    assert bench.seen() == (b"from an earlier session\n", "buffer")
    bench.disk.put(PATH, b"moved\n")
    assert bench.seen() == (b"moved\n", "disk")


def test_first_classification_that_ends_after_another_is_discarded(bench: Workbench):
    def somebody_reads_then_the_disk_moves() -> None:
        assert bench.seen() == (b"one\ntwo\n", "buffer")
        bench.disk.put(PATH, b"moved\n")

    bench.editor.said.did_open("file:///w/f", PATH, 1, "one\ntwo\n")
    bench.disk.meanwhile = somebody_reads_then_the_disk_moves
    bench.fs.classify_pending()
    assert bench.seen() == (b"moved\n", "disk")


def test_first_classification_overtaken_by_another_thread_is_discarded(bench: Workbench):
    """R-DOC-8. What the other look has learned is not lost when the overtaken one notes where the document lies."""
    overtaken, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        overtaken.set()
        assert go_on.wait(WAIT_S)

    bench.disk.resolving = wait
    bench.editor.said.did_open("file:///w/f", PATH, 1, "one\ntwo\n")
    slow = threading.Thread(target=bench.fs.classify_pending)
    slow.start()
    assert overtaken.wait(WAIT_S)
    assert bench.seen() == (b"one\ntwo\n", "buffer")
    bench.disk.put(PATH, b"moved\n")
    go_on.set()
    slow.join(WAIT_S)
    assert bench.seen() == (b"moved\n", "disk")


def test_reload_without_a_read_is_not_treated_as_typing(bench: Workbench):
    """R-DOC-2, R-DOC-8."""
    uri = bench.editor.open(PATH)
    bench.disk.put(PATH, b"moved\n")
    bench.editor.reload(uri)
    bench.fs.classify_pending()
    bench.disk.put(PATH, b"again\n")
    assert bench.seen() == (b"again\n", "disk")
    bench.edit(b"again", b"AGAIN")
    assert (bench.on_disk(), bench.editor.applied) == (b"AGAIN\n", [])


def an_own_edit(bench: Workbench) -> None:
    bench.edit(b"one", b"ONE")


def a_change_that_was_seen(bench: Workbench) -> None:
    bench.disk.put(PATH, b"ONE\ntwo\n")
    assert bench.seen() == (b"ONE\ntwo\n", "disk")


@pytest.mark.parametrize("change", [an_own_edit, a_change_that_was_seen])
def test_reload_notified_after_a_second_change_is_not_treated_as_typing(
    bench: Workbench, change: Callable[[Workbench], None]
):
    """R-DOC-2, R-DOC-8: editors report a reload late (Neovim by 150 ms)."""
    uri = bench.editor.open(PATH)
    change(bench)
    bench.disk.put(PATH, b"ONE\ntwo\nformatted\n")
    bench.editor.set_text(uri, "ONE\ntwo\n")
    assert bench.seen() == (b"ONE\ntwo\nformatted\n", "disk")
    bench.edit(b"two", b"TWO")
    assert (bench.on_disk(), bench.editor.applied) == (b"ONE\nTWO\nformatted\n", [])


def test_reload_reported_before_the_commit_returns_is_not_treated_as_typing(bench: Workbench):
    """The editor is notified inside the commit, and a formatter writes before anything reads the document."""
    uri = bench.editor.open(PATH)
    bench.fs.read(PATH)

    def reload_and_format() -> None:
        bench.editor.set_text(uri, "ONE\ntwo\n")
        bench.disk.put(PATH, b"ONE\ntwo\nformatted\n")
        assert bench.seen() == (b"ONE\ntwo\nformatted\n", "disk")

    bench.edit(b"one", b"ONE", RecordingHooks(after=reload_and_format))
    assert bench.seen() == (b"ONE\ntwo\nformatted\n", "disk")


def test_clean_document_is_loaded_until_the_user_saves_what_they_typed(bench: Workbench):
    def is_typed() -> bool:
        snapshot = bench.fs.read(PATH)
        assert snapshot.source == "buffer"
        return snapshot.is_typed

    uri = bench.editor.open(PATH)
    assert not is_typed()
    bench.editor.type(uri, "one", "ONE")
    assert is_typed()
    bench.editor.save(uri)
    assert is_typed()
    bench.disk.put(PATH, b"moved\n")
    bench.editor.reload(uri)
    assert not is_typed()


def test_several_late_reloads_are_not_treated_as_typing(bench: Workbench):
    uri = bench.editor.open(PATH)
    bench.edit(b"one", b"ONE")
    bench.edit(b"two", b"TWO")
    bench.disk.put(PATH, b"moved\n")
    for text in ("ONE\ntwo\n", "ONE\nTWO\n"):
        bench.editor.set_text(uri, text)
        assert bench.seen() == (b"moved\n", "disk")


def test_older_disk_text_restored_after_a_reload_is_typing(bench: Workbench):
    """What the file had before the document agreed with it is no reload any more."""
    uri = bench.editor.open(PATH)
    bench.edit(b"one", b"ONE")
    bench.edit(b"two", b"TWO")
    bench.editor.reload(uri)
    assert bench.seen() == (b"ONE\nTWO\n", "buffer")
    bench.editor.set_text(uri, "ONE\ntwo\n")
    assert bench.seen() == (b"ONE\ntwo\n", "buffer")
    assert bench.on_disk() == b"ONE\nTWO\n"
    bench.disk.put(PATH, b"moved\n")
    assert bench.seen() == (b"ONE\ntwo\n", "buffer")


def test_typing_after_a_late_reload_is_typing(bench: Workbench):
    uri = bench.editor.open(PATH)
    bench.edit(b"one", b"ONE")
    bench.disk.put(PATH, b"moved\n")
    bench.editor.set_text(uri, "ONE\ntwo\n")
    bench.editor.type(uri, "two", "2")
    assert bench.seen() == (b"ONE\n2\n", "buffer")


def test_typing_without_a_read_is_not_treated_as_a_reload(bench: Workbench):
    uri = bench.editor.open(PATH)
    bench.disk.put(PATH, b"moved\n")
    bench.editor.type(uri, "one", "ONE")
    bench.fs.classify_pending()
    bench.disk.put(PATH, b"again\n")
    assert bench.seen() == (b"ONE\ntwo\n", "buffer")


def test_disk_changed_between_check_and_read_is_not_served_as_the_buffer(bench: Workbench):
    bench.disk.rest()
    bench.editor.open(PATH)
    bench.disk.meanwhile = lambda: bench.disk.put(PATH, b"moved\n")
    assert bench.seen() == (b"moved\n", "disk")


def test_second_open_replaces_the_text(bench: Workbench):
    bench.editor.open(PATH)
    bench.editor.open(PATH, "other\n")
    assert bench.seen() == (b"other\n", "buffer")


def test_change_of_a_document_that_was_never_opened_is_ignored(bench: Workbench):
    assert bench.editor.said.did_change("file:///w/f", 2, ["typed"]) is False
    assert bench.seen() == (b"one\ntwo\n", "disk")


def test_saving_makes_a_clean_document(bench: Workbench):
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "one", "ONE")
    bench.editor.save(uri)
    bench.disk.put(PATH, b"moved\n")
    assert bench.seen() == (b"moved\n", "disk")


def test_document_closed_without_saving_is_read_from_disk(bench: Workbench):
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "one", "ONE")
    bench.editor.close(uri)
    assert bench.seen() == (b"one\ntwo\n", "disk")
    assert bench.fs.stat(PATH) == bench.disk.stat(PATH)


def test_document_without_a_file_exists(bench: Workbench):
    missing = bench.fs.read("/w/new")
    bench.editor.open("/w/new", "")
    assert bench.fs.stat("/w/new") is not None
    assert bench.fs.read("/w/new").exists
    with pytest.raises(AlreadyExists):
        bench.fs.replace(missing, (Splice(0, 0, b"x"),), RecordingHooks())
    assert bench.disk.stat("/w/new") is None


def test_deleted_file_of_a_clean_document_is_missing(bench: Workbench):
    bench.editor.open(PATH)
    bench.disk.delete(PATH)
    assert bench.fs.stat(PATH) is None
    assert not bench.fs.read(PATH).exists


def test_deleted_file_of_a_dirty_document_exists(bench: Workbench):
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "one", "ONE")
    bench.disk.delete(PATH)
    assert bench.seen() == (b"ONE\ntwo\n", "buffer")


@pytest.mark.parametrize(
    ("disk", "shown"),
    [
        (b"\xef\xbb\xbfa\r\nb\r\n", "a\r\nb\r\n"),
        (b"a\r\nb\n", "a\nb\n"),
        (b"a\rb", "a\nb"),
        (b"\xff\xfea\0\n\0", "a\n"),
        (b"\xe9\n", "\ufffd\n"),
    ],
)
def test_document_equal_to_its_file_returns_the_bytes_of_the_file(bench: Workbench, disk: bytes, shown: str):
    bench.disk.put(PATH, disk)
    bench.editor.open(PATH, shown)
    assert bench.seen() == (disk, "buffer")


def test_unsaved_text_keeps_encoding_and_bom_of_the_file(bench: Workbench):
    bench.disk.put(PATH, b"\xff\xfe" + "a\n".encode("utf-16-le"))
    uri = bench.editor.open(PATH, "a\n")
    bench.editor.type(uri, "a", "é")
    assert bench.seen() == (b"\xff\xfe" + "é\n".encode("utf-16-le"), "buffer")


def test_file_in_an_encoding_known_only_to_the_editor_is_read_from_the_buffer(bench: Workbench):
    bench.disk.put(PATH, b"caf\xe9\n")
    uri = bench.editor.open(PATH, "café\n")
    assert bench.seen() == ("café\n".encode(), "buffer")
    bench.editor.said.did_save(uri)
    assert bench.seen() == ("café\n".encode(), "buffer")


def test_two_names_of_one_file_are_one_document(bench: Workbench):
    bench.disk.link("/w/link", PATH)
    uri = bench.editor.open("/w/link", "one\ntwo\n")
    bench.editor.type(uri, "one", "ONE")
    assert bench.fs.is_open(PATH)
    assert bench.seen() == (b"ONE\ntwo\n", "buffer")


def test_document_opened_through_a_changed_link_follows_the_link(bench: Workbench):
    bench.disk.put("/w/other", b"other\n")
    bench.disk.link("/w/link", PATH)
    uri = bench.editor.open("/w/link", "one\ntwo\n")
    bench.editor.type(uri, "one", "ONE")
    bench.disk.link("/w/link", "/w/other")
    assert bench.seen() == (b"one\ntwo\n", "disk")
    assert bench.fs.read("/w/other").data == b"ONE\ntwo\n"


def test_cached_open_respects_a_document_of_a_changed_link(bench: Workbench):
    bench.disk.put("/w/other", b"other\n")
    bench.disk.link("/w/link", PATH)
    uri = bench.editor.open("/w/link", "one\ntwo\n")
    bench.editor.type(uri, "one", "ONE")
    assert bench.seen() == (b"ONE\ntwo\n", "buffer")
    bench.disk.link("/w/link", "/w/other")
    assert bench.fs.try_open_cached("/w/other") is None


def test_dirty_one_of_two_documents_of_a_file_counts(bench: Workbench):
    bench.disk.link("/w/link", PATH)
    dirty = bench.editor.open("/w/link", "one\ntwo\n")
    bench.editor.type(dirty, "one", "ONE")
    bench.editor.open(PATH)
    assert bench.seen() == (b"ONE\ntwo\n", "buffer")


# --- where an edit goes -----------------------------------------------------------------------------------------


def test_edit_of_a_clean_document_is_written_to_disk(bench: Workbench):
    bench.editor.open(PATH)
    hooks = RecordingHooks()
    committed = bench.edit(b"one", b"ONE", hooks)
    assert bench.on_disk() == b"ONE\ntwo\n"
    assert (committed.report.method, committed.snapshot.source) == ("swap", "disk")
    assert hooks.calls == ["before", "after"]
    assert bench.editor.applied == []


def test_second_edit_before_the_reload_sees_the_first(bench: Workbench):
    uri = bench.editor.open(PATH)
    bench.edit(b"one", b"ONE")
    assert bench.seen() == (b"ONE\ntwo\n", "disk")
    bench.edit(b"two", b"TWO")
    assert bench.on_disk() == b"ONE\nTWO\n"
    bench.editor.reload(uri)
    assert bench.seen() == (b"ONE\nTWO\n", "buffer")


def test_typing_before_the_reload_is_unsaved_text(bench: Workbench):
    uri = bench.editor.open(PATH)
    bench.edit(b"one", b"ONE")
    bench.editor.type(uri, "two", "2")
    assert bench.seen() == (b"one\n2\n", "buffer")
    assert bench.on_disk() == b"ONE\ntwo\n"


def test_typing_between_check_and_write_refuses_the_write(bench: Workbench):
    uri = bench.editor.open(PATH)
    snapshot = bench.fs.read(PATH)
    hooks = RecordingHooks()
    bench.editor.type(uri, "two", "2")
    with pytest.raises(Stale):
        bench.fs.replace(snapshot, (Splice(0, 3, b"ONE"),), hooks)
    assert (bench.on_disk(), hooks.calls) == (b"one\ntwo\n", [])


def type_at_the_commit(bench: Workbench) -> Callable[[], object]:
    uri = bench.editor.open(PATH)
    return lambda: bench.editor.type(uri, "two", "2")


def open_at_the_commit(bench: Workbench) -> Callable[[], object]:
    return lambda: bench.editor.open(PATH, "unsaved\n")


def close_and_open_at_the_commit(bench: Workbench) -> Callable[[], object]:
    uri = bench.editor.open(PATH)

    def again() -> None:
        bench.editor.close(uri)
        bench.editor.open(PATH, "unsaved\n")

    return again


def lose_the_text_at_the_commit(bench: Workbench) -> Callable[[], object]:
    uri = bench.editor.open(PATH)
    return lambda: bench.editor.said.mark_unknown(uri, "it is not known")


def lead_a_link_here_at_the_commit(bench: Workbench) -> Callable[[], object]:
    bench.disk.put("/w/other", b"other\n")
    bench.disk.link("/w/link", "/w/other")
    uri = bench.editor.open("/w/link", "other\n")
    bench.editor.type(uri, "other", "unsaved")
    return lambda: bench.disk.link("/w/link", PATH)


@pytest.mark.parametrize(
    "prepare",
    [
        type_at_the_commit, open_at_the_commit, close_and_open_at_the_commit, lose_the_text_at_the_commit,
        lead_a_link_here_at_the_commit,
    ],
)  # fmt: skip
def test_user_action_during_a_write_refuses_the_write(
    bench: Workbench, prepare: Callable[[Workbench], Callable[[], object]]
):
    """R-DOC-4: the window between the decision that the disk may be written and the write itself."""
    committing = prepare(bench)
    snapshot, hooks = bench.fs.read(PATH), RecordingHooks()
    bench.disk.committing = committing
    with pytest.raises(Stale):
        bench.fs.replace(snapshot, (Splice(0, 3, b"ONE"),), hooks)
    assert (bench.on_disk(), hooks.calls) == (b"one\ntwo\n", [])


def test_unsaved_documents_follow_a_folder_replaced_by_a_link(bench: Workbench):
    """R-DOC-10. They were opened by a path that led through no link then."""
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "one", "un")
    assert bench.seen() == (b"un\ntwo\n", "buffer")
    bench.disk.put("/v/f", b"one\ntwo\n")
    bench.disk.delete(PATH)
    bench.disk.link("/w", "/v")
    with pytest.raises(Stale):
        bench.fs.replace(bench.fs.read("/v/f"), (Splice(0, 3, b"ONE"),), RecordingHooks())
    assert bench.fs.read("/v/f").data == b"un\ntwo\n"
    assert bench.disk.read("/v/f").data == b"one\ntwo\n"


@pytest.mark.parametrize("opens_with", ["one\ntwo\n", "unsaved\n"])
def test_document_opened_between_check_and_write_is_noticed(bench: Workbench, opens_with: str):
    snapshot = bench.fs.read(PATH)
    bench.editor.open(PATH, opens_with)
    if opens_with == "unsaved\n":
        with pytest.raises(Stale):
            bench.fs.replace(snapshot, (Splice(0, 3, b"ONE"),), RecordingHooks())
        assert bench.on_disk() == b"one\ntwo\n"
    else:
        bench.fs.replace(snapshot, (Splice(0, 3, b"ONE"),), RecordingHooks())
        assert bench.on_disk() == b"ONE\ntwo\n"


def test_edit_of_a_dirty_document_goes_through_the_editor(bench: Workbench):
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "one", "un")
    hooks = RecordingHooks()
    committed = bench.edit(b"two", b"TWO", hooks)
    assert bench.editor.documents[uri].text == "un\nTWO\n"
    assert bench.on_disk() == b"one\ntwo\n"
    assert (committed.report.method, committed.snapshot.source, committed.snapshot.version) == ("buffer", "buffer", 3)
    assert committed.snapshot.data == b"un\nTWO\n"
    assert hooks.calls == ["before", "after"]
    assert bench.fs.read(PATH) == committed.snapshot


def test_editor_receives_minimal_edits(bench: Workbench):
    bench.disk.put(PATH, "é😀 one\r\ntwo\r\n".encode())
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "two", "2 two")
    bench.edit(b"one", b"1")
    ((edit,),) = (one.edits for one in bench.editor.applied)
    assert (edit.start.line, edit.start.character, edit.end.character, edit.new_text) == (0, 4, 7, "1")


@pytest.mark.parametrize(
    ("splices", "expected"),
    [
        ((Splice(0, 0, b"x"),), "xé\r\n😀\r\n"),
        ((Splice(1, 2, b"\xa8"),), "è\r\n😀\r\n"),
        ((Splice(2, 3, b""),), "é\n😀\r\n"),
        ((Splice(3, 3, b"x"),), "é\rx\n😀\r\n"),
        ((Splice(5, 6, b"\x9f"), Splice(7, 8, b"\x81")), "é\r\n😁\r\n"),
        ((Splice(2, 3, b""), Splice(3, 4, b"")), "é😀\r\n"),
        ((Splice(0, 10, b""),), ""),
    ],
)
def test_splices_inside_characters_are_widened(bench: Workbench, splices: tuple[Splice, ...], expected: str):
    bench.disk.put(PATH, b"other")
    uri = bench.editor.open(PATH, "é\r\n😀\r\n")
    snapshot = bench.fs.read(PATH)
    assert apply(snapshot.data, splices).decode() == expected
    bench.fs.replace(snapshot, splices, RecordingHooks())
    assert bench.editor.documents[uri].text == expected


def refuse() -> None:
    raise ApplyRefused(reason="no")


def test_refused_edit_changes_nothing(bench: Workbench):
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "one", "un")
    bench.editor.before_apply = refuse
    hooks = RecordingHooks()
    with pytest.raises(ApplyRefused):
        bench.edit(b"two", b"TWO", hooks)
    assert bench.editor.documents[uri].text == "un\ntwo\n"
    assert hooks.calls == ["before"]


def test_typing_during_the_edit_request_refuses_the_edit(bench: Workbench):
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "one", "un")
    bench.editor.before_apply = lambda: bench.editor.type(uri, "un", "uno")
    with pytest.raises(ApplyRefused):
        bench.edit(b"two", b"TWO")
    assert bench.editor.documents[uri].text == "uno\ntwo\n"


def test_reported_success_with_another_text_is_an_error(bench: Workbench):
    """R-DOC-5."""
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "one", "un")
    bench.editor.tells = False
    bench.editor.checks_version = False
    bench.editor.before_apply = lambda: bench.editor.type(uri, "un", "uno")
    hooks = RecordingHooks()
    with pytest.raises(ApplyRefused):
        bench.edit(b"two", b"TWO", hooks)
    assert hooks.calls == ["before"]
    assert bench.seen() == (b"uno\ntwo\n", "buffer")


def test_success_without_notification_is_accepted_and_its_text_awaited(bench: Workbench):
    """R-DOC-13."""
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "one", "un")
    bench.editor.tells = False
    hooks = RecordingHooks()
    committed = bench.edit(b"two", b"TWO", hooks)
    assert (committed.snapshot.data, hooks.calls) == (b"un\nTWO\n", ["before", "after"])
    assert committed.report.reason is not None
    with pytest.raises(DocumentUnknown):
        bench.fs.read(PATH)
    bench.editor.splice(uri, 3, 6, "TWO")  # as it is reported at last, of the text before it
    assert bench.seen() == (b"un\nTWO\n", "buffer")


def test_success_without_version_and_notification_is_an_error(bench: Workbench):
    """R-DOC-13."""
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "one", "un")
    bench.editor.tells = False
    bench.editor.checks_version = False
    with pytest.raises(DocumentUnknown):
        bench.edit(b"two", b"TWO")
    with pytest.raises(DocumentUnknown):
        bench.fs.read(PATH)
    bench.editor.set_text(uri, "un\ndeux\n")
    assert bench.seen() == (b"un\ndeux\n", "buffer")


def test_edit_with_line_endings_changed_by_the_editor_is_accepted(bench: Workbench):
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "one", "un")
    bench.editor.before_apply = lambda: bench.editor.set_text(uri, "un\r\nTWO\r\n")
    committed = bench.edit(b"two", b"TWO")
    assert committed.snapshot.data == b"un\r\nTWO\r\n"


def test_cancel_before_the_edit_request_sends_none(bench: Workbench):
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "one", "un")

    def cancel() -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        bench.edit(b"two", b"TWO", RecordingHooks(before=cancel))
    assert bench.editor.applied == []


def test_two_windows_with_different_unsaved_texts_are_not_edited(bench: Workbench):
    bench.disk.link("/w/link", PATH)
    one, other = bench.editor.open(PATH), bench.editor.open("/w/link", "one\ntwo\n")
    bench.editor.type(one, "one", "1")
    bench.editor.type(other, "one", "uno")
    with pytest.raises(ApplyRefused):
        bench.edit(b"two", b"TWO")
    assert bench.editor.applied == []


def test_old_snapshot_of_a_dirty_document_is_stale(bench: Workbench):
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "one", "un")
    snapshot = bench.fs.read(PATH)
    bench.editor.type(uri, "un", "uno")
    with pytest.raises(Stale):
        bench.fs.replace(snapshot, (Splice(0, 0, b"x"),), RecordingHooks())


def test_snapshot_of_a_closed_document_is_stale(bench: Workbench):
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "one", "un")
    snapshot = bench.fs.read(PATH)
    bench.editor.close(uri)
    with pytest.raises(Stale):
        bench.fs.replace(snapshot, (Splice(0, 0, b"x"),), RecordingHooks())
    assert bench.on_disk() == b"one\ntwo\n"


def test_snapshot_of_a_saved_document_is_the_same_text_on_disk(bench: Workbench):
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "one", "un")
    snapshot = bench.fs.read(PATH)
    bench.editor.save(uri)
    bench.fs.replace(snapshot, (Splice(0, 0, b"x"),), RecordingHooks())
    assert bench.on_disk() == b"xun\ntwo\n"


def test_dirty_document_is_not_removed(bench: Workbench):
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "one", "un")
    with pytest.raises(ApplyRefused):
        bench.fs.remove(bench.fs.read(PATH), RecordingHooks())
    assert bench.on_disk() == b"one\ntwo\n"


def test_watcher_is_notified_of_every_change_of_a_document(bench: Workbench):
    told: list[str] = []
    bench.fs.on_change = told.append
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "one", "un")
    bench.editor.save(uri)
    bench.editor.close(uri)
    assert told == [PATH] * 4


# --- a text that is not known -----------------------------------------------------------------------------------

NOWHERE = [(DocumentPosition(9, 0), DocumentPosition(9, 0), "x")]
BAD_CHANGES: dict[str, tuple[int, list[tuple[DocumentPosition, DocumentPosition, str]]]] = {
    "begins behind the text": (3, NOWHERE),
    "ends behind the text": (3, [(DocumentPosition(0, 1), DocumentPosition(9, 0), "x")]),
    "ends before it begins": (3, [(DocumentPosition(1, 0), DocumentPosition(0, 0), "x")]),
    "has a negative line": (3, [(DocumentPosition(-1, 0), DocumentPosition(0, 0), "x")]),
    "has a negative character": (3, [(DocumentPosition(0, -1), DocumentPosition(0, 1), "x")]),
    "has the version of before": (2, [(DocumentPosition(0, 0), DocumentPosition(0, 0), "x")]),
    "has an older version": (1, [(DocumentPosition(0, 0), DocumentPosition(0, 0), "x")]),
    "is bad behind a good one": (3, [(DocumentPosition(0, 0), DocumentPosition(0, 0), "x"), *NOWHERE]),
}


def require_unknown(bench: Workbench, before: Snapshot) -> None:
    for ask in (bench.fs.read, bench.fs.open, bench.fs.stat):
        with pytest.raises(DocumentUnknown):
            ask(PATH)
    for write in (
        lambda: bench.fs.replace(before, (Splice(0, 3, b"ONE"),), RecordingHooks()),
        lambda: bench.fs.remove(before, RecordingHooks()),
    ):
        with pytest.raises(DocumentUnknown):
            write()
    assert bench.fs.try_open_cached(PATH) is None
    assert (bench.on_disk(), bench.editor.applied) == (b"one\ntwo\n", [])


@pytest.mark.parametrize("how", BAD_CHANGES)
def test_change_that_cannot_be_applied_makes_the_document_unusable(bench: Workbench, how: str):
    """R-DOC-12."""
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "one", "un")
    before = bench.fs.read(PATH)
    version, changes = BAD_CHANGES[how]
    bench.editor.said.did_change(uri, version, changes)
    require_unknown(bench, before)
    bench.editor.said.did_change(
        uri, version + 5, [(DocumentPosition(0, 0), DocumentPosition(0, 0), "y")]
    )  # a change of what is not known
    require_unknown(bench, before)
    bench.editor.said.did_change(
        uri, version + 6, ["whole\n", (DocumentPosition(0, 0), DocumentPosition(0, 0), "the ")]
    )
    assert bench.seen() == (b"the whole\n", "buffer")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ((DocumentPosition(0, 0), DocumentPosition(2**31, 0), "all\n"), b"all\n"),
        ((DocumentPosition(2, 0), DocumentPosition(2, 0), "three\n"), b"one\ntwo\nthree\n"),
        ((DocumentPosition(1, 0), DocumentPosition(3, 0), "2\n"), b"one\n2\n"),
        ((DocumentPosition(0, 0), DocumentPosition(0, 99), "1"), b"1\ntwo\n"),
    ],
)
def test_range_past_the_end_as_sent_by_editors_is_accepted(
    bench: Workbench, change: tuple[DocumentPosition, DocumentPosition, str], expected: bytes
):
    uri = bench.editor.open(PATH)
    bench.editor.said.did_change(uri, 7, [change])
    assert bench.seen() == (expected, "buffer")


def test_lost_text_of_a_document_is_known_after_open_or_close(bench: Workbench):
    uri = bench.editor.open(PATH)
    before = bench.fs.read(PATH)
    bench.editor.said.mark_unknown(uri, "it is not known")
    require_unknown(bench, before)
    bench.editor.open(PATH, "again\n")
    assert bench.seen() == (b"again\n", "buffer")
    bench.editor.said.mark_unknown(None, "one of all")
    require_unknown(bench, before)
    bench.editor.close(uri)
    assert bench.seen() == (b"one\ntwo\n", "disk")


def test_document_opened_with_unreadable_text_is_not_treated_as_closed(bench: Workbench):
    before = bench.fs.read(PATH)
    bench.editor.said.did_open_unknown("file:///w/f", PATH, "it cannot be read")
    require_unknown(bench, before)


# --- many documents ---------------------------------------------------------------------------------------------


def cost_of_a_request(bench: Workbench) -> int:
    """How many paths are resolved for a read and an edit of a file that is not open."""
    before = bench.disk.n_resolved
    bench.disk.put("/w/closed", b"x")
    snapshot = bench.fs.read("/w/closed")
    bench.fs.replace(snapshot, (Splice(0, 0, b"y"),), RecordingHooks())
    return bench.disk.n_resolved - before


def test_cost_of_a_request_is_independent_of_the_number_of_documents(bench: Workbench):
    bench.disk.link("/l", "/w")
    costs: list[int] = []
    for n in (10, 20):
        for i in range(n):
            for folder in ("/l", "/w"):
                bench.disk.put(f"/w/{n}-{i}", b"x\n")
                bench.editor.open(f"{folder}/{n}-{i}", "x\n")
        costs.append(cost_of_a_request(bench))
    assert costs[0] == costs[1]


def test_cost_of_opening_documents_is_linear(bench: Workbench):
    bench.disk.link("/l", "/w")
    costs: list[int] = []
    for n in (10, 20):
        before = bench.disk.n_resolved
        for i in range(n):
            bench.disk.put(f"/w/{n}-{i}", b"x\n")
            bench.editor.open(f"/l/{n}-{i}", "x\n")
        costs.append(bench.disk.n_resolved - before)
    assert costs[1] == 2 * costs[0]


@pytest.mark.parametrize(
    ("last", "is_named"), [("open", False), ("type", True), ("save", True), ("save and report", False)]
)
def test_editor_that_leaves_names_the_files_of_which_it_may_have_saved_text(
    bench: Workbench, last: str, is_named: bool
):
    left: list[tuple[str, str]] = []
    bench.fs.on_left_unsaved = lambda editor, path: left.append((editor, path))
    uri = bench.editor.open(PATH)
    bench.seen()
    if last != "open":
        bench.editor.type(uri, "one", "ONE")
    if last.startswith("save"):
        bench.disk.put(PATH, b"ONE\ntwo\n")
        bench.seen()
    if last == "save and report":
        bench.editor.said.did_save(uri)
    bench.fs.disconnect("")  # its name here
    assert left == ([("", PATH)] if is_named else [])
