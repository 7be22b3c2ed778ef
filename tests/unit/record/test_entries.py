"""How long two changes are one: the limits of time of entries (R-REC-2)."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from fileops.model.digest import content_digest
from fileops.model.record import (
    OUTSIDE,
    ByCommand,
    ByPerson,
    BySession,
    CommandRecord,
    Contents,
    Entry,
    FileVersion,
    Known,
    LogQuery,
    unsure,
)
from fileops.model.sessions import SessionName
from fileops.record.attribution import SETTLE_S, Save
from fileops.record.command_windows import CommandWindows
from fileops.record.entries import LEFT_S, MOVED_S, SAME_WRITER_S, EntryWriter, Observed
from fileops.record.other_daemons import put_own
from fileops.record.store import RecordStore
from fileops.record.turns import TurnRegistry

AT = 1000.0
MAKE = CommandRecord(
    command_id="c-1", session_id=SessionName("bot"), label="bot · make", began=AT - 1, roots=("/p",), turn_id="t-1"
)
BY_MAKE = ByCommand(session_id=MAKE.session_id, command_id=MAKE.command_id, label=MAKE.label)
Write = Callable[[EntryWriter, str, str | None, str | None, float], None]


def known(content: str | None, inode: int = 1, mtime_ns: int = 1) -> Known | None:
    if content is None:
        return None
    return Known(
        content="kept", digest=content_digest(content.encode()), inode=inode, mtime_ns=mtime_ns, size_bytes=len(content)
    )


def observed(
    path: str,
    before: str | None,
    after: str | None,
    at: float,
    *commands: CommandRecord,
    inode: int = 1,
    mtime_ns: int = 1,
) -> Observed:
    def data(content: str | None) -> bytes | None:
        return None if content is None else content.encode()

    return Observed(
        path=path, root="/" + path.split("/")[1], before=known(before, inode, mtime_ns),
        after=known(after, inode, mtime_ns), before_data=data(before), after_data=data(after), began=at, read=at,
        time=at, commands=commands,
    )  # fmt: skip


def entries_of(changes: list[Observed]) -> list[Entry]:
    """The entries that these changes make, oldest first."""
    store = RecordStore(None)
    writer = EntryWriter(store, CommandWindows(), TurnRegistry(), lambda _entries: None)
    for change in changes:
        writer.write(change)
    found, _ = store.entries(LogQuery())
    store.close()
    return list(reversed(found))


def outline(changes: list[Observed]) -> list[tuple[str, str, bool]]:
    """The entries that these changes make, oldest first: kind, path, and whether they are a half of a rename."""
    return [(entry.kind, entry.path, bool(entry.moved_from or entry.moved_to)) for entry in entries_of(changes)]


@pytest.mark.parametrize(
    ("pause", "commands", "n_entries"),
    [(SAME_WRITER_S, (), 1), (SAME_WRITER_S + 0.1, (), 2), (60.0, (MAKE,), 1)],
    ids=["outside at once", "outside later", "one command"],
)
def test_changes_of_one_file_are_one_entry_within_the_limit_of_their_writer(
    pause: float, commands: tuple[CommandRecord, ...], n_entries: int
) -> None:
    changes = [
        observed("/p/a", "old", "new", AT, *commands),
        observed("/p/a", "new", "newer", AT + pause, *commands),
    ]
    assert len(outline(changes)) == n_entries


@pytest.mark.parametrize("is_open", [False, True], ids=["a daemon that has ended", "a daemon that runs"])
def test_change_is_a_part_of_what_another_daemon_read_later_only_if_that_daemon_runs(
    tmp_path: Path, *, is_open: bool
) -> None:
    """R-REC-2. The clock was set back after the other daemon had written its entry."""
    other = RecordStore(str(tmp_path))
    store = RecordStore(str(tmp_path)) if is_open else None
    windows, turns = CommandWindows(), TurnRegistry()
    EntryWriter(other, windows, turns, lambda _entries: None).write(observed("/p/a", "old", "new", AT + 3))
    other.close()
    store = store or RecordStore(str(tmp_path))
    EntryWriter(store, windows, turns, lambda _entries: None).write(observed("/p/a", "new", "newer", AT, MAKE))
    found, _ = store.entries(LogQuery())
    store.close()
    assert [entry.by for entry in reversed(found)] == ([OUTSIDE] if is_open else [OUTSIDE, BY_MAKE])


OUTSIDE_OR_MAKE = unsure(OUTSIDE, BY_MAKE)
OLD, NEW, NEWER = ("old", "new"), ("new", "newer"), ("old", "newer")


@pytest.mark.parametrize(
    ("changes", "authors"),
    [
        ([("this", OLD, ()), ("other", OLD, ()), ("other", NEW, ()), ("this", NEW, (MAKE,))], [OUTSIDE, BY_MAKE]),
        ([("other", OLD, ()), ("this", OLD, ()), ("other", NEW, ()), ("this", NEW, (MAKE,))], [OUTSIDE, BY_MAKE]),
        ([("other", OLD, ()), ("other", NEW, ()), ("this", OLD, ()), ("this", NEW, (MAKE,))], [OUTSIDE_OR_MAKE]),
        ([("other", NEWER, ()), ("this", OLD, ()), ("this", NEW, (MAKE,))], [OUTSIDE_OR_MAKE]),
        ([("other", NEWER, ()), ("this", OLD, (MAKE,)), ("this", NEW, (MAKE,))], [BY_MAKE]),
        ([("this", OLD, ()), ("this", NEW, (MAKE,)), ("other", OLD, ()), ("other", NEW, ())], [OUTSIDE, BY_MAKE]),
    ],
    ids=["the other after this", "this after the other", "joined before", "read at once", "the command's", "first"],
)
def test_change_that_another_daemon_joined_with_an_earlier_one_is_not_its_authors_alone(
    tmp_path: Path, changes: list[tuple[str, tuple[str, str], tuple[CommandRecord, ...]]], authors: list[object]
) -> None:
    """Two daemons watch the folder, and one of them knows of the command."""
    stores = {name: RecordStore(str(tmp_path)) for name in ("this", "other")}
    writers = {
        name: EntryWriter(store, CommandWindows(), TurnRegistry(), lambda _entries: None)
        for name, store in stores.items()
    }
    for name, (before, after), commands in changes:
        read = AT if after == "new" else AT + 0.1
        writers[name].write(observed("/p/a", before, after, read, *commands))
    found, _ = stores["this"].entries(LogQuery())
    for store in stores.values():
        store.close()
    assert [entry.by for entry in reversed(found)] == authors


def test_own_edit_takes_its_part_of_an_entry_that_another_daemon_has_extended(tmp_path: Path) -> None:
    """This daemon began the entry before its edit; the other one saw the edit as a change by anybody."""
    other, store = RecordStore(str(tmp_path)), RecordStore(str(tmp_path))
    agent = BySession(session_id=SessionName("bot"), label="bot")
    for of, before, after, at in ((store, "older", "old", AT), (other, "old", "new", AT + 0.1)):
        EntryWriter(of, CommandWindows(), TurnRegistry(), lambda _entries: None).write(
            observed("/p/a", before, after, at)
        )
    edit = Entry(
        entry_id="e-1", time=AT + 0.1, path="/p/a", kind="modify", by=agent, before=_version("old"),
        after=_version("new"), evidence="commit",
    )  # fmt: skip
    put_own(store, edit, Contents(b"old", b"new"))
    found, _ = store.entries(LogQuery())
    other.close()
    store.close()
    assert [(entry.by, entry.before, entry.after) for entry in reversed(found)] == [
        (OUTSIDE, _version("older"), _version("old")), (agent, _version("old"), _version("new")),
    ]  # fmt: skip


def _version(content: str) -> FileVersion:
    return FileVersion(content_digest(content.encode()))


@pytest.mark.parametrize(
    "order",
    ["this gone, other gone, other made, this made", "this gone, other made, other gone, this made"],
)
def test_rename_whose_halves_two_daemons_wrote_is_one(tmp_path: Path, order: str) -> None:
    stores = {name: RecordStore(str(tmp_path)) for name in ("this", "other")}
    writers = {
        name: EntryWriter(store, CommandWindows(), TurnRegistry(), lambda _entries: None)
        for name, store in stores.items()
    }
    halves = {"gone": observed("/p/a", "x", None, AT), "made": observed("/p/b", None, "x", AT)}
    for step in order.split(", "):
        name, half = step.split()
        writers[name].write(halves[half])
    found, _ = stores["this"].entries(LogQuery())
    for store in stores.values():
        store.close()
    assert {(entry.kind, entry.moved_from, entry.moved_to) for entry in found} == {
        ("delete", None, "/p/b"), ("create", "/p/a", None),
    }  # fmt: skip


@pytest.mark.parametrize("order", ["this other this other", "this this other other", "other this other this"])
def test_file_that_is_renamed_and_gets_its_name_back_keeps_its_history_beside_another_daemon(
    tmp_path: Path, order: str
) -> None:
    """A daemon alone makes nothing of it within two seconds. Another one may have noted a half of it meanwhile."""
    stores = {name: RecordStore(str(tmp_path)) for name in ("this", "other")}
    writers = {
        name: EntryWriter(store, CommandWindows(), TurnRegistry(), lambda _entries: None)
        for name, store in stores.items()
    }
    for first, second in (("this", "other"), ("other", "this")):  # each has seen that there is another one
        for name in (first, second):
            writers[name].write(observed(f"/p/{first}", "old", "new", AT))
    waiting = {
        name: [
            observed("/p/a", "x", None, AT + 1), observed("/p/b", None, "x", AT + 1),
            observed("/p/b", "x", None, AT + 2), observed("/p/a", None, "x", AT + 2),
        ]
        for name in stores
    }  # fmt: skip
    for name in order.split():
        for _ in range(2):
            writers[name].write(waiting[name].pop(0))
    found, _ = stores["this"].entries(LogQuery())
    for store in stores.values():
        store.close()
    shown = [(entry.path, entry.kind, entry.moved_from, entry.moved_to) for entry in reversed(found)]
    assert [each for each in shown if each[1] != "modify"] in (
        [],
        [("/p/a", "delete", None, "/p/b"), ("/p/b", "create", "/p/a", None),
         ("/p/b", "delete", None, "/p/a"), ("/p/a", "create", "/p/b", None)],
    )  # fmt: skip


def test_save_that_was_read_in_its_middle_is_its_persons_though_another_daemon_read_it_at_once(tmp_path: Path) -> None:
    other, store = RecordStore(str(tmp_path)), RecordStore(str(tmp_path))
    EntryWriter(other, CommandWindows(), TurnRegistry(), lambda _entries: None).write(
        observed("/p/a", "old", "new", AT + 0.5)
    )
    writer = EntryWriter(store, CommandWindows(), TurnRegistry(), lambda _entries: None)
    person = ByPerson(session_id="editor", label="an editor")
    writer.write(observed("/p/a", "old", "", AT + 0.1))
    writer.save("/p/a", Save(person=person, time=AT + 0.2, text="new"))
    writer.write(observed("/p/a", "", "new", AT + 0.2))
    found, _ = store.entries(LogQuery())
    other.close()
    store.close()
    assert [entry.by for entry in found] == [person]


@pytest.mark.parametrize(("pause", "n_entries"), [(SAME_WRITER_S, 0), (SAME_WRITER_S + 0.1, 2)])
def test_file_that_is_made_and_removed_has_no_entries_within_the_limit(pause: float, n_entries: int) -> None:
    changes = [observed("/p/t", None, "x", AT), observed("/p/t", "x", None, AT + pause)]
    assert len(outline(changes)) == n_entries


def test_file_that_git_removes_a_moment_after_its_rename_is_still_renamed() -> None:
    """A stash that removes a file and writes it again may be read in between."""
    changes = [
        observed("/p/b", "text", None, AT),
        observed("/p/a", None, "text", AT),
        replace(observed("/p/a", "text", None, AT + 0.1), is_beside_git=True),
        replace(observed("/p/a", None, "text", AT + 0.2, inode=2), is_beside_git=True),
    ]
    assert outline(changes) == [("delete", "/p/b", True), ("create", "/p/a", True)]


@pytest.mark.parametrize(("pause", "is_rename"), [(MOVED_S - 0.1, True), (MOVED_S, False)])
def test_two_names_of_one_file_are_a_rename_within_the_limit(pause: float, *, is_rename: bool) -> None:
    changes = [observed("/p/a", "x", None, AT), observed("/p/b", None, "x", AT + pause)]
    assert outline(changes) == [("delete", "/p/a", is_rename), ("create", "/p/b", is_rename)]


def test_new_name_that_is_read_first_is_a_rename() -> None:
    changes = [observed("/p/b", None, "x", AT), observed("/p/a", "x", None, AT + 0.1)]
    assert outline(changes) == [("create", "/p/b", True), ("delete", "/p/a", True)]


@pytest.mark.parametrize(
    ("gone", "made"),
    [
        (observed("/p/a", "x", None, AT, inode=1), observed("/p/b", None, "x", AT, inode=2)),
        (observed("/p/a", "x", None, AT, mtime_ns=1), observed("/p/b", None, "x", AT, mtime_ns=2)),
        (observed("/p/a", "", None, AT), observed("/p/b", None, "", AT)),
        (observed("/p/a", "x", None, AT), observed("/q/b", None, "x", AT)),
        (observed("/p/a", "x", None, AT), observed("/p/b", None, "x", AT, MAKE)),
        (observed("/p/a", "x", None, AT), observed("/p/b", None, "y", AT)),
    ],
    ids=[
        "another file",
        "a file with a number that was free again",
        "empty",
        "another project",
        "another author",
        "text",
    ],
)
def test_equal_contents_are_no_rename(gone: Observed, made: Observed) -> None:
    assert [is_rename for _, _, is_rename in outline([gone, made])] == [False, False]
    assert [is_rename for _, _, is_rename in outline([made, gone])] == [False, False]


@pytest.mark.parametrize("is_new_name_first", [False, True])
def test_rename_is_by_who_may_have_made_both_halves(*, is_new_name_first: bool) -> None:
    """One half was read late, when another program may have been the author as well."""
    late = replace(observed("/p/a", "x", None, AT, MAKE), is_certain=False)
    halves = [late, observed("/p/b", None, "x", AT, MAKE)]
    entries = entries_of(halves[::-1] if is_new_name_first else halves)
    assert {entry.path: (entry.by.label, entry.moved_from or entry.moved_to) for entry in entries} == {
        "/p/a": (MAKE.label, "/p/b"),
        "/p/b": (MAKE.label, "/p/a"),
    }


def test_author_that_was_not_certain_when_a_daemon_was_killed_is_unsure() -> None:
    """R-BY-2. A person's editor may have been about to report a save."""
    store = RecordStore(None)
    killed = EntryWriter(store, CommandWindows(), TurnRegistry(), lambda _entries: None)
    killed.write(replace(observed("/p/a", "x", "y", AT, MAKE), is_open=True))
    next_one = EntryWriter(store, CommandWindows(), TurnRegistry(), lambda _entries: None)
    assert next_one.settle(AT) == AT + LEFT_S
    assert next_one.is_due(AT + LEFT_S)
    assert next_one.settle(AT + LEFT_S) is None
    (entry,), _ = store.entries(LogQuery())
    store.close()
    assert (entry.settled, entry.kept, entry.by) == (True, False, unsure(BY_MAKE, OUTSIDE))


def test_author_that_was_not_certain_when_the_daemon_ended_is_unsure() -> None:
    """R-BY-2. Its end comes before the report of a save."""
    store = RecordStore(None)
    writer = EntryWriter(store, CommandWindows(), TurnRegistry(), lambda _entries: None)
    writer.write(observed("/p/closed", "x", "y", AT, MAKE))
    writer.write(replace(observed("/p/early", "x", "y", AT, MAKE), is_open=True))
    writer.write(replace(observed("/p/late", "x", "y", AT + SETTLE_S, MAKE), is_open=True))
    writer.end(AT + SETTLE_S + 0.1)
    authors = {entry.path: (entry.settled, entry.by) for entry in store.entries(LogQuery())[0]}
    store.close()
    assert authors == {
        "/p/closed": (True, BY_MAKE), "/p/early": (True, BY_MAKE), "/p/late": (True, unsure(BY_MAKE, OUTSIDE)),
    }  # fmt: skip


@pytest.mark.parametrize("is_read_before_more_is_typed", [True, False])
def test_save_that_is_reported_with_what_was_typed_after_it_divides_no_earlier_change(
    *, is_read_before_more_is_typed: bool
) -> None:
    """R-BY-1 (row 3). The report has no text of its own: the editor's document is taken, which has more by then."""
    store = RecordStore(None)
    writer = EntryWriter(store, CommandWindows(), TurnRegistry(), lambda _entries: None)
    person = ByPerson(session_id="editor", label="an editor")
    made = observed("/p/a", "a\n", "a\nmade\n", AT, MAKE)
    writer.write(replace(made, n_writes=2, is_open=True))
    saved = observed("/p/a", "a\nmade\n", "a\nmade\ntyped\n", AT + 0.1, MAKE)
    writer.write(replace(saved, typed_by=person if is_read_before_more_is_typed else None, is_open=True))
    writer.save("/p/a", Save(person=person, time=AT + 0.15, text="a\nmade\ntyped\nmore\n"))
    writer.settle(AT + 60)
    authors = [entry.by for entry in store.entries(LogQuery())[0]]
    store.close()
    assert authors == [person if is_read_before_more_is_typed else unsure(BY_MAKE, person), unsure(BY_MAKE, person)]


@pytest.mark.parametrize("is_merged", [False, True])
def test_file_that_was_opened_and_saved_before_the_daemon_heard_of_it_may_be_the_persons(*, is_merged: bool) -> None:
    """R-BY-1 (row 5). The daemon was stopped: it reads the file before the messages of the editor."""
    store = RecordStore(None)
    writer = EntryWriter(store, CommandWindows(), TurnRegistry(), lambda _entries: None)
    person = ByPerson(session_id="editor", label="an editor")
    writer.write(replace(observed("/p/a", None, "made\ntyped\n", AT, MAKE), n_writes=2))
    if is_merged:
        writer.write(observed("/p/a", "made\ntyped\n", "made\ntyped\nmore\n", AT + 0.1, MAKE))
    writer.save("/p/a", Save(person=person, time=AT + 0.2, text="typed\n"))
    writer.settle(AT + 60)
    (entry,), _ = store.entries(LogQuery())
    store.close()
    assert (entry.by, entry.settled) == (unsure(BY_MAKE, person), True)


@pytest.mark.parametrize("is_read_first", [True, False], ids=["read before the editor left", "read after it"])
@pytest.mark.parametrize("is_open", [True, False])
def test_file_that_an_editor_may_have_saved_before_it_left_may_be_the_persons(
    *, is_open: bool, is_read_first: bool
) -> None:
    """R-BY-2. A daemon that is asked to end closes its connections; what is in them by then is not read."""
    store = RecordStore(None)
    writer = EntryWriter(store, CommandWindows(), TurnRegistry(), lambda _entries: None)
    person = ByPerson(session_id="editor", label="an editor")
    change = replace(observed("/p/a", "a\n", "a\ntyped\n", AT, MAKE), is_open=is_open and is_read_first)
    steps = [lambda: writer.write(change), lambda: writer.save("/p/a", Save(person=person, time=AT, text=None))]
    for step in steps if is_read_first else steps[::-1]:
        step()
    writer.end(AT + 60)
    (entry,), _ = store.entries(LogQuery())
    store.close()
    assert (entry.by, entry.settled) == (unsure(BY_MAKE, person), True)


def test_save_long_before_a_change_is_noticed_may_be_in_it_if_events_were_lost() -> None:
    """R-BY-1 (row 5): nothing is known of the file since before the save."""
    store = RecordStore(None)
    writer = EntryWriter(store, CommandWindows(), TurnRegistry(), lambda _entries: None)
    person = ByPerson(session_id="editor", label="an editor")
    writer.save("/p/a", Save(person=person, time=AT - 30, text="a\ntyped\n"))
    writer.write(replace(observed("/p/a", "a\n", "a\ntyped\nmade\n", AT, MAKE), known_at=AT - 31, is_open=True))
    writer.settle(AT + 60)
    (entry,), _ = store.entries(LogQuery())
    store.close()
    assert (entry.by, entry.settled) == (unsure(BY_MAKE, person), True)


@pytest.mark.parametrize("is_reported_first", [True, False])
@pytest.mark.parametrize(
    ("made", "is_of_person"), [("a\ntyped\n", True), ("a\r\ntyped\r\nmore\r\n", True), ("other\n", False)]
)
def test_new_file_of_a_command_with_the_text_of_a_save_may_be_the_saved_one(
    made: str, *, is_of_person: bool, is_reported_first: bool
) -> None:
    """R-BY-1 (row 5). The command renamed it before anything was read under its name: it may be the last copy."""
    store = RecordStore(None)
    writer = EntryWriter(store, CommandWindows(), TurnRegistry(), lambda _entries: None)
    person = ByPerson(session_id="editor", label="an editor")
    steps = [
        lambda: writer.save("/p/a", Save(person=person, time=AT, text="a\ntyped\n")),
        lambda: writer.write(observed("/p/b", None, made, AT + 0.1, MAKE)),
    ]
    for step in steps if is_reported_first else steps[::-1]:
        step()
    writer.settle(AT + 60)
    (entry,), _ = store.entries(LogQuery())
    store.close()
    assert (entry.by, entry.settled) == (unsure(BY_MAKE, person) if is_of_person else BY_MAKE, True)


def test_change_that_was_kept_before_its_author_is_certain_stays_kept() -> None:
    """R-KEEP-2. A list shows a change at once, while an editor may still report a save."""
    store = RecordStore(None)
    writer = EntryWriter(store, CommandWindows(), TurnRegistry(), lambda _entries: None)
    writer.write(replace(observed("/p/a", "x", "y", AT, MAKE), is_open=True))
    (shown,), _ = store.entries(LogQuery())
    assert (store.keep("k-1", [shown.entry_id]), shown.settled) == (1, False)
    writer.settle(AT + 60)
    (entry,), _ = store.entries(LogQuery())
    store.close()
    assert (entry.settled, entry.kept, entry.by) == (True, True, BY_MAKE)


@pytest.mark.parametrize("commands", [(), (MAKE,)], ids=["no command", "command"])
def test_save_in_the_middle_of_which_a_command_may_have_written_is_unsure(commands: tuple[CommandRecord, ...]) -> None:
    """R-BY-1. The command wrote the file too, then renamed it, and copied it back: that is not the save's second half.

    Nothing tells it from a save by rename that was read in the middle of it.
    """
    store = RecordStore(None)
    writer = EntryWriter(store, CommandWindows(), TurnRegistry(), lambda _entries: None)
    person = ByPerson(session_id="editor", label="an editor")
    writer.write(replace(observed("/p/a", "old\n", None, AT, *commands), n_writes=2, is_open=True))
    writer.save("/p/a", Save(person=person, time=AT, text="by make\ntyped\nold\n"))
    writer.write(replace(observed("/p/a", None, "by make\ntyped\nold\n", AT + 0.1, *commands), is_open=True))
    writer.settle(AT + 60)
    (entry,), _ = store.entries(LogQuery())
    store.close()
    by = unsure(BY_MAKE, person) if commands else person
    assert (entry.by, entry.kept, entry.settled) == (by, not commands, True)


def test_entry_that_was_merged_since_it_was_read_is_half_of_no_rename() -> None:
    store = RecordStore(None)
    writer = EntryWriter(store, CommandWindows(), TurnRegistry(), lambda _entries: None)
    writer.write(observed("/p/a", "mine\n", None, AT, MAKE))
    writer.write(observed("/p/b", None, "mine\n", AT, MAKE))
    arrived, left = store.entries(LogQuery())[0]
    assert (store.other_half(arrived), store.other_half(left)) == (left, arrived)
    store.remove([arrived.entry_id])
    assert store.other_half(arrived) is None
    store.close()


def test_save_that_is_reported_after_a_later_change_was_read_is_the_persons() -> None:
    """R-BY-1: two commands write beside it, and the recorder reads both changes before the editor's message."""
    store = RecordStore(None)
    writer = EntryWriter(store, CommandWindows(), TurnRegistry(), lambda _entries: None)
    other = CommandRecord(
        command_id="c-2", session_id=SessionName("cat"), label="cat · make", began=AT - 1, roots=("/p",), turn_id=None
    )
    by_other = ByCommand(session_id=other.session_id, command_id=other.command_id, label=other.label)
    person = ByPerson(session_id="editor", label="an editor")
    writer.write(observed("/p/a", "a\n", "a\ntyped\n", AT, MAKE, other))
    writer.write(observed("/p/a", "a\ntyped\n", "a\ntyped\nmade\n", AT + 0.1, MAKE, other))
    writer.write(observed("/p/a", "a\ntyped\nmade\n", "a\ntyped\nmade\nmore\n", AT + 0.2, MAKE, other))
    writer.save("/p/a", Save(person=person, time=AT + 0.3, text="a\ntyped\n"))
    writer.settle(AT + 60)
    authors = [entry.by for entry in store.entries(LogQuery())[0]]
    store.close()
    assert authors == [unsure(BY_MAKE, by_other, person), unsure(BY_MAKE, by_other, person), person]


def test_folder_of_many_files_is_renamed_with_each_of_them() -> None:
    gone = [observed(f"/p/a/{n}", "x", None, AT, inode=n + 1) for n in range(500)]
    made = [observed(f"/p/b/{n}", None, "x", AT + 3, inode=n + 1) for n in range(500)]
    assert {is_rename for _, _, is_rename in outline([*gone, *made])} == {True}


@pytest.mark.parametrize("is_new_name_first", [False, True])
def test_file_renamed_over_one_that_the_command_changed_and_removed_has_two_halves_or_none(
    *, is_new_name_first: bool
) -> None:
    halves = [observed("/p/a", "mine\n", None, AT + 2, MAKE), observed("/p/b", None, "mine\n", AT + 2, MAKE)]
    changes = [
        observed("/p/b", "old\n", "changed\n", AT, MAKE, inode=2),
        observed("/p/b", "changed\n", None, AT + 1, MAKE, inode=2),
        *(halves[::-1] if is_new_name_first else halves),
    ]
    entries = {(entry.kind, entry.path, entry.moved_from or entry.moved_to) for entry in entries_of(changes)}
    as_rename = {("delete", "/p/b", None), ("create", "/p/b", "/p/a"), ("delete", "/p/a", "/p/b")}
    assert entries == ({("modify", "/p/b", None), ("delete", "/p/a", None)} if is_new_name_first else as_rename)


@pytest.mark.parametrize("then", [None, "/p/c"], ids=["removed", "renamed again"])
def test_both_halves_of_a_rename_name_each_other_whatever_becomes_of_the_second_name(then: str | None) -> None:
    changes = [
        observed("/p/a", "mine\n", None, AT, MAKE),
        observed("/p/b", None, "mine\n", AT, MAKE),
        observed("/p/b", "mine\n", None, AT + 1, MAKE),
    ]
    if then is not None:
        changes.append(observed(then, None, "mine\n", AT + 1, MAKE))
    entries = entries_of(changes)
    assert {(entry.path, entry.moved_to) for entry in entries if entry.moved_to is not None} == {
        (entry.moved_from, entry.path) for entry in entries if entry.moved_from is not None
    }
    assert [entry.kind for entry in entries if entry.path == "/p/a"] == ["delete"]


@pytest.mark.parametrize("is_new_name_first", [False, True])
def test_file_that_was_changed_a_moment_before_its_rename_is_renamed(*, is_new_name_first: bool) -> None:
    changed = observed("/p/a", "old\n", "changed\n", AT, MAKE)
    halves = [observed("/p/a", "changed\n", None, AT + 1, MAKE), observed("/p/b", None, "changed\n", AT + 1, MAKE)]
    entries = entries_of([changed, *(halves[::-1] if is_new_name_first else halves)])
    assert {entry.path: entry.moved_from or entry.moved_to for entry in entries} == {"/p/a": "/p/b", "/p/b": "/p/a"}


@pytest.mark.parametrize("is_new_name_first", [False, True])
def test_file_whose_name_was_written_again_at_once_is_renamed(*, is_new_name_first: bool) -> None:
    halves = [observed("/p/a", "mine\n", None, AT, MAKE), observed("/p/b", None, "mine\n", AT, MAKE)]
    again = observed("/p/a", None, "new\n", AT + 0.1, MAKE, inode=2)
    entries = entries_of([*(halves[::-1] if is_new_name_first else halves), again])
    assert sorted((entry.path, entry.kind, entry.moved_from or entry.moved_to) for entry in entries) == [
        ("/p/a", "create", None),
        ("/p/a", "delete", "/p/b"),
        ("/p/b", "create", "/p/a"),
    ]
