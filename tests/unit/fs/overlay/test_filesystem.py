"""Open documents over a filesystem: whose text is the truth, and where an edit goes."""

import threading
from collections.abc import Callable, Sequence

import pytest

from contract.recording import RecordingHooks
from fileops.core.splices import apply
from fileops.fs.memory import MemoryFileSystem
from fileops.fs.overlay.filesystem import OverlayFileSystem
from fileops.model.documents import Position
from fileops.model.edits import Splice
from fileops.model.errors import AlreadyExists, ApplyRefused, Cancelled, DocumentUnknown, Stale
from fileops.model.files import Committed, Snapshot
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
        """So long that stamps taken from now on tell of every change."""
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


class Desk:
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
    desk.fs.classify_pending()
    assert desk.seen() == (b"moved\n", "disk")


def test_a_first_look_overtaken_by_another_thread_does_not_count(desk: Desk):
    """R-DOC-8. What the other look has learned is not lost when the overtaken one notes where the document lies."""
    overtaken, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        overtaken.set()
        assert go_on.wait(WAIT_S)

    desk.disk.resolving = wait
    desk.fs.opened("file:///w/f", PATH, 1, "one\ntwo\n")
    slow = threading.Thread(target=desk.fs.classify_pending)
    slow.start()
    assert overtaken.wait(WAIT_S)
    assert desk.seen() == (b"one\ntwo\n", "buffer")
    desk.disk.put(PATH, b"moved\n")
    go_on.set()
    slow.join(WAIT_S)
    assert desk.seen() == (b"moved\n", "disk")


def test_a_reload_that_nobody_read_is_not_taken_for_typing(desk: Desk):
    """R-DOC-2, R-DOC-8."""
    uri = desk.editor.open(PATH)
    desk.disk.put(PATH, b"moved\n")
    desk.editor.reload(uri)
    desk.fs.classify_pending()
    desk.disk.put(PATH, b"again\n")
    assert desk.seen() == (b"again\n", "disk")
    desk.edit(b"again", b"AGAIN")
    assert (desk.on_disk(), desk.editor.applied) == (b"AGAIN\n", [])


def test_typing_that_nobody_read_is_not_taken_for_a_reload(desk: Desk):
    uri = desk.editor.open(PATH)
    desk.disk.put(PATH, b"moved\n")
    desk.editor.type(uri, "one", "ONE")
    desk.fs.classify_pending()
    desk.disk.put(PATH, b"again\n")
    assert desk.seen() == (b"ONE\ntwo\n", "buffer")


def test_a_disk_that_moves_between_the_look_and_the_read_is_not_served_as_the_buffer(desk: Desk):
    desk.disk.rest()
    desk.editor.open(PATH)
    desk.disk.meanwhile = lambda: desk.disk.put(PATH, b"moved\n")
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
    assert desk.fs.try_open_cached("/w/other") is None


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


def type_at_the_commit(desk: Desk) -> Callable[[], object]:
    uri = desk.editor.open(PATH)
    return lambda: desk.editor.type(uri, "two", "2")


def open_at_the_commit(desk: Desk) -> Callable[[], object]:
    return lambda: desk.editor.open(PATH, "unsaved\n")


def close_and_open_at_the_commit(desk: Desk) -> Callable[[], object]:
    uri = desk.editor.open(PATH)

    def again() -> None:
        desk.editor.close(uri)
        desk.editor.open(PATH, "unsaved\n")

    return again


def lose_the_text_at_the_commit(desk: Desk) -> Callable[[], object]:
    uri = desk.editor.open(PATH)
    return lambda: desk.fs.doubted(uri, "it is not known")


def lead_a_link_here_at_the_commit(desk: Desk) -> Callable[[], object]:
    desk.disk.put("/w/other", b"other\n")
    desk.disk.link("/w/link", "/w/other")
    uri = desk.editor.open("/w/link", "other\n")
    desk.editor.type(uri, "other", "unsaved")
    return lambda: desk.disk.link("/w/link", PATH)


@pytest.mark.parametrize(
    "prepare",
    [
        type_at_the_commit, open_at_the_commit, close_and_open_at_the_commit, lose_the_text_at_the_commit,
        lead_a_link_here_at_the_commit,
    ],
)  # fmt: skip
def test_what_the_person_does_in_the_middle_of_a_write_is_not_written_under(
    desk: Desk, prepare: Callable[[Desk], Callable[[], object]]
):
    """R-DOC-4: the window between the decision that the disk may be written and the write itself."""
    committing = prepare(desk)
    snapshot, hooks = desk.fs.read(PATH), RecordingHooks()
    desk.disk.committing = committing
    with pytest.raises(Stale):
        desk.fs.replace(snapshot, (Splice(0, 3, b"ONE"),), hooks)
    assert (desk.on_disk(), hooks.calls) == (b"one\ntwo\n", [])


def test_a_folder_that_became_a_link_takes_its_unsaved_documents_along(desk: Desk):
    """R-DOC-10. They were opened by a path that led through no link then."""
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "un")
    assert desk.seen() == (b"un\ntwo\n", "buffer")
    desk.disk.put("/v/f", b"one\ntwo\n")
    desk.disk.delete(PATH)
    desk.disk.link("/w", "/v")
    with pytest.raises(Stale):
        desk.fs.replace(desk.fs.read("/v/f"), (Splice(0, 3, b"ONE"),), RecordingHooks())
    assert desk.fs.read("/v/f").data == b"un\ntwo\n"
    assert desk.disk.read("/v/f").data == b"one\ntwo\n"


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


def test_success_that_another_text_belies_is_an_error(desk: Desk):
    """R-DOC-5."""
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "un")
    desk.editor.tells, desk.editor.checks_version = False, False
    desk.editor.before_apply = lambda: desk.editor.type(uri, "un", "uno")
    hooks = RecordingHooks()
    with pytest.raises(ApplyRefused):
        desk.edit(b"two", b"TWO", hooks)
    assert hooks.calls == ["before"]
    assert desk.seen() == (b"uno\ntwo\n", "buffer")


def test_success_for_a_version_that_is_not_told_of_is_believed_and_then_awaited(desk: Desk):
    """R-DOC-13."""
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "un")
    desk.editor.tells = False
    hooks = RecordingHooks()
    committed = desk.edit(b"two", b"TWO", hooks)
    assert (committed.snapshot.data, hooks.calls) == (b"un\nTWO\n", ["before", "after"])
    assert committed.report.reason is not None
    with pytest.raises(DocumentUnknown):
        desk.fs.read(PATH)
    desk.editor.splice(uri, 3, 6, "TWO")  # as it is told at last, of the text before it
    assert desk.seen() == (b"un\nTWO\n", "buffer")


def test_success_for_no_version_that_is_not_told_of_is_not_believed(desk: Desk):
    """R-DOC-13."""
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "un")
    desk.editor.tells, desk.editor.checks_version = False, False
    with pytest.raises(DocumentUnknown):
        desk.edit(b"two", b"TWO")
    with pytest.raises(DocumentUnknown):
        desk.fs.read(PATH)
    desk.editor.set_text(uri, "un\ndeux\n")
    assert desk.seen() == (b"un\ndeux\n", "buffer")


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


# --- a text that is not known -----------------------------------------------------------------------------------

NOWHERE = [(Position(9, 0), Position(9, 0), "x")]
BAD_CHANGES: dict[str, tuple[int, list[tuple[Position, Position, str]]]] = {
    "begins behind the text": (3, NOWHERE),
    "ends behind the text": (3, [(Position(0, 1), Position(9, 0), "x")]),
    "ends before it begins": (3, [(Position(1, 0), Position(0, 0), "x")]),
    "has a negative line": (3, [(Position(-1, 0), Position(0, 0), "x")]),
    "has a negative character": (3, [(Position(0, -1), Position(0, 1), "x")]),
    "has the version of before": (2, [(Position(0, 0), Position(0, 0), "x")]),
    "has an older version": (1, [(Position(0, 0), Position(0, 0), "x")]),
    "is bad behind a good one": (3, [(Position(0, 0), Position(0, 0), "x"), *NOWHERE]),
}


def require_unknown(desk: Desk, before: Snapshot) -> None:
    for ask in (desk.fs.read, desk.fs.open, desk.fs.stat):
        with pytest.raises(DocumentUnknown):
            ask(PATH)
    for write in (
        lambda: desk.fs.replace(before, (Splice(0, 3, b"ONE"),), RecordingHooks()),
        lambda: desk.fs.remove(before, RecordingHooks()),
    ):
        with pytest.raises(DocumentUnknown):
            write()
    assert desk.fs.try_open_cached(PATH) is None
    assert (desk.on_disk(), desk.editor.applied) == (b"one\ntwo\n", [])


@pytest.mark.parametrize("how", BAD_CHANGES)
def test_a_change_that_cannot_be_made_leaves_a_text_that_nobody_may_use(desk: Desk, how: str):
    """R-DOC-12."""
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "un")
    before = desk.fs.read(PATH)
    version, changes = BAD_CHANGES[how]
    desk.fs.changed(uri, version, changes)
    require_unknown(desk, before)
    desk.fs.changed(uri, version + 5, [(Position(0, 0), Position(0, 0), "y")])  # a change of what is not known
    require_unknown(desk, before)
    desk.fs.changed(uri, version + 6, ["whole\n", (Position(0, 0), Position(0, 0), "the ")])
    assert desk.seen() == (b"the whole\n", "buffer")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ((Position(0, 0), Position(2**31, 0), "all\n"), b"all\n"),
        ((Position(2, 0), Position(2, 0), "three\n"), b"one\ntwo\nthree\n"),
        ((Position(1, 0), Position(3, 0), "2\n"), b"one\n2\n"),
        ((Position(0, 0), Position(0, 99), "1"), b"1\ntwo\n"),
    ],
)
def test_a_range_as_editors_write_it_at_the_end_is_taken(
    desk: Desk, change: tuple[Position, Position, str], expected: bytes
):
    uri = desk.editor.open(PATH)
    desk.fs.changed(uri, 7, [change])
    assert desk.seen() == (expected, "buffer")


def test_a_document_whose_text_was_lost_is_known_again_once_it_is_opened_or_closed(desk: Desk):
    uri = desk.editor.open(PATH)
    before = desk.fs.read(PATH)
    desk.fs.doubted(uri, "it is not known")
    require_unknown(desk, before)
    desk.editor.open(PATH, "again\n")
    assert desk.seen() == (b"again\n", "buffer")
    desk.fs.doubted(None, "one of all")
    require_unknown(desk, before)
    desk.editor.close(uri)
    assert desk.seen() == (b"one\ntwo\n", "disk")


def test_a_document_that_was_opened_with_a_text_that_nobody_could_read_is_not_taken_for_closed(desk: Desk):
    before = desk.fs.read(PATH)
    desk.fs.opened_unknown("file:///w/f", PATH, "it cannot be read")
    require_unknown(desk, before)


# --- many documents ---------------------------------------------------------------------------------------------


def cost_of_a_request(desk: Desk) -> int:
    """How many paths are resolved for a read and an edit of a file that is not open."""
    before = desk.disk.n_resolved
    desk.disk.put("/w/closed", b"x")
    snapshot = desk.fs.read("/w/closed")
    desk.fs.replace(snapshot, (Splice(0, 0, b"y"),), RecordingHooks())
    return desk.disk.n_resolved - before


def test_a_request_costs_the_same_however_many_documents_are_open(desk: Desk):
    desk.disk.link("/l", "/w")
    costs: list[int] = []
    for n in (10, 20):
        for i in range(n):
            for folder in ("/l", "/w"):
                desk.disk.put(f"/w/{n}-{i}", b"x\n")
                desk.editor.open(f"{folder}/{n}-{i}", "x\n")
        costs.append(cost_of_a_request(desk))
    assert costs[0] == costs[1]


def test_the_cost_of_opening_grows_with_the_documents_and_not_with_their_square(desk: Desk):
    desk.disk.link("/l", "/w")
    costs: list[int] = []
    for n in (10, 20):
        before = desk.disk.n_resolved
        for i in range(n):
            desk.disk.put(f"/w/{n}-{i}", b"x\n")
            desk.editor.open(f"/l/{n}-{i}", "x\n")
        costs.append(desk.disk.n_resolved - before)
    assert costs[1] == 2 * costs[0]
