"""Corrections of a text that is not in the file: one place, only its bytes, never by similarity."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fileops.core import splices
from fileops.core.matching.correction import _is_only_like, correct
from fileops.core.text import detect_format
from fileops.model.edits import Edit
from fileops.model.files import Text, TextFormat
from support.core_models import formats, text_of


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
        (
            b"    if x:\n        y\n    z\n",
            "if x:\n    y\n",
            "if x:\n    w\n",
            "indentation",
            b"    if x:\n        w\n    z\n",
        ),
        (b"  a\r\n  b\r\n", "a\r\nb", "c\r\nd", "indentation", b"  c\r\n  d\r\n"),
        (b"  a\n  b\n", "a\r\nb", "c\r\nd", "indentation", b"  c\n  d\n"),
        (b"one  \ntwo \t\nthree", "one\ntwo \nthree", "1\n2\n3", "trailing_blanks", b"1\n2\n3"),
        (b"one\ntwo\r\nend", "two ", "2", "trailing_blanks", b"one\n2\r\nend"),
        (b"a\nx  \nfoo\n", "x\nfoo", "x\nbar", "trailing_blanks", b"a\nx  \nbar\n"),
        (b"a\nb\nc\n", "     2\u2192b\n     3\u2192c", "     2\u2192b\n     3\u2192d", "line_numbers", b"a\nb\nd\n"),
        (b"a\nb\nc\n", "2\tb", "B\nand", "line_numbers", b"a\nB\nand\nc\n"),
        (b"a\nb\nc\n", "\n\nb\nc\n\n", "\n\nb\nd\n\n", "blank_lines", b"a\nb\nd\n"),
        (
            "re\u0301duit le lundi".encode(),
            "r\u00e9duit le lundi",
            "r\u00e9duit le mardi",
            "accents",
            "re\u0301duit le mardi".encode(),
        ),
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
def test_tier_replaces_its_only_match(data: bytes, old: str, new: str, tier: str, after: bytes) -> None:
    assert corrected(data, old, new) == (tier, after)


def canonical(tier: str, text: str) -> str:
    """What a tier takes as the same is the same here."""
    if tier == "line_ends":
        return re.sub("\r\n|[\r\x85\u2028]", "\n", text)
    return re.sub("[\u2019`]", "'", text.replace("\r\n", "\n")).replace("\u2013", "-")


@pytest.mark.parametrize("tier", ["line_ends", "lookalikes"])
@given(
    st.lists(
        st.sampled_from(["a", "b", "\n", "\r\n", "\r", "\x85", "\u2028", "'", "\u2019", "\u2013"]), max_size=7
    ).map("".join),
    st.lists(st.sampled_from(["a", "b", "\n", "\r\n", "'", "-"]), min_size=1, max_size=4).map("".join),
    formats,
)
def test_tier_finds_the_only_equivalent_text(tier: str, content: str, old: str, fmt: TextFormat) -> None:
    """Against all pieces of the text, compared one by one."""
    borders = [at for at in range(len(content) + 1) if content[at - 1 : at + 1] != "\r\n"]
    wanted = canonical(tier, old)
    places = [(a, b) for a in borders for b in borders if a < b and canonical(tier, content[a:b]) == wanted]
    assume(old.strip() and (tier != "line_ends" or not canonical(tier, content).endswith(wanted.removesuffix("\n"))))
    step = correct(text_of(content, fmt), Edit(old_string=old, new_string="new"))
    if not _is_only_like(content, old):  # another place differs in blanks or look-alikes only
        assert step is None
    elif len(places) == 1 and step is not None and step.match == tier:
        start, end = (len(fmt.bom) + len(content[:at].encode(fmt.encoding)) for at in places[0])
        assert (step.splices[0].start, step.splices[0].end) == (start, end)
    elif len(places) == 1:
        assert step is not None  # an earlier tier found it
    else:
        assert step is None or step.match != tier


@pytest.mark.parametrize(
    ("data", "old"),
    [
        (b"one  \ntwo\none  \ntwo\n", "one\ntwo"),
        ("it\u2019s it\u2018s".encode(), "it's"),
        (b"    a\n  b\n", "a\nb"),  # not uniform
        (b"return total\n", "return totals"),  # merely similar
        (b"x = 1\n", "   "),
        (b"a\nb\nc\n", "     3\u2192b"),  # another line has this number
        (b"a\nb\nc\n", "     2\u2192b\n     3\u2192x"),
        (b"say('a\\n')\nb\nc\n", "b\\nc"),  # the file has such an escape itself
        (b"b\nc\n", "\n\nb\nc"),  # the new text has no blank lines
        (b"    go(1)\n    rest()\n        go(1)\n        rest()\n", "go(1)\n      rest()"),
        (b"\tgo(1)\n\tstay()\nGo(1)\nstay()\n", "  go(1)\n  stay()"),  # another place differs in case
        ("re\u0301duit r\u00e9duit".encode(), "r\u00e9\u200bduit"),
    ],
)
def test_several_or_no_matches_are_no_correction(data: bytes, old: str) -> None:
    assert corrected(data, old, "new") is None
