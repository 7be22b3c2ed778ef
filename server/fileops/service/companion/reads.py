"""What a host's own read has shown, and counts as read: R-COMP-10 to 13."""

from collections import OrderedDict
from collections.abc import Callable, Sequence

from fileops.core.presentation.companion_texts import unsaved_text
from fileops.core.presentation.failures import failure_text
from fileops.core.text import to_lf
from fileops.model.errors import FileOpsError, NotPermitted
from fileops.model.files import ReadProof
from fileops.model.internal_errors import PathMoved
from fileops.model.sessions import SessionName
from fileops.model.settings import OutputTexts
from fileops.service.companion.answers import NOTHING, Answer, ShownText, refusal
from fileops.service.companion.files import BothTexts, HostFiles, proof_of, to_shown_text
from fileops.service.companion.report import ReadCall

MAX_READS = 100  # between their two hooks


class ReadsAhead:
    """What files contained when a hook asked before a read: the host may not report which text it has shown.

    Belongs to the event loop.
    """

    def __init__(self) -> None:
        self._digests: OrderedDict[tuple[str, str], bytes] = OrderedDict()

    def note(self, call: ReadCall, call_id: str, digest: bytes | None) -> None:
        self._digests.pop((call_id, call.path), None)
        if digest is not None:
            self._digests[call_id, call.path] = digest
        while len(self._digests) > MAX_READS:
            self._digests.popitem(last=False)

    def take(self, call: ReadCall, call_id: str) -> bytes | None:
        """Return the digest of the saved content before a read; None if no hook has asked."""
        return self._digests.pop((call_id, call.path), None)


def before_read(files: HostFiles, call: ReadCall, texts: OutputTexts) -> tuple[Answer, bytes | None]:
    """Refuse a file that agents must not read, and nothing else. Returns the saved content's digest, too. Blocks."""
    try:
        return NOTHING, files.look(call.path).saved.digest
    except NotPermitted as error:
        return refusal(failure_text(error, "read", call.path, texts)), None
    except (FileOpsError, PathMoved):
        return NOTHING, None  # the host says what is wrong with the file


def after_read(
    files: HostFiles,
    call: ReadCall,
    session_id: SessionName,
    tool_prefix: Callable[[], str | None],
    digest_before: bytes | None,
) -> tuple[Answer, ReadProof | None]:
    """Return the answer to a read, and what counts as read once it is printed. Blocks.

    Args: digest_before: of the saved content when the hook before the read asked; None if none did.
    """
    try:
        both = files.look(call.path)
    except (FileOpsError, PathMoved):
        return NOTHING, None
    present, saved = to_shown_text(both.present), to_shown_text(both.saved)
    if both.editor is None and call.shown is None and both.saved.digest != digest_before:
        return NOTHING, None  # what was shown may be another content
    if present is None or saved is None:  # an image or a PDF: by its digest only
        return NOTHING, proof_of(session_id, call.path, both.present, is_whole=False)
    first = max(call.start or 1, 1)
    n_shown = _n_shown(call)
    is_whole = first == 1 and (n_shown is None or n_shown >= _n_lines(saved))
    if both.editor is not None:
        return _answer_unsaved(
            both, call, present, saved, first, n_shown, is_whole=is_whole, tool_prefix=tool_prefix()
        ), (proof_of(session_id, call.path, both.present, is_whole=is_whole))
    if call.shown is not None and not _has(present, to_lf(call.shown), first, is_whole=is_whole):
        return NOTHING, None  # what was shown is not in the file any more
    return NOTHING, proof_of(session_id, call.path, both.present, is_whole=is_whole)


def tell_of_unsaved(files: HostFiles, paths: Sequence[str], tool_prefix: str | None) -> list[str]:
    """Return what to tell the model about unsaved text of these files. Blocks."""
    found: list[str] = []
    for path in paths:
        try:
            both = files.look(path)
        except (FileOpsError, PathMoved):
            continue
        present, saved = to_shown_text(both.present), to_shown_text(both.saved)
        if both.editor is not None and present is not None and saved is not None:
            found.append(unsaved_text(path, both.editor, saved, present, tool_prefix))
    return found


def _answer_unsaved(
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
