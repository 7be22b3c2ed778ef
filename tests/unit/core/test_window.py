"""The window of a read: notices, limits, where it stops, and that it keeps nothing it does not show."""

import tracemalloc

import pytest

from fileops.core.windows.numbered import WindowReader
from fileops.model.errors import TooManyChars
from fileops.model.files import TextFormat
from fileops.model.results import Window
from fileops.model.settings import Limits

LIMITS = Limits()


def _window(data: bytes, *, offset: int | None = None, limit: int | None = None, limits: Limits = LIMITS) -> Window:
    reader = WindowReader(offset=offset, limit=limit, limits=limits)
    reader.feed(data)
    return reader.finish()


@pytest.mark.parametrize(
    ("data", "shown", "n_lines"),
    [
        (b"a\n", "     1→a", 1),
        (b"\n", "     1→", 1),
        (b"a", "     1→a", 1),
        (b"a\r\nb\r", "     1→a\n     2→b\r", 2),
        (b"a\x0cb\xe2\x80\xa8c\rd\n", "     1→a\x0cb\u2028c\rd", 1),
        (b"\xff\n\xe2\x82\n", "     1→\ufffd\n     2→\ufffd", 2),
        (b"\xef\xbb\xbfa\n", "     1→a", 1),
        ("\ufeffa\r\nਊ".encode("utf-16-le"), "     1→a\n     2→ਊ", 2),
    ],
)
def test_window_shows_numbered_lines(data: bytes, shown: str, n_lines: int) -> None:
    window = _window(data)
    assert window.text == shown
    assert (window.total_lines, window.next_offset, window.past_end) == (n_lines, None, False)


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xff\xfe\0\0"])
def test_any_read_of_an_empty_file_is_past_its_end(data: bytes) -> None:
    window = _window(data)
    assert window.past_end
    assert (window.total_lines, window.text) == (0, "")


@pytest.mark.parametrize("offset", [3, 1000])
def test_offset_after_the_last_line_is_past_the_end(offset: int) -> None:
    window = _window(b"a\nb\n", offset=offset)
    assert (window.past_end, window.total_lines) == (True, 2)


def test_wide_line_numbers_widen_the_column() -> None:
    window = _window(b"\n" * 999_999 + b"x\ny", offset=999_999)
    assert window.text == "999999→\n1000000→x\n1000001→y"


def test_long_line_is_cut_with_a_notice() -> None:
    window = _window("é".encode() * 2001)
    assert window.text == "     1→" + "é" * 2000 + "... (more 1 characters in this line are truncated)"
    assert _window(b"x" * 2000 + b"\r\n").text == "     1→" + "x" * 2000


def test_selection_over_2000_lines_is_cut_with_a_notice() -> None:
    window = _window(b"x\n" * 2010, offset=6)
    assert window.text.endswith("\n  2005→x\n... (more 5 lines are truncated)")
    assert (window.n_lines_hidden, window.next_offset, window.end_line, window.total_lines) == (5, 2006, 2005, 2010)
    explicit = _window(b"x\n" * 3000, limit=2001)
    assert explicit.text.endswith("... (more 1 lines are truncated)")
    assert explicit.next_offset == 2001
    assert "truncated" not in _window(b"x\n" * 3000, limit=2000).text


def test_configured_limits_apply() -> None:
    window = _window(b"abc\nd\ne\n", limits=Limits(max_lines=2, max_line_chars=2))
    assert window.text == (
        "     1→ab... (more 1 characters in this line are truncated)\n     2→d\n... (more 1 lines are truncated)"
    )


def test_characters_are_counted_over_the_whole_selection() -> None:
    assert _window(b"x\n" * 30_000).n_chars == 60_000
    with pytest.raises(TooManyChars) as refused:
        _window(b"x\n" * 30_000 + b"\n")
    assert refused.value.n_chars == 60_001
    with pytest.raises(TooManyChars) as refused:
        _window(b"x\n" * 99_999, limit=40_000)
    assert refused.value.n_chars == 80_000


def test_reading_stops_when_the_answer_is_known() -> None:
    reader = WindowReader(offset=2, limit=1, limits=LIMITS)
    assert not reader.feed(b"a\nb")
    assert not reader.feed(b"\n")
    assert reader.feed(b"c")
    window = reader.finish()
    assert (window.text, window.next_offset, window.total_lines) == ("     2→b", 3, None)


def test_window_that_ends_with_the_file_has_the_number_of_lines() -> None:
    window = _window(b"a\nb\n", offset=2, limit=1)
    assert (window.next_offset, window.total_lines) == (None, 2)


@pytest.mark.parametrize(
    ("data", "style"), [(b"a", None), (b"a\nb", "\n"), (b"a\r\nb", "\r\n"), (b"a\r\nb\n", "mixed"), (b"a\rb", None)]
)
def test_newline_style_of_the_selection(data: bytes, style: str | None) -> None:
    assert _window(data).newline == style


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-32-be"])
def test_memory_stays_bounded_for_one_endless_line(encoding: str) -> None:
    """64 MB of one line, fed in pieces."""
    chunk = ("0123456789abcde\r" * 4096).encode(encoding)
    n_chunks = (64 << 20) // len(chunk)
    fmt = {"utf-8": TextFormat(), "utf-16-le": TextFormat(encoding="utf-16-le", bom=b"\xff\xfe")}.get(
        encoding, TextFormat(encoding="utf-32-be", bom=b"\0\0\xfe\xff")
    )
    reader = WindowReader(offset=1, limit=1, limits=LIMITS, fmt=fmt)
    reader.feed(fmt.bom)
    tracemalloc.start()
    try:
        for _ in range(n_chunks):
            reader.feed(chunk)
        window = reader.finish()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert f"(more {n_chunks * 65536 - 2000} characters" in window.text
    assert peak < 4 << 20


def test_memory_stays_bounded_for_endless_lines_that_are_only_counted() -> None:
    reader = WindowReader(limits=LIMITS)
    chunk = b"some line\n" * 6000
    tracemalloc.start()
    try:
        for _ in range(200):
            reader.feed(chunk)
        with pytest.raises(TooManyChars) as refused:
            reader.finish()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert refused.value.n_chars == 12_000_000
    assert peak < 4 << 20
