"""Diff, hunks and snippet, derived from splices, against the texts before and after."""

import difflib
import subprocess
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core_models import LIMITS, awkward_characters, model_lines, model_shown, patched, splices_over
from fileops.core.diff import change_of
from fileops.core.splices import apply
from fileops.core.text import detect_format
from fileops.model import Change, Splice

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
def test_a_patched_old_text_is_the_new_one(case: tuple[bytes, list[Splice]]) -> None:
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
def test_the_diff_is_hardly_longer_than_that_of_whole_files(case: tuple[bytes, list[Splice]]) -> None:
    data, splices = case
    old, new = data.decode().split("\n"), apply(data, splices).decode().split("\n")
    n_whole = sum(line[0] in "+-" for line in difflib.ndiff(old, new) if line)
    change = _change(data, splices)
    n_touched = sum(s.new.count(b"\n") + data.count(b"\n", s.start, s.end) + 2 for s in splices)
    assert change.n_added + change.n_removed <= n_whole + 2 * n_touched


@given(_text_and_splices(), st.integers(0, 200))
def test_a_cut_diff_is_well_formed_and_counts_everything(case: tuple[bytes, list[Splice]], max_diff_bytes: int) -> None:
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
