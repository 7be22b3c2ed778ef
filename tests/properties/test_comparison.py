"""Splices between two contents that were compared: what the merge and the story may take from one comparison."""

from hypothesis import given, settings
from hypothesis import strategies as st

from fileops.core.diff.contents import is_in_line, splices_between
from fileops.core.merge.rebase import minimal
from fileops.core.splices import invert
from fileops.core.text import detect_format

PARTS = (b"a", b"foo", b"\xc3\xa9", b" ", b"  ", b"\t", b"(", b"=", b"\n", b"\n", b"\r\n")
part_lists = st.lists(st.sampled_from(PARTS), max_size=12).map(b"".join)


@settings(max_examples=300)
@given(part_lists, part_lists, part_lists, part_lists, st.sampled_from((b"", b"word " * 900)), st.booleans())
def test_comparison_that_finds_one_place_finds_it_in_both_directions(
    head: bytes, old: bytes, new: bytes, tail: bytes, long: bytes, is_wide: bool
) -> None:
    """And in a line that is compared by word, it has no more than the words that differ."""
    before, after = head + long + old + tail, head + long + new + tail
    if is_wide:
        before, after = before.decode().encode("utf-16"), after.decode().encode("utf-16")
    fmt = detect_format(after)
    back = splices_between(after, before, fmt)
    if len(back) != 1 or detect_format(before) != fmt:
        return
    assert splices_between(before, after, fmt) == invert(after, back)
    if is_in_line(back[0], after, fmt):
        assert minimal(back, after, fmt) == back
