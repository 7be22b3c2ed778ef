"""What a host's own read has shown, and counts as read: R-COMP-10 to 13."""

from collections.abc import Callable

from fileops.core.presentation.companion_texts import unsaved_text
from fileops.core.presentation.failures import failure_text
from fileops.core.text import to_lf
from fileops.model.errors import FileOpsError, NotPermitted
from fileops.model.files import ReadProof
from fileops.model.internal_errors import PathMoved
from fileops.model.sessions import SessionName
from fileops.model.settings import Texts
from fileops.service.companion.answers import NOTHING, Answer, ShownText, refusal
from fileops.service.companion.files import BothTexts, HostFiles, proof_of, shown_text
from fileops.service.companion.report import ReadCall


def before_read(files: HostFiles, call: ReadCall, texts: Texts) -> Answer:
    """Refuse a file that agents must not read, and nothing else. Blocks."""
    try:
        files.look(call.path)
    except NotPermitted as error:
        return refusal(failure_text(error, "read", call.path, texts))
    except (FileOpsError, PathMoved):
        pass  # the host says what is wrong with the file
    return NOTHING


def after_read(
    files: HostFiles, call: ReadCall, session_id: SessionName, tool_prefix: Callable[[], str | None]
) -> tuple[Answer, ReadProof | None]:
    """Return the answer to a read, and what counts as read once it is printed. Blocks."""
    try:
        both = files.look(call.path)
    except (FileOpsError, PathMoved):
        return NOTHING, None
    present, saved = shown_text(both.present), shown_text(both.saved)
    if present is None or saved is None:  # an image or a PDF: by its digest only
        return NOTHING, proof_of(session_id, call.path, both.present, is_whole=False)
    first = max(call.start or 1, 1)
    n_shown = _n_shown(call)
    is_whole = first == 1 and (n_shown is None or n_shown >= _n_lines(saved))
    if both.editor is not None:
        return _unsaved(both, call, present, saved, first, n_shown, is_whole=is_whole, tool_prefix=tool_prefix()), (
            proof_of(session_id, call.path, both.present, is_whole=is_whole)
        )
    if call.shown is not None and not _has(present, to_lf(call.shown), first, is_whole=is_whole):
        return NOTHING, None  # what was shown is not in the file any more
    return NOTHING, proof_of(session_id, call.path, both.present, is_whole=is_whole)


def _unsaved(
    both: BothTexts,
    call: ReadCall,
    present: str,
    saved: str,
    first: int,
    n_shown: int | None,
    *,
    is_whole: bool,
    tool_prefix: str | None,
) -> Answer:
    lines = present.split("\n")
    part = lines if is_whole else lines[first - 1 : None if n_shown is None else first - 1 + n_shown]
    shown = ShownText(content="\n".join(part), start=first, n_lines=len(part), n_total=len(lines))
    editor = both.editor or ""
    return Answer(shown=shown, contexts=(unsaved_text(call.path, editor, saved, present, tool_prefix),))


def _n_shown(call: ReadCall) -> int | None:
    if call.n_lines is not None:
        return call.n_lines
    return None if call.shown is None or call.start is None else _n_lines(to_lf(call.shown))


def _n_lines(text: str) -> int:
    """Return how many lines hosts count: an unfinished last line is one, even if it is empty."""
    return len(text.removesuffix("\n").split("\n"))


def _has(present: str, shown: str, first: int, *, is_whole: bool) -> bool:
    """Return whether the text that the host says it has shown is in the file, at these lines."""
    if is_whole:
        return present.removesuffix("\n") == shown.removesuffix("\n")
    wanted = shown.removesuffix("\n").split("\n")
    return present.split("\n")[first - 1 : first - 1 + len(wanted)] == wanted
