"""Laws of splices."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fileops.core import splices as splicing
from fileops.model.edits import Splice
from support.core_models import splices_over


@st.composite
def _content_and_splices(draw: st.DrawFn) -> tuple[bytes, list[Splice]]:
    data = draw(st.binary(max_size=30))
    return data, draw(splices_over(len(data)))


@st.composite
def _content_and_two(draw: st.DrawFn) -> tuple[bytes, list[Splice], list[Splice]]:
    data, first = draw(_content_and_splices())
    middle = splicing.apply(data, first)
    return data, first, draw(splices_over(len(middle)))


@given(_content_and_splices())
def test_apply_matches_the_model(case: tuple[bytes, list[Splice]]) -> None:
    data, splices = case
    expected = data
    for splice in reversed(splices):
        expected = expected[: splice.start] + splice.new + expected[splice.end :]
    assert splicing.apply(data, splices) == expected
    assert len(expected) - len(data) == splicing.growth(splices)
    assert all(splicing.parts(data, splices))


@given(_content_and_two())
def test_composed_splices_have_the_effect_of_both(case: tuple[bytes, list[Splice], list[Splice]]) -> None:
    data, first, second = case
    composed = splicing.compose(first, second)
    splicing.validate(composed, len(data))
    assert splicing.apply(data, composed) == splicing.apply(splicing.apply(data, first), second)


@given(_content_and_splices())
def test_inverted_splices_undo(case: tuple[bytes, list[Splice]]) -> None:
    data, splices = case
    new = splicing.apply(data, splices)
    inverse = splicing.invert(data, splices)
    splicing.validate(inverse, len(new))
    assert splicing.apply(new, inverse) == data
    assert splicing.effective(data, splicing.compose(splices, inverse)) == ()


@given(_content_and_splices(), st.integers(0, 8))
def test_coalesced_splices_have_the_same_effect(case: tuple[bytes, list[Splice]], max_gap: int) -> None:
    data, splices = case
    fewer = splicing.coalesce(data, splices, max_gap_bytes=max_gap)
    splicing.validate(fewer, len(data))
    assert splicing.apply(data, fewer) == splicing.apply(data, splices)
    assert all(after.start - before.end > max_gap for before, after in itertools.pairwise(fewer))


@pytest.mark.parametrize(
    "splices", [[Splice(2, 1, b"")], [Splice(0, 5, b"")], [Splice(1, 3, b""), Splice(2, 4, b"")], [Splice(-1, 0, b"")]]
)
def test_invalid_list_of_splices_is_refused(splices: list[Splice]) -> None:
    with pytest.raises(ValueError, match="splice"):
        splicing.validate(splices, 4)
