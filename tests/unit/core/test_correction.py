"""Corrections of a text that does not stand in the file: one place, only its bytes, never by similarity."""

import pytest

from fileops.core import splices
from fileops.core.correction import correct
from fileops.core.text import detect_format
from fileops.model import Edit, Text


def corrected(data: bytes, old: str, new: str) -> tuple[str, bytes] | None:
    step = correct(Text(data=data, format=detect_format(data)), Edit(old_string=old, new_string=new))
    return None if step is None else (step.match, splices.apply(data, step.splices))


@pytest.mark.parametrize(
    ("data", "old", "new", "tier", "after"),
    [
        (b"a\nb", "b\n", "c\n", "line_ends", b"a\nc\n"),
        ("a\u2028b\nz".encode(), "a\nb\n", "q\n", "line_ends", b"q\nz"),
        (b'say("x")\nend\n', 'say(\\"x\\")\\nend', 'say(\\"y\\")\\nend', "escapes", b'say("y")\nend\n'),
        (b"a\r\nb\r\n", "a\\nb", "c\\nd", "escapes", b"c\r\nd\r\n"),
        (b"one  \ntwo\nthree\n", "one\ntwo", "1\n2", "trailing_blanks", b"1\n2\nthree\n"),
        (b"one\ntwo\n", "one \ntwo", "1\n2", "trailing_blanks", b"1\n2\n"),
        (b"    if x:\n        y\n", "if x:\n    y\n", "if z:\n    w\n", "indentation", b"    if z:\n        w\n"),
        (b"if x:\n    y\n", "  if x:\n      y", "  if z:\n      y", "indentation", b"if z:\n    y\n"),
        (b"\tif x:\n\t\ty\n", "    if x:\n        y", "    if x:\n        z", "indentation", b"\tif x:\n\t\tz\n"),
        (
            "it\u2019s \u201cgood\u201d \u2013 so".encode(),
            'it\'s "good" - so',
            'it\'s "bad" - so',
            "lookalikes",
            "it\u2019s \u201cbad\u201d \u2013 so".encode(),
        ),
        ("a\u00a0b".encode(), "a b", "a c", "lookalikes", "a\u00a0c".encode()),
        (b"\xff a\xe2\x80\x99s \xfe", "a's", "b's", "lookalikes", b"\xff b\xe2\x80\x99s \xfe"),
        ("\ufeffit\u2019s".encode("utf-16-le"), "it's", "is", "lookalikes", "\ufeffis".encode("utf-16-le")),
    ],
)
def test_a_tier_replaces_the_one_place_it_finds(data: bytes, old: str, new: str, tier: str, after: bytes) -> None:
    assert corrected(data, old, new) == (tier, after)


@pytest.mark.parametrize(
    ("data", "old"),
    [
        (b"one  \ntwo\none  \ntwo\n", "one\ntwo"),
        ("it\u2019s it\u2018s".encode(), "it's"),
        (b"    a\n  b\n", "a\nb"),  # not uniform
        (b"return total\n", "return totals"),  # merely similar
        (b"x = 1\n", "   "),
    ],
)
def test_several_places_or_none_are_no_correction(data: bytes, old: str) -> None:
    assert corrected(data, old, "new") is None
