"""Adds to a result, if the client asked for it, what others changed and which problems edits introduced."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fileops.core.presentation.notices import notice_text, rebased_text
from fileops.core.presentation.problems import problems_text
from fileops.model.results import Notice, Notices
from fileops.wire.types import ToolResult

if TYPE_CHECKING:
    from fileops.api.tools import ToolAnswer
    from fileops.service.fileops import FileOps
    from fileops.wire.details import Notice as NoticeDetails


NOTICES_S = 5.0  # for a check of all of a session's files, whose mount may hang


async def notices_for(service: "FileOps", answer: "ToolAnswer", *, is_whole: bool = False) -> Notices:
    """Return the notices for an answer, see FileOps.notices; none after a cancel or if a disk does not answer.

    The answer is about something that has already happened, and neither a cancel nor a mount that hangs must hide it.
    The notices wait for another answer.
    """
    n_used = answer.hints.n_chars
    about = answer.edited if answer.is_rebased or answer.is_outdated else None
    try:
        async with asyncio.timeout(NOTICES_S):
            found = await service.notices(
                answer.session, about, without=answer.shown_path, is_whole=is_whole, n_used=n_used
            )
    except (TimeoutError, asyncio.CancelledError):
        return Notices()
    return service.names.shown_notices(found)


def with_notices(serve: "Callable[..., Awaitable[ToolAnswer]]") -> Callable[..., Awaitable[ToolResult]]:
    """Make a handler for the wire out of one in `tools.py`.

    Its result has `details.notices` and `details.hints`. Under `notices: "output"` and `hints: "output"` it has their
    texts in `output`, the hints first.
    """

    async def handle(service: "FileOps", *params: Any) -> ToolResult:
        answer, problems = await with_diagnostics(service, await serve(service, *params))
        result, texts = answer.result, problems if service.settings.diagnostics == "output" else list[str]()
        if service.settings.notices != "off":
            result, notices = await _with_notices(service, answer)
            texts = [*texts, *notices]
        return with_hints(service, replace(answer, result=result), texts)

    return handle


async def with_diagnostics(service: "FileOps", answer: "ToolAnswer") -> "tuple[ToolAnswer, list[str]]":
    """Return the answer with the effects of its edits, and of earlier ones, on files' problems in its details.

    Also returns the texts for the model. Waits for at most `diagnostics_wait_s`, and not at all if no source is
    concerned.
    """
    diagnosis = service.diagnosis
    if diagnosis is None:
        return answer, []
    session, details = answer.session, dict(answer.result.details)
    report = await diagnosis.report(answer.edit_ids) if answer.edit_ids else None
    late = diagnosis.late(session)
    texts: list[str] = []
    if report is not None:
        details["diagnostics"] = report
        if diagnosis.is_news(session, report):
            texts.append(problems_text(report))
    if late:
        details["late_diagnostics"] = late
        texts += [problems_text(each, is_late=True) for each in late if diagnosis.is_news(session, each)]
    if report is None and not late:
        return answer, texts
    return replace(answer, result=replace(answer.result, details=details)), texts


def with_hints(service: "FileOps", answer: "ToolAnswer", texts: Sequence[str] = ()) -> ToolResult:
    """Return the result with the hints where the client wants them. texts: of notices, for its output."""
    result, hints = answer.result, answer.hints.texts(texts)
    if not hints or service.settings.hints == "output":
        return _with_texts(result, [*hints, *texts])
    return _with_texts(replace(result, details={**result.details, "hints": hints}), texts)


async def _with_notices(service: "FileOps", answer: "ToolAnswer") -> tuple[ToolResult, list[str]]:
    """Return the result with the notices in its details, and the texts that belong in its output."""
    mode, result = service.settings.notices, answer.result
    notices = await notices_for(service, answer, is_whole=mode == "details")
    about, is_rebased = notices.about, answer.is_rebased
    listed = notices.others if about is None or is_rebased else (about, *notices.others)
    if listed:
        result = replace(result, details={**result.details, "notices": [_wire(notice) for notice in listed]})
    texts = [notice_text(notice) for notice in listed] if mode == "output" else []
    if about is not None and is_rebased and mode == "output":
        texts.insert(0, rebased_text(about))
    return result, texts


def _with_texts(result: ToolResult, texts: Sequence[str]) -> ToolResult:
    return replace(result, output="\n\n".join((result.output, *texts))) if texts else result


def _wire(notice: Notice) -> "NoticeDetails":
    return {
        "file_path": notice.file_path,
        "changed_by": notice.changed_by,
        "kind": notice.kind,
        "diff": notice.diff,
        "truncated": notice.n_more > 0,
    }
