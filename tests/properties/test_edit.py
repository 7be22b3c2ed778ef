"""Edits on bytes against the same edits on decoded text, over encodings, line ends, BOMs and final newlines."""

import itertools

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fileops.core import splices as splicing
from fileops.core.plan import execute, plan, valid
from fileops.model.edits import Edit
from fileops.model.errors import MultipleMatches, NoChange, NoMatch
from fileops.model.files import TextFormat
from support.core_models import FORMATS, LIMITS, awkward_texts, formats, model_edit, model_spans, snapshot_of, text_of


@given(awkward_texts, st.data(), awkward_texts, formats)
def test_replace_all_matches_that_of_the_decoded_text(
    content: str, data: st.DataObject, new: str, fmt: TextFormat
) -> None:
    assume(content)
    start = data.draw(st.integers(0, len(content) - 1))
    old = content[start : data.draw(st.integers(start + 1, len(content)))]
    assume(not (old.endswith("\r") and content[start + len(old) :].startswith("\n")))
    assume(not (old.startswith("\n") and content[:start].endswith("\r")))
    assume(old != new)
    expected = model_edit(content, old, new, fmt)
    assume(expected is not None)
    text = text_of(content, fmt)
    if expected == content:
        assert isinstance(valid(text, old, new, True), NoChange)
        return
    assert valid(text, old, new, True) is None
    assert execute(text, old, new, True).data == fmt.bom + str(expected).encode(fmt.encoding)


@pytest.mark.parametrize("fmt", FORMATS, ids=lambda fmt: f"{fmt.encoding}{'-bom' * bool(fmt.bom)}")
def test_every_small_text_is_edited_like_its_decoded_text(fmt: TextFormat) -> None:
    """Encodings × line ends × BOM × final newline, exhaustively for texts of up to four pieces."""
    for n_pieces in range(5):
        for pieces in itertools.product(["a", "\n", "\r\n", "\r"], repeat=n_pieces):
            content = "".join(pieces)
            text = text_of(content, fmt)
            for old, new in [("a", "b\nc"), ("\n", ""), ("a\n", "a\n\n"), ("\na", "a"), ("\r", "x")]:
                spans, n_positions = model_spans(content, old, fmt)
                failure = valid(text, old, new, False)
                if not spans:
                    assert isinstance(failure, NoMatch)
                elif n_positions > 1:
                    assert isinstance(failure, MultipleMatches)
                expected = model_edit(content, old, new, fmt)
                if spans and expected is not None:
                    result = execute(text, old, new, True)
                    assert result.data == fmt.bom + expected.encode(fmt.encoding), (content, old, new)


@given(st.binary(max_size=40), st.sampled_from("ab\n\x00é"), st.text(alphabet="ab\n\r", max_size=4), formats)
def test_bytes_outside_the_matches_never_change(content: bytes, old: str, new: str, fmt: TextFormat) -> None:
    assume(old != new)
    snapshot = snapshot_of(fmt.bom + content)
    try:
        planned = plan(snapshot, fmt, [Edit(old_string=old, new_string=new, replace_all=True)], limits=LIMITS)
    except (NoMatch, NoChange):
        return
    data = snapshot.data
    splicing.validate(planned.splices, len(data))
    for splice in planned.splices:
        replaced = data[splice.start : splice.end].decode(fmt.encoding)
        assert replaced.replace("\r\n", "\n") == old
        assert splice.start >= len(fmt.bom)


@given(
    awkward_texts,
    st.lists(st.tuples(st.sampled_from("ab \n\ré"), awkward_texts), min_size=1, max_size=5),
    formats,
)
def test_multi_edit_equals_its_edits_one_by_one(content: str, wishes: list[tuple[str, str]], fmt: TextFormat) -> None:
    edits = [Edit(old_string=old, new_string=new, replace_all=True) for old, new in wishes]
    content += "ab"
    text = text_of(content, fmt)
    applied: list[Edit] = []
    for edit in edits:
        if valid(text, edit.old_string, edit.new_string, True) is None:
            text = execute(text, edit.old_string, edit.new_string, True)
            applied.append(edit)
    assume(applied)
    snapshot = snapshot_of(text_of(content, fmt).data)
    planned = plan(snapshot, fmt, applied, limits=LIMITS, is_multi=True)
    splicing.validate(planned.splices, len(snapshot.data))
    assert splicing.apply(snapshot.data, planned.splices) == text.data
    assert (planned.change.unified == "") == (snapshot.data == text.data)
    assert planned.change.exact == (fmt.encoding == "utf-8")


@settings(max_examples=20)
@given(st.integers(1025, 3000), st.sampled_from(["x", "x\n", ""]), st.integers(0, 2), st.sampled_from(["\n", "\r\n"]))
def test_very_many_matches_change_the_same_bytes(n: int, new: str, n_between: int, newline: str) -> None:
    content = ("needle" + newline + "between" * n_between + newline) * n
    snapshot = snapshot_of(content.encode())
    edit = Edit(old_string="needle", new_string=new, replace_all=True)
    planned = plan(snapshot, TextFormat(), [edit], limits=LIMITS)
    assert planned.n_replacements == (n,)
    assert len(planned.splices) < 100
    expected = content.replace("needle", new.replace("\n", newline)).encode()
    assert splicing.apply(snapshot.data, planned.splices) == expected
