"""Chains of known changes between two contents of a file, and their gaps."""

import pytest

from fileops.core.merge.relevance import Leg
from fileops.core.splices import apply
from fileops.model.digest import content_digest
from fileops.model.edits import Splice
from fileops.tracking import known_changes
from fileops.tracking.known_changes import KnownChanges
from support.core_models import snapshot_of

A, B, C, D = b"a\n", b"a\nb\n", b"a\nb\nc\n", b"d\na\nb\nc\n"
PATH = snapshot_of(A).path


def insertion(before: bytes, after: bytes) -> Splice:
    """Of the text that is at the end, or at the beginning, of `after` only."""
    if after.startswith(before):
        return Splice(len(before), len(before), after[len(before) :])
    return Splice(0, 0, after[: -len(before)])


def commit(changes: KnownChanges, before: bytes, after: bytes) -> None:
    changes.note_commit(snapshot_of(before), (insertion(before, after),), content_digest(after))


def read(changes: KnownChanges, content: bytes) -> None:
    changes.note_read(PATH, content_digest(content), content)


def whole(changes: KnownChanges, before: bytes, after: bytes) -> bytes | None:
    """The result of a chain that is known as a whole."""
    match changes.legs(PATH, before, after):
        case (Leg(known=known),) if known is not None:
            return apply(before, known)
        case _:
            return None


def test_changes_of_sessions_and_of_persons_are_composed() -> None:
    changes = KnownChanges()
    read(changes, A)
    commit(changes, A, B)
    changes.note_typed(PATH, B, (insertion(B, C),), C)
    commit(changes, C, D)
    assert whole(changes, A, D) == D
    assert whole(changes, B, D) == D
    assert changes.legs(PATH, D, D) == ()


def test_change_by_a_program_is_a_leg_of_its_own() -> None:
    changes = KnownChanges()
    read(changes, A)
    commit(changes, A, B)
    commit(changes, C, D)  # something else has made C
    first, gap, last = changes.legs(PATH, A, D)
    assert (first.after, gap, last.after) == (B, Leg(after=C), D)
    assert first.known is not None and last.known is not None
    assert changes.legs(PATH, A, b"x") == (first, gap, last, Leg(after=b"x"))


def test_content_that_a_program_left_is_a_leg_only_of_files_that_a_session_knows() -> None:
    changes = KnownChanges()
    changes.note_found(PATH, content_digest(B), B)
    assert changes.legs(PATH, A, C) == (Leg(after=C),)
    read(changes, A)
    changes.note_found(PATH, content_digest(B), B)
    assert changes.legs(PATH, A, C) == (Leg(after=B), Leg(after=C))


def test_late_report_of_a_read_hides_no_commit() -> None:
    changes = KnownChanges()
    read(changes, A)
    commit(changes, A, B)
    read(changes, A)
    commit(changes, B, C)
    assert whole(changes, A, C) == C


def test_contents_that_come_back_end() -> None:
    changes = KnownChanges()
    read(changes, A)
    commit(changes, A, B)
    changes.note_commit(snapshot_of(B), (Splice(2, 4, b""),), content_digest(A))
    assert changes.legs(PATH, A, D)[-1] == Leg(after=D)


def test_chain_with_many_gaps_is_compared_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_changes, "MAX_LEGS", 2)
    changes = KnownChanges()
    for content in (A, B, C):
        read(changes, content)
    assert changes.legs(PATH, A, D) == (Leg(after=D),)


def test_edit_in_the_editor_keeps_its_own_splices() -> None:
    changes = KnownChanges()
    commit(changes, A, B)
    changes.note_typed(PATH, A, (Splice(0, 2, B),), B)
    (leg,) = changes.legs(PATH, A, B)
    assert leg.known == (insertion(A, B),)
