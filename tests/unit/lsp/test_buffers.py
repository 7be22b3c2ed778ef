"""Open documents over a filesystem: whose text is the truth, and where an edit goes."""

from collections.abc import Callable

import pytest

from contract.recording import RecordingHooks
from fileops.core.splices import apply
from fileops.errors import AlreadyExists, ApplyRefused, Cancelled, Stale
from fileops.fs.memory import MemoryFileSystem
from fileops.lsp.buffers import EditorBuffers
from fileops.model import Committed, Snapshot, Splice
from support.fake_editor import FakeEditor

PATH = "/w/f"


class Disk(MemoryFileSystem):
    """meanwhile: what happens between the wish to read a file and its reading, once."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], object] = lambda: None

    def read(self, path: str) -> Snapshot:
        meanwhile, self.meanwhile = self.meanwhile, lambda: None
        meanwhile()
        return super().read(path)


class Desk:
    """A disk, an editor over it, and the filesystem that the daemon sees."""

    def __init__(self) -> None:
        self.disk = Disk()
        self.disk.make_folder("/w")
        self.editor = FakeEditor(self.disk, self.disk.put)
        self.fs: EditorBuffers = self.editor.buffers

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
def desk() -> Desk:
    desk = Desk()
    desk.disk.put(PATH, b"one\ntwo\n")
    return desk


# --- whose text counts ------------------------------------------------------------------------------------------


def test_without_open_documents_the_disk_counts(desk: Desk):
    assert desk.seen() == (b"one\ntwo\n", "disk")
    assert not desk.fs.is_open(PATH)


def test_an_open_document_is_read_with_its_version(desk: Desk):
    desk.editor.open(PATH)
    snapshot = desk.fs.read(PATH)
    assert (snapshot.data, snapshot.source, snapshot.version) == (b"one\ntwo\n", "buffer", 1)
    assert snapshot.stamp == desk.disk.stat(PATH) == desk.fs.stat(PATH)


def test_unsaved_typing_is_read(desk: Desk):
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "ONE")
    with desk.fs.open(PATH) as stream:
        assert (stream.read(100), stream.source, stream.version) == (b"ONE\ntwo\n", "buffer", 2)
        assert stream.stamp == desk.fs.stat(PATH)
        assert stream.stamp.size_bytes == 8


def test_typing_taken_back_leaves_a_clean_document(desk: Desk):
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "ONE")
    desk.editor.type(uri, "ONE", "one")
    desk.disk.put(PATH, b"moved\n")
    assert desk.seen() == (b"moved\n", "disk")


def test_an_untouched_buffer_beside_a_moved_disk_gives_way(desk: Desk):
    desk.editor.open(PATH)
    desk.disk.put(PATH, b"moved\n")
    assert desk.seen() == (b"moved\n", "disk")


def test_a_dirty_buffer_beside_a_moved_disk_stays_the_truth(desk: Desk):
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "ONE")
    desk.disk.put(PATH, b"moved\n")
    assert desk.seen() == (b"ONE\ntwo\n", "buffer")


def test_an_editor_that_reloaded_is_clean_again(desk: Desk):
    uri = desk.editor.open(PATH)
    desk.disk.put(PATH, b"moved\n")
    desk.editor.reload(uri)
    assert desk.seen() == (b"moved\n", "buffer")
    desk.disk.put(PATH, b"again\n")
    assert desk.seen() == (b"again\n", "disk")


def test_a_document_opened_with_another_text_is_unsaved(desk: Desk):
    desk.editor.open(PATH, "from an earlier session\n")
    assert desk.seen() == (b"from an earlier session\n", "buffer")


def test_a_first_look_that_comes_to_an_end_behind_another_one_does_not_count(desk: Desk):
    def somebody_reads_then_the_disk_moves() -> None:
        assert desk.seen() == (b"one\ntwo\n", "buffer")
        desk.disk.put(PATH, b"moved\n")

    desk.fs.opened("file:///w/f", PATH, 1, "one\ntwo\n")
    desk.disk.meanwhile = somebody_reads_then_the_disk_moves
    desk.fs.settle()
    assert desk.seen() == (b"moved\n", "disk")


def test_a_second_open_replaces_the_text(desk: Desk):
    desk.editor.open(PATH)
    desk.editor.open(PATH, "other\n")
    assert desk.seen() == (b"other\n", "buffer")


def test_a_change_of_a_document_that_was_never_opened_is_ignored(desk: Desk):
    assert desk.fs.changed("file:///w/f", 2, ["typed"]) is False
    assert desk.seen() == (b"one\ntwo\n", "disk")


def test_saving_makes_a_clean_document(desk: Desk):
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "ONE")
    desk.editor.save(uri)
    desk.disk.put(PATH, b"moved\n")
    assert desk.seen() == (b"moved\n", "disk")


def test_closing_without_saving_makes_the_disk_the_truth(desk: Desk):
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "ONE")
    desk.editor.close(uri)
    assert desk.seen() == (b"one\ntwo\n", "disk")
    assert desk.fs.stat(PATH) == desk.disk.stat(PATH)


def test_a_document_without_a_file_exists(desk: Desk):
    missing = desk.fs.read("/w/new")
    desk.editor.open("/w/new", "")
    assert desk.fs.stat("/w/new") is not None
    assert desk.fs.read("/w/new").exists
    with pytest.raises(AlreadyExists):
        desk.fs.replace(missing, (Splice(0, 0, b"x"),), RecordingHooks())
    assert desk.disk.stat("/w/new") is None


def test_a_file_deleted_below_an_untouched_document_is_gone(desk: Desk):
    desk.editor.open(PATH)
    desk.disk.delete(PATH)
    assert desk.fs.stat(PATH) is None
    assert not desk.fs.read(PATH).exists


def test_a_file_deleted_below_a_dirty_document_exists(desk: Desk):
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "ONE")
    desk.disk.delete(PATH)
    assert desk.seen() == (b"ONE\ntwo\n", "buffer")


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
def test_a_document_that_reads_the_same_gives_the_bytes_of_the_file(desk: Desk, disk: bytes, shown: str):
    desk.disk.put(PATH, disk)
    desk.editor.open(PATH, shown)
    assert desk.seen() == (disk, "buffer")


def test_unsaved_text_keeps_encoding_and_bom_of_the_file(desk: Desk):
    desk.disk.put(PATH, b"\xff\xfe" + "a\n".encode("utf-16-le"))
    uri = desk.editor.open(PATH, "a\n")
    desk.editor.type(uri, "a", "é")
    assert desk.seen() == (b"\xff\xfe" + "é\n".encode("utf-16-le"), "buffer")


def test_a_file_in_an_encoding_that_only_the_editor_knows_stays_the_editors(desk: Desk):
    desk.disk.put(PATH, b"caf\xe9\n")
    uri = desk.editor.open(PATH, "café\n")
    assert desk.seen() == ("café\n".encode(), "buffer")
    desk.fs.saved(uri)
    assert desk.seen() == ("café\n".encode(), "buffer")


def test_two_names_of_one_file_are_one_document(desk: Desk):
    desk.disk.link("/w/link", PATH)
    uri = desk.editor.open("/w/link", "one\ntwo\n")
    desk.editor.type(uri, "one", "ONE")
    assert desk.fs.is_open(PATH)
    assert desk.seen() == (b"ONE\ntwo\n", "buffer")


def test_a_link_that_leads_elsewhere_now_takes_its_document_along(desk: Desk):
    desk.disk.put("/w/other", b"other\n")
    desk.disk.link("/w/link", PATH)
    uri = desk.editor.open("/w/link", "one\ntwo\n")
    desk.editor.type(uri, "one", "ONE")
    desk.disk.link("/w/link", "/w/other")
    assert desk.seen() == (b"one\ntwo\n", "disk")
    assert desk.fs.read("/w/other").data == b"ONE\ntwo\n"


def test_a_link_that_leads_elsewhere_now_is_not_overlooked_by_who_does_not_wait(desk: Desk):
    desk.disk.put("/w/other", b"other\n")
    desk.disk.link("/w/link", PATH)
    uri = desk.editor.open("/w/link", "one\ntwo\n")
    desk.editor.type(uri, "one", "ONE")
    assert desk.seen() == (b"ONE\ntwo\n", "buffer")
    desk.disk.link("/w/link", "/w/other")
    assert desk.fs.open_cached("/w/other") is None


def test_of_two_windows_the_dirty_one_counts(desk: Desk):
    desk.disk.link("/w/link", PATH)
    dirty = desk.editor.open("/w/link", "one\ntwo\n")
    desk.editor.type(dirty, "one", "ONE")
    desk.editor.open(PATH)
    assert desk.seen() == (b"ONE\ntwo\n", "buffer")


# --- where an edit goes -----------------------------------------------------------------------------------------


def test_an_edit_of_a_clean_document_goes_to_disk(desk: Desk):
    desk.editor.open(PATH)
    hooks = RecordingHooks()
    committed = desk.edit(b"one", b"ONE", hooks)
    assert desk.on_disk() == b"ONE\ntwo\n"
    assert (committed.report.method, committed.snapshot.source) == ("swap", "disk")
    assert hooks.calls == ["before", "after"]
    assert desk.editor.applied == []


def test_a_second_edit_before_the_reload_sees_the_first(desk: Desk):
    uri = desk.editor.open(PATH)
    desk.edit(b"one", b"ONE")
    assert desk.seen() == (b"ONE\ntwo\n", "disk")
    desk.edit(b"two", b"TWO")
    assert desk.on_disk() == b"ONE\nTWO\n"
    desk.editor.reload(uri)
    assert desk.seen() == (b"ONE\nTWO\n", "buffer")


def test_typing_before_the_reload_is_the_persons_text(desk: Desk):
    uri = desk.editor.open(PATH)
    desk.edit(b"one", b"ONE")
    desk.editor.type(uri, "two", "2")
    assert desk.seen() == (b"one\n2\n", "buffer")
    assert desk.on_disk() == b"ONE\ntwo\n"


def test_typing_between_the_look_and_the_write_is_not_written_under(desk: Desk):
    uri = desk.editor.open(PATH)
    snapshot = desk.fs.read(PATH)
    hooks = RecordingHooks()
    desk.editor.type(uri, "two", "2")
    with pytest.raises(Stale):
        desk.fs.replace(snapshot, (Splice(0, 3, b"ONE"),), hooks)
    assert (desk.on_disk(), hooks.calls) == (b"one\ntwo\n", [])


@pytest.mark.parametrize("opens_with", ["one\ntwo\n", "unsaved\n"])
def test_a_document_opened_between_the_look_and_the_write_is_noticed(desk: Desk, opens_with: str):
    snapshot = desk.fs.read(PATH)
    desk.editor.open(PATH, opens_with)
    if opens_with == "unsaved\n":
        with pytest.raises(Stale):
            desk.fs.replace(snapshot, (Splice(0, 3, b"ONE"),), RecordingHooks())
        assert desk.on_disk() == b"one\ntwo\n"
    else:
        desk.fs.replace(snapshot, (Splice(0, 3, b"ONE"),), RecordingHooks())
        assert desk.on_disk() == b"ONE\ntwo\n"


def test_an_edit_of_a_dirty_document_goes_through_the_editor(desk: Desk):
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "un")
    hooks = RecordingHooks()
    committed = desk.edit(b"two", b"TWO", hooks)
    assert desk.editor.documents[uri].text == "un\nTWO\n"
    assert desk.on_disk() == b"one\ntwo\n"
    assert (committed.report.method, committed.snapshot.source, committed.snapshot.version) == ("buffer", "buffer", 3)
    assert committed.snapshot.data == b"un\nTWO\n"
    assert hooks.calls == ["before", "after"]
    assert desk.fs.read(PATH) == committed.snapshot


def test_the_editor_gets_the_smallest_edits(desk: Desk):
    desk.disk.put(PATH, "é😀 one\r\ntwo\r\n".encode())
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "two", "2 two")
    desk.edit(b"one", b"1")
    ((edit,),) = (one.edits for one in desk.editor.applied)
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
def test_splices_inside_characters_are_widened(desk: Desk, splices: tuple[Splice, ...], expected: str):
    desk.disk.put(PATH, b"other")
    uri = desk.editor.open(PATH, "é\r\n😀\r\n")
    snapshot = desk.fs.read(PATH)
    assert apply(snapshot.data, splices).decode() == expected
    desk.fs.replace(snapshot, splices, RecordingHooks())
    assert desk.editor.documents[uri].text == expected


def refuse() -> None:
    raise ApplyRefused(reason="no")


def test_a_refused_edit_changes_nothing(desk: Desk):
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "un")
    desk.editor.before_apply = refuse
    hooks = RecordingHooks()
    with pytest.raises(ApplyRefused):
        desk.edit(b"two", b"TWO", hooks)
    assert desk.editor.documents[uri].text == "un\ntwo\n"
    assert hooks.calls == ["before"]


def test_typing_while_the_editor_is_asked_is_a_refusal(desk: Desk):
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "un")
    desk.editor.before_apply = lambda: desk.editor.type(uri, "un", "uno")
    with pytest.raises(ApplyRefused):
        desk.edit(b"two", b"TWO")
    assert desk.editor.documents[uri].text == "uno\ntwo\n"


def test_success_that_the_document_does_not_show_is_an_error(desk: Desk):
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "un")
    desk.editor.tells = False
    hooks = RecordingHooks()
    with pytest.raises(ApplyRefused):
        desk.edit(b"two", b"TWO", hooks)
    assert hooks.calls == ["before"]


def test_an_editor_that_changes_line_ends_is_believed(desk: Desk):
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "un")
    desk.editor.before_apply = lambda: desk.editor.set_text(uri, "un\r\nTWO\r\n")
    committed = desk.edit(b"two", b"TWO")
    assert committed.snapshot.data == b"un\r\nTWO\r\n"


def test_a_cancel_before_the_editor_is_asked_asks_nothing(desk: Desk):
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "un")

    def cancel() -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        desk.edit(b"two", b"TWO", RecordingHooks(before=cancel))
    assert desk.editor.applied == []


def test_two_windows_with_different_unsaved_texts_are_not_edited(desk: Desk):
    desk.disk.link("/w/link", PATH)
    one, other = desk.editor.open(PATH), desk.editor.open("/w/link", "one\ntwo\n")
    desk.editor.type(one, "one", "1")
    desk.editor.type(other, "one", "uno")
    with pytest.raises(ApplyRefused):
        desk.edit(b"two", b"TWO")
    assert desk.editor.applied == []


def test_an_old_snapshot_of_a_dirty_document_is_stale(desk: Desk):
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "un")
    snapshot = desk.fs.read(PATH)
    desk.editor.type(uri, "un", "uno")
    with pytest.raises(Stale):
        desk.fs.replace(snapshot, (Splice(0, 0, b"x"),), RecordingHooks())


def test_a_snapshot_of_a_buffer_that_was_closed_is_stale(desk: Desk):
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "un")
    snapshot = desk.fs.read(PATH)
    desk.editor.close(uri)
    with pytest.raises(Stale):
        desk.fs.replace(snapshot, (Splice(0, 0, b"x"),), RecordingHooks())
    assert desk.on_disk() == b"one\ntwo\n"


def test_a_snapshot_of_a_buffer_that_was_saved_is_the_same_text_on_disk(desk: Desk):
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "un")
    snapshot = desk.fs.read(PATH)
    desk.editor.save(uri)
    desk.fs.replace(snapshot, (Splice(0, 0, b"x"),), RecordingHooks())
    assert desk.on_disk() == b"xun\ntwo\n"


def test_a_dirty_document_is_not_removed(desk: Desk):
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "un")
    with pytest.raises(ApplyRefused):
        desk.fs.remove(desk.fs.read(PATH), RecordingHooks())
    assert desk.on_disk() == b"one\ntwo\n"


def test_who_watches_is_told_of_every_change_of_the_truth(desk: Desk):
    told: list[str] = []
    desk.fs.on_change = told.append
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "un")
    desk.editor.save(uri)
    desk.editor.close(uri)
    assert told == [PATH] * 4
