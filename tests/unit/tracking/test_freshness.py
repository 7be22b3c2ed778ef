"""Notices to sessions about their files, checked when the test asks for it: no thread, no watcher, no disk."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import pytest
from msgspec.structs import replace as with_changes

from fileops.fs.memory import MemoryFileSystem
from fileops.model.digest import content_digest
from fileops.model.errors import FileMissing, ModifiedExternally, NotRead
from fileops.model.events import DidConflict
from fileops.model.files import ReadProof
from fileops.model.internal_errors import Stale
from fileops.model.sessions import SessionName
from fileops.tracking.freshness import Freshness
from support.events import EventRecorder
from support.session import AgentSession, WallClock

NEVER_S = 3600.0
read_proof = partial(ReadProof, given_path="/w/f", path="/w/f")


@dataclass
class TrackerWorld:
    mode: Literal["mtime", "content"] = "mtime"
    open_documents: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        self.fs = MemoryFileSystem()
        self.notices = EventRecorder()
        self.freshness = Freshness(
            self.fs,
            self.notices,
            WallClock(),
            mode=self.mode,
            is_open=self.open_documents.__contains__,
            debounce_s=NEVER_S,
            sweep_s=NEVER_S,
        )
        self.a, self.b = (AgentSession(self.freshness, self.fs, name) for name in "ab")
        self.fs.put("/w/f", b"one\n")


@pytest.fixture
def world() -> Iterator[TrackerWorld]:
    world = TrackerWorld()
    yield world
    world.freshness.close()


@pytest.fixture
def by_content() -> Iterator[TrackerWorld]:
    world = TrackerWorld(mode="content")
    yield world
    world.freshness.close()


def state(world: TrackerWorld, session_id: str = "a") -> list[tuple[str, str, str | None]]:
    return [(file.file_path, file.state, file.reason) for file in world.freshness.list_tracked(SessionName(session_id))]


# --- an edit's question ---------------------------------------------------------------------------------------


def test_edit_of_unread_file_is_refused(world: TrackerWorld) -> None:
    with pytest.raises(NotRead):
        world.a.require_fresh("/w/f")
    with pytest.raises(NotRead):
        world.freshness.require_tracked(SessionName("a"), "/w/f")
    assert not world.freshness.is_tracked(SessionName("a"), "/w/f")


def test_edit_of_read_file_is_accepted(world: TrackerWorld) -> None:
    world.a.read("/w/f")
    world.a.require_fresh("/w/f")
    assert world.freshness.is_tracked(SessionName("a"), "/w/f")


def test_sessions_are_isolated(world: TrackerWorld) -> None:
    world.a.read("/w/f")
    with pytest.raises(NotRead):
        world.b.require_fresh("/w/f")


def test_external_change_is_refused_and_named_external(world: TrackerWorld) -> None:
    world.a.read("/w/f")
    world.fs.put("/w/f", b"two\n")
    with pytest.raises(ModifiedExternally) as refusal:
        world.a.require_fresh("/w/f")
    assert refusal.value.changed_by == "external"
    assert refusal.value.diff_since_read is not None
    assert refusal.value.diff_since_read.endswith("@@ -1 +1 @@\n-one\n+two\n")


def test_same_bytes_with_a_new_mtime_are_refused_by_mtime_and_accepted_by_content(
    world: TrackerWorld, by_content: TrackerWorld
) -> None:
    for it in (world, by_content):
        it.a.read("/w/f")
        it.fs.put("/w/f", b"one\n")
    with pytest.raises(ModifiedExternally):
        world.a.require_fresh("/w/f")
    by_content.a.require_fresh("/w/f")
    by_content.freshness.sweep()
    assert by_content.notices.stale() == []


def test_other_bytes_with_the_same_stamp_are_refused(world: TrackerWorld) -> None:
    """A shared memory mapping on tmpfs may change a file without changing what stat says."""
    world.a.read("/w/f")
    snapshot = world.fs.read("/w/f")
    with pytest.raises(ModifiedExternally):
        world.freshness.require_fresh(SessionName("a"), replace(snapshot, data=b"two\n"))


def test_conflict_is_notified_with_both_times_and_sizes(world: TrackerWorld) -> None:
    world.a.read("/w/f")
    seen = world.fs.stat("/w/f")
    world.fs.put("/w/f", b"more\nthan one\n")
    now = world.fs.stat("/w/f")
    assert seen is not None
    assert now is not None
    with pytest.raises(ModifiedExternally):
        world.a.require_fresh("/w/f")
    (conflict,) = world.notices.of(DidConflict)
    assert (conflict.file_path, conflict.session_id, conflict.size_diff) == ("/w/f", "a", 10)
    assert (conflict.last_modified, conflict.current_modified) == (seen.mtime_ns / 1e9, now.mtime_ns / 1e9)
    assert world.notices.stale() == [("a", "/w/f", "modified", "external")]


def test_each_refusal_is_a_conflict_but_the_file_becomes_stale_once(world: TrackerWorld) -> None:
    world.a.read("/w/f")
    world.fs.put("/w/f", b"two\n")
    for _ in range(3):
        with pytest.raises(ModifiedExternally):
            world.a.require_fresh("/w/f")
    assert len(world.notices.of(DidConflict)) == 3
    assert len(world.notices.stale()) == 1


def test_dry_run_is_refused_alike_and_changes_no_state(world: TrackerWorld) -> None:
    world.a.read("/w/f")
    before = world.freshness.list_tracked(SessionName("a"))
    world.fs.put("/w/f", b"two\n")
    with pytest.raises(ModifiedExternally):
        world.a.require_fresh("/w/f", dry_run=True)
    assert world.notices.events == []
    world.fs.delete("/w/f")
    with pytest.raises(FileMissing):
        world.a.require_fresh("/w/f", dry_run=True)
    assert [file.read_at for file in world.freshness.list_tracked(SessionName("a"))] == [before[0].read_at]


def test_dry_run_that_finds_the_same_bytes_again_changes_no_entry(by_content: TrackerWorld) -> None:
    by_content.a.read("/w/f")
    by_content.fs.put("/w/f", b"two\n")
    by_content.freshness.sweep()
    by_content.fs.put("/w/f", b"one\n")
    by_content.a.require_fresh("/w/f", dry_run=True)
    assert state(by_content) == [("/w/f", "stale", "modified")]
    by_content.a.require_fresh("/w/f")
    assert state(by_content) == [("/w/f", "fresh", None)]


def test_read_makes_a_stale_file_fresh(world: TrackerWorld) -> None:
    world.a.read("/w/f")
    world.fs.put("/w/f", b"two\n")
    world.freshness.sweep()
    assert state(world) == [("/w/f", "stale", "modified")]
    world.a.read("/w/f")
    assert state(world) == [("/w/f", "fresh", None)]
    world.a.require_fresh("/w/f")


def test_snapshot_older_than_the_sessions_read_is_stale(world: TrackerWorld) -> None:
    old = world.fs.read("/w/f")
    world.fs.put("/w/f", b"two\n")
    world.a.read("/w/f")
    with pytest.raises(Stale):
        world.freshness.require_fresh(SessionName("a"), old)
    assert world.notices.events == []


def test_part_of_a_file_is_enough_to_edit_it(world: TrackerWorld) -> None:
    world.a.read("/w/f", n_bytes=2)
    world.a.require_fresh("/w/f")
    world.fs.put("/w/f", b"two\n")
    with pytest.raises(ModifiedExternally) as refusal:
        world.a.require_fresh("/w/f")
    assert refusal.value.diff_since_read is None


def test_mode_alone_is_no_change(world: TrackerWorld) -> None:
    world.a.read("/w/f")
    world.b.read("/w/f", n_bytes=2)
    world.fs.chmod("/w/f", 0o600)
    world.freshness.sweep()
    world.a.require_fresh("/w/f")
    world.b.require_fresh("/w/f")
    assert world.notices.events == []


# --- deletion -------------------------------------------------------------------------------------------------


def test_deleted_file_is_notified_and_forgotten_by_an_edit(world: TrackerWorld) -> None:
    world.a.read("/w/f")
    world.fs.delete("/w/f")
    world.freshness.sweep()
    assert state(world) == [("/w/f", "stale", "deleted")]
    with pytest.raises(FileMissing):
        world.a.require_fresh("/w/f")
    assert state(world) == []
    assert world.notices.stale() == [("a", "/w/f", "deleted", "external")]


def test_deletion_found_first_by_an_edit_is_notified(world: TrackerWorld) -> None:
    world.a.read("/w/f")
    world.fs.delete("/w/f")
    with pytest.raises(FileMissing):
        world.a.require_fresh("/w/f")
    assert world.notices.stale() == [("a", "/w/f", "deleted", "external")]


def test_missing_file_at_a_read_drops_the_entry(world: TrackerWorld) -> None:
    world.a.read("/w/f")
    world.fs.delete("/w/f")
    with pytest.raises(FileMissing):
        world.a.read("/w/f")
    world.fs.put("/w/f", b"one\n")
    with pytest.raises(NotRead):
        world.a.require_fresh("/w/f")


def test_file_created_again_can_be_read_and_become_stale_again(world: TrackerWorld) -> None:
    world.a.read("/w/f")
    world.fs.delete("/w/f")
    world.freshness.sweep()
    world.fs.put("/w/f", b"two\n")
    world.freshness.sweep()
    assert state(world) == [("/w/f", "stale", "replaced")]
    world.a.read("/w/f")
    world.fs.put("/w/f", b"three\n")
    world.freshness.sweep()
    assert [reason for _, _, reason, _ in world.notices.stale()] == ["deleted", "modified"]


def test_folder_in_place_of_a_file_is_a_replacement(world: TrackerWorld) -> None:
    world.a.read("/w/f")
    world.fs.delete("/w/f")
    world.fs.make_folder("/w/f")
    world.freshness.sweep()
    world.freshness.sweep()
    assert world.notices.stale() == [("a", "/w/f", "replaced", "external")]


# --- own and others' writes -----------------------------------------------------------------------------------


def test_own_write_is_the_new_base_and_not_notified(world: TrackerWorld) -> None:
    world.a.read("/w/f")
    world.a.write("/w/f", b"two\n")
    world.freshness.sweep()
    world.a.write("/w/f", b"three\n")
    world.freshness.sweep()
    assert world.notices.events == []
    assert state(world) == [("/w/f", "fresh", None)]


def test_created_file_counts_as_read(world: TrackerWorld) -> None:
    world.a.write("/w/new", b"x")
    world.a.write("/w/new", b"y")
    assert state(world) == [("/w/new", "fresh", None)]


def test_write_of_one_session_makes_the_others_stale_at_once(world: TrackerWorld) -> None:
    world.a.read("/w/f")
    world.b.read("/w/f")
    world.a.write("/w/f", b"two\n")
    assert world.notices.stale() == [("b", "/w/f", "modified", "session:a")]
    world.freshness.sweep()
    assert len(world.notices.stale()) == 1
    with pytest.raises(ModifiedExternally) as refusal:
        world.b.require_fresh("/w/f")
    assert (refusal.value.changed_by, refusal.value.also_changed_by) == ("session:a", None)
    assert refusal.value.diff_since_read is not None


def test_refusal_names_both_who_changed_the_file(world: TrackerWorld) -> None:
    world.a.read("/w/f")
    world.b.read("/w/f")
    world.a.write("/w/f", b"two\n")
    world.fs.put("/w/f", b"three\n")
    with pytest.raises(ModifiedExternally) as refusal:
        world.b.require_fresh("/w/f")
    assert (refusal.value.changed_by, refusal.value.also_changed_by) == ("external", "session:a")


def test_removal_by_one_session_is_notified_to_the_others(world: TrackerWorld) -> None:
    world.a.read("/w/f")
    world.b.read("/w/f")
    world.a.remove("/w/f")
    assert world.notices.stale() == [("b", "/w/f", "deleted", "session:a")]
    assert state(world) == []


def test_write_read_before_it_was_recorded_makes_no_session_stale(world: TrackerWorld) -> None:
    """A read between the commit and its note finds the new content."""
    world.a.read("/w/f")
    world.b.read("/w/f")
    stands = world.a.write("/w/f", b"two\n")
    world.b.read("/w/f")
    world.freshness.note_write(SessionName("a"), "/w/f", stands)
    world.freshness.sweep()
    assert state(world, "b") == [("/w/f", "fresh", None)]


def test_read_of_the_old_file_recorded_after_a_write_becomes_stale(world: TrackerWorld) -> None:
    world.a.read("/w/f")
    with world.fs.open("/w/f") as stream:
        world.a.write("/w/f", b"two\n")
        stamp, taken_ns, digest = stream.stamp, stream.taken_ns, content_digest(stream.read(100))
        world.freshness.note_read(
            read_proof(session_id=SessionName("b"), stamp=stamp, taken_ns=taken_ns, digest=digest)
        )
    world.freshness.sweep()
    assert world.notices.stale() == [("b", "/w/f", "modified", "session:a")]
    assert state(world) == [("/w/f", "fresh", None)]


def test_check_after_a_read_by_one_session_makes_the_other_stale(world: TrackerWorld) -> None:
    world.a.read("/w/f")
    world.fs.put("/w/f", b"two\n")
    world.b.read("/w/f")
    world.freshness.check("/w/f")
    assert world.notices.stale() == [("a", "/w/f", "modified", "external")]


# --- names ----------------------------------------------------------------------------------------------------


def test_link_and_target_are_one_file_notified_under_the_last_given_name(world: TrackerWorld) -> None:
    world.fs.link("/w/l", "/w/f")
    world.a.read("/w/f")
    world.a.read("/w/l")
    world.fs.put("/w/f", b"two\n")
    world.freshness.sweep()
    assert world.notices.stale() == [("a", "/w/l", "modified", "external")]
    assert state(world) == [("/w/l", "stale", "modified")]


def test_paths_of_a_name_are_the_file_and_where_its_link_led(world: TrackerWorld) -> None:
    world.fs.link("/w/link", "/w/f")
    world.a.read("/w/link")
    assert world.freshness.paths_of(SessionName("a"), "/w/link") == ("/w/f",)
    assert world.freshness.paths_of(SessionName("a"), "/w/f") == ("/w/f",)
    assert world.freshness.paths_of(SessionName("b"), "/w/link") == ()
    world.a.read("/w/f")  # the last given name counts
    assert world.freshness.paths_of(SessionName("a"), "/w/link") == ()


@pytest.mark.parametrize("given", ["/w/l", "/d/f", "/w/./f"])
def test_link_with_the_same_target_stays_fresh(world: TrackerWorld, given: str) -> None:
    world.fs.link("/w/l", "/w/f")
    world.fs.link("/d", "/w")
    world.a.read(given)
    world.freshness.sweep()
    assert world.notices.events == []


@pytest.mark.parametrize(("given", "link"), [("/w/l", "/w/l"), ("/d/f", "/d")])
def test_retargeted_link_is_notified_once(world: TrackerWorld, given: str, link: str) -> None:
    world.fs.link("/w/l", "/w/f")
    world.fs.link("/d", "/w")
    world.fs.put("/v/f", b"one\n")
    world.a.read(given)
    world.fs.link(link, "/v/f" if link == "/w/l" else "/v")
    world.freshness.sweep()
    world.freshness.sweep()
    assert world.notices.stale() == [("a", given, "replaced", "external")]
    world.a.read(given)
    world.freshness.sweep()
    assert state(world) == [(given, "fresh", None)]


def test_dangling_link_is_a_deletion(world: TrackerWorld) -> None:
    world.fs.link("/w/l", "/w/f")
    world.a.read("/w/l")
    world.fs.link("/w/l", "/w/nothing")
    world.freshness.sweep()
    assert world.notices.stale() == [("a", "/w/l", "deleted", "external")]


def test_many_links_are_checked_in_turn(world: TrackerWorld) -> None:
    for i in range(250):
        world.fs.link(f"/w/l{i}", f"/w/g{i}")
        world.fs.put(f"/w/g{i}", b"x")
        world.a.read(f"/w/l{i}")
    world.fs.link("/w/l249", "/w/f")
    for _ in range(5):
        world.freshness.sweep()
    assert world.notices.stale() == [("a", "/w/l249", "replaced", "external")]


# --- open documents -------------------------------------------------------------------------------------------


def test_open_document_is_compared_by_content(world: TrackerWorld) -> None:
    world.a.read("/w/f")
    world.open_documents.add("/w/f")
    world.fs.put("/w/f", b"one\n")
    world.freshness.check("/w/f")
    world.a.require_fresh("/w/f")
    assert world.notices.events == []
    world.fs.put("/w/f", b"two\n")
    world.freshness.check("/w/f")
    assert world.notices.stale() == [("a", "/w/f", "modified", "external")]


def test_typed_buffer_is_stale_by_the_buffer(world: TrackerWorld) -> None:
    world.a.read("/w/f")
    typed = replace(world.fs.read("/w/f"), source="buffer", version=2, data=b"typed\n")
    with pytest.raises(ModifiedExternally) as refusal:
        world.freshness.require_fresh(SessionName("a"), typed)
    assert refusal.value.changed_by == "buffer"
    assert world.notices.stale() == [("a", "/w/f", "modified", "buffer")]


def test_reloaded_buffer_is_stale_by_the_writer_of_its_file(world: TrackerWorld) -> None:
    """R-DOC-8: an editor may reload a file before it is checked."""
    world.open_documents.add("/w/f")
    world.a.read("/w/f")
    world.b.read("/w/f")
    world.b.write("/w/f", b"theirs\n")
    loaded = replace(world.fs.read("/w/f"), source="buffer", version=2, is_loaded=True)
    with pytest.raises(ModifiedExternally) as refusal:
        world.freshness.require_fresh(SessionName("a"), loaded)
    assert refusal.value.changed_by == "session:b"
    world.fs.put("/w/f", b"moved\n")
    loaded = replace(world.fs.read("/w/f"), source="buffer", version=3, is_loaded=True)
    with pytest.raises(ModifiedExternally) as refusal:
        world.freshness.require_fresh(SessionName("b"), loaded)
    assert refusal.value.changed_by == "external"


def test_buffer_equals_its_file_with_any_line_endings(world: TrackerWorld) -> None:
    world.fs.put("/w/f", b"\xef\xbb\xbfone\r\ntwo\n")
    on_disk = world.fs.read("/w/f")
    assert on_disk.stamp is not None
    shown = b"one\ntwo\n"
    seen = read_proof(
        session_id=SessionName("a"),
        stamp=on_disk.stamp,
        taken_ns=on_disk.taken_ns,
        digest=content_digest(shown),
        source="buffer",
        version=1,
        content=shown,
    )
    world.freshness.note_read(seen)
    world.freshness.require_fresh(SessionName("a"), on_disk)
    with pytest.raises(ModifiedExternally):
        world.freshness.require_fresh(SessionName("a"), replace(on_disk, data=b"two\n"))


def test_partly_read_buffer_is_compared_by_its_stamp(world: TrackerWorld) -> None:
    """The stamp of a document without unsaved changes is its file's, in every version; typing gives it another."""
    on_disk = world.fs.read("/w/f")
    assert on_disk.stamp is not None
    seen = read_proof(
        session_id=SessionName("a"),
        stamp=on_disk.stamp,
        taken_ns=on_disk.taken_ns,
        digest=None,
        source="buffer",
        version=3,
    )
    world.freshness.note_read(seen)
    buffer = replace(on_disk, source="buffer", version=3)
    world.freshness.require_fresh(SessionName("a"), buffer)
    world.freshness.require_fresh(SessionName("a"), replace(buffer, version=4))
    typed = with_changes(on_disk.stamp, mtime_ns=on_disk.stamp.mtime_ns + 1, ctime_ns=on_disk.stamp.ctime_ns + 1)
    with pytest.raises(ModifiedExternally):
        world.freshness.require_fresh(SessionName("a"), replace(buffer, version=5, stamp=typed))


# --- sessions -------------------------------------------------------------------------------------------------


def test_closed_session_has_no_entries_and_no_notifications(world: TrackerWorld) -> None:
    world.a.read("/w/f")
    world.b.read("/w/f")
    world.freshness.close_session(SessionName("a"))
    world.freshness.close_session(SessionName("unknown"))
    world.fs.put("/w/f", b"two\n")
    world.freshness.sweep()
    assert world.notices.stale() == [("b", "/w/f", "modified", "external")]
    assert state(world) == []
    with pytest.raises(NotRead):
        world.a.require_fresh("/w/f")


def test_forgotten_file_is_unread(world: TrackerWorld) -> None:
    world.a.read("/w/f")
    world.freshness.forget(SessionName("a"), "/w/f")
    world.freshness.forget(SessionName("a"), "/w/f")
    with pytest.raises(NotRead):
        world.a.require_fresh("/w/f")


def test_tracked_checks_the_files_first(world: TrackerWorld) -> None:
    world.a.read("/w/f")
    world.fs.put("/w/f", b"two\n")
    assert state(world) == [("/w/f", "stale", "modified")]
    assert len(world.notices.stale()) == 1


def test_tracked_files_are_ordered_by_first_read(world: TrackerWorld) -> None:
    paths = [f"/w/{name}" for name in "cab"]
    for path in paths:
        world.fs.put(path, b"x")
        world.a.read(path)
    world.a.read(paths[0])
    (first, *_) = world.freshness.list_tracked(SessionName("a"))
    stamp = world.fs.stat(paths[0])
    assert stamp is not None
    assert [path for path, _, _ in state(world)] == paths
    assert (first.size_bytes, first.mtime) == (1, stamp.mtime_ns / 1e9)


def test_missing_file_that_was_never_read_is_missing(world: TrackerWorld) -> None:
    with pytest.raises(FileMissing):
        world.a.require_fresh("/w/missing")
