"""Patches of random texts lead to the new text or are refused, and no text makes the parser fail in another way."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from fileops.core import splices as splicing
from fileops.core.patch.hunks import plan_hunks
from fileops.core.patch.parser import parse_patch
from fileops.model.edits import PatchHunk
from fileops.model.errors import HunkAmbiguous, HunkNotFound, InvalidPatch
from fileops.model.files import TextFormat
from support.core_models import LIMITS, formats, snapshot_of
from support.patches import dialect_of, unified_of

_lines = st.lists(st.sampled_from(["a", "b", "c", "  a", "", "ਊ", "-x", "+x", "@@ y", "*** End of File"]), max_size=9)
_ends = st.sampled_from(["\n", "\r\n"])


@st.composite
def _old_and_new(draw: st.DrawFn) -> tuple[str, str]:
    """Two texts that have most lines in common, with one kind of line end, and with a last newline or without."""
    old, end = draw(_lines), draw(_ends)
    new = list(old)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(new)))
        new[at : at + draw(st.integers(0, 2))] = draw(st.lists(st.sampled_from(["a", "b", "z", ""]), max_size=2))
    return _text(draw, old, end), _text(draw, new, end)


def _text(draw: st.DrawFn, lines: list[str], end: str) -> str:
    text = end.join((*lines, "")) if lines else ""
    return text.removesuffix(end) if lines and lines[-1] and draw(st.integers(0, 3)) == 0 else text


def _applied(old: str, fmt: TextFormat, hunks: Sequence[PatchHunk]) -> str:
    data = fmt.bom + old.encode(fmt.encoding)
    plan = plan_hunks(snapshot_of(data), fmt, hunks, limits=LIMITS)
    for first, second in pairwise(plan.splices):
        assert first.end <= second.start
    return splicing.apply(data, plan.splices)[len(fmt.bom) :].decode(fmt.encoding)


@given(_old_and_new(), formats, st.integers(1, 4))
@example(("a\nb", "a\nb\n"), TextFormat(), 1)
@example(("", "a"), TextFormat(), 1)
def test_diff_leads_to_the_new_text(case: tuple[str, str], fmt: TextFormat, n_context: int) -> None:
    old, new = case
    if old == new or not old:
        return
    (file,) = parse_patch(unified_of("f", old, new, n_context=n_context)).files
    assert _applied(old, fmt, file.hunks) == new


@given(_old_and_new(), formats, st.integers(1, 4))
def test_patch_in_the_dialect_leads_to_the_new_text_or_is_refused(
    case: tuple[str, str], fmt: TextFormat, n_context: int
) -> None:
    old, new = case
    body = dialect_of("f", old, new, n_context=n_context)
    if body is None:
        return
    (file,) = parse_patch(f"*** Begin Patch\n{body}*** End Patch\n").files
    try:
        result = _applied(old, fmt, file.hunks)
    except HunkAmbiguous as refusal:
        hunk = file.hunks[refusal.edit_index]
        assert len(_places(old, hunk)) >= refusal.n_matches > 1
    else:
        has_place = all(any(line.kind != "+" for line in hunk.lines) for hunk in file.hunks)
        assert not has_place or result == new


def _places(old: str, hunk: PatchHunk) -> list[int]:
    lines = [line.removesuffix("\r").rstrip(" \t") for line in old.split("\n")]
    wanted = [line.removesuffix("\r").rstrip(" \t") for line in hunk.old_lines]
    return [at for at in range(len(lines)) if lines[at : at + len(wanted)] == wanted]


_texts = st.lists(
    st.sampled_from([
        "*** Begin Patch", "*** End Patch", "*** Add File: a", "*** Update File: a", "*** Delete File: a",
        "*** Move to: b", "*** End of File", "@@", "@@ x", "@@ -1 +1 @@", "@@ -0,0 +1,2 @@", "diff --git a/x b/x",
        "--- a/x", "+++ b/x", "--- /dev/null", "rename from x", "rename to y", "new file mode 100755", "-- ", "\\ No",
        "old mode 100644", "new mode 100755", "index 1..2 100644", '--- "a/\\1', " x", "-x", "+x", "", "x", "\r", "\0",
    ]),
    max_size=12,
).map("\n".join) | st.text()  # fmt: skip


@given(_texts, st.binary(max_size=30))
def test_patch_of_arbitrary_text_is_planned_or_refused(text: str, data: bytes) -> None:
    try:
        patch = parse_patch(text)
    except InvalidPatch as refusal:
        assert 1 <= refusal.line <= max(1, text.count("\n") + 1)
        return
    assert patch.files
    for file in patch.files:
        assert file.path
        try:
            plan = plan_hunks(snapshot_of(data), TextFormat(), file.hunks, limits=LIMITS)
        except (InvalidPatch, HunkNotFound, HunkAmbiguous):
            continue
        splicing.validate(plan.splices, len(data))
