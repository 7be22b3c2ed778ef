"""What several daemons with one record make of one change."""

from contextlib import closing
from pathlib import Path

import pytest

from fileops.model.digest import content_digest
from fileops.model.record import (
    OUTSIDE,
    By,
    ByCommand,
    ByPerson,
    BySession,
    Contents,
    Entry,
    EntryKind,
    Evidence,
    FileVersion,
    LogQuery,
    unsure,
)
from fileops.model.sessions import SessionName
from fileops.record.other_daemons import SAME_CHANGE_S, Relation, join_authors, put_own, relation
from fileops.record.store import RecordStore

AT = 1000.0
AGENT = BySession(session_id=SessionName("bot"), label="bot")
MAKE = ByCommand(session_id=SessionName("bot"), command_id="c-1", label="bot · make")
SED = ByCommand(session_id=SessionName("other"), command_id="c-2", label="other · sed")
USER = ByPerson(session_id="nvim-1", label="Neovim")


def version(content: str | None) -> FileVersion | None:
    return None if content is None else FileVersion(content_digest(content.encode()))


def entry_of(before: str | None, after: str | None, *, by: By = OUTSIDE, at: float = AT, **fields: object) -> Entry:
    kind: EntryKind = "create" if before is None else "delete" if after is None else "modify"
    return Entry(
        entry_id=f"e-{before}-{after}-{by.label}", time=at, path="/p/a", kind=kind, by=by, before=version(before),
        after=version(after), **fields,  # pyrefly: ignore[bad-argument-type]
    )  # fmt: skip


def contents_of(before: str | None, after: str | None) -> Contents:
    return Contents(None if before is None else before.encode(), None if after is None else after.encode())


@pytest.mark.parametrize(
    ("other_after", "after", "began", "wanted"),
    [
        ("new", "new", AT - 0.1, "same"),
        (None, None, AT - 0.1, "same"),
        ("new", "new", AT + SAME_CHANGE_S + 1, None),  # the daemon may have ended, and others wrote since
        ("new", "newer", AT - 0.1, "before"),
        (None, "again", AT - 0.1, "before"),
        ("new", "newer", AT - 0.2, "later"),
    ],
)
def test_newest_entry_of_another_daemon_is_related_to_an_observed_change(
    other_after: str | None, after: str | None, began: float, wanted: Relation | None
) -> None:
    read = AT - 0.1 if wanted == "later" else max(began, AT) + 0.1
    found = relation(entry_of("old", other_after), version(after), began=began, read=read, written=0.0, now=AT + 100)
    assert found == wanted


def test_change_found_by_a_late_comparison_is_the_one_that_another_daemon_read() -> None:
    other, late = entry_of("old", "new"), AT + 60
    assert relation(other, version("new"), began=late, read=late, written=AT - 0.05, now=AT + 100) == "same"
    assert relation(other, version("new"), began=late, read=late, written=AT + 30, now=AT + 100) is None


@pytest.mark.parametrize(
    ("authors", "wanted"),
    [
        (((OUTSIDE, "none"), (MAKE, "command")), (MAKE, "command")),
        (((MAKE, "command"), (USER, "save")), (USER, "save")),
        (((AGENT, "commit"), (MAKE, "command")), (AGENT, "commit")),
        (((AGENT, "commit"), (USER, "save")), (AGENT, "commit")),
        (((MAKE, "command"), (SED, "command")), (unsure(MAKE, SED), "command")),
        (((unsure(MAKE, USER), "command"), (SED, "command")), (unsure(MAKE, USER, SED), "command")),
    ],
)
def test_authors_of_two_daemons_are_joined_by_their_evidence(
    authors: tuple[tuple[By, Evidence], tuple[By, Evidence]], wanted: tuple[By, Evidence]
) -> None:
    assert join_authors(*authors[0], *authors[1]) == wanted
    by, evidence = join_authors(*authors[1], *authors[0])
    assert evidence == wanted[1]
    assert set(getattr(by, "candidates", (by,))) == set(getattr(wanted[0], "candidates", (wanted[0],)))


@pytest.mark.parametrize(
    ("observed", "wanted"),
    [
        (("old", "new"), [(AGENT, "old", "new")]),
        (("older", "new"), [(OUTSIDE, "older", "old"), (AGENT, "old", "new")]),
        (("old", "newer"), [(AGENT, "old", "new"), (OUTSIDE, "new", "newer")]),
        (("older", "old"), [(OUTSIDE, "older", "old"), (AGENT, "old", "new")]),
    ],
)
def test_own_edit_takes_its_part_of_what_another_daemon_observed(
    observed: tuple[str, str], wanted: list[tuple[By, str, str]]
) -> None:
    store = RecordStore(None)
    for content in ("older", "old", "new", "newer"):
        store.put(content.encode())
    store.append(entry_of(*observed, recorder="other"), contents_of(*observed))
    put_own(store, entry_of("old", "new", by=AGENT, at=AT + 0.1, evidence="commit"), contents_of("old", "new"))
    found, _ = store.entries(LogQuery())
    names = {version(content): content for content in ("older", "old", "new", "newer")}
    assert [(entry.by, names[entry.before], names[entry.after]) for entry in reversed(found)] == wanted
    store.close()


def test_edit_that_others_observed_before_the_record_was_opened_is_one_entry(tmp_path: Path) -> None:
    """A private daemon opens the record with its first edit."""
    with closing(RecordStore(str(tmp_path))) as others:
        for content in ("old", "new"):
            others.put(content.encode())
        others.append(entry_of("old", "new", recorder="other"), contents_of("old", "new"))
        with closing(RecordStore(str(tmp_path))) as store:
            put_own(store, entry_of("old", "new", by=AGENT, at=AT + 0.1, evidence="commit"), contents_of("old", "new"))
        found, _ = others.entries(LogQuery())
    assert [entry.by for entry in found] == [AGENT]


def test_undo_that_brings_back_what_another_daemon_observed_leaves_that_entry() -> None:
    store = RecordStore(None)
    observed = [("older", "old", USER, AT), ("old", "new", MAKE, AT + 1)]
    for before, after, by, at in observed:
        store.append(entry_of(before, after, by=by, at=at, recorder="other"), contents_of(before, after))
    put_own(store, entry_of("new", "old", by=USER, at=AT + 2, evidence="commit"), contents_of("new", "old"))
    found, _ = store.entries(LogQuery())
    names = {version(content): content for content in ("older", "old", "new")}
    assert [(names[entry.before], names[entry.after], entry.by) for entry in reversed(found)] == [
        ("older", "old", USER), ("old", "new", MAKE), ("new", "old", USER),
    ]  # fmt: skip
    store.close()


def test_own_edit_follows_an_edit_of_another_daemon_with_the_same_contents() -> None:
    """Two edits of one file to and fro, by two daemons, are edits of both."""
    store = RecordStore(None)
    store.append(entry_of("old", "new", by=MAKE, evidence="commit", recorder="other"), contents_of("old", "new"))
    put_own(store, entry_of("old", "new", by=AGENT, evidence="commit"), contents_of("old", "new"))
    found, _ = store.entries(LogQuery())
    assert [entry.by for entry in found] == [AGENT, MAKE]
    store.close()


def test_entry_from_before_the_clock_was_set_back_contains_no_later_change() -> None:
    other = entry_of("old", "new")
    found = [
        relation(other, version("newer"), began=AT - 30, read=AT - 30, written=0.0, now=now)
        for now in (AT - 29, AT + 1)
    ]
    assert found == ["before", "later"]
