"""Splices carried over to a content that has changed in the meantime."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fileops.core.merge.rebase import map_spans, minimal, rebase
from fileops.core.splices import apply
from fileops.model.edits import ByteSpan, Splice
from fileops.model.files import TextFormat


def whole(before: bytes, after: bytes) -> tuple[Splice, ...]:
    """One splice from the one content to the other."""
    return (Splice(0, len(before), after),)


def rebased(base: bytes, wanted: bytes, present: bytes) -> bytes | None:
    """What a change from `base` to `wanted` makes of `present`; None where it cannot be."""
    result = rebase(whole(base, wanted), base, present)
    return None if result.conflicts else apply(present, result.splices)


@pytest.mark.parametrize(
    ("base", "wanted", "present", "expected"),
    [
        pytest.param(b"A\nb\nc\n", b"a\nb\nc\n", b"A\nb\nC\n", b"a\nb\nC\n", id="another line"),
        pytest.param(b"A\nb\n", b"a\nb\n", b"new\nA\nb\n", b"new\na\nb\n", id="line before"),
        pytest.param(b"A\nb\n", b"a\nb\n", b"A\nnew\nb\n", b"a\nnew\nb\n", id="line directly behind"),
        pytest.param(b"a\nX\nb\n", b"a\nb\n", b"a\nX\nnew\nb\n", b"a\nnew\nb\n", id="insertion taken back"),
        pytest.param(b"a\nc\n", b"a\nb\nc\n", b"A\nc\n", b"A\nb\nc\n", id="deletion taken back"),
        pytest.param(b"a\nc\n", b"a\nb\nc\n", b"a\nnew\nc\n", None, id="typed where it was deleted"),
        pytest.param(b"a\nc\n", b"a\nb\nc\n", b"a\nb\nc\nd\n", b"a\nb\nc\nd\n", id="put back"),
        pytest.param(b"f(a)\n", b"f(a, b)\n", b"f(x)\n", b"f(x, b)\n", id="typed beside it"),
        pytest.param(b"f(a)\n", b"f(a, b)\n", b"f(x, b)\n", None, id="put back and typed beside it"),
        pytest.param(b"f(x)\n", b"f(a, b)\n", b"f(x, b)\n", None, id="put back in part"),
        pytest.param(b"a, c\n", b"a, b, c\n", b"z, b, c\nd\n", b"z, b, c\nd\n", id="put back, word before changed"),
        pytest.param(b"a, c\n", b"a, b, c\n", b"a, b, z\nd\n", None, id="put back, word behind changed"),
        pytest.param(b"TWO\n", b"two\n", b"TWO\ntwo too\n", b"two\ntwo too\n", id="same word on a new line"),
        pytest.param(b"x\nx\n", b"x\nx\nx\n", b"new\nx\nx\nx\n", b"new\nx\nx\nx\n", id="equal line put back"),
        pytest.param(b"x\nx\nx\nm\n", b"x\nx\nm\n", b"x\nx\nm\ne\n", b"x\nx\nm\ne\n", id="equal line removed"),
        pytest.param(b"a+-b\n", b"a-b\n", b"a+b\n", None, id="would glue two words"),
        pytest.param(b"ab c\n", b"a b c\n", b"qb c\n", None, id="same word in two"),
        pytest.param(b"one TWO three\n", b"one two three\n", b"1 TWO three\n", b"1 two three\n", id="same line"),
        pytest.param(b"TWO\n", b"two\n", b"two\n", b"two\n", id="already taken back"),
        pytest.param(b"TWO\n", b"two\n", b"TWOS\n", None, id="same word"),
        pytest.param(b"a\nTWO\nb\n", b"a\ntwo\nb\n", b"a\nb\n", None, id="the agent's line is gone"),
        pytest.param(b"x\n", b"y\n", b"", None, id="everything is gone"),
        pytest.param(b"a b c, new \n", b"a b c, \n", b"a new, \n", None, id="others beside it are gone"),
        pytest.param(b"a b, new \n", b"a b, \n", b"a new b, \n", b"a new b, \n", id="the agent's word was moved"),
        pytest.param(b"new, a b\n", b", a b\n", b", new b\n", None, id="the agent's word is behind a sign"),
        pytest.param(b"a, new b\n", b"a,  b\n", b"new, b\n", None, id="the agent's word is before a sign"),
        pytest.param(b"x;\na b;\n", b"x;\nb;\n", b"y\na c;\nz;\n", b"y\nc;\nz;\n", id="signs of other lines"),
        pytest.param(b"x;\nnew\n", b"x;\n\n", b"x\n    new;\n", b"x\n    ;\n", id="a sign of the line above was moved"),
        pytest.param(b"a\nnew\nb\n", b"a\nb\n", b"a\nb\nc new\n", b"a\nb\nc new\n", id="the agent's word is elsewhere"),
        pytest.param(b"a\nX\nY\nZ\nb\n", b"a\nb\n", b"a\nX\nZ\nb\n", b"a\nb\n", id="a part is gone"),
        pytest.param(b"a\nX\nY\nb\n", b"a\nb\n", b"a\nX\n", None, id="a part and more is gone"),
        pytest.param(b"a\nX\nY\nb\n", b"a\nb\n", b"a\nX\nY2\nb\n", None, id="a part is rewritten"),
        pytest.param(b"f(a, X, Y)\n", b"f(a)\n", b"f(a, X)\n", b"f(a)\n", id="a word of the agent's is gone"),
        pytest.param(b"m\nb\nb\na\na\n", b"m\na\nb\na\n", b"m\na\nb\na\nc\n", b"m\na\nb\na\nc\n", id="equal lines"),
        pytest.param(b"m\nb\nX\na\ne\n", b"m\na\nb\ne\n", b"m\na\nb\ne\nX\n", None, id="lines back, a word moved"),
        pytest.param(b"A\r\nb\r\n", b"a\r\nb\r\n", b"A\r\nB\r\n", b"a\r\nB\r\n", id="CRLF"),
        pytest.param(
            b"\xef\xbb\xbfA\nb\n", b"\xef\xbb\xbfa\nb\n", b"\xef\xbb\xbfA\nB\n", b"\xef\xbb\xbfa\nB\n", id="BOM"
        ),
        pytest.param(b"A\n\xff\n", b"a\n\xff\n", b"A\n\xff\xfe\n", b"a\n\xff\xfe\n", id="invalid bytes"),
    ],
)
def test_later_edits_are_kept(base: bytes, wanted: bytes, present: bytes, expected: bytes | None):
    assert rebased(base, wanted, present) == expected


def test_conflicts_name_lines_of_the_present_content():
    result = rebase((Splice(2, 5, b"two"),), b"a\nTWO\nb\n", b"new\na\nTWOS\nb\n")
    assert result.conflicts == (ByteSpan(6, 10),)


@pytest.mark.parametrize(
    ("present", "expected"),
    [(b"a\nMARK\nb\n", b"MARK"), (b"more\na\nMARK\nb\n", b"MARK"), (b"a\nMARKS\nb\n", b"MARKS")],
)
def test_locations_follow_later_typing(present: bytes, expected: bytes):
    base = b"a\nMARK\nb\n"
    (span,) = map_spans((ByteSpan(2, 6),), base, present)
    assert present[span.start : span.end] == expected


def test_context_repeated_by_an_edit_is_excluded_from_it():
    assert minimal(whole(b"a\nB\nc\n", b"a\nb\nc\n"), b"a\nB\nc\n", TextFormat()) == (Splice(2, 3, b"b"),)


CONTENTS = st.lists(st.sampled_from([b"a\n", b"b\n", b"x y\n", b"\xff\n", b"\r\n", b"z"]), max_size=8).map(b"".join)


@given(CONTENTS, CONTENTS)
def test_rebase_without_later_changes_has_the_same_effect(base: bytes, wanted: bytes):
    assert rebased(base, wanted, base) == wanted


@given(CONTENTS, CONTENTS)
def test_rebase_of_no_change_changes_nothing(base: bytes, present: bytes):
    assert rebased(base, base, present) == present


@given(CONTENTS, CONTENTS, CONTENTS)
def test_changes_of_separate_lines_are_kept(base: bytes, wanted: bytes, later: bytes):
    """The later content follows a line that both sides leave alone."""
    middle = b"=== middle ===\n"
    present = base + middle + later
    assert rebased(base + middle, wanted + middle, present) == wanted + middle + later


@given(CONTENTS, CONTENTS, CONTENTS)
def test_splices_of_a_rebase_fit_the_present_content(base: bytes, wanted: bytes, present: bytes):
    result = rebase(whole(base, wanted), base, present)
    apply(present, result.splices)
    assert all(0 <= span.start <= span.end <= len(present) for span in result.conflicts)
