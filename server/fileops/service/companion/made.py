"""Finds the content that a host's own tool has written, among those that the file had, if it was not announced.

The host may have normalised quotes, formatted, or matched loosely. What it says it has replaced and written decides;
without that, a content is its own if no other was seen in between: R-COMP-22.
"""

from collections.abc import Sequence
from itertools import groupby, pairwise

from msgspec import Struct

from fileops.core import splices as splicing
from fileops.core.diff.contents import splices_between
from fileops.core.merge import relevance
from fileops.core.text import detect_format, to_lf
from fileops.model.announcements import Content
from fileops.model.edits import Relevance
from fileops.model.files import Base
from fileops.service.companion.files import text_of
from fileops.service.companion.report import EditCall, NotebookCall, WriteCall


class HostStep(Struct, frozen=True, kw_only=True):
    """A content of the host's own tool, and the one that it replaced. is_sure: whether nobody else can have made it."""

    before: Content
    after: Content
    is_sure: bool


def find_step_of_host(
    seen: Sequence[Content], present: Content, told: EditCall | WriteCall | NotebookCall | None
) -> HostStep:
    """Return what the host has made.

    Args: seen: the contents since the announcement, oldest first. present: the content now. told: what the host says.
    """
    contents = [content for content, _ in groupby((*seen, present))]
    steps = list(pairwise(contents))
    if isinstance(told, NotebookCall):  # editors of notebooks save by themselves: only what the host reports is its own
        said = [step for step in steps if _is_step(step, told)]
        before, after = said[-1] if said else steps[-1]
        return HostStep(before=before, after=after, is_sure=bool(said))
    if told is not None and told.result is not None:
        said = [step for step in steps if _is_text(step[1], told.result)]
        if said:
            return HostStep(before=said[-1][0], after=said[-1][1], is_sure=True)
    before, after = steps[-1]
    if told is not None and told.original is not None:  # what it replaced may be a content that was not seen
        return HostStep(before=before, after=after, is_sure=_is_text(before, told.original))
    return HostStep(before=before, after=after, is_sure=len(set(contents[1:])) == 1)


def carry_to(shown: bytes, before: bytes, after: bytes) -> bytes | None:
    """Return what a session was shown of `before`, with the changes that led to `after`; None if they conflict."""
    splices = splices_between(before, after, detect_format(before))
    carried = relevance.carry(Base(content=before, shown=before), shown, splices, margin_lines=0)
    return None if isinstance(carried, Relevance) else splicing.apply(shown, carried.splices)


def _is_step(step: tuple[Content, Content], told: NotebookCall) -> bool:
    if not told.original or not told.result:
        return False
    before, after = step
    return _is_text(before, told.original) and _is_text(after, told.result)


def _is_text(content: Content, said: str) -> bool:
    """Return whether a content is the text that a host reports, which may leave out a BOM and carriage returns."""
    return text_of(content or b"") == to_lf(said.removeprefix("\ufeff"))
