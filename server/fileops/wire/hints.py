"""What is added to the answer to an edit, in the shapes of the wire."""

from typing import TYPE_CHECKING

from fileops.model.suggestions import Advice, FailedStep, SyntaxReport
from fileops.wire.failures import ranges_of

if TYPE_CHECKING:
    from fileops.wire.details import AdviceDetails, FailedStepDetails, SyntaxDetails


def advice_details(advice: Advice) -> "AdviceDetails":
    details: AdviceDetails = {}
    if advice.suggestions:
        details["suggestions"] = [
            {
                "edit_index": each.edit_index,
                "kind": each.kind,
                "start_line": each.start_line,
                "end_line": each.end_line,
                "old_string": each.old_string,
                "note": each.note,
            }
            for each in advice.suggestions
        ]
    if advice.failures:
        details["failures"] = [_failed_step(failure) for failure in advice.failures]
    if advice.shown is not None:
        details["shown"] = {"ranges": ranges_of(advice.shown.ranges), "text": advice.shown.text}
    return details


def syntax_details(report: SyntaxReport) -> "SyntaxDetails":
    return {
        "language": report.language,
        "errors": [{"line": each.line, "column": each.column, "message": each.message} for each in report.errors],
    }


def _failed_step(failure: FailedStep) -> "FailedStepDetails":
    return {
        "edit_index": failure.edit_index,
        "code": failure.code,
        "message": failure.message,
        "after": failure.after,
        "match_lines": list(failure.lines),
        "n_more": failure.n_more,
    }
