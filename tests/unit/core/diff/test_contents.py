"""The common parts of two contents, and the splices that lead from one to the other."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fileops.core.diff.contents import MAX_REFINED_BYTES, line_spans, splices_between, splices_of_blanks, words_of
from fileops.core.splices import apply
from fileops.core.text import detect_format
from fileops.model.edits import Splice
from fileops.model.files import TextFormat

UTF8 = TextFormat()
UTF16 = TextFormat(encoding="utf-16-le", bom=b"\xff\xfe")
WIDE = [
    UTF16,
    TextFormat(encoding="utf-16-be", bom=b"\xfe\xff"),
    TextFormat(encoding="utf-32-le", bom=b"\xff\xfe\x00\x00"),
    TextFormat(encoding="utf-32-be", bom=b"\x00\x00\xfe\xff"),
]


def test_lines_include_their_line_endings():
    lines = line_spans(b"a\r\nb\n\rc\r", UTF8)
    assert [(line.start, line.end, line.stop) for line in lines] == [(0, 1, 3), (3, 4, 5), (5, 8, 8)]


def test_lines_of_wide_encodings_are_split_at_code_units():
    data = b"\xff\xfe" + "\u0a0a\r\nb".encode("utf-16-le")
    lines = line_spans(data, UTF16)
    assert [data[line.start : line.end].decode("utf-16-le") for line in lines] == ["\u0a0a", "b"]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(b"a\nb\nc\n", b"a\nB\nc\n", (Splice(2, 3, b"B"),), id="one word"),
        pytest.param(b"a\nc\n", b"a\nb\nc\n", (Splice(2, 2, b"b\n"),), id="inserted line"),
        pytest.param(b"a\nb\nc\n", b"a\nc\n", (Splice(2, 4, b""),), id="deleted line"),
        pytest.param(
            b"one two three\n",
            b"1 two 3\n",
            (Splice(0, 3, b"1"), Splice(8, 13, b"3")),
            id="two words of a line",
        ),
        pytest.param(b"", b"x", (Splice(0, 0, b"x"),), id="from nothing"),
        pytest.param(b"same", b"same", (), id="equal"),
        pytest.param(
            b"kept\none two three\nfour five six seven\n",
            b"red green blue\nkept white\n",
            (Splice(0, 0, b"red green blue\n"), Splice(4, 8, b""), Splice(9, 38, b"white")),
            id="a word among more blanks",
        ),
    ],
)
def test_changes_are_minimal(before: bytes, after: bytes, expected: tuple[Splice, ...]):
    assert splices_between(before, after, UTF8) == expected


FORMATS = st.sampled_from([UTF8, UTF16])
TEXTS = st.text(alphabet="ab\n\r é😀\u0a0a", max_size=40)


@given(TEXTS, TEXTS, FORMATS)
def test_changes_transform_one_content_into_the_other(before: str, after: str, fmt: TextFormat):
    old, new = fmt.bom + before.encode(fmt.encoding), fmt.bom + after.encode(fmt.encoding)
    found = splices_between(old, new, fmt)
    assert apply(old, found) == new
    assert all(one.end <= two.start for one, two in itertools.pairwise(found))


@given(st.binary(max_size=30), st.binary(max_size=30))
def test_changes_of_binary_content_are_found(before: bytes, after: bytes):
    assert apply(before, splices_between(before, after, UTF8)) == after


def test_long_contents_are_aligned_by_unique_lines():
    rng = random.Random(7)
    old = [f"line {n}\n".encode() if n % 3 else b"\n" for n in range(6000)]
    new = list(old)
    for at in sorted(rng.sample(range(6000), 40), reverse=True):
        new[at : at + 1] = rng.choice([[], [b"other\n"], [old[at], b"\n", b"more\n"]])
    before, after = b"".join(old), b"".join(new)
    found = splices_between(before, after, UTF8)
    assert apply(before, found) == after
    assert sum(splice.end - splice.start for splice in found) < 2000


@given(TEXTS, st.sampled_from(WIDE))
def test_words_are_the_same_in_every_encoding(text: str, fmt: TextFormat):
    words = [word.decode(fmt.encoding) for word in words_of(text.encode(fmt.encoding), fmt)]
    assert words == [word.decode() for word in words_of(text.encode(), UTF8)]


@pytest.mark.parametrize("fmt", WIDE, ids=lambda fmt: fmt.encoding)
def test_incomplete_code_units_are_kept(fmt: TextFormat):
    data = "a b".encode(fmt.encoding) + b"x"
    assert b"".join(words_of(data, fmt)) == data
    assert apply(data, splices_between(data, data + b"yz", fmt)) == data + b"yz"


@pytest.mark.parametrize("fmt", [UTF8, *WIDE], ids=lambda fmt: fmt.encoding)
@pytest.mark.parametrize(("old", "new"), [("v711", "v71"), ("v71", "v711"), ("v71", "w71"), ("é", "éé"), ("x", "")])
def test_change_of_a_long_line_begins_and_ends_at_words(old: str, new: str, fmt: TextFormat):
    filler = "word " * MAX_REFINED_BYTES
    before, after = (fmt.bom + f"{filler}{word} {filler}".encode(fmt.encoding) for word in (old, new))
    (splice,) = splices_between(before, after, fmt)
    assert before[splice.start : splice.end].decode(fmt.encoding).strip() == old
    assert splice.new.decode(fmt.encoding).strip() == new


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"x=[1,2]\ny\n", b"x = [1, 2]\ny\n"),
        (b"\xef\xbb\xbfa\nb", b"\xef\xbb\xbfa\n\n\n  b\n"),
        (b"f(\n  a,\n  b)\r\n", b"f(a, b)\r\n"),
        (b"  \n\n a b ", b"a  b"),
        (b" ", b""),
    ],
)
def test_contents_with_the_same_words_differ_only_in_splices_of_blanks(before: bytes, after: bytes) -> None:
    for old, new in ((before, after), (after, before)):
        splices = splices_of_blanks(old, new, detect_format(old))
        assert splices
        assert apply(old, splices) == new
        assert not any((old[splice.start : splice.end] + splice.new).strip() for splice in splices)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a b", b"ab"),
        (b"a b c", b"a bc"),
        (b"f(a)", b"f(a,)"),
        (b"'a'", b'"a"'),
        (b"a b", b"b a"),
        (b"\xff\xfea\0", b"\xff\xfea\0 \0"),
    ],
)
def test_contents_with_other_words_or_wide_units_have_no_splices_of_blanks(before: bytes, after: bytes) -> None:
    assert splices_of_blanks(before, after, detect_format(before)) is None
