"""Sentences for a model about the problems that its edits introduced and resolved."""

import re

from fileops.core.presentation.phrases import format_count
from fileops.model.diagnostics import DiagnosticsReport, ReportedProblem

MAX_PROBLEMS = 10
MAX_MESSAGE_CHARS = 300
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def problems_text(report: DiagnosticsReport, *, is_late: bool = False) -> str:
    """Return the text about a report. is_late: the edit was answered earlier, so the text names it."""
    names = ", ".join(dict.fromkeys(_name_of(path) for path in report.file_paths))
    sources = ", ".join(report.sources)
    if report.state == "pending":
        return (
            f"The edit was applied. Its problems in {names} are not known yet ({sources}); a later result will "
            "report them."
        )
    edits = f"Your edit of {names}"
    if len(report.edit_ids) > 1:
        edits = f"Your last {len(report.edit_ids)} edits of {names}"
    if report.state == "unavailable":
        if is_late:
            return f"{edits}: its problems are not known: {report.reason}."
        return f"The edit was applied. Its problems in {names} are not known: {report.reason}."
    n_introduced, n_resolved = report.n_introduced or 0, report.n_resolved or 0
    resolved = f"It resolved {format_count(n_resolved, 'problem')}." if n_resolved else ""
    if not n_introduced:
        nothing = (
            f"{edits} introduced no problems ({sources})." if is_late else f"No new problems in {names} ({sources})."
        )
        return f"{nothing} {resolved}".rstrip()
    subject = f"{edits}, checked now," if is_late else "The edit was applied. It"
    lines = [f"{subject} introduced {format_count(n_introduced, 'problem')} ({sources}):"]
    lines += [_line(problem, report.file_paths) for problem in (report.introduced or ())[:MAX_PROBLEMS]]
    if n_introduced > MAX_PROBLEMS:
        lines.append(f"… and {n_introduced - MAX_PROBLEMS} more.")
    if resolved:
        lines.append(resolved)
    return "\n".join(lines)


def _line(problem: ReportedProblem, edited: tuple[str, ...]) -> str:
    path = _name_of(problem.file_path) if problem.file_path in edited else problem.file_path
    code = f" {problem.code}" if problem.code else ""
    message = one_line_message(problem.message)
    return f"{path}:{problem.start_line}:{problem.start_column}: {problem.severity}{code}: {message}"


def _name_of(path: str) -> str:
    return path.rpartition("/")[2]


def one_line_message(message: str) -> str:
    """Return a message in one line of at most 300 characters, without control characters."""
    line = " ".join(_CONTROL.sub(" ", message).split())
    return line if len(line) <= MAX_MESSAGE_CHARS else f"{line[: MAX_MESSAGE_CHARS - 1]}…"
