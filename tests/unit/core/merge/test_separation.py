"""Undo of our edits among those of others: by offsets alone, unless both sides meet."""

import pytest

from fileops.core import splices as splicing
from fileops.core.merge.separation import Step, undo_of_ours
from fileops.model.edits import Splice

BEFORE = b"top\none\n}\n\nlast\n"


def step(content: bytes, old: bytes, new: bytes, *, is_ours: bool) -> tuple[Step, bytes]:
    start = content.index(old)
    forward = (Splice(start, start + len(old), new),)
    return Step(is_ours, splicing.invert(content, forward), forward), splicing.apply(content, forward)


def undone(ours: tuple[bytes, bytes], others: tuple[bytes, bytes]) -> bytes | None:
    """The content after both edits and the undo of ours; None if they are not separated."""
    first, content = step(BEFORE, *ours, is_ours=True)
    second, present = step(content, *others, is_ours=False)
    undo = undo_of_ours((first, second), lambda: (), present)
    return None if undo is None else splicing.apply(present, undo)


@pytest.mark.parametrize(
    ("ours", "others", "expected"),
    [
        pytest.param((b"top", b"head"), (b"last", b"end"), b"top\none\n}\n\nend\n", id="others below"),
        pytest.param((b"last", b"end"), (b"top", b"the head"), b"the head\none\n}\n\nlast\n", id="others above"),
        pytest.param((b"one\n", b""), (b"last", b"end"), None, id="no word between"),
        pytest.param((b"one\n", b""), (b"}\n\n", b"}\none\n"), None, id="put back behind a sign"),
        pytest.param((b"one", b"two"), (b"two", b"three"), None, id="one place"),
        pytest.param((b"one", b"one two"), (b"two\n", b"2\n"), None, id="inside our text"),
        pytest.param((b"one", b"one two"), (b"\n}", b"x\n}"), None, id="side by side"),
    ],
)
def test_edits_are_separated_if_a_word_that_neither_touched_is_between_them(
    ours: tuple[bytes, bytes], others: tuple[bytes, bytes], expected: bytes | None
) -> None:
    assert undone(ours, others) == expected
