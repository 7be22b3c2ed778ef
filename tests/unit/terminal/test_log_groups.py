"""Changes outside any turn: what is one group of the log, and what is not."""

import pytest

from fileops.terminal.log_groups import TOGETHER_S, groups_of
from fileops_client.author import Author
from fileops_client.values import RecordEntry

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
