"""Reports of what edits did to problems, from compared texts."""

from collections.abc import Sequence

from msgspec import UNSET, Struct
from msgspec.structs import replace

from fileops.core.diagnostics.difference import difference, text_edits
from fileops.core.diagnostics.positions import Positions
from fileops.core.text import decode, detect_format
from fileops.model.diagnostics import (
    MAX_LISTED,
    SEVERITIES,
    CommittedFile,
    DiagnosticsReport,
    DiagnosticsState,
    Problem,
    ReportedProblem,
    Severity,
)
from fileops.model.sessions import SessionName


class Edits(Struct, frozen=True, kw_only=True):
    """The edits that a report is about. edit_ids: in the order of their commits. severity: the mildest reported."""

    changes: tuple[CommittedFile, ...]
    edit_ids: tuple[str, ...]
    session_id: SessionName
    severity: Severity

    @property
    def file_paths(self) -> tuple[str, ...]:
        """The edited files, as the session gave them."""
        return tuple(dict.fromkeys(change.given_path for change in self.changes))


class Compared(Struct, frozen=True):
    """Problems that edits introduced and resolved, as one or more sources found them, in any order."""

    introduced: tuple[ReportedProblem, ...] = ()
    resolved: tuple[ReportedProblem, ...] = ()

    def __add__(self, other: "Compared") -> "Compared":
        return Compared(self.introduced + other.introduced, self.resolved + other.resolved)


def text_of(data: bytes) -> str:
    """Return the text that problems are about: without BOM, invalid bytes as U+FFFD."""
    return decode(data, detect_format(data))


def compare_change(change: CommittedFile, before: Sequence[Problem], after: Sequence[Problem]) -> Compared:
    """Compare the problems of the whole file before and after a change."""
    old, new = change.before or b"", change.after or b""
    found = difference(before, after, text_edits(old, detect_format(old), change.splices))
    return Compared(
        report_problems(found.introduced, change.given_path, text_of(new)),
        report_problems(found.resolved, change.given_path, text_of(old)),
    )


def compare_text(path: str, text: str, before: Sequence[Problem], after: Sequence[Problem]) -> Compared:
    """Compare the problems of a text that has not changed."""
    found = difference(before, after, ())
    return Compared(report_problems(found.introduced, path, text), report_problems(found.resolved, path, text))


def report_problems(problems: Sequence[Problem], file_path: str, text: str) -> tuple[ReportedProblem, ...]:
    """Return problems of a text in the form in which they are sent."""
    places = Positions(text)
    shown: list[ReportedProblem] = []
    for problem in problems:
        start_line, start_column = places.line_and_column(problem.start)
        end_line, end_column = places.line_and_column(problem.end)
        shown.append(
            ReportedProblem(
                file_path=file_path,
                start_line=start_line,
                start_column=start_column,
                end_line=end_line,
                end_column=end_column,
                severity=problem.severity,
                code=problem.code or None,
                source=problem.source,
                message=problem.message,
            )
        )
    return tuple(shown)


def report_settled(edits: Edits, sources: tuple[str, ...], compared: Compared) -> DiagnosticsReport:
    """Return a report of the problems that are severe enough: the worst first, then those of the edited files."""
    own = set(edits.file_paths)

    def rank(problem: ReportedProblem) -> tuple[int, bool, str, int, int]:
        severity = SEVERITIES.index(problem.severity)
        return severity, problem.file_path not in own, problem.file_path, problem.start_line, problem.start_column

    mildest = SEVERITIES.index(edits.severity)
    introduced, resolved = (
        sorted((problem for problem in problems if SEVERITIES.index(problem.severity) <= mildest), key=rank)
        for problems in (compared.introduced, compared.resolved)
    )
    return replace(
        report_unsettled(edits, "settled", sources),
        introduced=tuple(introduced[:MAX_LISTED]),
        resolved=tuple(resolved[:MAX_LISTED]),
        n_introduced=len(introduced),
        n_resolved=len(resolved),
    )


def report_unsettled(
    edits: Edits, state: DiagnosticsState, sources: tuple[str, ...], reason: str | None = None
) -> DiagnosticsReport:
    """Return a report without problems. reason: for `unavailable`, a clause."""
    return DiagnosticsReport(
        state=state,
        edit_ids=edits.edit_ids,
        file_paths=edits.file_paths,
        sources=sources,
        reason=UNSET if reason is None else reason,
    )


def combine(reports: Sequence[DiagnosticsReport]) -> DiagnosticsReport:
    """Return one report of several commits of one request: settled only if all are."""
    if len(reports) == 1:
        return reports[0]
    order: tuple[DiagnosticsState, ...] = ("settled", "pending", "unavailable")
    worst = max(reports, key=lambda report: order.index(report.state))
    found = replace(
        worst,
        sources=tuple(dict.fromkeys(source for report in reports for source in report.sources)),
        edit_ids=tuple(edit_id for report in reports for edit_id in report.edit_ids),
        file_paths=tuple(dict.fromkeys(path for report in reports for path in report.file_paths)),
    )
    if worst.state != "settled":
        return found
    return replace(
        found,
        introduced=tuple(problem for report in reports for problem in report.introduced or ())[:MAX_LISTED],
        resolved=tuple(problem for report in reports for problem in report.resolved or ())[:MAX_LISTED],
        n_introduced=sum(report.n_introduced or 0 for report in reports),
        n_resolved=sum(report.n_resolved or 0 for report in reports),
    )
