"""What an undo of many edits costs, counted in steps of the interpreter and not in time."""

import sys
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import pytest
from msgspec.structs import replace

from contract.recording import RecordingHooks
from fileops.core.merge.authorship import find_changed_places, find_places_in
from fileops.core.plan import plan
from fileops.core.story.memory import BEHIND
from fileops.core.text import detect_format
from fileops.fs.memory import MemoryFileSystem
from fileops.model.edits import Edit
from fileops.model.errors import UndoConflict
from fileops.model.history import AppliedEdit
from fileops.model.sessions import SessionName
from fileops.model.settings import Limits
from fileops.record.history import History
from fileops.service.rewind.blame import blame
from fileops.service.rewind.memories import Memories
from fileops.service.rewind.unkept import UnkeptPlaces
from fileops.service.undo import undo_in_file
from support.commits import commit_of
from support.recording import AGENT, PERSON, Recording

PATH = "/w/f"
FEW = 64


def n_steps(work: Callable[[], object]) -> int:
    """Of the interpreter, loops inside comprehensions too."""
    count = 0

    def traced(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        del argument
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        count += event == "opcode"
        return traced

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def made(before: str, edits: Sequence[tuple[str, str, str]]) -> tuple[History, MemoryFileSystem]:
    """edits: session, old text, new text."""
    history, disk = History(), MemoryFileSystem()
    disk.put(PATH, before.encode())
    for n, (session_id, old, new) in enumerate(edits):
        snapshot = disk.read(PATH)
        wish = Edit(old_string=old, new_string=new)
        planned = plan(snapshot, detect_format(snapshot.data), [wish], limits=Limits())
        committed = disk.replace(snapshot, planned.splices, RecordingHooks())
        history.keep(commit_of(planned, committed, str(n), session_id=session_id, time=time.time() + n))
    return history, disk


def edits_of(history: History, session_id: str | None = None) -> list[AppliedEdit]:
    """Newest first."""
    return list(history.look().edits(session_id=None if session_id is None else SessionName(session_id)))


def edited(n_edits: int, *, n_sessions: int = 1) -> tuple[History, MemoryFileSystem]:
    """A file of as many lines, each of which was edited."""
    lines = range(n_edits)
    return made(
        "".join(f"line {n} old\n" for n in lines),
        [(str(n % n_sessions), f"line {n} old\n", f"line {n} new, {n * 7}\n") for n in lines],
    )


def undo_steps(n_edits: int, present: Callable[[bytes], bytes], expected: Callable[[bytes], bytes]) -> int:
    history, disk = edited(n_edits)
    before = "".join(f"line {n} old\n" for n in range(n_edits)).encode()
    edits, there = edits_of(history), present(disk.read(PATH).data)
    undone: list[bytes | None] = []
    steps = n_steps(lambda: undone.append(undo_in_file(history.look(), PATH, edits, there).content))
    assert undone == [expected(before)]
    return steps


def undo_steps_of_one_session(n_edits: int, later: Callable[[bytes], bytes]) -> int:
    """Two sessions edit every other line."""
    history, disk = edited(n_edits, n_sessions=2)
    lines = (f"line {n} new, {n * 7}\n" if n % 2 else f"line {n} old\n" for n in range(n_edits))
    edits, there = (
        edits_of(history, "0"),
        later(disk.read(PATH).data),
    )
    undone: list[bytes | None] = []
    steps = n_steps(lambda: undone.append(undo_in_file(history.look(), PATH, edits, there).content))
    assert undone == [later("".join(lines).encode())]
    return steps


def with_a_line(data: bytes) -> bytes:
    return data + b"foreign\n"


def with_a_word(data: bytes) -> bytes:
    return data.replace(b"line 9 ", b"Line 9 ")


def with_a_word_beside(data: bytes) -> bytes:
    return data.replace(b"line 8 ", b"line 8x ")


def the_same(data: bytes) -> bytes:
    return data


@pytest.mark.parametrize("later", [the_same, with_a_line, with_a_word])
def test_undo_of_many_edits_has_quasilinear_cost(later: Callable[[bytes], bytes]):
    few, many = (undo_steps(n_edits, later, later) for n_edits in (FEW, 4 * FEW))
    assert many < 4 * 2 * few  # n·log n; n² would be 16 times


@pytest.mark.parametrize("later", [the_same, with_a_line])
@pytest.mark.parametrize("at", [0, -1], ids=["newest", "oldest"])
def test_undo_of_one_edit_of_a_long_history_has_quasilinear_cost(at: int, later: Callable[[bytes], bytes]) -> None:
    def steps(n_edits: int) -> int:
        history, disk = edited(n_edits)
        known, there = edits_of(history), later(disk.read(PATH).data)
        undone: list[bytes | None] = []
        n = n_steps(lambda: undone.append(undo_in_file(history.look(), PATH, [known[at]], there).content))
        line = range(n_edits)[-1 - at]
        assert undone == [there.replace(b"line %d new, %d\n" % (line, line * 7), b"line %d old\n" % line)]
        return n

    assert steps(4 * FEW) < 4 * 2 * steps(FEW)


@pytest.mark.parametrize("later", [the_same, with_a_line, with_a_word, with_a_word_beside])
def test_undo_of_one_of_two_alternating_sessions_has_quasilinear_cost(
    later: Callable[[bytes], bytes],
):
    few, many = (undo_steps_of_one_session(n_edits, later) for n_edits in (FEW, 4 * FEW))
    assert many < 4 * 2 * few


# Of n edits by two sessions in turns: the content before, and old and new text of the nth.
AT_ONE_PLACE: dict[str, tuple[Callable[[int], str], Callable[[int], tuple[str, str]]]] = {
    "lines above a line": (lambda _: "top\nend\n", lambda n: ("end\n", f"new {n}\nend\n")),
    "lines below a line": (lambda _: "top\nend\n", lambda n: ("top\n", f"top\nnew {n}\n")),
    "words at the end of a line": (lambda _: "top\nline end\n", lambda n: (" end", f" x{n} end")),
    "words at the start of a line": (lambda _: "top\nline: end\n", lambda n: ("line:", f"line: x{n}")),
    "lines of one word": (lambda n: "".join(f"a{i}\n" for i in range(n)), lambda n: (f"a{n}\n", f"b{n}\n")),
    "blank lines between": (lambda n: "".join(f"a{i}\n\n" for i in range(n)), lambda n: (f"a{n}\n", f"b{n}\n")),
    "each their own word": (
        lambda _: "top\na0 b0\n",
        lambda n: (f"{'ab'[n % 2]}{n // 2}", f"{'ab'[n % 2]}{n // 2 + 1}"),
    ),
}


def undo_steps_beside_another(name: str, n_edits: int) -> int:
    before, edit = AT_ONE_PLACE[name]
    history, disk = made(before(n_edits), [(str(n % 2), *edit(n)) for n in range(n_edits)])
    edits = edits_of(history, "0")
    there, undone = disk.read(PATH).data, list[bytes | None]()
    steps = n_steps(lambda: undone.append(undo_in_file(history.look(), PATH, edits, there).content))
    _, disk = made(before(n_edits), [("1", *edit(n)) for n in range(1, n_edits, 2)])
    assert undone == [disk.read(PATH).data]
    return steps


@pytest.mark.parametrize("name", AT_ONE_PLACE)
def test_undo_next_to_edits_of_another_session_has_quasilinear_cost(name: str):
    few, many = (undo_steps_beside_another(name, n_edits) for n_edits in (FEW, 4 * FEW))
    assert many < 4 * 2 * few


def test_undo_of_edits_restored_by_another_session_has_quadratic_cost_at_most():
    """Each is merged with the whole present content: of that, its splices and not its lines cost steps."""

    def steps(n_groups: int) -> int:
        lines = range(n_groups)
        edits = [
            edit
            for n in lines
            for edit in (
                ("0", f"line {n} old\n", f"line {n} new\n"),
                ("1", f"line {n} new\n", f"line {n} old\n"),
                ("1", f"other {n}\n", f"else {n}\n"),
            )
        ]
        history, disk = made("".join(f"line {n} old\nmiddle {n}\nother {n}\nend {n}\n" for n in lines), edits)
        mine, there = edits_of(history, "0"), disk.read(PATH).data
        undone: list[bytes | None] = []
        n = n_steps(lambda: undone.append(undo_in_file(history.look(), PATH, mine, there).content))
        assert undone == [there]
        return n

    assert steps(48) < 9 * 1.2 * steps(16)


def test_undo_that_meets_a_conflict_costs_little_more():
    def steps(n_edits: int) -> int:
        history, disk = edited(n_edits)
        there = disk.read(PATH).data.replace(b"line 9 new", b"line 9 newest")

        def work() -> None:
            with pytest.raises(UndoConflict):
                undo_in_file(history.look(), PATH, edits_of(history), there)

        return n_steps(work)

    few = FEW // 4  # each instruction is counted: more edits take minutes on a busy machine
    assert steps(4 * few) < 4 * 2 * steps(few)


def test_edits_are_marked_as_undone_without_visiting_all():
    def steps(n_edits: int) -> int:
        history, disk = edited(n_edits)
        edits, snapshot = edits_of(history), disk.read(PATH)
        undone = undo_in_file(history.look(), PATH, edits, snapshot.data)
        committed = disk.replace(snapshot, undone.splices, RecordingHooks())
        planned = plan(snapshot, detect_format(b""), [Edit(old_string="line 0", new_string="x")], limits=Limits())
        planned = replace(planned, splices=undone.splices)

        def work() -> None:
            history.keep(
                commit_of(planned, committed, "undo", session_id="0", time=time.time() + FEW**2, undoes=undone.edit_ids)
            )

        n = n_steps(work)
        assert all(edit.undone_by == "undo" for edit in edits_of(history)[1:])
        return n

    assert steps(4 * FEW) < 4 * 1.5 * steps(FEW)


def test_list_that_was_computed_before_a_restart_is_not_computed_again() -> None:
    recording = Recording()
    lines = [b"line %d\n" % n for n in range(FEW)]
    for n in range(FEW):
        lines[n] = b"line %d again\n" % n
        recording.write("/w/a", b"".join(lines), AGENT if n % 10 else PERSON)

    def work() -> None:
        UnkeptPlaces(recording.store, recording.bench.disk).find()

    work()  # imports and first uses
    recording.write("/w/a", b"".join(lines[1:]), AGENT)
    first, again = n_steps(work), n_steps(work)
    recording.bench.close()
    assert again < first / 5


def test_list_and_blame_after_a_restart_tell_only_what_is_new_of_a_long_story() -> None:
    recording = Recording()
    lines = [b"line %d\n" % n for n in range(20)]
    n_changes = 0

    def write() -> None:
        nonlocal n_changes
        lines[7 * n_changes % 20] = b"line %d again\n" % n_changes  # pyrefly: ignore[division-by-zero]
        recording.write("/w/a", b"".join(lines), AGENT if n_changes % 10 else PERSON)
        n_changes += 1

    def list_after_restart() -> None:
        UnkeptPlaces(recording.store, recording.bench.disk).find()

    def blame_after_restart() -> None:
        blame(recording.store, recording.bench.disk, "/w/a", memories=Memories())

    write()
    for work in (list_after_restart, blame_after_restart):
        work()  # imports and first uses
        for _ in range(4 * BEHIND):
            write()
        first = n_steps(work)
        write()
        again = n_steps(work)
        assert again < first / 2
    recording.bench.close()


def test_search_for_places_in_a_commit_without_them_has_quasilinear_cost() -> None:
    def steps(n_places: int) -> int:
        committed = "".join(f"line {n}\nbetween {n}\n" for n in range(n_places)).encode()
        present = committed.replace(b"line", b"LINE")
        places = find_changed_places(committed, present)
        assert len(places) == n_places
        found: list[object] = []
        taken = n_steps(lambda: found.append(find_places_in(committed, places, present)))
        assert found == [[]]
        return taken

    few, many = steps(FEW), steps(4 * FEW)
    assert many < 4 * 2 * few
