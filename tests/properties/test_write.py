"""A whole new text over a file's bytes: the text is what was asked for, and what did not change keeps its bytes."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fileops.core import whole_text
from fileops.core.plan import plan_write
from fileops.core.splices import apply
from fileops.core.text import detect_format, to_lf
from fileops.core.windows.raw import RawReader
from fileops.model.files import TextFormat
from support.core_models import LIMITS, awkward_texts, formats, missing_snapshot, snapshot_of, text_of


def raw_text(data: bytes, fmt: TextFormat, *, chunk_bytes: int = 7) -> str:
    reader = RawReader(offset=None, limit=None, max_kb=256, fmt=fmt)
    for at in range(0, len(data), chunk_bytes):
        reader.feed(data[at : at + chunk_bytes])
    return reader.finish().text


@given(awkward_texts, awkward_texts, formats)
def test_written_text_is_read_back(before: str, content: str, fmt: TextFormat) -> None:
    data = text_of(before, fmt).data
    assume(detect_format(data) == fmt)
    after = apply(data, plan_write(snapshot_of(data), fmt, content, limits=LIMITS).splices)
    assert after.startswith(fmt.bom)
    assert to_lf(raw_text(after, fmt)) == to_lf(content)


@given(awkward_texts, awkward_texts, formats)
def test_write_of_very_many_lines_leads_to_the_same_text(before: str, content: str, fmt: TextFormat) -> None:
    data = text_of(before, fmt).data
    assume(detect_format(data) == fmt)
    compared = apply(data, plan_write(snapshot_of(data), fmt, content, limits=LIMITS).splices)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(whole_text, "MAX_COMPARED_LINES", 0)
        splices = plan_write(snapshot_of(data), fmt, content, limits=LIMITS).splices
    assert apply(data, splices) == compared


@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1), st.integers(0, 99), st.sampled_from(["\n", "\r\n"]))
def test_write_of_very_many_lines_splices_from_the_first_changed_line_to_the_last(
    lines: list[str], at: int, end: str
) -> None:
    old = "".join(line + end for line in lines)
    new = [*lines[: at % len(lines)], "new", *lines[at % len(lines) + 1 :]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(whole_text, "MAX_COMPARED_LINES", 0)
        plan = plan_write(snapshot_of(old.encode()), TextFormat(), "".join(f"{line}\n" for line in new), limits=LIMITS)
    (splice,) = plan.splices
    assert splice.new.decode() == f"new{end}"


@given(st.lists(st.binary(max_size=8).filter(lambda line: b"\n" not in line), max_size=6), st.data())
def test_unchanged_lines_of_a_write_keep_their_bytes(lines: list[bytes], draw: st.DataObject) -> None:
    """Bytes of any kind, some of them not UTF-8, with mixed line ends: one line is replaced, none other changes."""
    assume(not b"\n".join(lines).startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")))
    ends = draw.draw(st.lists(st.sampled_from([b"\n", b"\r\n"]), min_size=len(lines), max_size=len(lines)))
    data = b"".join(line + end for line, end in zip(lines, ends, strict=True))
    fmt = TextFormat()
    shown = raw_text(data, fmt)
    assert apply(data, plan_write(snapshot_of(data), fmt, shown, limits=LIMITS).splices) == data
    content = shown + "added\n"
    assert apply(data, plan_write(snapshot_of(data), fmt, content, limits=LIMITS).splices).startswith(data)


@given(awkward_texts)
def test_write_of_a_missing_file_keeps_the_text_as_given(content: str) -> None:
    plan = plan_write(missing_snapshot(), TextFormat(), content, limits=LIMITS)
    assert plan.creates
    assert apply(b"", plan.splices) == content.encode()


@given(awkward_texts, formats, st.integers(1, 6), st.integers(1, 4), st.integers(1, 9))
def test_raw_lines_match_the_text(content: str, fmt: TextFormat, offset: int, limit: int, size: int) -> None:
    data = text_of(content, fmt).data
    assume(detect_format(data) == fmt)
    reader = RawReader(offset=offset, limit=limit, max_kb=256, fmt=fmt)
    for at in range(0, len(data), size):
        reader.feed(data[at : at + size])
    window = reader.finish()
    lines = content.split("\n")
    lines = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    assert window.text == "".join(lines[offset - 1 :][:limit])
    assert window.is_whole == (offset == 1 and limit >= len(lines))
    if window.at_end:
        assert window.total_lines == len(lines)
