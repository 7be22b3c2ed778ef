"""Texts that a hook gives to a host, before it writes, in place of those in its call.

Corrected: what an edit's text was meant to be, as it is in the file. Formatted: with the lines that the call changes as
the user's formatter leaves them. The host then writes, shows and records one text, and nothing changes it afterwards.
"""

from msgspec import Struct
from msgspec.structs import replace

from fileops.core import processing
from fileops.core import splices as splicing
from fileops.core.presentation.companion_texts import formatted_text
from fileops.model.edits import Edit, Plan
from fileops.model.errors import FileOpsError
from fileops.model.requests import EditRequest
from fileops.model.settings import Limits
from fileops.service.companion.answers import CorrectedText
from fileops.service.formatting import Formatter

MAX_MORE_LINES = 20  # on each side of an edit, to make its old text unique


class Rewritten(Struct, frozen=True, kw_only=True):
    """request, plan: with the other texts. texts: for the host. note: what the model is told once they are written."""

    request: EditRequest
    plan: Plan
    texts: CorrectedText
    note: str = ""


def correct(request: EditRequest, plan: Plan) -> Rewritten | None:
    """Return the texts of one edit as they are in the file, if its own text can only mean this place.

    Hosts differ in what they make of CR, so these are left to them.
    """
    if len(plan.splices) != 1:
        return None
    (splice,) = plan.splices
    texts = _texts(plan, splice.start, splice.end)
    return None if texts is None else _rewrite(request, plan, texts)


def format_changes(request: EditRequest, plan: Plan, formatter: Formatter, limits: Limits) -> Rewritten | None:
    """Return the call with its changed lines formatted; None if that changes nothing or takes several calls.

    Blocks until the user's language server has answered.
    """
    step = formatter.of(plan.snapshot.path)
    if step is None or request.hunks or (request.content is None and len(request.edits) != 1):
        return None
    try:
        made = processing.process([step], plan, file_path=request.file_path, limits=limits, is_multi=False)
    except FileOpsError:
        return None  # the host writes what the model has asked for
    if not made.processed_by or not made.splices:
        return None
    texts = _unique(made) if request.content is None else _content(made)
    if texts is None:
        return None
    note = formatted_text(made.processed_by, made.change.unified)
    return _rewrite(request, made, texts, note)


def _rewrite(request: EditRequest, plan: Plan, texts: CorrectedText, note: str = "") -> Rewritten:
    if texts.content is not None:
        request = replace(request, content=texts.content)
    else:
        request = replace(request, edits=(Edit(old_string=texts.old, new_string=texts.new),))
    return Rewritten(request=request, plan=plan, texts=texts, note=note)


def _content(plan: Plan) -> CorrectedText | None:
    after = splicing.apply(plan.snapshot.data, plan.splices)
    if not _is_plain(plan, after):
        return None
    try:
        return CorrectedText(content=after.decode())
    except UnicodeDecodeError:
        return None


def _unique(plan: Plan) -> CorrectedText | None:
    """Return one edit that makes all changes of the plan, with as many lines around them as make its text unique."""
    data = plan.snapshot.data
    start, end = plan.splices[0].start, plan.splices[-1].end
    start = data.rfind(b"\n", 0, start) + 1
    for _ in range(MAX_MORE_LINES):
        texts = _texts(plan, start, end)
        if texts is not None:
            return texts
        start = data.rfind(b"\n", 0, max(start - 1, 0)) + 1
        stop = data.find(b"\n", end)
        end = len(data) if stop < 0 else stop + 1
    return None


def _texts(plan: Plan, start: int, end: int) -> CorrectedText | None:
    """Return the edit of this part of the file; None if its old text is elsewhere in the file, too."""
    data = plan.snapshot.data
    old = data[start:end]
    new = splicing.apply_within(data, plan.splices, start, end)
    if not old or not _is_plain(plan, old + new) or data.count(old) != 1:
        return None
    try:
        return CorrectedText(old=old.decode(), new=new.decode())
    except UnicodeDecodeError:
        return None


def _is_plain(plan: Plan, text: bytes) -> bool:
    return plan.format.encoding == "utf-8" and not plan.format.bom and b"\r" not in text
