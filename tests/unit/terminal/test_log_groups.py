"""Changes outside any turn: what is one group of the log, and what is not."""

from dataclasses import replace

import pytest

from fileops.terminal.log_groups import TOGETHER_S, group_files, groups_of
from fileops_client.author import Author
from fileops_client.values import EditedLines, RecordEntry

CLAUDE = Author(kind="session", label="Claude Code", session_id="claude-code:1")
CODEX = Author(kind="session", label="Codex", session_id="codex:1")
PERSON, IN_NEOVIM = (Author(kind="person", label=label) for label in ("VS Code", "Neovim"))


def entry(number: int, by: Author, time: float) -> RecordEntry:
    return RecordEntry(
        entry_id=f"e-{number}", time=time, path="/p/a", kind="modify", by=by, during=(), added=1, removed=0,
        content="kept", found="event", evidence="none", settled=True, undoable=True, undoes=(), kept=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("newer", "older", "apart_s", "n_groups"),
    [
        (CLAUDE, CLAUDE, TOGETHER_S, 1),
        (CLAUDE, CLAUDE, TOGETHER_S + 1, 2),
        (CLAUDE, CODEX, 1, 2),
        (PERSON, IN_NEOVIM, 1, 1),  # one person, wherever they type
        (PERSON, CLAUDE, 1, 2),
    ],
)
def test_changes_of_one_author_within_minutes_are_one_group(
    newer: Author, older: Author, apart_s: float, n_groups: int
) -> None:
    assert len(groups_of([entry(2, newer, 1000.0), entry(1, older, 1000.0 - apart_s)], ())) == n_groups


@pytest.mark.parametrize(
    ("undone_by_rewind", "is_redo", "n_undone"), [((2, 3), False, 2), ((3,), True, 1), ((1, 2), False, 2)]
)
def test_rewind_is_a_redo_only_if_all_that_it_took_back_were_undos(
    undone_by_rewind: tuple[int, ...], is_redo: bool, n_undone: int
) -> None:
    edits = [entry(n, CLAUDE, float(n)) for n in (1, 2)]
    undo = replace(entry(3, PERSON, 3.0), rewind_id="w-1", undoes=("e-1",))
    rewind = replace(entry(4, PERSON, 4.0), rewind_id="w-2", undoes=tuple(f"e-{n}" for n in undone_by_rewind))
    group = groups_of([rewind, undo, *reversed(edits)], ())[0]
    assert (group.is_redo, group.n_undone) == (is_redo, n_undone)


@pytest.mark.parametrize(("edited", "is_rename_only"), [(None, True), (EditedLines(added=2, removed=0), False)])
def test_rename_is_nothing_else_only_if_no_line_was_added_or_removed(
    edited: EditedLines | None, is_rename_only: bool
) -> None:
    gone = replace(entry(1, CLAUDE, 1.0), kind="delete", moved_to="/p/b")
    made = replace(entry(2, CLAUDE, 1.0), path="/p/b", kind="create", moved_from="/p/a", edited=edited)
    (file,) = group_files(groups_of([made, gone], ())[0])
    assert (file.letter, file.moved_from, file.is_rename_only) == ("R", "/p/a", is_rename_only)
