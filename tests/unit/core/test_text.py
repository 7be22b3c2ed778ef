"""Formats and line rules by example."""

import itertools

import pytest

from fileops.core import text as rules
from fileops.model import errors
from fileops.model.digest import content_digest
from fileops.model.files import NewlineStyle, TextFormat
from support.core_models import FORMATS, text_of


@pytest.mark.parametrize("fmt", FORMATS)
def test_format_comes_from_the_bom(fmt: TextFormat) -> None:
    assert rules.detect_format(text_of("a", fmt).data) == fmt
    assert rules.decode(text_of("a\ufeff", fmt).data, fmt) == "a\ufeff"
    assert not rules.is_binary(text_of("a" * 9, fmt).data, fmt)


@pytest.mark.parametrize(
    ("head", "binary"),
    [(b"", False), (b"a\0", True), (b"a" * 8191 + b"\0", True), (b"a" * 8192 + b"\0", False), (b"\xff\x80", False)],
)
def test_nul_in_the_first_8_kb_is_binary(head: bytes, binary: bool) -> None:
    assert rules.is_binary(head, TextFormat()) == binary


@pytest.mark.parametrize("head", [b"\xff", b"\xfe", b"\xef\xbb", b"\xff\xfe", b"\xff\xfe\0", b"\0", b""])
def test_short_head_waits_for_a_possible_bom(head: bytes) -> None:
    assert rules.may_begin_bom(head)


@pytest.mark.parametrize("head", [b"a", b"\xff\xfea", b"\xef\xbb\xbf", b"\xff\xfe\0\0"])
def test_head_that_cannot_begin_a_bom_does_not_wait(head: bytes) -> None:
    assert not rules.may_begin_bom(head)


@pytest.mark.parametrize(
    ("content", "style"),
    [
        ("", None),
        ("a\rb", None),
        ("a\n", "\n"),
        ("a\r\n", "\r\n"),
        ("a\r\nb\n", "mixed"),
        ("\r\r\n", "\r\n"),
        ("ਊ", None),
    ],
)
@pytest.mark.parametrize("fmt", FORMATS)
def test_newline_style_of_a_text(content: str, style: NewlineStyle | None, fmt: TextFormat) -> None:
    text = text_of(content, fmt)
    assert rules.newline_style(text.data, fmt) == style


@pytest.mark.parametrize("fmt", FORMATS)
def test_lines_are_split_at_code_units(fmt: TextFormat) -> None:
    content = "aਊ\n\u0a00\r\n\nb"
    data = text_of(content, fmt).data
    lines = rules.split_lines(data, fmt)
    assert b"".join(lines) == data
    shown = [str(line, fmt.encoding).removeprefix("\ufeff") for line in lines]
    assert shown == ["aਊ\n", "\u0a00\r\n", "\n", "b"]
    assert rules.count_newlines(data, fmt) == 3
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for start, end in itertools.pairwise(starts):
        for offset in range(start, end, fmt.unit_bytes):
            assert rules.line_start(data, fmt, offset) == start
            assert rules.line_end(data, fmt, offset) == end


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize(
    ("content", "n_lines"), [("", 0), ("a", 1), ("\n", 1), ("a\r\n", 1), ("a\n\n", 2), ("a\nb", 2), ("\u0a0a", 1)]
)
def test_final_newline_starts_no_line(content: str, n_lines: int, fmt: TextFormat) -> None:
    assert rules.count_lines(text_of(content, fmt).data, fmt) == n_lines


def test_incomplete_code_unit_after_the_last_newline_is_a_line() -> None:
    fmt = rules.detect_format(b"\xff\xfe")
    assert rules.count_lines(b"\xff\xfea\0\n\0\n", fmt) == 2


def test_characters_that_cannot_be_encoded_are_named() -> None:
    with pytest.raises(errors.NotEncodable) as refused:
        rules.encode("a\udc80\udc81b", TextFormat())
    assert (refused.value.encoding, refused.value.characters) == ("utf-8", "\udc80\udc81")


def test_digest_distinguishes_contents() -> None:
    assert content_digest(b"a") == content_digest(memoryview(b"a"))
    assert content_digest(b"a") != content_digest(b"b")
    assert len(content_digest(b"")) == 16
