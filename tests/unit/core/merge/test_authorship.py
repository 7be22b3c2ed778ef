"""Who changed which line of a file, and what some changes still make of it."""

from itertools import pairwise

import pytest

from fileops.core.merge.authorship import ChangedPlace, has_change, own_places, owners_of_lines, without_places
from fileops.core.merge.rewind import rewind_file
from fileops.model.rewind import FileStep
from support.file_steps import to_steps

OLD = b"one\ntwo\nthree\nfour\nfive\n"


KNOWN: dict[bytes, bytes] = {}


def _steps(*contents: bytes | None) -> list[FileStep]:
    steps, known = to_steps((f"e{n}", before, after) for n, (before, after) in enumerate(pairwise(contents), 1))
    KNOWN.update(known)
    return steps


def _places(steps: list[FileStep], chosen: set[str], present: bytes | None) -> list[ChangedPlace]:
    return own_places(steps, chosen, present, rewind_file(steps, chosen, present, KNOWN.get).content, KNOWN.get)


def _owners(*contents: bytes) -> list[str | None]:
    owners: list[str | None] = []
    for lines in owners_of_lines(_steps(*contents), contents[-1], KNOWN.get):
        owners += [lines.entry_id] * lines.n_lines
    return owners


@pytest.mark.parametrize(
    ("contents", "owners"),
    [
        pytest.param((OLD,), [None] * 5, id="no-change"),
        pytest.param((OLD, OLD.replace(b"two", b"2")), [None, "e1", None, None, None], id="replaced"),
        pytest.param((OLD, b"zero\n" + OLD), ["e1", *[None] * 5], id="inserted-above"),
        pytest.param((OLD, OLD + b"six\n"), [*[None] * 5, "e1"], id="appended"),
        pytest.param((OLD, OLD.replace(b"two\n", b"")), [None] * 4, id="deleted-line"),
        pytest.param((OLD, OLD.removesuffix(b"five\n")), [None] * 4, id="deleted-last-line"),
        pytest.param((OLD, OLD + b"six\n", OLD), [None] * 5, id="appended-and-deleted"),
        pytest.param((OLD, OLD.removesuffix(b"\n")), [*[None] * 4, "e1"], id="deleted-last-line-end"),
        pytest.param((b"a b c\nd\n", b"a c\nd\n"), ["e1", None], id="deleted-word"),
        pytest.param((b"a b c\n", b"a B c\n", b"A B c\n"), ["e2"], id="newest-of-a-line"),
        pytest.param((b"", b"x\ny\n", b"x\nz\n"), ["e1", "e2"], id="created"),
    ],
)
def test_line_belongs_to_the_newest_change_of_a_word(contents: tuple[bytes, ...], owners: list[str | None]) -> None:
    assert _owners(*contents) == owners


def test_line_of_unrecorded_text_belongs_to_none() -> None:
    steps = _steps(OLD, OLD.replace(b"two", b"2"))
    lines = owners_of_lines(steps, b"typed\n" + OLD.replace(b"two", b"2"), KNOWN.get)
    assert [(part.first_line, part.n_lines, part.entry_id) for part in lines] == [
        (1, 2, None), (3, 1, "e1"), (4, 3, None),
    ]  # fmt: skip


def test_line_that_an_undo_restores_belongs_to_its_author() -> None:
    written = OLD.replace(b"two\n", b"two\nmine\n")
    steps = _steps(OLD, written, OLD, written)  # e1 wrote it, e2 deleted it, e3 undid that
    lines = owners_of_lines(steps, written, KNOWN.get, {"e3": ("e2",)})
    assert [(part.first_line, part.entry_id) for part in lines] == [(1, None), (3, "e1"), (4, None)]


def test_places_are_the_smallest_runs_of_lines() -> None:
    changed = OLD.replace(b"two", b"2").replace(b"five\n", b"")
    steps = _steps(OLD, changed)
    first, second = _places(steps, {"e1"}, changed)
    assert (first.first_line, first.n_lines, first.removed, first.entry_ids) == (2, 1, b"two\n", ("e1",))
    assert (second.first_line, second.n_lines, second.removed) == (5, 0, b"five\n")
    assert without_places(changed, [first]) == OLD.replace(b"five\n", b"")
    assert without_places(changed, [second, first]) == OLD


def test_place_that_another_wrote_over_is_none() -> None:
    mine = OLD.replace(b"two", b"2").replace(b"four", b"4")
    steps = _steps(OLD, mine, mine.replace(b"2", b"by hand"))
    (place,) = _places(steps, {"e1"}, mine.replace(b"2", b"by hand"))
    assert (place.first_line, place.removed) == (4, b"four\n")


def test_places_name_the_changes_that_made_them() -> None:
    first = OLD.replace(b"two", b"2")
    second = first.replace(b"five", b"5")
    places = _places(_steps(OLD, first, second), {"e1", "e2"}, second)
    assert [place.entry_ids for place in places] == [("e1",), ("e2",)]


def test_created_file_is_one_place() -> None:
    (place,) = _places(_steps(None, b"x\ny\n"), {"e1"}, b"x\ny\n")
    assert (place.first_line, place.start, place.end, place.removed) == (1, 0, 4, b"")


def test_removed_file_is_one_place_without_lines() -> None:
    (place,) = _places(_steps(OLD, None), {"e1"}, None)
    assert (place.first_line, place.n_lines, place.removed, place.entry_ids) == (1, 0, OLD, ("e1",))
    assert _places(_steps(OLD, OLD.replace(b"two", b"2"), None), {"e1"}, None) == []  # another removed it


@pytest.mark.parametrize(
    ("before", "present", "committed", "has"),
    [
        pytest.param(OLD, OLD.replace(b"two", b"2"), OLD, [False], id="nothing"),
        pytest.param(OLD, OLD.replace(b"two", b"2"), b"two\n" + OLD, [False], id="nothing, beside other lines"),
        pytest.param(OLD, OLD.replace(b"two", b"2"), b"zero\n" + OLD.replace(b"two", b"2"), [True], id="below others"),
        pytest.param(OLD, OLD.replace(b"two", b"2"), b"one\n2\n3\nfour\nfive\n", [True], id="beside a changed line"),
        pytest.param(OLD, b"1\ntwo\nthree\nfour\n5\n", b"1\ntwo\nthree\nfour\nfive\n", [True, False], id="one of two"),
        pytest.param(OLD, b"one\n2\n3\nfour\nfive\n", b"one\n2\nthree\nfour\nfive\n", [False], id="a part"),
        pytest.param(b"a\nx\nb\n", b"a\nx\nx\nb\n", b"a\nx\nb\n", [False], id="an equal line more"),
        pytest.param(b"a\nx\nx\nb\n", b"a\nx\nb\n", b"a\nx\nx\nb\n", [False], id="an equal line less"),
        pytest.param(b"}\n\n}\n", b"}\n\n}\n\n}\n", b"}\n\n}\nend\n", [False], id="a repeated block"),
        pytest.param(
            OLD,
            OLD.replace(b"two\n", b""),
            OLD.replace(b"two\n", b"").upper(),
            [True],
            id="removed lines, beside others",
        ),
        pytest.param(OLD, OLD.replace(b"two\n", b""), b"one\nthree\nfour\n5\n", [True], id="removed lines"),
        pytest.param(OLD, OLD.replace(b"two\n", b""), OLD, [False], id="lines that are not removed there"),
        pytest.param(None, OLD, OLD, [True], id="a new file"),
        pytest.param(None, OLD, b"one\n", [False], id="the beginning of a new file"),
        pytest.param(None, OLD, b"", [False], id="an empty new file"),
        pytest.param(OLD, OLD[:-1], OLD, [False], id="the last newline"),
    ],
)
def test_content_has_a_change_if_it_differs_by_it_from_the_text_before(
    before: bytes | None, present: bytes, committed: bytes, has: list[bool]
) -> None:
    places = _places(_steps(before, present), {"e1"}, present)
    assert [has_change(committed, place, present) for place in places] == has
