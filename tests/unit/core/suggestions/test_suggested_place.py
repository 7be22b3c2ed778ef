"""The place that is suggested for a text that was not found."""

import pytest

from fileops.core.suggestions.suggested_place import suggest_place
from fileops.model.edits import DiffersIn
from fileops.model.files import Text, TextFormat
from support.core_models import FORMATS, text_of

SOURCE = "def f(x):\n\tif x:\n\t\treturn 'a'\n\n\ndef g(y):\n    return \"b\"   \n"


@pytest.mark.parametrize(
    ("old", "lines", "kind"),
    [
        ("def f(x):\n    if x:\n        return 'a'\n", (1, 3), "tabs"),
        ('def g(y):\n  return "b"   ', (6, 7), "indentation"),
        ('def g(y):\n    return "b"\n', (6, 7), "trailing_blanks"),
        ("    return “b”", (7, 7), "quotes"),
        ("def\u00a0g(y):", (6, 6), "invisible"),
        ("def g(\u200by):", (6, 6), "invisible"),
        ("DEF G(Y):", (6, 6), "case"),
        ('def g(y):\\n    return "b"', (6, 7), "escapes"),
        ('    return \\"b\\"', (7, 7), "escapes"),
        ('def h(y):\n    return "b"   ', (6, 7), "words"),
        ('     6→def g(y):\n     7→    return "b"   ', (6, 7), "line_numbers"),
        ('6\tdef g(y):\n7\t    return "b"   ', (6, 7), "line_numbers"),
        ('def g(y):\r    return "b"   ', (6, 7), "line_ends"),
    ],
)
def test_suggestion_has_the_place_and_the_kind_of_difference(old: str, lines: tuple[int, int], kind: DiffersIn) -> None:
    place = suggest_place(text_of(SOURCE), old)
    assert place is not None
    assert kind in place.differs_in
    if kind != "line_ends":
        assert place.differs_in == (kind,)
        assert (place.start_line, place.end_line) == lines
    assert 0.5 <= place.similarity <= 1
    assert place.diff.startswith("--- old_string\n") == bool(place.diff.strip())


@pytest.mark.parametrize("old", ["caf\ufffd au lait", "café au lait", "caf\udce9 au lait"])
def test_suggestion_reports_invalid_bytes(old: str) -> None:
    place = suggest_place(Text(data=b"one\ncaf\xe9 au lait\n", format=TextFormat()), old)
    assert place is not None
    assert place.differs_in == ("invalid_bytes",)
    assert place.start_line == 2
    place.diff.encode()


@pytest.mark.parametrize("old", ["\ufffd", "\udce9", "f\ufffd"])
def test_suggestion_reports_invalid_bytes_for_a_text_of_any_length(old: str) -> None:
    place = suggest_place(Text(data=b"one\ncaf\xe9 au lait\n", format=TextFormat()), old)
    assert place is not None
    assert (place.start_line, place.end_line, place.differs_in) == (2, 2, ("invalid_bytes",))


def test_half_a_line_ending_is_reported() -> None:
    place = suggest_place(text_of("a line\r\nb line\r\n"), "a line\r")
    assert place is not None
    assert place.differs_in == ("line_ends",)


@pytest.mark.parametrize("fmt", FORMATS)
def test_suggestion_works_in_every_encoding(fmt: TextFormat) -> None:
    place = suggest_place(
        text_of("first line here\nsecond line here\r\nthird\n", fmt), "first line here\nsecond line there"
    )
    assert place is not None
    assert (place.start_line, place.end_line) == (1, 2)
    assert place.differs_in == ("words",)
    assert "-second line there\n+second line here\n" in place.diff


@pytest.mark.parametrize("old", ["zzzzz qqqq", "\n\n", " ", "\udc80"])
def test_text_without_similar_place_has_no_suggestion(old: str) -> None:
    assert suggest_place(text_of(SOURCE), old) is None


def test_inserted_line_does_not_hide_the_place() -> None:
    there = "start of it\nanother line\nthe third one\nthe fourth one\nend of it\n"
    place = suggest_place(text_of("x\n" * 50 + there), "start of it\nanother line\nNEW\nthe third one\nthe fourth one")
    assert place is not None
    assert place.start_line == 51
    assert place.similarity > 0.7
