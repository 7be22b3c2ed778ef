"""What a model reads about the problems of its edits."""

import pytest
from msgspec.structs import replace

from fileops.core.presentation.problems import MAX_MESSAGE_CHARS, one_line_message, problems_text
from fileops.model.diagnostics import DiagnosticsReport, ReportedProblem


def problem(path: str = "/p/a.py", message: str = "Undefined name `foo`", line: int = 12) -> ReportedProblem:
    return ReportedProblem(
        file_path=path,
        start_line=line,
        start_column=5,
        end_line=line,
        end_column=8,
        severity="error",
        code="F821",
        source="Ruff",
        message=message,
    )


PLAIN = DiagnosticsReport(state="settled", edit_ids=("1",), file_paths=("/p/a.py",), sources=("ruff",))


def report(**fields: object) -> DiagnosticsReport:
    return replace(PLAIN, **fields)


TEXTS: list[tuple[dict[str, object], str, str | None]] = [
    (
        {"introduced": (problem(), problem("/p/b.py", "Gone", 3)), "n_introduced": 2, "n_resolved": 1},
        "The edit was applied. It introduced 2 problems (ruff):\n"
        "a.py:12:5: error F821: Undefined name `foo`\n"
        "/p/b.py:3:5: error F821: Gone\n"
        "It resolved 1 problem.",
        "Your edit of a.py, checked now, introduced 2 problems (ruff):\n"
        "a.py:12:5: error F821: Undefined name `foo`\n"
        "/p/b.py:3:5: error F821: Gone\n"
        "It resolved 1 problem.",
    ),
    ({}, "No new problems in a.py (ruff).", "Your edit of a.py introduced no problems (ruff)."),
    (
        {"n_resolved": 2, "sources": ("ruff", "pyright")},
        "No new problems in a.py (ruff, pyright). It resolved 2 problems.",
        "Your edit of a.py introduced no problems (ruff, pyright). It resolved 2 problems.",
    ),
    (
        {"edit_ids": ("1", "2")},
        "No new problems in a.py (ruff).",
        "Your last 2 edits of a.py introduced no problems (ruff).",
    ),
    (
        {"state": "unavailable", "reason": "ruff: it ended with status 1"},
        "The edit was applied. Its problems in a.py are not known: ruff: it ended with status 1.",
        "Your edit of a.py: its problems are not known: ruff: it ended with status 1.",
    ),
    (
        {"state": "pending"},
        "The edit was applied. Its problems in a.py are not known yet (ruff); a later result will report them.",
        None,
    ),
]


@pytest.mark.parametrize(("fields", "text", "late"), TEXTS)
def test_report_is_said_in_sentences(fields: dict[str, object], text: str, late: str | None) -> None:
    assert problems_text(report(**fields)) == text
    if late is not None:
        assert problems_text(report(**fields), is_late=True) == late


def test_long_list_is_cut_and_counted() -> None:
    text = problems_text(report(introduced=tuple(problem(line=n) for n in range(1, 21)), n_introduced=73))
    assert text.count("\n") == 11
    assert text.endswith("… and 63 more.")


def test_message_is_one_line_without_control_characters() -> None:
    assert one_line_message("a\n\x1b[31mb\u2028c\xa0d") == "a [31mb c d"
    assert len(one_line_message("x" * 5_000)) == MAX_MESSAGE_CHARS
