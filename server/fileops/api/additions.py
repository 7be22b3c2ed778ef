"""What is added to a tool's result: suggestions, what others changed, and which problems edits introduced."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from fileops.core.presentation.notices import SAME_CALL, notice_text, rebased_text
from fileops.core.presentation.problems import problems_text
from fileops.core.presentation.suggestion_texts import NO_SUGGESTIONS, SuggestionTexts
from fileops.model.diagnostics import DiagnosticsReport
from fileops.model.results import ChangeNotice, EditResult, Notices
from fileops.model.settings import Settings
from fileops.wire.types import ToolResult

if TYPE_CHECKING:
    from fileops.api.tools import ToolAnswer
    from fileops.service.fileops import FileOps
    from fileops.wire.details import Notice as NoticeDetails


NOTICES_S = 5.0  # for a check of all of a session's files, whose mount may hang


class Additions(Struct, frozen=True, kw_only=True):
    """What is added to one result, whichever tool it is of.

    diagnostics: what its edits did to the problems of files. late: what earlier edits did. problems: the texts about
    both. is_rebased: whether its edit was applied over what `notices.about` says. is_brief: whether the caller says
    that itself. can_repeat: whether the notice about its refused edit counts as a read of the file, if it is whole, and
    the same call would then be applied.
    """

    suggestions: SuggestionTexts = NO_SUGGESTIONS
    diagnostics: DiagnosticsReport | None = None
    late: Sequence[DiagnosticsReport] = ()
    problems: Sequence[str] = ()
    notices: Notices = Notices()
    is_rebased: bool = False
    is_brief: bool = False
    can_repeat: bool = False

    @property
    def listed(self) -> Sequence[ChangeNotice]:
        """The notices, without that of the change over which the edit was applied."""
        about, others = self.notices.about, self.notices.others
        return others if about is None or self.is_rebased else (about, *others)

    @property
    def reported(self) -> list[str]:
        """The texts of the notices."""
        if self.is_brief:
            return list(map(notice_text, self.notices.others))
        texts = list(map(notice_text, self.listed))
        about = self.notices.about
        if self.can_repeat and about is not None and about.is_whole:
            texts[0] = f"{texts[0]}\n{SAME_CALL}"
        if self.notices.about is not None and self.is_rebased:
            texts.insert(0, rebased_text(self.notices.about))
        return texts

    def add_to(self, result: ToolResult, settings: Settings) -> ToolResult:
        """Return the result with what the client wants of it, in `details` and in `output`."""
        details: dict[str, object] = {}
        if self.diagnostics is not None:
            details["diagnostics"] = self.diagnostics
        if self.late:
            details["late_diagnostics"] = self.late
        if self.listed:
            details["notices"] = list(map(_wire, self.listed))
        texts = [
            *(self.problems if settings.diagnostics == "output" else ()),
            *(self.reported if settings.notices == "output" else ()),
        ]
        if suggested := self.suggestions.texts(texts):
            if settings.suggestions == "output":
                texts = [*suggested, *texts]
            else:
                details["suggestion_texts"] = suggested
        if not details and not texts:
            return result
        return replace(result, output="\n\n".join((result.output, *texts)), details={**result.details, **details})


async def additions_to(
    service: "FileOps", answer: "ToolAnswer", *, has_notices: bool, is_whole: bool = False, is_brief: bool = False
) -> Additions:
    """Return what is added to an answer. Waits for at most `diagnostics_wait_s` and NOTICES_S.

    Args: is_whole: see FileOps.notices. is_brief: whether the caller itself says what changed in the answer's file; of
    an applied edit it then names only the lines.
    """
    report, late, problems = await _diagnostics(service, answer)
    return Additions(
        suggestions=answer.suggestions,
        diagnostics=report,
        late=late,
        problems=problems,
        notices=await _notices(service, answer, is_whole=is_whole, is_brief=is_brief) if has_notices else Notices(),
        is_rebased=answer.is_rebased,
        is_brief=is_brief,
        can_repeat=service.settings.freshness == "relevant" and _fits_now(answer),
    )


def _fits_now(answer: "ToolAnswer") -> bool:
    """Return whether an edit was refused because of others' changes, and each of its steps fits the present file."""
    outcome = answer.outcome
    if not answer.is_outdated or not isinstance(outcome, EditResult) or outcome.suggestions is None:
        return False
    return outcome.suggestions.shown is None and bool(outcome.edits) and not outcome.suggestions.failures


def with_additions(serve: "Callable[..., Awaitable[ToolAnswer]]") -> Callable[..., Awaitable[ToolResult]]:
    """Make a handler for the wire out of one in `tools.py`."""

    async def handle(service: "FileOps", *params: Any) -> ToolResult:
        answer, mode = await serve(service, *params), service.settings.notices
        additions = await additions_to(service, answer, has_notices=mode != "off", is_whole=mode == "details")
        return additions.add_to(answer.result, service.settings)

    return handle


async def _diagnostics(
    service: "FileOps", answer: "ToolAnswer"
) -> tuple[DiagnosticsReport | None, Sequence[DiagnosticsReport], list[str]]:
    """Return the effects of an answer's edits, and of earlier ones, on files' problems, and the texts about them.

    It does not wait if no source is concerned.
    """
    diagnosis = service.diagnosis
    if diagnosis is None:
        return None, (), []
    report = await diagnosis.report(answer.edit_ids) if answer.edit_ids else None
    late = diagnosis.late(answer.session)
    texts = [problems_text(report)] if report is not None and diagnosis.is_news(answer.session, report) else []
    texts += [problems_text(each, is_late=True) for each in late if diagnosis.is_news(answer.session, each)]
    return report, late, texts


async def _notices(service: "FileOps", answer: "ToolAnswer", *, is_whole: bool, is_brief: bool) -> Notices:
    """Return the notices for an answer, see FileOps.notices; none after a cancel or if a disk does not answer.

    The answer is about something that has already happened, and neither a cancel nor a mount that hangs must hide it.
    The notices wait for another answer.
    """
    about = answer.edited if answer.is_rebased or answer.is_outdated else None
    try:
        async with asyncio.timeout(NOTICES_S):
            found = await service.notices(
                answer.session,
                about,
                without=answer.shown_path,
                is_whole=is_whole,
                is_brief=is_brief and answer.is_rebased,
                n_used=answer.suggestions.n_chars,
            )
    except (TimeoutError, asyncio.CancelledError):
        return Notices()
    return service.names.show_notices(found)


def _wire(notice: ChangeNotice) -> "NoticeDetails":
    return {
        "file_path": notice.file_path,
        "changed_by": notice.changed_by,
        "kind": notice.kind,
        "diff": notice.diff,
        "truncated": notice.n_more > 0,
    }
