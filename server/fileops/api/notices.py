"""Adds to a result what others changed in files that its session has read, if the client asked for that."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fileops.core.presentation.advice import NO_HINTS, Hints
from fileops.core.presentation.notices import notice_text, rebased_text
from fileops.model.results import Notice, Notices
from fileops.wire.types import ToolResult

if TYPE_CHECKING:
    from fileops.service.fileops import FileOps
    from fileops.wire.details import Notice as NoticeDetails


NOTICES_S = 5.0  # for a check of all files of a session, which may be on a mount that hangs


async def notices_for(
    service: "FileOps",
    session_id: str,
    about: str | None = None,
    *,
    without: str | None = None,
    is_whole: bool = False,
    n_used: int = 0,
) -> Notices:
    """Return the notices for a result, see FileOps.notices; none if the request is cancelled or a disk does not answer.

    What the result says has happened already, and neither a cancel nor a mount that hangs must hide it. The notices
    wait for another result.
    """
    try:
        async with asyncio.timeout(NOTICES_S):
            return await service.notices(session_id, about, without=without, is_whole=is_whole, n_used=n_used)
    except (TimeoutError, asyncio.CancelledError):
        return Notices()


async def with_notices(
    service: "FileOps",
    session_id: str,
    result: ToolResult,
    file_path: str | None = None,
    *,
    without: str | None = None,
    hints: Hints = NO_HINTS,
) -> ToolResult:
    """Return the result with `details.notices`; under `notices: "output"`, with their texts in `output` as well.

    Under `hints: "output"` the texts of the hints come before them. Args: file_path: of an edit. without: see
    FileOps.notices.
    """
    mode = service.settings.notices
    shows_hints = service.settings.hints == "output"
    if mode == "off":
        return _with_texts(result, hints.texts() if shows_hints else [])
    is_rebased = was_rebased(result)
    about = file_path if is_rebased or was_refused(result) else None
    told = await notices_for(
        service, session_id, about, without=without, is_whole=mode == "details",
        n_used=hints.n_chars if shows_hints else 0,
    )  # fmt: skip
    listed = told.others if told.about is None or is_rebased else (told.about, *told.others)
    details = {**result.details, "notices": [_wire(notice) for notice in listed]} if listed else result.details
    result, texts = replace(result, details=details), list[str]()
    if mode == "output":
        texts = [notice_text(notice) for notice in listed]
        if told.about is not None and is_rebased:
            texts.insert(0, rebased_text(told.about))
    return _with_texts(result, [*(hints.texts(texts) if shows_hints else []), *texts])


def _with_texts(result: ToolResult, texts: Sequence[str]) -> ToolResult:
    return replace(result, output="\n\n".join((result.output, *texts))) if texts else result


def was_refused(result: ToolResult) -> bool:
    """Whether others had changed the file, and the edit was refused for it."""
    return result.error is not None and result.error.code == "modified_externally"


def was_rebased(result: ToolResult) -> bool:
    """Whether others had changed the file, and the edit was applied."""
    return "rebased" in result.details and not result.details.get("dry_run")


def _wire(notice: Notice) -> "NoticeDetails":
    return {
        "file_path": notice.file_path,
        "changed_by": notice.changed_by,
        "kind": notice.kind,
        "diff": notice.diff,
        "truncated": notice.n_more > 0,
    }
