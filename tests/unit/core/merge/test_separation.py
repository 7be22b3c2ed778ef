"""Undo of our edits among those of others: by offsets alone, unless both sides meet."""

import pytest

from fileops.core import splices as splicing
from fileops.core.merge.separation import SidedStep, undo_of_ours
from fileops.model.edits import Splice

BEFORE = b"top\none\n}\n\nlast\n"


def step(content: bytes, old: bytes, new: bytes, *, is_ours: bool) -> tuple[SidedStep, bytes]:
    start = content.index(old)
    forward = (Splice(start, start + len(old), new),)
    return SidedStep(is_ours, splicing.invert(content, forward), forward), splicing.apply(content, forward)


def undone(ours: tuple[bytes, bytes], others: tuple[bytes, bytes]) -> bytes | None:
    """The content after both edits and the undo of our edit; None if they are not separated."""
    first, content = step(BEFORE, *ours, is_ours=True)
    second, present = step(content, *others, is_ours=False)
    undo = undo_of_ours((first, second), lambda: (), present)
    return None if undo is None else splicing.apply(present, undo)


@pytest.mark.parametrize(
    ("ours", "others", "expected"),
    [
        pytest.param((b"top", b"head"), (b"last", b"end"), b"top\none\n}\n\nend\n", id="others below"),
        pytest.param((b"last", b"end"), (b"top", b"the head"), b"the head\none\n}\n\nlast\n", id="others above"),
        pytest.param((b"one\n", b""), (b"last", b"end"), b"top\none\n}\n\nend\n", id="no word between"),
        pytest.param((b"one\n", b"one\ntwo\n"), (b"}\n", b"three\n}\n"), b"top\none\nthree\n}\n\nlast\n", id="lines"),
        pytest.param((b"one\n", b""), (b"}\n", b""), b"top\none\n\nlast\n", id="deleted side by side"),
        pytest.param((b"top\n", b""), (b"", b"two\n"), None, id="inserted where we deleted"),
        pytest.param((b"\n\n", b"\n"), (b"last", b"\nlast"), None, id="blank line put back"),
        pytest.param((b"one\n", b""), (b"}\n\n", b"}\none\n"), None, id="put back behind a sign"),
        pytest.param((b"one", b"two"), (b"two", b"three"), None, id="one place"),
        pytest.param((b"one", b"one two"), (b"two\n", b"2\n"), None, id="inside our text"),
        pytest.param((b"one", b"one two"), (b"\n}", b"x\n}"), None, id="one word of both"),
    ],
)
def test_edits_are_separated_unless_they_overlap_or_share_words_side_by_side(
    ours: tuple[bytes, bytes], others: tuple[bytes, bytes], expected: bytes | None
) -> None:
    assert undone(ours, others) == expected


def test_word_inserted_and_removed_by_own_edits_is_not_a_separate_word() -> None:
    first, content = step(b"}\none\n}\n", b"one", b"two", is_ours=True)
    second, content = step(content, b"two", b"three", is_ours=True)
    third, present = step(content, b"\n}\n", b"\ntwo\n", is_ours=False)
    assert undo_of_ours((first, second, third), lambda: (), present) is None
