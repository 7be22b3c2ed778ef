"""Who changed which line of a file, and what some changes still make of it."""

import random
from collections.abc import Mapping
from itertools import pairwise

import pytest

from fileops.core.merge.authorship import ChangedPlace, find_places_in, own_places, owners_of_lines, without_places
from fileops.core.merge.rewind import rewind_file
from fileops.core.merge.texts import StepTexts
from fileops.core.story.story import story_of
from fileops.core.story.views import events_by_line
from fileops.model.edits import Splice
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


def _owners(*contents: bytes | None, undoes: Mapping[str, tuple[str, ...]] | None = None) -> list[str | None]:
    owners: list[str | None] = []
    for lines in owners_of_lines(_steps(*contents), contents[-1] or b"", KNOWN.get, undoes):
        owners += [lines.entry_id] * lines.n_lines
    return owners


def _is_of_chosen(steps: list[FileStep], chosen: set[str], present: bytes) -> list[bool]:
    """Whether the chosen steps wrote a line, or moved it: took it away, and wrote it again."""
    story = story_of(steps, present, StepTexts(KNOWN.get), {}, own=chosen, has_donors=False)
    mine = story.events_of(chosen)
    return [not events.isdisjoint(mine) for events in events_by_line(story.vector, present)]


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
        pytest.param((b"a b c\nd\n", b"b c\nd\n"), ["e1", None], id="deleted-first-word"),
        pytest.param((b"a b c\nd\n", b"a b\nd\n"), ["e1", None], id="deleted-last-word"),
        pytest.param((b"a b\nc d\ne\n", b"a d\ne\n"), ["e1", None], id="deleted-words-of-two-lines"),
        pytest.param((b"a\nb\nc\n", b"ab\nc\n"), ["e1", None], id="joined-lines"),
        pytest.param((b"a foo\n", b"a bar\n", b"a\n", b"a foobar\n"), ["e3"], id="word-made-of-two-that-were-removed"),
        pytest.param((b"a b c\n", b"a B c\n", b"A B c\n"), ["e2"], id="newest-of-a-line"),
        pytest.param((b"", b"x\ny\n", b"x\nz\n"), ["e1", "e2"], id="created"),
    ],
)
def test_line_belongs_to_the_newest_change_of_a_word(contents: tuple[bytes, ...], owners: list[str | None]) -> None:
    assert _owners(*contents) == owners


def test_place_names_also_the_chosen_step_that_only_brought_its_text_back() -> None:
    """Blame names the first one alone, but an undo takes back what both made."""
    steps = _steps(OLD, OLD + b"six\n", OLD, OLD + b"six\n")
    (place,) = _places(steps, {"e1", "e3"}, OLD + b"six\n")
    assert (place.first_line, place.entry_ids) == (6, ("e1", "e3"))


def test_line_of_others_that_a_rewind_has_elsewhere_is_in_no_place() -> None:
    """Then an undo of one place alone would remove it, and one of another would double it."""
    other = b"s\no\nt\na\none\ntwo\nthree\nb\n"
    contents = [
        b"one\ntwo\nthree\n",
        b"x\ny\n",
        b"s\nt\none\ntwo\nthree\n",
        b"s\nt\na\none\ntwo\nthree\n",
        b"s\nt\na\none\ntwo\nthree\nb\n",
        other,
    ]
    steps, chosen = _steps(*contents), {"e1", "e2", "e3", "e4"}
    rewound = rewind_file(steps, chosen, other, KNOWN.get).content or b""
    assert rewound.startswith(b"one\no\n")  # after `one`, though it is before it now
    places = _places(steps, chosen, other)
    assert without_places(other, places) == rewound
    for place in places:
        assert b"o" not in (other[place.start : place.end] + place.removed).split(b"\n")


def test_line_that_an_undo_brings_back_among_others_belongs_to_its_author() -> None:
    """A comparison takes the end of a line that is gone for its end. The file was deleted and made again, twice."""
    texts = [
        "9 10 11 12", "9 13 10 11 12", "9 13 10 11 12 14", "9 13 10 11 14 15 17", "27 9 13 10 11 14 15 17", None, "43",
        "28 44 9 49 16 13 20 10 29 11 14 15", "28 44 9 63 16 13 20 10 29 11 14 15", None,
        "28 44 9 63 16 20 10 29 11 12",
    ]  # fmt: skip
    contents = [None if text is None else b"".join(b"%b\n" % line.encode() for line in text.split()) for text in texts]
    owners = _owners(*contents, undoes={"e10": ("e1", "e2", "e3", "e9")})
    assert (owners[3], owners[-1]) == ("e8", None)


def test_line_beside_which_an_undo_puts_what_others_removed_keeps_its_author() -> None:
    """R-LOG-3. The line `b2`, which was removed as a whole, is then between the word `p1` and the end of its line."""
    contents = [b"p1\np2\np3\n", b"b1\nb2\nb3\n", b"b1\nb2\nb3\nb4\n", b"b1\nb3\nb4\na1\n", b"p1\na1\np3\n"]
    assert _owners(*contents, undoes={"e4": ("e2",)}) == [None, "e3", None]


def test_line_to_which_an_undo_lends_its_end_keeps_its_author() -> None:
    """R-LOG-3. The undo takes away the line `t4`, but the end of it is now that of `p1`."""
    contents = [
        b"p1\np2\np3\np4\n",
        b"p1\np2\nt\np3\np4\n",
        b"b1\nb2\nb3\nb4\n",
        b"b1\nb2\nb3\nt4\nb4\n",
        b"b1\nb3\nt4\na1\nb4\n",
        b"p1\na1\np3\np4\n",
    ]
    assert _owners(*contents, undoes={"e5": ("e3", "e1")}) == [None, "e4", None, None]


def test_line_below_which_a_tool_removed_a_line_keeps_its_author() -> None:
    """R-LOG-3. The edit removes the end of the line above and the words of its line, not the words and their end."""
    before, after = b"a\nb\nc\n", b"a\nc\n"
    (step,), known = to_steps([("e1", before, after)])
    step = FileStep("e1", step.before, step.after, (Splice(1, 1, b"\nb"),))
    assert [lines.entry_id for lines in owners_of_lines([step], after, known.get)] == [None]


def test_line_that_an_undo_brings_back_at_the_end_keeps_its_line_end() -> None:
    """Only one line of another change was there before; a comparison of words takes its line end for that of the last.

    The file was replaced as a whole, so the story has no removed text at the place.
    """
    contents = [None, b"a\nc\nd\ne\nb\n", b"x\ny\n", b"x\nz\ny\n", b"a\nz\nc\nd\ne\nb\n"]
    assert _owners(*contents, undoes={"e4": ("e2",)}) == ["e1", "e3", "e1", "e1", "e1", "e1"]


def test_no_line_of_others_is_in_a_place_at_random() -> None:
    """Several changes write, remove and write again; some of them are chosen."""
    for seed in range(600):
        dice = random.Random(f"places {seed}")
        contents, removed, n_written = [[b"%d" % n for n in range(5)]], list[bytes](), 5
        for _ in range(dice.randint(2, 8)):
            lines = list(contents[-1])
            for _ in range(dice.randint(1, 3)):
                at = dice.randint(0, len(lines))
                stop = at + dice.choice((0, 0, 1, 1, 3, 5))
                removed += lines[at:stop]
                again = [line for line in removed if line not in lines and dice.random() < 0.1]
                lines[at:stop] = again[:1] or [b"%d" % n_written]
                n_written += 1
            contents.append(lines)
        texts = [b"".join(line + b"\n" for line in lines) for lines in contents]
        steps = _steps(*texts)
        chosen = {step.step_id for step in steps if dice.random() < 0.6} or {"e1"}
        rewound = rewind_file(steps, chosen, texts[-1], KNOWN.get).content or b""
        places, is_own = _places(steps, chosen, texts[-1]), _is_of_chosen(steps, chosen, texts[-1])
        assert without_places(texts[-1], places) == rewound, seed
        for place in places:
            for line in range(place.first_line - 1, place.first_line - 1 + place.n_lines):
                assert is_own[line] or contents[-1][line] not in rewound.splitlines(), seed


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


@pytest.mark.parametrize(
    ("contents", "undone", "owners"),
    [
        pytest.param(
            # e5 brought back two words, of which e2 had written one, beside the one that e4 wrote meanwhile.
            (None, b"a\n", b"a\nb\n", b"x\ny\n", b"x\nz\ny\n", b"z\na\nb\n"),
            ("e3",),
            ["e4", "e1", "e2"],
            id="around what another wrote",
        ),
        pytest.param(
            (b"mine\n", b"x\n", b"x\ny\n", b"x\nv\nw\ny\n", b"mine\n"),
            ("e3", "e2", "e1"),
            [None],
            id="all but the end of a line",
        ),
        pytest.param(
            (b"a b\nc\n", None, b"x\ny\n", b"x\nz\ny\n", b"a b\nc\n"),
            ("e3", "e2", "e1"),
            [None, None],
            id="a deletion and what was made then",
        ),
        pytest.param(
            (b"a\nb\n", None, b"x\ny\n", None, b"p\nq\n", b"p\nr\nq\n", None, b"a\nb\n"),
            ("e3", "e2", "e1"),
            [None, None],
            id="a deletion before the one of another",
        ),
        pytest.param((b"a b c\n", b"a x b c\n", b"a b c\n"), ("e1",), [None], id="a word of a line"),
        pytest.param(
            (b"a b c\n", b"a B c\n", b"a B x c\n", b"a b x c\n"), ("e1",), ["e2"], id="a word beside another's"
        ),
        pytest.param((b"a\nb\n", b"a\nmine\nb\n", b"a\nb\n", b"a\nmine\nb\n"), (), [None, "e1", None], id="in parts"),
        pytest.param(
            # e4 brought back the text that e3 had removed, and a comparison takes the end of another line for its end.
            (b"p\n", b"a\n", b"a\nb\n", b"b\nc\n", b"a\n", b"p\n"),
            ("e1",),
            [None],
            id="in the place of what another brought back",
        ),
    ],
)
def test_line_belongs_to_whom_it_would_without_the_undone_changes(
    contents: tuple[bytes | None, ...], undone: tuple[str, ...], owners: list[str | None]
) -> None:
    """The last step undoes the others that are named."""
    assert _owners(*contents, undoes={f"e{len(contents) - 1}": undone}) == owners


def test_line_that_a_redo_brings_back_belongs_to_its_author() -> None:
    written = OLD.replace(b"two\n", b"2\nmine\n")
    undoes = {"e2": ("e1",), "e4": ("e2",)}
    changed = written.replace(b"five", b"5")
    owners = _owners(OLD, written, OLD, OLD.replace(b"five", b"5"), changed, undoes=undoes)
    assert owners == [None, "e1", "e1", None, None, "e3"]


def test_line_that_a_redo_of_a_part_brings_back_belongs_to_its_author() -> None:
    written = OLD.replace(b"two", b"2").replace(b"five", b"5")
    redone = OLD.replace(b"two", b"zwei").replace(b"five", b"5")
    owners = _owners(OLD, written, OLD, OLD.replace(b"two", b"zwei"), redone, undoes={"e2": ("e1",), "e4": ()})
    assert owners == [None, "e3", None, None, "e1"]
    undoes = {"e2": ("e1",), "e4": (), "e5": ("e3", "e1")}
    assert _owners(OLD, written, OLD, OLD.replace(b"two", b"zwei"), redone, OLD, undoes=undoes) == [None] * 5


def test_line_belongs_to_its_author_after_undos_and_redos_at_random() -> None:
    """Each line is a word that was never used before, so who wrote it is known."""
    n_compared = 0
    for seed in range(150):
        dice = random.Random(f"undos {seed}")
        writer: dict[bytes, str | None] = {b"%d\n" % n: None for n in range(4)}
        contents: list[bytes | None] = [b"".join(writer)]
        undoes: dict[str, tuple[str, ...]] = {}
        in_force: list[str] = []
        while len(contents) < 12:
            step_id = f"e{len(contents)}"
            lines = (contents[-1] or b"").splitlines(keepends=True)
            if in_force and dice.random() < 0.3:
                chosen = set(dice.sample(in_force, dice.randint(1, len(in_force))))
                if chosen & undoes.keys():  # a redo is of one undo
                    chosen = {next(each for each in in_force if each in chosen & undoes.keys())}
                rewound = rewind_file(_steps(*contents), chosen, contents[-1], KNOWN.get)
                if rewound.left or rewound.content == contents[-1] or rewound.content is None:
                    continue
                contents.append(rewound.content)
                undoes[step_id] = rewound.undone
                in_force = [step_id, *(each for each in in_force if each not in chosen)]
                continue
            for _ in range(dice.randint(1, 3)):
                at = dice.randint(0, len(lines))
                del lines[at : at + dice.choice((0, 0, 1, 1, 3))]
                word = b"%d\n" % len(writer)
                lines.insert(min(at, len(lines)), word)
                writer[word] = step_id
            contents.append(b"".join(lines))
            in_force.append(step_id)
        present = (contents[-1] or b"").splitlines(keepends=True)
        owners = _owners(*contents, undoes=undoes)
        assert owners == [writer[line] for line in present], (seed, contents, undoes)
        n_compared += len(owners)
    assert n_compared > 1000


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
    shared = find_places_in(committed, places, present)
    assert [place in shared for place in places] == has
