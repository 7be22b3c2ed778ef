"""The view model of calls and results."""

from fileops.core.presentation.outputs import read_text
from fileops.core.presentation.render import ShownResult, render, render_call
from fileops.model.edits import Hunk, HunkLine

FOLDERS = ("/p",)
HUNKS = (
    Hunk(
        id="1", old_start=3, old_lines=2, new_start=3, new_lines=3,
        lines=(
            HunkLine(" ", "same"), HunkLine("-", "old\r"), HunkLine("+", "new"), HunkLine("+", "end", no_newline=True),
        ),
    ),
    Hunk(
        id="2", old_start=40, old_lines=8, new_start=41, new_lines=8, lines=tuple(HunkLine(" ", "x") for _ in range(8))
    ),
)  # fmt: skip


def read_of(n_lines: int) -> ShownResult:
    return ShownResult(is_error=False, output=read_text("\n".join(f"{n:6}→line {n}" for n in range(5, 5 + n_lines))))


def test_call_is_one_line() -> None:
    assert render_call("fileops/read", {"file_path": "/p/src/x.py", "offset": 10, "limit": 41}, FOLDERS) == (
        "read src/x.py:10-50"
    )
    assert render_call("fileops/edit", {"file_path": "/p/src/x\n.py"}, FOLDERS) == "edit src/x\ufffd.py"
    assert (
        render_call("fileops/multiEdit", {"file_path": "/p/x", "edits": [{"old_string": "a"}]}, FOLDERS)
        == "multi_edit x (1 edit)"
    )
    assert render_call("fileops/bash", {"command": "ls -l"}, FOLDERS) == "bash ls -l"
    assert render_call("fileops/undo", {"session_id": "agent-7"}, FOLDERS) == "undo session agent-7"
    assert render_call("fileops/undo", {"session_id": "a", "file_path": "/p/x"}, FOLDERS) == "undo x"


def test_call_is_marked_incomplete_while_its_arguments_stream_in() -> None:
    assert render("Read", {}, FOLDERS, is_partial=True).call == "read ..."
    assert render("fileops/edit", {"old_string": "x"}, FOLDERS, is_partial=True).call == "edit ..."
    assert render("fileops/edit", {}, FOLDERS).state == "pending"
    assert render("fileops/read", {"session_id": "a"}, FOLDERS, is_partial=True).call == "read ..."
    assert render("fileops/undo", {}, FOLDERS, is_partial=True).call == "undo ..."


def test_collapsed_read_shows_ten_lines_and_how_many_more() -> None:
    view = render("fileops/read", {"file_path": "/p/x"}, FOLDERS, result=read_of(60))
    assert [(line.number, line.text) for line in view.lines] == [(n, f"line {n}") for n in range(5, 15)]
    assert (view.n_more, view.more) == (50, "... (50 more lines)")
    assert view.state == "success"


def test_expanded_read_shows_every_line_and_no_reminder() -> None:
    view = render("fileops/read", {"file_path": "/p/x"}, FOLDERS, result=read_of(11), expanded=True)
    assert [line.number for line in view.lines] == list(range(5, 16))
    assert (view.n_more, view.more) == (0, "")
    assert render("fileops/read", {}, FOLDERS, result=read_of(11)).more == "... (1 more line)"


def test_failure_shows_the_sentence_for_the_user() -> None:
    failed = ShownResult(is_error=True, output="<tool_use_error>x</tool_use_error>", message="The file is binary.")
    view = render("fileops/edit", {"file_path": "/p/x"}, FOLDERS, result=failed)
    assert (view.state, [line.text for line in view.lines], view.diff) == ("error", ["The file is binary."], None)


def test_diff_rows_have_the_line_numbers_of_both_sides() -> None:
    result = ShownResult(is_error=False, output="ok", hunks=HUNKS, n_added=2, n_removed=1)
    view = render("fileops/edit", {"file_path": "/p/x.py"}, FOLDERS, result=result)
    assert view.diff is not None
    assert [(row.kind, row.old_line, row.new_line, row.text) for row in view.diff.rows[:6]] == [
        ("hunk", None, None, "@@ -3,2 +3,3 @@"), (" ", 3, 3, "same"), ("-", 4, None, "old\r"), ("+", None, 4, "new"),
        ("+", None, 5, "end"), ("hunk", None, None, "@@ -40,8 +41,8 @@"),
    ]  # fmt: skip
    assert (view.diff.title, view.diff.added, view.diff.removed) == ("x.py", 2, 1)
    assert (len(view.diff.rows), view.n_more, view.lines) == (10, 4, ())
    view = render("fileops/edit", {"file_path": "/p/x.py"}, FOLDERS, result=result, expanded=True)
    assert view.diff is not None
    assert (len(view.diff.rows), view.more) == (14, "")


def test_unchanged_rows_are_equal_between_views() -> None:
    """So a client that drew the last view sees which of its components it can use again."""
    diff = ShownResult(is_error=False, output="", hunks=HUNKS)
    arguments = {"file_path": "/p/x.py"}
    collapsed = render("fileops/edit", arguments, FOLDERS, result=diff)
    assert render("fileops/edit", dict(arguments), FOLDERS, result=diff) == collapsed
    expanded = render("fileops/edit", arguments, FOLDERS, result=diff, expanded=True)
    assert collapsed.diff is not None
    assert expanded.diff is not None
    assert expanded.diff.rows[: len(collapsed.diff.rows)] == collapsed.diff.rows
    views = [
        render(
            "fileops/bash",
            {"command": "make"},
            FOLDERS,
            is_partial=True,
            result=ShownResult(is_error=False, output=output),
        )
        for output in ("one\n", "one\ntwo\n")
    ]
    assert views[0].call == views[1].call
    assert views[1].lines[:1] == views[0].lines


def test_result_that_is_still_streaming_is_pending() -> None:
    result = ShownResult(is_error=False, output="one\ntwo\n")
    view = render("fileops/bash", {"command": "make"}, FOLDERS, result=result, is_partial=True)
    assert (view.state, [line.text for line in view.lines]) == ("pending", ["one", "two"])
