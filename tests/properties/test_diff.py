"""Diff, hunks and snippet, derived from splices, against the texts before and after."""

import difflib
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fileops.core.diff.unified import change_of, diff_name
from fileops.core.splices import apply
from fileops.core.text import detect_format
from fileops.model.edits import Change, Splice
from support.core_models import LIMITS, awkward_characters, model_lines, model_shown, patched, splices_over

lines = st.sampled_from(["", "a", "b", "c", "++ x", "-- y", "@@ -1 +1 @@", "\\ z", "\r", "a\r", "é", "\f\u2028", "}"])
texts = st.tuples(st.lists(lines, max_size=30).map("\n".join), st.sampled_from(["", "\n", "\r\n"])).map("".join)
pieces = st.lists(awkward_characters | lines | st.just("\n"), max_size=6).map("".join)


@st.composite
def _text_and_splices(draw: st.DrawFn) -> tuple[bytes, list[Splice]]:
    """Splices on character boundaries, behind the BOM where there is one."""
    bom, text = draw(st.sampled_from(["", "\ufeff"])), draw(texts)
    offsets = [len((bom + text[:index]).encode()) for index in range(len(text) + 1)]
    over_characters = draw(splices_over(len(text), pieces=pieces.map(str.encode)))
    return (bom + text).encode(), [Splice(offsets[s.start], offsets[s.end], s.new) for s in over_characters]


def _change(data: bytes, splices: list[Splice], max_diff_bytes: int = 1_000_000) -> Change:
    return change_of(
        data,
        detect_format(data),
        splices,
        file_path="/w/f",
        operation="modify",
        limits=LIMITS,
        max_diff_bytes=max_diff_bytes,
    )


@given(_text_and_splices())
def test_patch_of_the_old_text_is_the_new_text(case: tuple[bytes, list[Splice]]) -> None:
    data, splices = case
    new = apply(data, splices)
    change = _change(data, splices)
    assert change.exact
    assert not change.truncated
    assert patched(data.decode(), change.unified) == new.decode()
    assert (change.unified == "") == (data == new)


@given(_text_and_splices())
def test_hunks_counts_and_snippet_agree_with_the_texts(case: tuple[bytes, list[Splice]]) -> None:
    data, splices = case
    new = model_lines(apply(data, splices).decode())
    change = _change(data, splices)
    kinds = [line.kind for hunk in change.hunks for line in hunk.lines]
    assert (change.n_added, change.n_removed) == (kinds.count("+"), kinds.count("-"))
    numbers = [n for hunk in change.hunks for n in range(hunk.new_start, hunk.new_start + hunk.new_lines)]
    shown = [model_shown(new[n - 1].removeprefix("\ufeff") if n == 1 else new[n - 1]) for n in numbers]
    expected = [f"{n:>6}→{line}" for n, line in zip(numbers, shown, strict=True)]
    assert change.snippet == "\n".join(expected)
    for before, after in zip(change.hunks, change.hunks[1:], strict=False):
        assert after.old_start > before.old_start + before.old_lines
    for hunk in change.hunks:
        edges = "".join(line.kind for line in hunk.lines)
        assert len(edges) - len(edges.lstrip(" ")) <= 3
        assert len(edges) - len(edges.rstrip(" ")) <= 3
        assert " " * 7 not in edges
    assert len({hunk.id for hunk in change.hunks}) == len(change.hunks)
    assert 1 <= change.first_changed_line <= max(1, len(new))


@given(_text_and_splices())
def test_diff_is_hardly_longer_than_that_of_whole_files(case: tuple[bytes, list[Splice]]) -> None:
    data, splices = case
    old, new = data.decode().split("\n"), apply(data, splices).decode().split("\n")
    n_whole = sum(line[0] in "+-" for line in difflib.ndiff(old, new) if line)
    change = _change(data, splices)
    n_touched = sum(s.new.count(b"\n") + data.count(b"\n", s.start, s.end) + 2 for s in splices)
    assert change.n_added + change.n_removed <= n_whole + 2 * n_touched


@given(_text_and_splices(), st.integers(0, 200))
def test_cut_diff_is_well_formed_and_counts_everything(case: tuple[bytes, list[Splice]], max_diff_bytes: int) -> None:
    data, splices = case
    whole, cut = _change(data, splices), _change(data, splices, max_diff_bytes)
    assert (cut.n_added, cut.n_removed, cut.first_changed_line) == (
        whole.n_added, whole.n_removed, whole.first_changed_line,
    )  # fmt: skip
    assert cut.truncated or cut.unified == whole.unified
    if cut.truncated:
        patched(data.decode(), cut.unified)
        assert sum(len(line.text.encode()) + 1 for hunk in cut.hunks for line in hunk.lines) <= max_diff_bytes
    if len(splices) == 1:
        assert cut.snippet == whole.snippet


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_text_and_splices())
def test_gnu_patch_applies_the_diff(tmp_path: Path, case: tuple[bytes, list[Splice]]) -> None:
    data, splices = case
    new = apply(data, splices)
    if new in (data, b""):
        return
    old_file = tmp_path / "old"
    old_file.write_bytes(data)
    out = tmp_path / "new"
    out.unlink(missing_ok=True)
    subprocess.run(
        ["patch", "-s", "-o", str(out), str(old_file)], input=_change(data, splices).unified.encode(), check=True
    )
    assert out.read_bytes() == new


@given(
    st.lists(st.tuples(lines, st.booleans()), min_size=70, max_size=110),
    st.sampled_from(["", "Z", "Z\n", "Z\r\n"]),
    st.integers(0, 900),
)
def test_changes_in_very_many_places_are_diffed_like_few(
    rows: list[tuple[str, bool]], new: str, max_diff_bytes: int
) -> None:
    """More splices than are searched for their smallest difference."""
    text = "".join(f"{line}{'needle' * has}\n" for line, has in [*rows, *[("x", True)] * 65]).encode()
    splices = [Splice(hit.start(), hit.end(), new.encode()) for hit in re.finditer(b"needle", text)]
    change = _change(text, splices)
    result = apply(text, splices)
    assert patched(text.decode(), change.unified) == result.decode()
    kinds = [line.kind for hunk in change.hunks for line in hunk.lines]
    assert (change.n_added, change.n_removed) == (kinds.count("+"), kinds.count("-"))
    numbers = [n for hunk in change.hunks for n in range(hunk.new_start, hunk.new_start + hunk.new_lines)]
    shown = model_lines(result.decode())
    assert change.snippet == "\n".join(f"{n:>6}→{shown[n - 1]}" for n in numbers)
    quiet = change_of(
        text, detect_format(text), splices, file_path="/w/f", operation="modify", limits=LIMITS, with_snippet=False
    )
    assert (quiet.unified, quiet.n_added, quiet.snippet) == (change.unified, change.n_added, "")
    cut = _change(text, splices, max_diff_bytes)
    assert cut.truncated
    assert (cut.n_added, cut.n_removed) == (change.n_added, change.n_removed)
    patched(text.decode(), cut.unified)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/w/a b", "/w/a b\t"),
        ("/w/é", "/w/é"),
        ('/w/"', '"/w/\\042"'),
        ("/w/a\nb", '"/w/a\\012b"'),
        ("/w/\udcff", '"/w/\\377"'),
        ("/w/\ud800", '"/w/\\355\\240\\200"'),
    ],
)
def test_name_in_the_diff_is_quoted_as_by_git(path: str, name: str) -> None:
    assert diff_name(path) == name


@pytest.mark.parametrize(
    ("data", "exact"), [(b"a\xff\nb\n", False), ("\ufffda\nb\n".encode(), True), (b"b\nb\n" * 9 + b"\xff", True)]
)
def test_characters_that_json_cannot_carry_are_shown_and_the_diff_is_not_exact(data: bytes, exact: bool) -> None:
    start = data.index(b"b")
    change = _change(data, [Splice(start, start + 1, b"c")])
    assert change.exact == exact
    change.unified.encode()


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ("na\xefve \xe9\n".encode("latin-1"), " na\xefve \xe9\n"),
        (b"\x80 \x81 \xc3\xa9 \xc3\n", " \u20ac \x81 \xe9 \xc3\n"),
        (b"\xed\xb3\xa9 named\n", " \ufffd named\n"),
    ],
    ids=["Latin-1", "mixed", "escaped"],
)
def test_bytes_that_are_not_utf_8_are_shown_as_letters(data: bytes, shown: str) -> None:
    data += b"b\n"
    start = data.index(b"b\n")
    change = _change(data, [Splice(start, start + 1, b"c")])
    assert change.unified.splitlines(keepends=True)[3] == shown
    assert change.hunks[0].lines[0].text + "\n" == shown[1:]


def test_utf_16_diff_is_readable_and_not_exact() -> None:
    data = "\ufeffa\r\nb".encode("utf-16-le")
    change = _change(data, [Splice(8, 10, "c".encode("utf-16-le"))])
    assert not change.exact
    assert change.unified.endswith("-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n")
    assert change.snippet == "     1→a\n     2→c"


def test_long_line_of_a_diff_is_cut_and_marked() -> None:
    change = _change(b"x" * 2001 + b"\ny\n", [Splice(2002, 2003, b"z")])
    assert change.truncated
    assert change.hunks[0].lines[0].text == "x" * 2000 + "... (more 1 characters in this line are truncated)"


def test_first_changed_line_of_a_deletion_at_the_end_is_the_last_line() -> None:
    assert _change(b"a\nb\nc\n", [Splice(4, 6, b"")]).first_changed_line == 2
    assert _change(b"a\n", [Splice(0, 2, b"")]).first_changed_line == 1
    assert _change(b"a\nb\n", [Splice(0, 2, b"")]).first_changed_line == 1


def test_hunk_of_one_changed_line_says_where_it_is_after_earlier_lines_were_added() -> None:
    data = b"".join(b"%d\n" % n for n in range(40))
    splices = [Splice(0, 0, b"new\nnewer\n"), Splice(len(data) - 2, len(data) - 1, b"x")]

    first, last = _change(data, splices).hunks

    assert (first.old_start, first.new_start) == (1, 1)
    assert (last.old_start, last.new_start) == (37, 39)
