"""How long two changes are one: the limits of time of entries (R-REC-2)."""

from collections.abc import Callable

import pytest

from fileops.model.digest import content_digest
from fileops.model.record import Command, Known, LogQuery
from fileops.model.sessions import SessionName
from fileops.record.brackets import Brackets
from fileops.record.entries import SAME_WRITER_S, EntryWriter, Observed
from fileops.record.store import RecordStore
from fileops.record.turns import TurnRegistry

AT = 1000.0
MAKE = Command(
    command_id="c-1", session_id=SessionName("bot"), label="bot · make", began=AT - 1, roots=("/p",), turn_id="t-1"
)
Write = Callable[[EntryWriter, str, str | None, str | None, float], None]


def known(content: str | None) -> Known | None:
    return None if content is None else Known(content="kept", digest=content_digest(content.encode()))


def observed(path: str, before: str | None, after: str | None, at: float, *commands: Command) -> Observed:
    def data(content: str | None) -> bytes | None:
        return None if content is None else content.encode()

    return Observed(
        path=path, before=known(before), after=known(after), before_data=data(before), after_data=data(after), began=at,
        read=at, commands=commands,
    )  # fmt: skip


def outline(changes: list[Observed]) -> list[tuple[str, str, bool]]:
    """The entries that these changes make, oldest first: kind, path, and whether they are a half of a rename."""
    store = RecordStore(None)
    writer = EntryWriter(store, Brackets(), TurnRegistry(), lambda _entries: None)
    for change in changes:
        writer.write(change)
    found, _ = store.entries(LogQuery())
    store.close()
    return [(entry.kind, entry.path, bool(entry.moved_from or entry.moved_to)) for entry in reversed(found)]


@pytest.mark.parametrize(
    ("pause", "commands", "n_entries"),
    [(SAME_WRITER_S, (), 1), (SAME_WRITER_S + 0.1, (), 2), (60.0, (MAKE,), 1)],
    ids=["outside at once", "outside later", "one command"],
)
def test_changes_of_one_file_are_one_entry_within_the_limit_of_their_writer(
    pause: float, commands: tuple[Command, ...], n_entries: int
) -> None:
    changes = [
        observed("/p/a", "old", "new", AT, *commands),
        observed("/p/a", "new", "newer", AT + pause, *commands),
    ]
    assert len(outline(changes)) == n_entries


@pytest.mark.parametrize(("pause", "n_entries"), [(SAME_WRITER_S, 0), (SAME_WRITER_S + 0.1, 2)])
def test_file_that_is_made_and_removed_has_no_entries_within_the_limit(pause: float, n_entries: int) -> None:
    changes = [observed("/p/t", None, "x", AT), observed("/p/t", "x", None, AT + pause)]
    assert len(outline(changes)) == n_entries


@pytest.mark.parametrize(("pause", "is_rename"), [(SAME_WRITER_S - 0.1, True), (SAME_WRITER_S, False)])
def test_deletion_and_creation_of_one_content_are_a_rename_within_the_limit(pause: float, *, is_rename: bool) -> None:
    changes = [observed("/p/a", "x", None, AT), observed("/p/b", None, "x", AT + pause)]
    assert outline(changes) == [("delete", "/p/a", is_rename), ("create", "/p/b", is_rename)]
