"""Each wire shape, byte for byte, as tests/golden has it: key order, absent keys and nulls included.

A golden file changes only with the protocol: `FILEOPS_WRITE_GOLDEN=1 pytest tests/unit/wire/test_golden.py` rewrites
them all, and the diff shows what every client would see.
"""

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fileops.model import errors
from fileops.model.edits import Change, Hunk, HunkLine, LineRange, SuggestedPlace
from fileops.model.events import BecameStale, DidConflict, DidEdit, DidRead, WatcherHealth
from fileops.model.files import CommitReport, TextFormat
from fileops.model.results import EditResult, ReadResult, TrackedFile, Window
from fileops.model.review import Decider
from fileops.model.sessions import SessionName
from fileops.rpc.json import dumps
from fileops.wire import convert
from fileops.wire import types as wire
from fileops.wire.events import notification_of
from fileops.wire.tools import ALL_TOOLS, general_guidelines, tool_definitions

GOLDEN = Path(__file__).parents[2] / "golden"
PATH = "/shop/a.txt"

CHANGE = Change(
    operation="modify",
    unified="--- /shop/a.txt\n+++ /shop/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+2\n",
    exact=True,
    truncated=False,
    hunks=(
        Hunk(
            id="1-abc",
            old_start=1,
            old_lines=2,
            new_start=1,
            new_lines=2,
            lines=(
                HunkLine(kind=" ", text="one"),
                HunkLine(kind="-", text="two", no_newline=True),
                HunkLine(kind="+", text="2"),
            ),
        ),
    ),
    n_added=1,
    n_removed=1,
    first_changed_line=2,
    snippet="     1→one\n     2→2",
)
PLACE = SuggestedPlace(
    start_line=3, end_line=4, similarity=0.93, diff="@@ -1 +1 @@\n-a\n+b\n", differs_in=("tabs", "case")
)


def read(**fields: object) -> object:
    return convert.read_result(ReadResult(output="text for the model", **fields))  # pyrefly: ignore[bad-argument-type]


def edit(**fields: object) -> object:
    return convert.edit_result(EditResult(output="text for the model", **fields), PATH)  # pyrefly: ignore[bad-argument-type]


def window(**fields: object) -> Window:
    known: dict[str, object] = {
        "text": "     1→one",
        "start_line": 1,
        "end_line": 1,
        "total_lines": 2,
        "next_offset": 2,
        "n_lines_hidden": 1,
        "n_chars": 4,
        "newline": "\n",
        "format": TextFormat(),
        "past_end": False,
        "at_end": True,
    }
    return Window(**{**known, **fields})  # pyrefly: ignore[bad-argument-type]


def failed(error: errors.FileOpsError) -> object:
    return edit(error=error)


MESSAGES: dict[str, Callable[[], object]] = {
    "read": lambda: read(
        window=window(), format=TextFormat(), size_bytes=8, mtime_ns=1_500_000_000_250_000_000, source="disk"
    ),
    "read_buffer": lambda: read(
        window=window(total_lines=None, next_offset=None, newline=None),
        format=TextFormat(encoding="utf-16-le", bom=b"\xff\xfe"),
        size_bytes=8,
        source="buffer",
        document_version=7,
    ),
    "read_failed": lambda: read(error=errors.FileMissing()),
    "edit": lambda: edit(
        change=CHANGE,
        n_replaced=(2,),
        applied_to="disk",
        matches=("exact",),
        match_lines=((2, 9),),
        edit_id="e1",
        commit=CommitReport(method="swap", durability="synced"),
    ),
    "edit_dry_run": lambda: edit(
        change=CHANGE, n_replaced=(1,), applied_to="disk", matches=("newline",), match_lines=((2,),), dry_run=True
    ),
    "multi_edit_in_buffer": lambda: edit(
        change=CHANGE,
        is_multi=True,
        n_replaced=(1, 1),
        applied_to="buffer",
        matches=("exact", "newline"),
        match_lines=((2,), (1,)),
        modified_by_user=True,
        edit_id="e2",
        commit=CommitReport(method="buffer", durability="editor"),
    ),
    "edit_without_match": lambda: failed(errors.NoMatch(old_string="x", edit_index=1, suggested_place=PLACE)),
    "edit_without_anything_near": lambda: failed(errors.NoMatch(old_string="x")),
    "edit_with_many_matches": lambda: failed(errors.MultipleMatches(old_string="x", n_matches=2, lines=(3, 9))),
    "edit_with_wrong_count": lambda: failed(errors.CountMismatch(n_expected=3, n_found=1, lines=(4,))),
    "edit_of_moved_file": lambda: failed(
        errors.ModifiedExternally(changed_by="s2", diff_since_read="@@ -1 +1 @@\n-a\n+b\n", also_changed_by="buffer")
    ),
    "edit_rejected_in_a_review": lambda: failed(errors.Rejected(reason="Leave the numbers.", by=Decider("Neovim"))),
    "edit_without_consent": lambda: failed(errors.ConsentUnavailable(rule="protected")),
    "undo_in_conflict": lambda: failed(
        errors.UndoConflict(ranges=(LineRange(start_line=1, end_line=2),), explanation="x")
    ),
    "tracked": lambda: wire.TrackedResult(
        files=(TrackedFile(file_path=PATH, state="stale", reason="modified", read_at=1.5, mtime=1.25, size_bytes=3),)
    ),
    "tools": lambda: wire.ToolsResult(tools=tool_definitions(), guidelines=general_guidelines(ALL_TOOLS)),
    "notifications": lambda: [
        notification_of(event)
        for event in (
            BecameStale(
                file_path=PATH, session_id=SessionName("s"), reason="modified", source="session:t", timestamp=1.5
            ),
            DidRead(file_path=PATH, session_id=SessionName("s"), timestamp=1.5, size=3, modified=1.25),
            DidEdit(file_path=PATH, session_id=SessionName("s"), timestamp=1.5, content_length=3, edit_id="e1"),
            DidConflict(
                file_path=PATH,
                session_id=SessionName("s"),
                last_read=1.5,
                last_modified=1.25,
                current_modified=1.75,
                size_diff=-2,
            ),
            WatcherHealth(state="degraded", reason="event queue overflow"),
        )
    ],
}


# R-RESULT-1, R-READ-2, R-EDIT-2, R-EDIT-3
@pytest.mark.parametrize("name", MESSAGES)
def test_message_equals_its_golden_file(name: str) -> None:
    golden = GOLDEN / f"{name}.json"
    shown = json.dumps(json.loads(dumps(MESSAGES[name]())), indent=2, ensure_ascii=False) + "\n"
    if os.environ.get("FILEOPS_WRITE_GOLDEN"):
        golden.write_text(shown, encoding="utf-8")
    assert shown == golden.read_text(encoding="utf-8")


def test_every_golden_file_belongs_to_a_message() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == set(MESSAGES)


# R-RESULT-2
def test_every_failure_has_its_code_on_the_wire() -> None:
    """Failures with fields are above; the others carry their code and a sentence, and nothing else is needed."""
    for code, failure in {failure.code: failure for failure in errors.FAILURES}.items():
        fields = {field.name: _some(field.name) for field in dataclasses.fields(failure) if field.init}
        result = failed(failure(**fields))
        assert isinstance(result, wire.ToolResult)
        assert result.error is not None
        assert (result.status, result.error.code) == ("error", code)
        assert result.error.message.endswith((".", "!", "?")), result.error.message
        assert "\n" not in result.error.message


def _some(field: str) -> object:
    if field in {"lines", "ranges", "elsewhere", "same_id"}:
        return ()
    if field in {"relevance", "at_index", "cell_lines"}:
        return None
    if field in {"suggested_place", "diff_since_read", "also_changed_by", "by"}:
        return None
    numbers = {
        "size_bytes",
        "max_kb",
        "n_chars",
        "max_chars",
        "n_matches",
        "n_expected",
        "n_found",
        "edit_index",
        "line",
        "patch_line",
        "timeout_s",
        "n_cells",
    }
    if field == "cells_since_read":  # of a notebook alone
        return None
    return 1 if field in numbers else field == "same_strings" or "Some words."
