"""What was typed, as splices of the document's bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fileops.core.splices import apply
from fileops.core.text import detect_format
from fileops.fs.overlay.text_document import TextDocument, encode_document
from fileops.fs.overlay.typed_text import MAX_CHANGES, Change, TypedText, byte_splices, is_certain
from fileops.model.edits import Splice

ALPHABET = "ab\n\r\té😀"
FORMATS = [b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"]  # the marks of UTF-8, UTF-16-LE and UTF-16-BE
CHANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 8), st.text(alphabet=ALPHABET, max_size=8)), max_size=8)


@given(st.text(alphabet=ALPHABET, max_size=60), CHANGES, st.sampled_from(FORMATS))
def test_splices_make_the_text_after_of_the_text_before(
    text: str, wanted: list[tuple[int, int, str]], mark: bytes
) -> None:
    fmt = detect_format(mark)
    before = after = TextDocument(text)
    changes: list[Change] = []
    for start, n_removed, new in wanted:
        first = min(start, after.n_chars)
        last = min(first + n_removed, after.n_chars)
        changes.append((first, last, new))
        after = after.splice(first, last, new)
    splices = byte_splices(before, changes, fmt)
    assert splices is not None
    assert apply(encode_document(before.text, fmt), splices) == encode_document(after.text, fmt)


def test_typed_word_is_one_splice_at_its_place() -> None:
    before = TextDocument("é = 1\nb = 2\n")
    changes = [(6, 7, ""), (6, 6, "c"), (7, 7, "d")]
    assert byte_splices(before, changes, detect_format(b"")) == (Splice(7, 8, b"cd"),)


@pytest.mark.parametrize(
    ("text", "removed", "new", "expected"),
    [
        pytest.param("a\nb\n", "b", "c", True, id="within a line"),
        pytest.param("a\nb\n", "", "\n    ", True, id="a line break and its indentation"),
        pytest.param("a\nb\n", "a\n", "", True, id="a line is deleted"),
        pytest.param("a\nb\nb\n", "b\n", "", False, id="one of two equal lines is deleted"),
        pytest.param("a\nb\n", "a\nb\n", "c\nd\n", False, id="lines are replaced by lines"),
        pytest.param("a\nb\n", "", "a\n", False, id="a line is inserted above an equal one"),
        pytest.param("a\nb\n", "", "x\ny\n", True, id="lines are inserted"),
    ],
)
def test_change_that_a_comparison_may_have_placed_is_not_certain(
    text: str, removed: str, new: str, expected: bool
) -> None:
    at = text.index(removed)
    assert is_certain(TextDocument(text), at, at + len(removed), new, has_lines="\n" in removed) is expected


def test_line_inserted_below_an_equal_one_is_not_certain() -> None:
    assert not is_certain(TextDocument("a\nb\n"), 2, 2, "a\n", has_lines=False)


def test_journal_ends_with_a_change_that_is_not_known_and_when_it_is_long() -> None:
    typed = TypedText(TextDocument(""))
    typed.add([(0, 0, "a")])
    typed.add(None)
    typed.add([(1, 1, "b")])
    assert typed.changes is None
    long = TypedText(TextDocument(""))
    for n in range(MAX_CHANGES + 1):
        long.add([(n, n, "a")])
    assert long.changes is None
