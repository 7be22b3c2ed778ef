"""The numbered window against a ten-line model on the decoded text, for any chunks."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fileops.core.text import count_lines, decode
from fileops.core.windows.numbered import WindowReader
from fileops.model.errors import TooManyChars
from fileops.model.files import TextFormat
from fileops.model.results import Window
from fileops.model.settings import Limits
from support.core_models import awkward_texts, formats, model_lines, model_shown

SMALL = Limits(max_lines=4, max_line_chars=5, max_chars=1000)


def _read(
    data: bytes, chunk_sizes: list[int], *, offset: int | None, limit: int | None, limits: Limits
) -> tuple[Window, int]:
    reader = WindowReader(offset=offset, limit=limit, limits=limits)
    at = turn = 0
    while at < len(data):
        chunk = data[at : at + chunk_sizes[turn % len(chunk_sizes)]]
        turn += 1
        at += len(chunk)
        if reader.feed(chunk):
            break
    return reader.finish(), at


@st.composite
def _contents(draw: st.DrawFn) -> bytes:
    fmt: TextFormat = draw(formats)
    data = fmt.bom + draw(awkward_texts).encode(fmt.encoding)
    return data + (draw(st.binary(max_size=3)) if draw(st.booleans()) else b"")


@given(
    _contents(),
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.none() | st.integers(-1, 9),
    st.none() | st.integers(1, 6),
)
def test_window_matches_the_model(data: bytes, chunk_sizes: list[int], offset: int | None, limit: int | None) -> None:
    window, n_fed = _read(data, chunk_sizes, offset=offset, limit=limit, limits=SMALL)
    lines = model_lines(decode(data, window.format))
    assert count_lines(data, window.format) == len(lines)
    first = max(1, offset or 1)
    selected = lines[first - 1 :] if limit is None else lines[first - 1 : first - 1 + limit]
    shown = selected[: SMALL.max_lines]
    expected = [f"{n:>6}→{model_shown(line, SMALL)}" for n, line in enumerate(shown, first)]
    n_hidden = len(selected) - len(shown)
    if n_hidden:
        expected.append(f"... (more {n_hidden} lines are truncated)")
    assert window.text == "\n".join(expected)
    assert (window.start_line, window.end_line) == (first, first + len(shown) - 1)
    assert window.n_lines_hidden == n_hidden
    assert window.n_chars == sum(len(model_shown(line, SMALL)) + 1 for line in selected)
    assert window.past_end == (first > len(lines))
    following = first + len(shown)
    assert window.next_offset == (following if following <= len(lines) else None)
    if window.at_end:
        assert window.total_lines == len(lines)
        assert n_fed == len(data)
    else:
        assert window.total_lines is None
        assert window.next_offset is not None


@given(
    st.lists(st.tuples(st.sampled_from("aé𝄞\r"), st.sampled_from([0, 1, 5, 6, 80, 70_000])), max_size=8),
    st.sampled_from(["\n", "\r\n"]),
    formats,
    st.sampled_from([1 << 20, 65_537, 1_000]),
    st.none() | st.integers(1, 4),
)
def test_long_lines_are_counted_correctly_across_chunks(
    runs: list[tuple[str, int]], newline: str, fmt: TextFormat, chunk_size: int, limit: int | None
) -> None:
    lines = ["<" + character * length + ">" for character, length in runs]
    data = fmt.bom + "".join(line + newline for line in lines).encode(fmt.encoding)
    window, _ = _read(data, [chunk_size], offset=1, limit=limit, limits=SMALL)
    selected = lines[:limit]
    assert window.n_chars == sum(len(model_shown(line, SMALL)) + 1 for line in selected)
    shown = [f"{n:>6}→{model_shown(line, SMALL)}" for n, line in enumerate(selected[: SMALL.max_lines], 1)]
    assert window.text.split("\n")[: len(shown)] == (shown or [""])[: len(shown)]


@given(_contents(), st.integers(1, 5), st.integers(0, 4), st.integers(1, 7))
@example(b"\xff\xfe\n\x00\n\x00\x00", 1, 0, 3)  # half a character after the window, in its own chunk
@example(b"\xff\xfe\n\x00" + b"x\x00" * 40_000 + b"\n\x00\x00", 1, 0, 7)
def test_window_can_start_at_any_indexed_line(data: bytes, start_line: int, n_ahead: int, chunk_size: int) -> None:
    whole, _ = _read(data, [chunk_size], offset=start_line + n_ahead, limit=2, limits=SMALL)
    fmt = whole.format
    pieces = data[len(fmt.bom) :].decode(fmt.encoding, "surrogateescape" if fmt.unit_bytes == 1 else "replace")
    begin = len(fmt.bom) + sum(
        len(line.encode(fmt.encoding, "surrogateescape")) + fmt.unit_bytes
        for line in pieces.split("\n")[: start_line - 1]
    )
    if begin > len(data):
        return
    reader = WindowReader(
        offset=start_line + n_ahead, limit=2, limits=SMALL, fmt=fmt, start_line=start_line, start_offset=begin
    )
    for at in range(begin, len(data), chunk_size):
        if reader.feed(data[at : at + chunk_size]):
            break
    if begin < len(data):
        assert reader.finish() == whole


@given(st.integers(0, 30), st.integers(0, 12), st.none() | st.integers(1, 40))
def test_character_count_covers_the_whole_selection(n_lines: int, length: int, limit: int | None) -> None:
    limits = Limits(max_lines=3, max_line_chars=10, max_chars=100)
    data = (b"x" * length + b"\n") * n_lines
    n_selected = n_lines if limit is None else min(n_lines, limit)
    n_chars = n_selected * (len(model_shown("x" * length, limits)) + 1)
    if n_chars <= limits.max_chars:
        assert _read(data, [7], offset=1, limit=limit, limits=limits)[0].n_chars == n_chars
        return
    with pytest.raises(TooManyChars) as refused:
        _read(data, [7], offset=1, limit=limit, limits=limits)
    assert refused.value.n_chars == n_chars
