"""The store of the record: entries, contents, turns and commands.

R-RECP-3 (limits), R-RECP-4 (it continues in memory).
"""

import itertools
import os
import sqlite3
import stat
import subprocess
import time
from collections.abc import Generator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from fileops.model.digest import content_digest
from fileops.model.internal_errors import UnknownId
from fileops.model.record import (
    OUTSIDE,
    By,
    ByCommand,
    ByPerson,
    BySession,
    CommandRecord,
    Contents,
    Entry,
    FileVersion,
    Known,
    LogQuery,
    TurnRecord,
    is_by_agent,
    unsure,
)
from fileops.model.sessions import SessionName
from fileops.record import blobs
from fileops.record.store import FILE_NAME, TABLE_KEYS, NewerRecord, RecordStore, asides, put_aside

AGENT = BySession(session_id=SessionName("claude-code:1"), label="claude-code")
SED = ByCommand(session_id=SessionName("codex:2"), command_id="c-1", label="codex · sed")
PERSON = ByPerson(session_id="vscode-1", label="VS Code")


@pytest.fixture
def store(tmp_path: Path) -> Generator[RecordStore]:
    with closing(RecordStore(str(tmp_path / "record"))) as store:
        yield store


def entry_of(
    number: int, before: bytes | None = None, after: bytes | None = b"", *, by: By = AGENT, path: str = "/p/a.py"
) -> Entry:
    def version(content: bytes | None) -> FileVersion | None:
        return None if content is None else FileVersion(content_digest(content))

    return Entry(
        entry_id=f"e-{number:04d}",
        time=1000.0 + number,
        path=path,
        kind="create" if before is None else "delete" if after is None else "modify",
        by=by,
        before=version(before),
        after=version(after),
        kept=not is_by_agent(by),
        recorder="a daemon",
    )


def added(
    store: RecordStore, number: int, before: bytes | None = None, after: bytes | None = b"", **more: object
) -> Entry:
    entry = replace(entry_of(number, before, after), **more)
    store.append(entry, Contents(before, after))
    return entry


def ids(store: RecordStore, **query: object) -> list[str]:
    return [entry.entry_id for entry in store.entries(LogQuery(**query))[0]]  # pyrefly: ignore[bad-argument-type]


@pytest.mark.parametrize("by", [AGENT, SED, PERSON, OUTSIDE, unsure(SED, PERSON)])
def test_entry_survives_a_restart_with_its_contents(tmp_path: Path, by: By) -> None:
    first = RecordStore(str(tmp_path))
    entry = added(first, 1, b"before", b"after", by=by, during=("t-1",), moved_from="/p/\udcff", path="/p/\udcfe.py")
    first.close()
    with closing(RecordStore(str(tmp_path))) as second:
        assert second.entry("e-0001") == entry
        assert second.contents(entry) == Contents(b"before", b"after")


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ({}, [3, 2, 1]),
        ({"path": "/p/sub"}, [3]),
        ({"path": "/p"}, [3, 2, 1]),
        ({"path": "/"}, [3, 2, 1]),
        ({"path": "/p/a"}, []),
        ({"session_id": "claude-code:1"}, [1]),
        ({"sessions": ("claude-code:1", "codex:2")}, [2, 1]),
        ({"sessions": ()}, []),
        ({"by": "person"}, [3]),
        ({"command_id": "c-1"}, [2]),
        ({"turn_id": "t-1"}, [1]),
        ({"since": 1002.0}, [3, 2]),
        ({"before": "e-0003"}, [2, 1]),
        ({"kept": False}, [2, 1]),
        ({"in_force": True}, [3, 1]),
    ],
)
def test_query_lists_matching_entries_newest_first(
    store: RecordStore, query: dict[str, object], wanted: list[int]
) -> None:
    added(store, 1, by=AGENT, turn_id="t-1", kept=False)
    added(store, 2, by=SED, command_id="c-1", undone_by="e-9", kept=False)
    added(store, 3, by=PERSON, path="/p/sub/b.py", kept=True)
    assert ids(store, **query) == [f"e-{number:04d}" for number in wanted]


def test_limit_cuts_the_list_and_reports_the_rest(store: RecordStore) -> None:
    for number in range(3):
        added(store, number)
    assert [store.entries(LogQuery(limit=limit))[1] for limit in (2, 3, 4)] == [True, False, False]


def test_entry_can_be_added_before_another(store: RecordStore) -> None:
    for number in (1, 3):
        added(store, number)
    for number in (2, 4):
        store.append(entry_of(number), Contents(None, b""), earlier_than="e-0003")
    assert ids(store) == ["e-0003", "e-0004", "e-0002", "e-0001"]


def test_unknown_entry_is_refused(store: RecordStore) -> None:
    with pytest.raises(UnknownId):
        store.replace(entry_of(1))
    with pytest.raises(UnknownId):
        store.entries(LogQuery(before="e-0001"))


def test_marks_count_what_changed(store: RecordStore) -> None:
    added(store, 1, kept=False)
    added(store, 2, kept=True)
    assert store.keep("k-1", ["e-0001", "e-0002", "e-none"]) == 1
    store.mark_undone(["e-0001"], "e-0002")
    assert [(entry.undone_by, entry.kept) for entry in store.entries(LogQuery())[0]] == [(None, True), ("e-0002", True)]
    store.mark_undone(["e-0001"], None)
    assert store.entry("e-0001") == replace(entry_of(1), kept=True)


def test_keep_is_undone_once_and_only_what_it_changed(store: RecordStore) -> None:
    added(store, 1, kept=False)
    added(store, 2, kept=True)
    added(store, 3, kept=False)
    store.keep("k-1", ["e-0001", "e-0002"])
    assert store.keep_places("k-1", [("e-0003.a", "e-0003"), ("e-0003.b", "e-0003")]) == 2
    assert store.keep_places("k-2", [("e-0003.a", "e-0003")]) == 0
    entries, n_entries, n_places = store.undo_keep("k-1")
    assert ({entry.entry_id for entry in entries}, n_entries, n_places) == ({"e-0001", "e-0003"}, 1, 2)
    assert [entry.kept for entry in store.entries(LogQuery())[0]] == [False, True, False]
    assert store.kept_places() == set()
    for keep_id in ("k-1", "k-2"):
        with pytest.raises(UnknownId):
            store.undo_keep(keep_id)


def test_contents_of_a_long_chain_are_kept_as_differences(store: RecordStore) -> None:
    text = os.urandom(100_000)
    contents = [text[: 500 * n] + b"!" + text[500 * n :] for n in range(2 * blobs.MAX_CHAIN + 3)]
    digests = [store.put(contents[0])]
    digests += [store.put(after, base=before) for before, after in itertools.pairwise(contents)]
    assert [store.content(digest) for digest in digests] == contents
    known = dict[bytes, bytes]()
    assert [store.content(digest, known) for digest in reversed(digests)] == contents[::-1]
    assert known == dict(zip(digests, contents, strict=True))
    with closing(sqlite3.connect(store.path)) as db, db:
        ((n_bytes, n_whole),) = db.execute("SELECT sum(length(packed)), sum(base IS NULL) FROM blob")
    assert (n_whole, n_bytes < 5 * len(text)) == (3, True)


def test_damaged_content_is_not_returned(store: RecordStore) -> None:
    entry = added(store, 1, b"before", b"before and after")
    with closing(sqlite3.connect(store.path)) as db, db:
        db.execute("UPDATE blob SET packed = ? WHERE digest = ?", (blobs.pack(b"others"), content_digest(b"before")))
    assert store.contents(entry) == store.contents(entry, {}) == Contents(None, None)


def test_failed_transaction_leaves_nothing(store: RecordStore) -> None:
    with pytest.raises(RuntimeError), store.transaction():
        added(store, 1, None, b"text")
        raise RuntimeError
    assert (ids(store), store.content(content_digest(b"text"))) == ([], None)


def test_turns_are_counted_and_listed_newest_first(store: RecordStore) -> None:
    for number in (1, 2, 3):
        store.put_turn(
            TurnRecord(turn_id=f"t-{number}", session_id=SessionName(f"s-{number}"), label="s", began=float(number))
        )
    added(store, 1, turn_id="t-1", path="/p/a")
    added(store, 2, turn_id="t-1", path="/p/a", undone_by="e-9")
    added(store, 3, turn_id="t-1", path="/p/b")
    added(store, 4, turn_id="t-2", path="/q/b")

    def listed(**query: object) -> list[tuple[str, int, int, int]]:
        found = store.turns(**query)  # pyrefly: ignore[bad-argument-type]
        return [(turn.turn.turn_id, turn.n_entries, turn.n_files, turn.n_undone) for turn in found]

    assert listed() == [("t-3", 0, 0, 0), ("t-2", 1, 1, 0), ("t-1", 3, 2, 1)]
    assert listed(limit=1) == [("t-3", 0, 0, 0)]
    assert listed(folders=("/p",)) == [("t-3", 0, 0, 0), ("t-1", 3, 2, 1)]
    assert listed(session_ids=("s-2",)) == [("t-2", 1, 1, 0)]


def test_commands_are_replaced(store: RecordStore) -> None:
    command = CommandRecord(command_id="c-1", session_id=SessionName("s"), label="s · make", began=1.0, roots=("/p",))
    store.put_command(command)
    ended = replace(command, ended=2.0)
    store.put_command(ended)
    assert (store.command("c-1"), store.command("c-2")) == (ended, None)


def test_beginning_of_an_id_is_enough_if_it_is_unique(store: RecordStore) -> None:
    added(store, 1, rewind_id="w-1")
    added(store, 2, rewind_id="w-1")
    store.put_turn(TurnRecord(turn_id="t-12", session_id=SessionName("s"), label="s", began=1.0))
    assert [store.whole_id(given) for given in ("e-0001", "t", "w-")] == ["e-0001", "t-12", "w-1"]
    for given, n_found in (("e-", 2), ("x", 0), ("", 0)):
        with pytest.raises(UnknownId) as failure:
            store.whole_id(given)
        assert (given == "") or failure.value.n_found == n_found


def test_record_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "record"
    with closing(RecordStore(str(folder))) as store:
        added(store, 1)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
        assert (folder / FILE_NAME).exists()


def test_folder_that_others_can_write_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(PermissionError):
        RecordStore(str(tmp_path))


def test_record_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    RecordStore(str(tmp_path)).close()
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as db, db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(NewerRecord):
        RecordStore(str(tmp_path))


def test_recording_of_a_folder_begins_once_until_it_is_forgotten(store: RecordStore) -> None:
    store.begin_folder("/w", 1000.0)
    store.begin_folder("/w", 2000.0)
    store.begin_folder("/w/inner", 2000.0)
    assert [store.recording_start(root) for root in ("/w", "/w/inner", "/other")] == [1000.0, 2000.0, None]
    store.forget("/w/inner")
    assert [store.recording_start(root) for root in ("/w", "/w/inner")] == [1000.0, None]
    store.begin_folder("/other", 3000.0)
    store.forget(None)
    assert [store.recording_start(root) for root in ("/w", "/other")] == [None, None]


def test_record_of_an_older_version_says_by_its_entries_since_when_it_is(tmp_path: Path) -> None:
    with closing(RecordStore(str(tmp_path))) as store:
        added(store, 1)
        ((entry,), _) = store.entries(LogQuery())
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as db, db:
        db.executescript("DROP TABLE folder; DROP TABLE staged; PRAGMA user_version = 3")
    with closing(RecordStore(str(tmp_path))) as store:
        store.begin_folder(str(Path(entry.path).parent), entry.time + 50.0)
        assert store.recording_start(str(Path(entry.path).parent)) == entry.time


def chained(store: RecordStore, n_entries: int) -> list[bytes]:
    """Entries of one file, each of which appends a line. Returns the contents."""
    contents = [b"".join(b"line %d\n" % line for line in range(n)) for n in range(n_entries + 1)]
    for number, (before, after) in enumerate(itertools.pairwise(contents)):
        added(store, number, before, after)
    return contents


def test_old_entries_go_and_later_contents_that_were_differences_from_theirs_remain(store: RecordStore) -> None:
    contents = chained(store, 20)
    while store.prune(1010.0, max_age_s=0.0):
        pass
    found = store.entries(LogQuery())[0]
    assert [entry.entry_id for entry in found] == [f"e-{number:04d}" for number in range(19, 9, -1)]
    assert [store.contents(entry).after for entry in found] == contents[20:10:-1]
    assert store.content(content_digest(contents[5])) is None


def test_too_large_record_loses_the_oldest_contents_first_and_then_entries(store: RecordStore) -> None:
    chained(store, 5)
    n_bytes = store.n_bytes
    assert not store.prune(0.0, max_bytes=n_bytes)
    store.prune(0.0, max_bytes=0)
    found = store.entries(LogQuery())[0]
    assert [(entry.content, entry.is_undoable) for entry in found] == [("gone", False)] * 5
    while store.prune(0.0, max_bytes=0):
        pass
    assert store.entries(LogQuery())[0] == []


def test_content_that_is_known_of_a_file_is_not_pruned(store: RecordStore) -> None:
    digest = store.put(b"present")
    store.set_known("/p", [("/p/a", Known(content="kept", digest=digest)), ("/p/b", Known(content="protected"))])
    while store.prune(9e9):
        pass
    assert store.content(digest) == b"present"
    assert set(store.known_files("/p")) == {"/p/a", "/p/b"}
    store.set_known("/p", [("/p/a", None)])
    store.prune(0.0)
    assert (store.content(digest), set(store.known_files("/p"))) == (None, {"/p/b"})


def test_forgotten_folder_leaves_no_byte_of_its_contents(store: RecordStore) -> None:
    secret = os.urandom(64).hex().encode()
    added(store, 1, None, secret, path="/p/a")
    added(store, 2, None, b"other", path="/q/a")
    store.set_known("/p", [("/p/a", Known(content="kept", digest=content_digest(secret)))])
    assert store.forget("/p") == 1
    assert (ids(store), store.known_files("/p"), store.content(content_digest(secret))) == (["e-0002"], {}, None)
    assert store.forget(None) == 1
    folder = Path(store.path).parent
    assert not any(b"/p/a" in path.read_bytes() for path in folder.iterdir())


def test_turns_and_commands_of_forgotten_entries_are_forgotten_with_them(store: RecordStore) -> None:
    for n in range(1, 4):
        store.put_turn(
            TurnRecord(turn_id=f"t-{n}", session_id=AGENT.session_id, label="claude", began=n, title="secret")
        )
        store.put_command(
            CommandRecord(command_id=f"c-{n}", session_id=AGENT.session_id, label="sh", began=n, roots=())
        )
    added(store, 1, turn_id="t-1", command_id="c-1", path="/p/a/1")
    added(store, 2, turn_id="t-2", command_id="c-2", path="/p/a/2")
    added(store, 3, turn_id="t-2", command_id="c-2", path="/p/b/3")
    added(store, 4, turn_id="t-3", command_id="c-3", path="/p/a/4")
    assert store.forget("/p/a") == 3
    # The newest turn of a session may get further entries.
    assert [counted.turn.turn_id for counted in store.turns()] == ["t-3", "t-2"]
    assert [store.command(f"c-{n}") is not None for n in range(1, 4)] == [False, True, False]
    store.forget(None)
    assert (store.turns(), store.command("c-2")) == ([], None)


def test_record_that_cannot_be_written_continues_in_memory_with_what_it_has(store: RecordStore) -> None:
    added(store, 1, None, b"text")
    store.move_to_memory()
    added(store, 2, b"text", b"more")
    assert (ids(store), store.is_in_memory) == (["e-0002", "e-0001"], True)
    assert store.contents(entry_of(1, None, b"text")) == Contents(None, b"text")


def test_entry_inserted_before_another_one_in_memory_is_before_it_in_the_file(store: RecordStore) -> None:
    """A change is divided once its author is certain, which may be after the file was locked."""
    added(store, 1, None, b"1")
    store.append(entry_of(5, None, b"x", path="/p/other.py"), Contents(None, b"x"))
    added(store, 4, b"3", b"4")
    store.move_to_memory()
    for number in (2, 3):
        before, after = f"{number - 1}".encode(), f"{number}".encode()
        store.append(entry_of(number, before, after), Contents(before, after), earlier_than="e-0004")
    added(store, 6, b"4", b"6")
    store.return_to_disk()
    of_file, _ = store.entries(LogQuery(path="/p/a.py"), is_file=True)
    assert [entry.entry_id for entry in reversed(of_file)] == ["e-0001", "e-0002", "e-0003", "e-0004", "e-0006"]
    assert len(store.entries(LogQuery())[0]) == 6


# --- damage ---------------------------------------------------------------------------------------------------------


def _fill(folder: str) -> int:
    """A record of 100 entries with contents, whose file has this many bytes."""
    with closing(RecordStore(folder)) as store:
        with store.transaction():
            for number in range(100):
                before, after = f"{number}\n".encode() * 40, f"{number + 1}\n".encode() * 40
                store.append(entry_of(number, before, after, path=f"/p/{number % 50}.py"), Contents(before, after))
                turn_id, at = f"t-{number}", float(number)
                store.put_turn(TurnRecord(turn_id=turn_id, session_id=AGENT.session_id, label="claude-code", began=at))
            store.begin_folder("/p", 0.0)
            store.set_known("/p", [(f"/p/{number}.py", Known(content="kept")) for number in range(100)])
        store.sync()
    return os.path.getsize(os.path.join(folder, FILE_NAME))


def _use(store: RecordStore) -> None:
    """Do what a daemon does with a record, and repeat once what fails: the second time it must succeed."""
    entry = entry_of(9999, b"before\n", b"after\n")
    uses = (
        lambda: store.entries(LogQuery()),
        lambda: store.known_files("/p"),
        store.turns,
        lambda: store.append(entry, Contents(b"before\n", b"after\n")),
        lambda: [store.contents(each) for each in store.entries(LogQuery())[0]],
        lambda: store.prune(2000.0),
        store.unkept_paths,
        lambda: store.set_staged("/p", {}),
        lambda: store.begin_folder("/p", 1.0),
    )
    for use in uses:
        with suppress(sqlite3.DatabaseError):
            use()
            continue
        use()
    if store.entry(entry.entry_id) is None:  # it was put aside with the record, after it was written
        store.append(entry, Contents(b"before\n", b"after\n"))
    assert store.contents(entry) == Contents(b"before\n", b"after\n")


def test_record_that_is_damaged_at_any_page_is_put_aside_and_begins_again(tmp_path: Path) -> None:
    """Also where the first failure comes long after the record was opened."""
    whole = str(tmp_path / "whole")
    n_bytes, n_aside = _fill(whole), 0
    for at in range(0, n_bytes, 4096):
        folder = str(tmp_path / f"at-{at}")
        subprocess.run(["cp", "-r", whole, folder], check=True)  # Python's copy wants extended attributes
        with open(os.path.join(folder, FILE_NAME), "r+b") as file:
            file.seek(at)
            file.write(b"\xa5" * 4096)
        try:
            store = RecordStore(folder)
        except sqlite3.DatabaseError:  # see compose.recording.open_record
            put_aside(folder)
            store = RecordStore(folder)
        with closing(store):
            _use(store)
        n_aside += bool(asides(folder))
    assert n_aside > n_bytes // 4096 // 2


@pytest.mark.parametrize("table", [*TABLE_KEYS, "blob"])
@pytest.mark.parametrize("is_open", [False, True])
def test_record_that_lacks_a_table_is_put_aside_and_begins_again(tmp_path: Path, table: str, *, is_open: bool) -> None:
    folder = str(tmp_path / "record")
    _fill(folder)
    opened = RecordStore(folder) if is_open else None
    with closing(sqlite3.connect(os.path.join(folder, FILE_NAME), isolation_level=None)) as other:
        other.execute(f"DROP TABLE {table}")
    if opened is None:
        with pytest.raises(sqlite3.DatabaseError, match="a table is missing"):
            RecordStore(folder)
        put_aside(folder)
    with closing(opened or RecordStore(folder)) as store:
        told = list[str | None]()
        store.on_begun_again = lambda _reason, aside: told.append(aside)
        _use(store)
    assert len(asides(folder)) >= 1


def test_second_daemon_opens_the_record_that_the_first_began(tmp_path: Path) -> None:
    """Both find the damage: only the damaged database is put aside."""
    folder = str(tmp_path / "record")
    _fill(folder)
    with closing(RecordStore(folder)) as first, closing(RecordStore(folder)) as second:
        with closing(sqlite3.connect(first.path, isolation_level=None)) as other:
            other.execute("DROP TABLE turn")
        first.turns()
        first.append(entry_of(1, b"a", b"b"), Contents(b"a", b"b"))
        second.turns()
        assert [entry.entry_id for entry in second.entries(LogQuery())[0]] == ["e-0001"]
    assert len([path for path in asides(folder) if not path.endswith(("-wal", "-shm"))]) == 1


def test_forgetting_removes_damaged_records_that_were_put_aside(tmp_path: Path) -> None:
    folder = str(tmp_path / "record")
    _fill(folder)
    put_aside(folder)
    with closing(RecordStore(folder)) as store:
        assert asides(folder)
        store.forget(None)
    assert asides(folder) == []


@pytest.mark.parametrize(("age_s", "max_bytes", "is_kept"), [(0, 1 << 30, True), (3600, 1 << 30, False), (0, 1, False)])
def test_limits_cover_damaged_records_that_were_put_aside(
    tmp_path: Path, age_s: float, max_bytes: int, *, is_kept: bool
) -> None:
    folder = str(tmp_path / "record")
    _fill(folder)
    put_aside(folder)
    now = time.time() + age_s
    with closing(RecordStore(folder)) as store:
        store.prune(now, max_age_s=1800, max_bytes=max_bytes)
    assert bool(asides(folder)) is is_kept
