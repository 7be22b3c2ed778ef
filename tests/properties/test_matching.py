"""Literal matching on bytes against plain Python on the text with LF line ends."""

from hypothesis import assume, example, given
from hypothesis import strategies as st

from fileops.core.matching.exact import MANY_HITS, find, lines_of
from fileops.model.files import TextFormat
from support.core_models import awkward_texts, formats, model_spans, text_of


@st.composite
def _haystack_and_needle(draw: st.DrawFn) -> tuple[str, str]:
    """The needle is mostly a piece of the text, with either kind of line end."""
    content = draw(awkward_texts)
    if draw(st.integers(0, 4)) == 0 or not content:
        return content, draw(awkward_texts)
    start = draw(st.integers(0, len(content) - 1))
    needle = content[start : draw(st.integers(start + 1, min(len(content), start + 6)))]
    form = draw(st.integers(0, 2))
    if form == 1:
        needle = needle.replace("\r\n", "\n")
    elif form == 2:
        needle = needle.replace("\r\n", "\n").replace("\n", "\r\n")
    return content, needle


@given(_haystack_and_needle(), formats)
@example(("\r\n\n\r\n", "\n\n"), TextFormat())
@example(("aaaa", "aaa"), TextFormat())
@example(("\r\r\n", "\r\n"), TextFormat())
@example(("a" * (2 * MANY_HITS + 5), "aa"), TextFormat())
@example(("a.c\nabc\n" * (2 * MANY_HITS), "a.c"), TextFormat())
@example(("é(x\n" * MANY_HITS, "("), TextFormat())
def test_matches_are_those_of_the_decoded_text(case: tuple[str, str], fmt: TextFormat) -> None:
    content, needle = case
    assume(needle)
    spans, n_positions = model_spans(content, needle, fmt)
    text = text_of(content, fmt)
    matches = find(text, needle)
    assert [(span.start, span.end) for span in matches.spans] == spans
    assert len(matches) == len(spans)
    assert matches.n_positions == (n_positions if len(spans) == 1 else len(spans))
    as_given = needle.encode(fmt.encoding)
    is_exact = all(text.data[a:b] == as_given for a, b in spans)
    if spans:
        assert (matches.match == "exact") == is_exact
    lines = [1 + text.data[:a].decode(fmt.encoding).count("\n") for a, _ in spans]
    assert list(lines_of(text, matches.starts)) == lines


@given(st.integers(1, 4), st.integers(1, 6), st.integers(0, 9), formats)
def test_overlapping_matches_are_all_counted(period: int, n_old: int, n_more: int, fmt: TextFormat) -> None:
    unit = "abcd"[:period]
    old = (unit * 9)[: n_old + period]
    content = "x" + old + (unit * 9)[len(old) % period :][: min(n_more, len(old) - 1)] + "y"
    spans, n_positions = model_spans(content, old, fmt)
    assert find(text_of(content, fmt), old).n_positions == (n_positions if len(spans) == 1 else len(spans))


@given(st.binary(max_size=30), st.binary(max_size=3).map(lambda raw: raw.decode(errors="replace")))
def test_invalid_bytes_do_not_match_the_replacement_character(data: bytes, needle: str) -> None:
    assume(needle and "\n" not in needle and "\r" not in needle)
    matches = find(text_of("", TextFormat()).__class__(data=data, format=TextFormat()), needle)
    assert all(data[span.start : span.end].decode() == needle for span in matches.spans)


@given(awkward_texts)
def test_lone_surrogate_matches_nothing(content: str) -> None:
    assert not find(text_of(content), "\udc80")
