"""Strategies beside the literal one: where they find, what they write, and that a faulty one harms nothing."""

import itertools
import re
import sys
from collections.abc import Callable, Iterable
from typing import cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fileops.core import plan as core_edit
from fileops.core import splices
from fileops.core.matching import strategies
from fileops.core.text import detect_format
from fileops.model.edits import Edit
from fileops.model.errors import (
    CountMismatch,
    FileOpsError,
    InvalidPattern,
    MultipleMatches,
    NoMatch,
    NotEncodable,
    StrategyFailed,
)
from fileops.model.files import Text, TextFormat
from fileops.model.settings import Limits
from support.core_models import FORMATS, awkward_texts, formats, snapshot_of


def edited(data: bytes, wish: Edit) -> bytes:
    return splices.apply(data, core_edit.resolve(Text(data=data, format=detect_format(data)), wish).splices)


def utf16(text: str) -> bytes:
    return ("\ufeff" + text).encode("utf-16-le")


@pytest.mark.parametrize(
    ("data", "old", "new", "after"),
    [
        (b"x = 1\ny = 2\n", r"y = (\d)", r"y = \g<1>0", b"x = 1\ny = 20\n"),
        (b"f(a, b)\n", r"f\((?P<x>\w), (?P<y>\w)\)", r"f(\g<y>, \g<x>)", b"f(b, a)\n"),
        (b"a\r\nb\r\nc\r\n", "b\nc", "1\n2\n3", b"a\r\n1\r\n2\r\n3\r\nc\r\n".replace(b"3\r\nc", b"3")),
        (b"a\r\nend\r\n", "(?m)end$", "fin", b"a\r\nfin\r\n"),
        (b"\xffk=v\xfe\n", "k=(.)", r"k=\1\1", b"\xffk=vv\xfe\n"),
        (utf16("caf\xe9 = 1\r\n\U0001f600 = 2\r\n"), "\U0001f600 = (.)", r"\1", utf16("caf\xe9 = 1\r\n2\r\n")),
        (b"a\\b", r"a\\b", r"c\\d", b"c\\d"),
        (b"a\r\nb\n", "^", "x\n", b"x\r\na\r\nb\n"),  # at the very beginning: its own line's end
        (b"one\ntwo\n", "(?m)^two", "$1 & two", b"one\n$1 & two\n"),
    ],
)
def test_regex_replaces_its_match(data: bytes, old: str, new: str, after: bytes) -> None:
    assert edited(data, Edit(old_string=old, new_string=new, strategy="regex")) == after


def test_regex_replaces_all_matches_on_request() -> None:
    wish = Edit(old_string=r"\b(\w)\b", new_string=r"<\1>", strategy="regex", replace_all=True)
    assert edited(b"a bb c", wish) == b"<a> bb <c>"


def test_empty_match_of_a_regex_inserts() -> None:
    wish = Edit(old_string="(?m)^", new_string="> ", strategy="regex", replace_all=True)
    assert edited(b"a\r\nb", wish) == b"> a\r\n> b"


@pytest.mark.parametrize("pattern", ["x*", "q?", "|zz", "(?:)", r"\b|(?:)"])
@pytest.mark.parametrize("content", ["é漢💥", "a\r\né\r\n", "\r\r\n💥", "💥💥", "a\u0301\ufeffb"])
@pytest.mark.parametrize("fmt", FORMATS, ids=lambda fmt: f"{fmt.encoding}{'-bom' * bool(fmt.bom)}")
def test_empty_match_is_found_between_characters_only(pattern: str, content: str, fmt: TextFormat) -> None:
    wish = Edit(old_string=pattern, new_string="-", strategy="regex", replace_all=True)
    pieces = re.findall("\r\n|.", content, re.DOTALL)
    after = "-" + "-".join(pieces) + "-"
    assert edited(fmt.bom + content.encode(fmt.encoding), wish) == fmt.bom + after.encode(fmt.encoding)


def test_empty_match_of_a_non_boundary_is_found_between_characters_only() -> None:
    wish = Edit(old_string=r"\B", new_string="-", strategy="regex", replace_all=True)
    assert edited("é漢ab".encode(), wish) == "-é-漢a-b".encode()


@pytest.mark.parametrize(
    ("content", "after"),
    [
        (b"\xff\xff", b"-\xff-\xff-"),  # bytes of no character represent themselves
        (b"\xe6\xbcb", b"-\xe6-\xbc-b-"),
        ("é".encode() + b"\xa9", "-é-".encode() + b"\xa9-"),
    ],
)
def test_empty_match_in_invalid_utf8_is_found_between_its_bytes(content: bytes, after: bytes) -> None:
    wish = Edit(old_string="(?:)", new_string="-", strategy="regex", replace_all=True)
    assert edited(content, wish) == after


def test_lone_surrogate_of_utf16_is_not_split() -> None:
    wish = Edit(old_string="(?:)", new_string="-", strategy="regex", replace_all=True)
    lone = "\ufeffa\ud800b".encode("utf-16-le", "surrogatepass")
    assert edited(lone, wish) == "\ufeff-a-\ud800-b-".encode("utf-16-le", "surrogatepass")


@example("\r\r\n", TextFormat(encoding="utf-8", bom=b""), r"\s*", r"\0")  # a CR that is text, and a line end
@given(
    content=awkward_texts,
    fmt=formats,
    pattern=st.sampled_from(
        ["", "a*", "(?m)$", "(?m)^", r"\b", r"\B", "[^a]?", ".", r"\s*", "(?s).", "é|", r"\W?", "a|$"]
    ),
    new=st.sampled_from(["", "-", "é", r"\0", "\n"]),
)
def test_regex_edit_of_text_leaves_text(content: str, fmt: TextFormat, pattern: str, new: str) -> None:
    wish = Edit(old_string=f"(?:{pattern})", new_string=new, strategy="regex", replace_all=True)
    try:
        after = edited(fmt.bom + content.encode(fmt.encoding), wish)
    except NoMatch:
        return
    text = after.removeprefix(fmt.bom).decode(fmt.encoding)
    if new == r"\0":
        assert text.replace("\r\n", "\n") == content.replace("\r\n", "\n")


@pytest.mark.parametrize("pattern", [r"\C", r"(\C)(\C)", r"\\\C", r"\Qa\E\C"])
def test_pattern_that_matches_single_bytes_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidPattern):
        edited("\\aé".encode(), Edit(old_string=pattern, new_string=r"\0", strategy="regex", replace_all=True))


@pytest.mark.parametrize("pattern", [r"\\C", r"\Q\C\E", r"\Q\C"])
def test_pattern_with_a_literal_backslash_before_c_is_accepted(pattern: str) -> None:
    assert edited(b"a\\Cb", Edit(old_string=pattern, new_string="-", strategy="regex")) == b"a-b"


@pytest.mark.parametrize(
    ("old", "new", "failure"),
    [
        ("(", "x", InvalidPattern),
        ("a(.)", r"\2", InvalidPattern),
        ("a", r"\g<no>", InvalidPattern),
        ("(a)\\1", "x", InvalidPattern),  # RE2 has no back references: they are what makes a search hang
        ("zzz", "x", NoMatch),
        ("a|b", "x", MultipleMatches),
        ("a", "\udcff", NotEncodable),
    ],
)
def test_regex_that_cannot_be_applied_is_refused_with_the_reason(
    old: str, new: str, failure: type[FileOpsError]
) -> None:
    with pytest.raises(failure):
        edited(b"a b c", Edit(old_string=old, new_string=new, strategy="regex"))


def test_pathological_pattern_takes_linear_time() -> None:
    with pytest.raises(NoMatch):
        edited(b"a" * 100_000, Edit(old_string="(a*)*(a*)*(a+)+b", new_string="", strategy="regex"))


def test_expected_replacements_hold_for_every_strategy() -> None:
    wish = Edit(old_string="[ab]", new_string="x", strategy="regex", expected_replacements=3)
    with pytest.raises(CountMismatch):
        edited(b"a b c", wish)


BLOCK = b"def f():\n    a\n    b\n    return 1\n\ndef g():\n    return 1\n"


def test_block_extends_from_its_first_line_to_the_next_match_of_its_last() -> None:
    wish = Edit(old_string="def f():\n...\n    return 1", new_string="def f(): ...", strategy="block")
    assert edited(BLOCK, wish) == b"def f(): ...\n\ndef g():\n    return 1\n"


def test_block_of_one_line_matches_that_line() -> None:
    wish = Edit(old_string="  def g():", new_string="def h():", strategy="block")
    assert edited(BLOCK, wish) == BLOCK.replace(b"def g():", b"def h():")


@pytest.mark.parametrize(
    ("data", "after"),
    [
        (b"0\nfirst\nmid\nlast\n9\n", b"0\none\n9\n"),
        (b"0\r\nfirst\r\nlast\r\n9\r\n", b"0\r\none\r\n9\r\n"),
        (b"first\nlast\nfirst\nlast\n", b"one\none\n"),
        (b"first\nlast", b"one\n"),  # the last line has no newline to include
    ],
    ids=["lf", "crlf", "neighbours", "end-of-file"],
)
def test_block_includes_the_newline_of_its_last_line_if_the_old_string_has_it(data: bytes, after: bytes) -> None:
    wish = Edit(old_string="first\n...\nlast\n", new_string="one\n", strategy="block", replace_all=True)
    assert edited(data, wish) == after


@pytest.mark.parametrize(
    ("strategy", "old", "new"),
    [
        ("regex", "(?s)(.+)", r"\1" * 100),
        ("regex", "(?s)((.+))", r"\1\2" * 50),
        ("regex", "a", "x" * 100),
        ("exact", "a", "x" * 100),
    ],
)
def test_edit_that_makes_the_file_much_larger_is_refused(strategy: str, old: str, new: str) -> None:
    many = 90_000 if strategy == "regex" and old == "a" else 1_000_000
    data = b"a" * many + b"b" * (1_000_000 - many)
    factor = 1 if many == 1_000_000 else 10
    with pytest.raises(StrategyFailed) as refused:
        core_edit.resolve(
            Text(data=data, format=TextFormat()),
            Edit(old_string=old, new_string=new * factor, replace_all=True, strategy=strategy),
        )
    assert refused.value.reason == "the file would grow by more than 64 MiB"


def test_several_edits_that_together_make_the_file_much_larger_are_refused() -> None:
    snapshot = snapshot_of(b"a" * 20_000_000)
    edits = [Edit(old_string="a" * 1000, new_string="a" * 2000, replace_all=True)] * 10
    with pytest.raises(StrategyFailed) as refused:
        core_edit.plan(snapshot, TextFormat(), edits, limits=Limits())
    assert refused.value.edit_index == 2


def test_edits_that_replace_very_many_places_together_are_refused() -> None:
    edits = [Edit(old_string=old, new_string=new, replace_all=True) for old, new in [("a", "b"), ("b", "a")] * 3]
    with pytest.raises(StrategyFailed) as refused:
        core_edit.plan(snapshot_of(b"a" * 1_200_000), TextFormat(), edits, limits=Limits())
    assert (refused.value.edit_index, refused.value.reason) == (4, "over 5,000,000 places would be replaced")


def test_block_keeps_the_line_endings() -> None:
    wish = Edit(old_string="a\nb", new_string="1\n2", strategy="block")
    assert edited(b"a\r\nx\r\nb\r\nc\r\n", wish) == b"1\r\n2\r\nc\r\n"


@pytest.mark.parametrize(("old", "failure"), [("def f():\nnowhere", NoMatch), ("return 1", MultipleMatches)])
def test_block_without_a_unique_match_is_refused(old: str, failure: type[FileOpsError]) -> None:
    with pytest.raises(failure):
        edited(BLOCK, Edit(old_string=old, new_string="x", strategy="block"))


Found = Iterable[tuple[int, int, str]]


def raising(_text: str, _old: str, _new: str) -> Found:
    raise RuntimeError("broken")


def exiting(_text: str, _old: str, _new: str) -> Found:
    sys.exit("no")


def endless(_text: str, _old: str, _new: str) -> Found:
    return itertools.repeat((0, 0, "x"))


def answering(found: object) -> Callable[[str, str, str], Found]:
    def plugin(_text: str, _old: str, _new: str) -> Found:
        return cast("Found", found)

    return plugin


@pytest.mark.parametrize(
    "plugin",
    [
        raising,
        exiting,
        endless,
        answering([(0, 2, "x"), (1, 3, "y")]),
        answering([(0, 10_000, "x")]),
        answering([(-1, 1, "x")]),
        answering(None),
        answering(["abc"]),
    ],
)
def test_faulty_plugin_fails_the_edit(plugin: Callable[[str, str, str], Found]) -> None:
    strategy = strategies.plugin_strategy("faulty", lambda: plugin)
    text = Text(data=b"abcdef", format=detect_format(b"abcdef"))
    with pytest.raises(StrategyFailed):
        strategy.resolve(text, Edit(old_string="x", new_string="y", strategy="faulty"))


def test_plugin_receives_characters_and_lf() -> None:
    def shout(text: str, old: str, new: str) -> Found:
        at = text.index(old)
        return [(at, at + len(old), old.upper() + new)]

    strategy = strategies.plugin_strategy("shout", lambda: shout)
    data = "\u00e9\r\nzwei\r\n".encode() + b"\xff"
    step = strategy.resolve(
        Text(data=data, format=detect_format(data)), Edit(old_string="zwei\n", new_string="!\n", strategy="shout")
    )
    assert splices.apply(data, step.splices) == "\u00e9\r\nZWEI\r\n!\r\n".encode() + b"\xff"
    assert step.match_lines == (2,)


def test_plugin_sees_a_lone_surrogate_of_utf16_as_one_character() -> None:
    def behind_each(text: str, _old: str, new: str) -> Found:
        return [(at, at, new) for at in range(1, len(text) + 1)]

    strategy = strategies.plugin_strategy("behind_each", lambda: behind_each)
    data = "\ufeffa\ud800b".encode("utf-16-le", "surrogatepass")
    wish = Edit(old_string="x", new_string="-", strategy="behind_each", replace_all=True)
    step = strategy.resolve(Text(data=data, format=detect_format(data)), wish)
    assert splices.apply(data, step.splices) == "\ufeffa-\ud800-b-".encode("utf-16-le", "surrogatepass")
