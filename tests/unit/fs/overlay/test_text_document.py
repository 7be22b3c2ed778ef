"""The mirror of an open document against a naive one that splits the whole text at every step."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fileops.core.text import n_units
from fileops.fs.overlay import text_document
from fileops.fs.overlay.text_document import TextDocument, advance
from fileops.model.documents import DocumentPosition, PositionEncoding

ENCODINGS: tuple[PositionEncoding, ...] = ("utf-8", "utf-16", "utf-32")
# \x0b \x0c \x1c \x85 U+2028 U+2029 are line ends for str.splitlines and not for LSP.
ALPHABET = "ab \n\r\r\n\x0b\x0c\x1c\x85\u2028\u2029é€😀𝕏"


def naive_lines(text: str) -> list[tuple[int, int]]:
    """Start and content end of each line."""
    lines: list[tuple[int, int]] = []
    start = 0
    for found in re.finditer(r"\r\n|\n|\r", text):
        lines.append((start, found.start()))
        start = found.end()
    return [*lines, (start, len(text))]


def naive_offset(text: str, position: DocumentPosition, encoding: PositionEncoding) -> int:
    lines = naive_lines(text)
    if position.line >= len(lines):
        return len(text)
    start, end = lines[position.line]
    at = start
    while at < end and n_units(text[start : at + 1], encoding) <= position.character:
        at += 1
    return at


@pytest.fixture(params=[4, 7, 4096], ids=lambda size: f"chunks of {size}", autouse=True)
def chunk_size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small chunks bring every boundary into short texts."""
    monkeypatch.setattr(text_document, "CHUNK_CHARS", request.param)


@pytest.mark.parametrize(
    ("text", "position", "encoding", "offset"),
    [
        ("a\u2028b\nc", DocumentPosition(1, 0), "utf-16", 4),
        ("a\x0cb\x85c\x1d\x0b\nd", DocumentPosition(1, 1), "utf-16", 9),
        ("a\r\nb\rc\nd", DocumentPosition(3, 0), "utf-16", 7),
        ("a\r\nb", DocumentPosition(0, 9), "utf-16", 1),
        ("a\nb", DocumentPosition(7, 0), "utf-16", 3),
        ("", DocumentPosition(0, 3), "utf-16", 0),
        ("ab\nc", DocumentPosition(-1, 1), "utf-16", 1),
        ("ab\nc", DocumentPosition(1, -9), "utf-16", 3),
        ("😀x", DocumentPosition(0, 2), "utf-16", 1),
        ("😀x", DocumentPosition(0, 1), "utf-16", 0),
        ("😀x", DocumentPosition(0, 4), "utf-8", 1),
        ("😀x", DocumentPosition(0, 3), "utf-8", 0),
        ("😀x", DocumentPosition(0, 1), "utf-32", 1),
    ],
)
def test_position_is_converted_to_an_offset(
    text: str, position: DocumentPosition, encoding: PositionEncoding, offset: int
):
    assert TextDocument(text).offset_at(position, encoding) == offset


def test_position_in_a_very_long_line_is_counted_in_the_encoding_of_each_client() -> None:
    """The pieces of a line remember their length in one encoding; two editors may use different ones."""
    text = "a" + "😀" * (3 * text_document.CHUNK_CHARS)
    document = TextDocument(text)
    lengths = {"utf-8": 4, "utf-16": 2, "utf-32": 1}
    for encoding in (*ENCODINGS, *ENCODINGS):
        n = 2 * text_document.CHUNK_CHARS + 1
        assert document.offset_at(DocumentPosition(0, 1 + n * lengths[encoding]), encoding) == 1 + n


def test_typing_at_a_carriage_return_keeps_the_line_count():
    text = TextDocument("a\rb").splice(2, 2, "\n")
    assert text.text == "a\r\nb"
    assert text.offset_at(DocumentPosition(1, 0), "utf-16") == 3


def test_adjacent_surrogates_become_one_character():
    text = TextDocument("x").splice(1, 1, "\ud83d")
    text = text.splice(2, 2, "\ude00")
    assert text.text == "x😀"


@pytest.mark.parametrize(("last", "typed", "whole"), [("\r", "\n", "\r\n"), ("\ud83d", "\ude00", "😀")])
def test_character_is_whole_if_its_halves_meet_between_two_chunks(last: str, typed: str, whole: str) -> None:
    n = text_document.CHUNK_CHARS
    text = TextDocument("a" * (n - 1) + last + "b" * 3 * n).splice(n, n, typed)
    assert text.text == "a" * (n - 1) + whole + "b" * 3 * n
    end = advance(DocumentPosition(0, n - 1), whole, "utf-16")
    assert text.offset_at(end, "utf-16") == n - 1 + len(whole)


def test_earlier_text_is_immutable():
    first = TextDocument("one\ntwo\n")
    second = first.splice(0, 3, "ONE")
    assert (first.text, second.text) == ("one\ntwo\n", "ONE\ntwo\n")


POSITIONS = st.builds(DocumentPosition, st.integers(0, 12), st.integers(0, 12))


@given(
    st.text(alphabet=ALPHABET, max_size=60),
    st.lists(st.tuples(POSITIONS, POSITIONS, st.text(alphabet=ALPHABET, max_size=12)), max_size=6),
    st.sampled_from(ENCODINGS),
)
def test_changes_match_the_naive_mirror(
    text: str, changes: list[tuple[DocumentPosition, DocumentPosition, str]], encoding: PositionEncoding
):
    mirror = TextDocument(text)
    for one, other, new in changes:
        start, end = sorted((one, other))
        text = text[: naive_offset(text, start, encoding)] + new + text[naive_offset(text, end, encoding) :]
        mirror = mirror.splice(*mirror.offsets_of(one, other, encoding), new)
        assert mirror.text == text
        assert mirror.n_chars == len(text)


@given(st.text(alphabet=ALPHABET, max_size=60), st.sampled_from(ENCODINGS))
def test_position_and_offset_are_inverse(text: str, encoding: PositionEncoding):
    mirror = TextDocument(text)
    position, reached = DocumentPosition(0, 0), 0
    positions: dict[int, DocumentPosition] = {}
    for offset in range(len(text) + 1):
        if text[offset - 1 : offset + 1] != "\r\n":
            position, reached = advance(position, text[reached:offset], encoding), offset
            positions[offset] = position
            assert mirror.offset_at(position, encoding) == offset == naive_offset(text, position, encoding)
    starts = [positions[start] for start, _ in naive_lines(text)]
    assert [(start.line, start.character) for start in starts] == [(line, 0) for line in range(len(starts))]
    assert all(one < two for one, two in pairwise(positions.values()))
