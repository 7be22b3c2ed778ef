"""Edits of files that changed elsewhere, against a model by lines and against `git merge-file`."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st

from bench.reliability.random_files import OPERATIONS, Line, Outcome, RandomFile, random_files
from fileops.core.merge.relevance import Carried, Leg, Replanned, carry, carry_shown, line_splices, replan
from fileops.core.plan import plan
from fileops.core.splices import apply
from fileops.core.text import detect_format
from fileops.model.digest import content_digest
from fileops.model.edits import Edit, Plan, Splice
from fileops.model.errors import FileOpsError
from fileops.model.files import Base, Snapshot
from fileops.tracking.known_changes import KnownChanges
from replay.share_of_rebased_edits import merged
from support.core_models import LIMITS, snapshot_of

ALPHABETS = ("abc", "abcdefgh", [f"word {number}" for number in range(60)])
seeds = st.integers(0, 2**32)


@dataclass(frozen=True)
class Case:
    """Lines that a session has read, what another program made of them, and the session's edit.

    expected: the model: both changes, each at its own place in the list of lines.
    """

    base: bytes
    present: bytes
    edit: Edit
    expected: bytes


def case_of(seed: int) -> Case:
    rng = random.Random(seed)
    alphabet = rng.choice(ALPHABETS)

    def lines(n_least: int, n_most: int) -> list[str]:
        return [f"{rng.choice(alphabet)}\n" for _ in range(rng.randint(n_least, n_most))]

    base = lines(8, 30)
    start = rng.randrange(len(base))
    stop = min(len(base), start + rng.randint(1, 4))
    old = base[start:stop]
    at = rng.randrange(len(old))
    new = [*old[:at], *lines(0, 2), *old[at + rng.randint(0, 1) :]]
    above, below = list(base[:start]), list(base[stop:])
    for part in rng.choices((above, below), k=rng.randint(1, 3)):
        place = rng.randint(0, len(part))
        part[place : place + rng.randint(0, 2)] = lines(0, 2)
    join = "".join
    return Case(
        base=join(base).encode(),
        present=join((*above, *old, *below)).encode(),
        edit=Edit(old_string=join(old), new_string=join(new)),
        expected=join((*above, *new, *below)).encode(),
    )


def plan_of(snapshot: Snapshot, edit: Edit) -> Plan:
    return plan(snapshot, detect_format(snapshot.data), (edit,), limits=LIMITS)


def applied(case: Case) -> bytes | None:
    """The file after the edit, None where it is refused."""
    known = Base(content=case.base, shown=case.base)
    outcome = replan(known, snapshot_of(case.present), lambda snapshot: plan_of(snapshot, case.edit))
    return apply(case.present, outcome.plan.splices) if isinstance(outcome, Replanned) else None


@given(seeds)
def test_applied_edit_changes_its_own_place_and_no_other_byte(seed: int) -> None:
    case = case_of(seed)
    result = applied(case)
    assert result is None or result == case.expected


@given(seeds)
def test_edit_is_never_applied_where_a_three_way_merge_conflicts_or_differs(seed: int) -> None:
    case = case_of(seed)
    result = applied(case)
    if result is not None:
        ours = apply(case.base, plan_of(snapshot_of(case.base), case.edit).splices)
        assert merged(case.base, ours, case.present) == result


def test_many_random_edits_are_applied() -> None:
    """Else the laws above would hold of a rule that refuses all."""
    assert sum(applied(case_of(seed)) is not None for seed in range(500)) > 50


@given(seeds)
def test_edit_leaves_unseen_changes_unseen(seed: int) -> None:
    """After the edit, the session's view is its own edit of what it knew: only the changes of others differ."""
    case = case_of(seed)
    if applied(case) is None:
        return
    now = plan_of(snapshot_of(case.present), case.edit).splices
    then = plan_of(snapshot_of(case.base), case.edit).splices
    assert carry_shown(case.base, case.present, now) == apply(case.base, then)


@given(seeds)
def test_known_change_never_moves_an_edit_to_another_place(seed: int) -> None:
    """What others changed above and below is known as splices: the edit is carried over all of them, or refused."""
    case = case_of(seed)
    start, old = case.base.index(case.edit.old_string.encode()), case.edit.old_string.encode()
    if case.base.count(old) != 1 or case.present.count(old) != 1:
        return
    at = case.present.index(old)
    known = line_splices(case.base[:start], (Splice(0, start, case.present[:at]),))
    end = start + len(old)
    below = line_splices(case.base[end:], (Splice(0, len(case.base) - end, case.present[at + len(old) :]),))
    known += tuple(Splice(each.start + end, each.end + end, each.new) for each in below)
    outcome = replan(
        Base(content=case.base, shown=case.base),
        snapshot_of(case.present),
        lambda snapshot: plan_of(snapshot, case.edit),
        [Leg(after=case.present, known=known)],
    )
    if isinstance(outcome, Replanned):
        assert apply(case.present, outcome.plan.splices) == case.expected


def test_edits_of_random_files_land_on_the_lines_that_were_meant() -> None:
    """Lines have hidden identities: see bench/reliability/random_files.py. Most of those that can land do."""
    found: Counter[Outcome] = Counter()
    for file in random_files(1_500, seed=41):
        before, now = file.before_text.encode(), file.now_text.encode()
        edit = Edit(old_string=file.call.old, new_string=file.call.new)
        outcome = replan(
            Base(content=before, shown=before), snapshot_of(now), lambda snapshot, edit=edit: plan_of(snapshot, edit)
        )
        splices: tuple[Splice, ...] | None = None
        if isinstance(outcome, Replanned):
            splices = outcome.plan.splices
        elif isinstance(outcome, Carried):
            splices = outcome.splices
        found[file.outcome(None if splices is None else apply(now, splices).decode())] += 1
    assert found["wrong"] == 0
    assert found["right"] > found["needless"]


def known_splices(before: Sequence[Line], after: Sequence[Line]) -> tuple[Splice, ...]:
    """What made one list of lines of the other, by the lines' identities."""
    starts = [0, *accumulate(len(line.text) + 1 for line in before)]
    codes = SequenceMatcher(None, [*map(id, before)], [*map(id, after)], autojunk=False).get_opcodes()
    return tuple(
        Splice(starts[a], starts[a_end], as_bytes(after[b:b_end]))
        for tag, a, a_end, b, b_end in codes
        if tag != "equal"
    )


def as_bytes(lines: Sequence[Line]) -> bytes:
    return "".join(f"{line.text}\n" for line in lines).encode()


def has_one_identity(file: RandomFile) -> bool:
    """Return whether no content came back with other lines of the same words: no reader could know of that."""
    lines_of = {as_bytes(lines): lines for lines in file.history}
    return all([*map(id, lines_of[as_bytes(lines)])] == [*map(id, lines)] for lines in file.history)


def outcome_over_history(file: RandomFile, rng: random.Random) -> tuple[Outcome, Outcome]:
    """The edit over a history of which some changes are known, and by comparison of its ends alone."""
    changes, path = KnownChanges(), snapshot_of(b"").path
    contents = [as_bytes(lines) for lines in file.history]
    changes.note_read(path, content_digest(contents[0]), contents[0])
    for n, (before, after) in enumerate(pairwise(file.history)):
        if rng.random() < 0.6:
            splices = known_splices(before, after)
            changes.note_commit(snapshot_of(contents[n]), splices, content_digest(contents[n + 1]))
        elif rng.random() < 0.5:  # else nothing has seen this content
            changes.note_found(path, content_digest(contents[n + 1]), contents[n + 1])
    edit = Edit(old_string=file.call.old, new_string=file.call.new)
    base = Base(content=contents[0], shown=contents[0])

    def outcome_of(legs: Sequence[Leg]) -> Outcome:
        outcome = replan(base, snapshot_of(contents[-1]), lambda snapshot: plan_of(snapshot, edit), legs)
        splices: tuple[Splice, ...] | None = None
        if isinstance(outcome, Replanned):
            splices = outcome.plan.splices
        elif isinstance(outcome, Carried):
            splices = outcome.splices
        result = None if splices is None else apply(contents[-1], splices).decode()
        return "right" if result is not None and result == file.carried else file.outcome(result)

    return outcome_of(changes.legs(path, contents[0], contents[-1])), outcome_of(())


def test_edits_over_histories_that_are_known_in_part_land_on_the_lines_that_were_meant() -> None:
    """Sessions and persons made some of the changes, programs the others.

    Nobody replaces a line by the same words and others: sent as an edit, that means that the line stays.
    """
    operations = OPERATIONS.replace("b", "").replace("B", "")
    rng = random.Random(7)
    over: Counter[Outcome] = Counter()
    compared: Counter[Outcome] = Counter()
    for file in filter(has_one_identity, random_files(1_500, 43, operations)):
        outcome, as_a_whole = outcome_over_history(file, rng)
        over[outcome] += 1
        compared[as_a_whole] += 1
    assert over["wrong"] == 0
    assert over["needless"] < 0.7 * compared["needless"]


@given(seeds, st.sampled_from([0, 1, 3]))
def test_smaller_margin_refuses_no_more(seed: int, margin_lines: int) -> None:
    case = case_of(seed)
    try:
        splices: tuple[Splice, ...] = plan_of(snapshot_of(case.base), case.edit).splices
    except FileOpsError:
        return
    known = Base(content=case.base, shown=case.base)
    if isinstance(carry(known, case.present, splices, margin_lines=margin_lines + 1), Carried):
        assert isinstance(carry(known, case.present, splices, margin_lines=margin_lines), Carried)
