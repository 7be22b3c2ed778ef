"""Edits: what each rule of line ends, uniqueness, creation and sequence says, by example."""

import pytest

from fileops.core.plan import execute, plan, valid
from fileops.core.splices import apply
from fileops.core.text import detect_format
from fileops.model import errors
from fileops.model.edits import Edit, Plan
from fileops.model.errors import FileOpsError
from fileops.model.files import Text, TextFormat
from support.core_models import FORMATS, LIMITS, missing_snapshot, snapshot_of, text_of

UTF8 = TextFormat()


def _edit(old: str, new: str, *, replace_all: bool = False, expected: int | None = None) -> Edit:
    return Edit(old_string=old, new_string=new, replace_all=replace_all, expected_replacements=expected)


def _plan(data: bytes, *edits: Edit, is_multi: bool | None = None, fill_empty: bool = False) -> Plan:
    return plan(snapshot_of(data), UTF8, edits, limits=LIMITS, is_multi=is_multi, fill_empty=fill_empty)


def _result(planned: Plan) -> bytes:
    return apply(planned.snapshot.data, planned.splices)


@pytest.mark.parametrize(
    ("content", "old", "new", "result"),
    [
        # in a match with one kind of line end, that kind
        (b"a\r\nb\r\nc\n", "a\nb", "A\nX\nB", b"A\r\nX\r\nB\r\nc\n"),
        (b"a\nb\nc\r\n", "a\nb", "A\r\nX\r\nB", b"A\nX\nB\nc\r\n"),
        # in a mixed match unchanged lines keep theirs, new lines take the one before
        (b"a\r\nb\nc\r\n", "a\nb\nc\n", "a\nX\nb\nY\nc\n", b"a\r\nX\r\nb\nY\nc\r\n"),
        (b"p\na\r\nb\nc\r\n", "a\nb\nc\n", "X\na\nb\nc\n", b"p\nX\na\r\nb\nc\r\n"),
        (b"a\r\nb\nc\r\n", "a\nb\nc\n", "a\nc\n", b"a\r\nc\r\n"),
        # in a match without a line end, that line's own, else the line before's, else as given
        (b"a\r\nb\n", "a", "x\ny", b"x\r\ny\r\nb\n"),
        (b"a\r\nb", "b", "x\ny", b"a\r\nx\r\ny"),
        (b"a\nb", "b", "x\r\ny", b"a\nx\ny"),
        (b"ab", "b", "x\r\ny", b"ax\r\ny"),
        # a carriage return alone is content and no line end
        (b"a\rb", "b", "x\ny", b"a\rx\ny"),
        (b"a\rb\r\n", "a\rb", "c\rd", b"c\rd\r\n"),
        (b"x\n", "x", "x\r", b"x\r\n"),
        # literal, untrimmed, nothing forced, nothing eaten
        (b"price\n", "price", r"$1 \1 & \n", b"$1 \\1 & \\n\n"),
        (b"a.c\nabc\n", "a.c", "x", b"x\nabc\n"),
        (b"a\nb\nc\n", "b", "", b"a\n\nc\n"),
        (b"a\nb\n", "b\n", "b", b"a\nb"),
        (b"a", "a", " a \n", b" a \n"),
        # what is not text stays as it is
        (b"\xff\xfe-a\x80\n", "a", "b", b"\xff\xfe-b\x80\n"),
        # U+2028 and form feed are content
        ("a\u2028b\fc\n".encode(), "b\fc", "d", "a\u2028d\n".encode()),
    ],
)
def test_edit_gives_the_expected_bytes(content: bytes, old: str, new: str, result: bytes) -> None:
    assert _result(_plan(content, _edit(old, new))) == result
    assert execute(Text(data=content, format=UTF8), old, new, False).data == result
    assert valid(Text(data=content, format=UTF8), old, new, False) is None


@pytest.mark.parametrize(
    ("content", "edit", "failure"),
    [
        (b"a\r\nb", _edit("a\r", "x"), errors.NoMatch),
        (b"a\r\nb", _edit("\n", "x"), None),
        (b"a", _edit("b", "x"), errors.NoMatch),
        (b"a", _edit("b", "b"), errors.NoChange),
        (b"a", _edit("", "b"), errors.AlreadyExists),
        (b"a", _edit("", ""), errors.AlreadyExists),
        (b"", _edit("", "b"), errors.AlreadyExists),
        (b"a\n", _edit("a\n", "a\r\n"), errors.NoChange),
        (b"aaa", _edit("aa", "x"), errors.MultipleMatches),
        (b"a", _edit("a", "\udc80"), errors.NotEncodable),
        (b"\x80", _edit("\udc80", "x"), errors.NoMatch),
        (b"\x80", _edit("\ufffd", "x"), errors.NoMatch),
        (b"aa", _edit("a", "x", expected=3), errors.CountMismatch),
        (b"aa", _edit("a", "x", expected=2), None),
        (b"aaa", _edit("aa", "x", expected=1), None),
        (b"b", _edit("a", "x", expected=1), errors.NoMatch),
    ],
)
def test_invalid_edit_is_refused(content: bytes, edit: Edit, failure: type[FileOpsError] | None) -> None:
    if failure is None:
        assert _plan(content, edit).splices
        return
    with pytest.raises(failure):
        _plan(content, edit)


@pytest.mark.parametrize(
    ("old", "new", "replace_all", "failure"),
    [
        ("absent", "x", False, errors.NoMatch),
        ("a", "a", False, errors.NoChange),
        ("", "x", False, errors.AlreadyExists),
        ("a", "x", False, errors.MultipleMatches),
        ("a", "x", True, None),
        ("b", "x", False, None),
    ],
)
def test_valid_returns_the_failure_that_execute_raises(
    old: str, new: str, replace_all: bool, failure: type[FileOpsError] | None
) -> None:
    content = Text(data=b"a b a", format=UTF8)
    if failure is None:
        assert valid(content, old, new, replace_all) is None
        assert execute(content, old, new, replace_all).data == content.data.replace(old.encode(), new.encode())
        return
    assert isinstance(valid(content, old, new, replace_all), failure)
    with pytest.raises(failure):
        execute(content, old, new, replace_all)


def test_uniqueness_counts_every_position() -> None:
    with pytest.raises(errors.MultipleMatches) as refused:
        _plan(b"x\naaa\n", _edit("aa", "b"))
    assert refused.value.n_matches == 2
    assert refused.value.lines == (2, 2)
    with pytest.raises(errors.MultipleMatches) as refused:
        _plan(b"aa\naa\naaa", _edit("aa", "b"))
    assert refused.value.n_matches == 3
    assert refused.value.lines == (1, 2, 3)


def test_plan_reports_the_matches_and_their_lines() -> None:
    planned = _plan(b"a\r\nb\r\na\r\n", _edit("a\n", "x\n", replace_all=True))
    assert planned.matches == ("newline",)
    assert planned.match_lines == ((1, 3),)
    assert planned.n_replacements == (2,)
    assert _plan(b"a\r\n", _edit("a\r\n", "b")).matches == ("exact",)


@pytest.mark.parametrize("fmt", FORMATS)
def test_bom_is_never_part_of_a_match(fmt: TextFormat) -> None:
    text = text_of("a\ufeffa", fmt)
    assert execute(text, "\ufeff", "", True).data == text_of("aa", fmt).data
    assert isinstance(valid(text_of("a", fmt), "\ufeffa", "b", False), errors.NoMatch)


def test_match_across_code_units_is_not_one() -> None:
    fmt = FORMATS[2]
    text = text_of("\u0a00\u0a0a\u000a", fmt)
    assert execute(text, "\n", "x", True).data == text_of("\u0a00\u0a0ax", fmt).data


def test_missing_file_is_created_with_the_bytes_as_given() -> None:
    planned = plan(missing_snapshot(), UTF8, [_edit("", "a\r\n\ufeffb\x01")], limits=LIMITS)
    assert planned.creates
    assert _result(planned) == b"a\r\n\xef\xbb\xbfb\x01"
    assert planned.change.operation == "create"
    assert planned.change.unified.startswith("--- /dev/null\n+++ /w/file.txt\n@@ -0,0 +1,2 @@\n+a\r\n")


def test_empty_file_is_created_with_an_empty_diff() -> None:
    planned = plan(missing_snapshot(), UTF8, [_edit("", "")], limits=LIMITS)
    assert planned.creates
    assert (planned.splices, planned.change.unified, planned.change.hunks) == ((), "", ())


def test_missing_file_is_not_edited() -> None:
    with pytest.raises(errors.FileMissing):
        plan(missing_snapshot(), UTF8, [_edit("a", "b")], limits=LIMITS)


def test_empty_file_is_filled_only_if_allowed() -> None:
    planned = _plan(b"", _edit("", "x\n"), fill_empty=True)
    assert (_result(planned), planned.creates) == (b"x\n", False)
    with pytest.raises(errors.AlreadyExists):
        _plan(b"y", _edit("", "x\n"), fill_empty=True)


def test_later_edit_sees_the_result_of_the_earlier_one() -> None:
    planned = _plan(b"a\nb\n", _edit("a", "one\ntwo"), _edit("two\nb", "c"), _edit("one", "1"))
    assert _result(planned) == b"1\nc\n"
    assert len(planned.splices) == 1
    created = plan(missing_snapshot(), UTF8, [_edit("", "a\nb\n"), _edit("b", "c")], limits=LIMITS)
    assert _result(created) == b"a\nc\n"
    assert created.creates


@pytest.mark.parametrize(
    ("edits", "index", "failure"),
    [
        ([_edit("a", "x"), _edit("a", "y")], 1, errors.NoMatch),
        ([_edit("a", "b"), _edit("b", "y")], 1, errors.MultipleMatches),
        ([_edit("a", "x"), _edit("b", "y"), _edit("", "z")], 2, errors.AlreadyExists),
        ([_edit("", "x"), _edit("a", "y")], 0, errors.AlreadyExists),
        ([_edit("a", "x"), _edit("b", "b")], 1, errors.NoChange),
        ([_edit("a", "x"), _edit("b", "\ud800")], 1, errors.NotEncodable),
    ],
)
def test_failing_step_is_numbered(edits: list[Edit], index: int, failure: type[FileOpsError]) -> None:
    with pytest.raises(failure) as refused:
        _plan(b"a\nb\n", *edits)
    assert getattr(refused.value, "edit_index") == index  # noqa: B009 - on every failure of one edit


def test_sequence_without_net_effect_succeeds_and_one_edit_does_not() -> None:
    planned = _plan(b"a\n", _edit("a", "b"), _edit("b", "a"))
    assert (planned.splices, planned.change.unified) == ((), "")
    assert _plan(b"a\n", _edit("a\n", "a\r\n"), is_multi=True).splices == ()
    with pytest.raises(errors.NoChange) as refused:
        _plan(b"a\n", _edit("a\n", "a\r\n"))
    assert not refused.value.same_strings


@pytest.mark.parametrize(
    ("content", "old", "new", "snippet"),
    [
        (b"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "5", "x\n++ y", "2→2,3→3,4→4,5→x,6→++ y,7→6,8→7,9→8"),
        (b"a\nb", "b", "b\n", "1→a,2→b"),
        (b"a\nb\n", "b\n", "b", "1→a,2→b"),
        (b"a\r\nb\r\n", "a", "x", "1→x,2→b"),
        (b"a\nb\nc\n", "b\n", "", "1→a,2→c"),
        (b"a", "a", "", ""),
        (b"\xef\xbb\xbfa\n", "a", "b", "1→b"),
        (b"a\n", "a", "x" * 2001, "1→" + "x" * 2000 + "... (more 1 characters in this line are truncated)"),
    ],
)
def test_snippet_shows_the_changed_lines(content: bytes, old: str, new: str, snippet: str) -> None:
    fmt = FORMATS[1] if content.startswith(b"\xef\xbb\xbf") else UTF8
    planned = plan(snapshot_of(content), fmt, [_edit(old, new)], limits=LIMITS)
    shown = [line.lstrip(" ") for line in planned.change.snippet.split("\n")]
    assert ",".join(shown) == snippet
    assert all(line[6:7] == "→" for line in planned.change.snippet.split("\n") if line)


def test_snippet_shows_an_incomplete_code_unit_as_a_read_does() -> None:
    data = b"\xff\xfea\0b\0\n"  # UTF-16: the byte of a newline, not a newline
    planned = plan(snapshot_of(data), detect_format(data), [_edit("a", "x")], limits=LIMITS)
    assert planned.change.snippet == "     1→xb\ufffd"


def test_one_long_edit_with_two_small_changes_shows_two_hunks() -> None:
    lines = [f"line {n}" for n in range(200)]
    changed = [*lines[:10], "CHANGED", *lines[11:150], "ADDED", *lines[150:]]
    old, new = "\n".join(lines), "\n".join(changed)
    planned = _plan(old.encode() + b"\n", _edit(old, new))
    assert len(planned.change.hunks) == 2
    assert (planned.change.n_added, planned.change.n_removed) == (2, 1)
    assert planned.change.first_changed_line == 11
    assert planned.change.snippet.count("\n") == 13


def test_replacing_all_with_one_match_counts_one() -> None:
    assert _plan(b"a", _edit("a", "b", replace_all=True)).n_replacements == (1,)
