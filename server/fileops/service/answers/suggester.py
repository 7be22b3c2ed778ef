"""Finds the suggestions that are sent with a failed edit's error, in the same worker thread.

The failure does not contain the file's content, so the file is read again. Everything suggested is therefore from one
moment, and files that the session must not read are not read. Nothing here is essential: whatever fails, or takes more
than MAX_CPU_MS of this thread, is left out.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from fileops.core import text
from fileops.core.notebook.cells import parse
from fileops.core.notebook.literal_steps import StepsInCell, steps_in_cell
from fileops.core.pausing import Check
from fileops.core.roots import Roots
from fileops.core.suggestions.shown import N_CONTEXT, find_shown_lines
from fileops.core.suggestions.steps import Examination, Excerpt, OwnEdit, examine
from fileops.core.suggestions.suggested_place import lines_of_text, suggest_place
from fileops.model.edits import Edit, LineRange
from fileops.model.errors import (
    CountMismatch,
    FileOpsError,
    ModifiedExternally,
    MultipleMatches,
    NoMatch,
    NotRead,
)
from fileops.model.files import ReadProof, Snapshot, Text
from fileops.model.internal_errors import OutOfTime, PathMoved
from fileops.model.requests import EditRequest
from fileops.model.settings import Settings
from fileops.model.suggestions import RefusedPlace, ShownLines, Suggestion, Suggestions
from fileops.ports import FileSystem
from fileops.service.agent_lines import AgentLines
from fileops.service.paths import canonical_path
from fileops.tracking.content_cache import MAX_BASE_BYTES

MAX_CPU_MS = 50
MAX_BYTES = 4 << 20  # of files in which places are searched
MAX_SHOWN_BYTES = 1 << 20  # of files whose lines are shown
MAX_OWN_EDITS = 20
MAX_LINES_TO_READ = 400
MAX_SHOWN_CHARS = 4000
MAX_SHOWN_CHARS_OF_CHANGED = 2400  # the notice has up to 3,400 of the 6,000 characters


class Suggested(Struct, frozen=True, kw_only=True):
    """What is added to an answer, and what counts as read once the answer was sent."""

    error: FileOpsError
    suggestions: Suggestions | None = None
    read_proof: ReadProof | None = None
    refused: RefusedPlace | None = None


class Suggester(Struct, frozen=True, kw_only=True):
    fs: FileSystem
    agent_lines: AgentLines
    settings: Settings

    def suggest(self, request: EditRequest, error: FileOpsError, roots: Roots | None) -> Suggested:
        """Return the failure with its suggested place, and the additions to its answer."""
        if request.content is not None or not isinstance(error, _SUGGESTED):
            return Suggested(error=error)
        check = _cpu_limit()
        try:
            snapshot = self.fs.read(canonical_path(self.fs, request.file_path, roots))
            if request.cells:
                return self._suggest_in_cell(request, error, snapshot, check)
            content = _text_of(snapshot)
            if content is None:
                return Suggested(error=error)
            edits = request.given or request.edits
            if self.settings.suggestions == "off":
                return Suggested(error=_with_place(error, edits, content, check))
            return self._suggest(request, error, edits, snapshot, content, check)
        except (FileOpsError, PathMoved, OutOfTime):
            return Suggested(error=error)

    def _suggest(
        self,
        request: EditRequest,
        error: FileOpsError,
        edits: Sequence[Edit],
        snapshot: Snapshot,
        content: Text,
        check: Check,
    ) -> Suggested:
        own: list[OwnEdit] | None = None

        def own_edits() -> Sequence[OwnEdit]:
            nonlocal own
            if own is None:
                own = self._own_edits(request, snapshot)
            return own

        examined = examine(content, edits, encoding=snapshot.encoding, own_edits=own_edits, check=check)
        error = _with_place(error, edits, content, check)
        suggestions = Suggestions(
            offered=examined.suggestions, failures=examined.failures, places=examined.places, n_steps=len(edits)
        )
        if not isinstance(error, NotRead | ModifiedExternally):
            return Suggested(error=error, suggestions=suggestions)
        refused = self._find_refused_place(snapshot, content, examined)
        to_read = None if refused is None else refused.lines
        unshown = Suggested(error=error, suggestions=replace(suggestions, to_read=to_read), refused=refused)
        if not self.settings.shows_lines or request.dry_run or len(snapshot.data) > MAX_SHOWN_BYTES:
            return unshown
        room = MAX_SHOWN_CHARS if isinstance(error, NotRead) else MAX_SHOWN_CHARS_OF_CHANGED
        shown = _show_places(content, examined, self.settings.limits.max_line_chars, room)
        if shown is None or snapshot.stamp is None:
            return unshown
        offered = (*_suggest_same_call(edits, examined), *suggestions.offered)
        return Suggested(
            error=error,
            suggestions=replace(suggestions, shown=shown, offered=offered),
            read_proof=_read_proof_of(request, snapshot),
            refused=refused,
        )

    def _suggest_in_cell(
        self, request: EditRequest, error: FileOpsError, snapshot: Snapshot, check: Check
    ) -> Suggested:
        """Return what to send instead of a step whose text the source of its cell lacks, or has several times."""
        if not isinstance(error, NoMatch | MultipleMatches | CountMismatch) or len(snapshot.data) > MAX_BYTES:
            return Suggested(error=error)
        steps = steps_in_cell(parse(snapshot.data), request.cells, error.edit_index)
        if steps is None:
            return Suggested(error=error)
        edits, excerpt = list(steps.edits.values()), Excerpt(first_line=steps.first_line, cell_id=steps.cell_id)
        if isinstance(error, NoMatch):
            error = _with_place_in_cell(error, steps, check)
        if self.settings.suggestions == "off":
            return Suggested(error=error)
        examined = examine(steps.source, edits, encoding=None, own_edits=lambda: (), check=check, excerpt=excerpt)
        index_of = list(steps.edits)
        failures = [
            replace(
                each,
                edit_index=index_of[each.edit_index],
                after=None if each.after is None else index_of[each.after],
            )
            for each in examined.failures
        ]
        offered = [
            replace(each, edit_index=index_of[each.edit_index], cell_id=steps.cell_id) for each in examined.suggestions
        ]
        suggestions = Suggestions(
            offered=tuple(offered),
            failures=tuple(failures),
            places={index_of[index]: text for index, text in examined.places.items()},
            n_steps=len(request.cells),
        )
        return Suggested(error=error, suggestions=suggestions)

    def _find_refused_place(self, snapshot: Snapshot, content: Text, examined: Examination) -> RefusedPlace | None:
        """Return the lines to read in a file that is too large to be read whole."""
        if snapshot.stamp is None or len(snapshot.data) <= self.settings.limits.max_file_kb * 1024:
            return None
        lines = _lines_to_read(content, examined)
        return None if lines is None else RefusedPlace(path=snapshot.path, stamp=snapshot.stamp, lines=lines)

    def _own_edits(self, request: EditRequest, snapshot: Snapshot) -> list[OwnEdit]:
        """Return the session's newest edits in this file that are in force."""
        ranges: dict[str, list[tuple[int, int]]] = {}
        times: dict[str, str] = {}
        for written in self.agent_lines.ranges_in(snapshot, request.session_id, MAX_OWN_EDITS):
            edit_id = written.edit.edit_id
            ranges.setdefault(edit_id, []).append((written.first_line + 1, written.last_line + 1))
            times[edit_id] = time.strftime("%H:%M", time.localtime(written.edit.timestamp))
        return [OwnEdit(edit_id=each, time=times[each], ranges=tuple(ranges[each])) for each in ranges]


_SUGGESTED = (NoMatch, MultipleMatches, CountMismatch, NotRead, ModifiedExternally)


def _cpu_limit() -> Check:
    """Return a check that raises OutOfTime once this thread has worked for MAX_CPU_MS.

    The time of other threads does not count, so the answer does not depend on how busy the machine is.
    """
    end_ns = time.thread_time_ns() + MAX_CPU_MS * 1_000_000

    def check() -> None:
        if time.thread_time_ns() > end_ns:
            raise OutOfTime

    return check


def _text_of(snapshot: Snapshot) -> Text | None:
    """Return a file's text; None if it has none or is too large."""
    if not snapshot.exists or len(snapshot.data) > MAX_BYTES:
        return None
    fmt = text.detect_format(snapshot.data)
    return None if text.is_binary(snapshot.data, fmt) else Text(data=snapshot.data, format=fmt)


def _with_place(error: FileOpsError, edits: Sequence[Edit], content: Text, check: Callable[[], None]) -> FileOpsError:
    """Return the failure of a text that was not found, with a suggested place."""
    if isinstance(error, NoMatch):
        edit = edits[error.edit_index]
        try:
            return NoMatch(
                old_string=error.old_string,
                edit_index=error.edit_index,
                suggested_place=suggest_place(content, edit.old_string, edit.new_string, check),
            )
        except OutOfTime:
            return error
    return error


def _with_place_in_cell(error: NoMatch, steps: StepsInCell, check: Check) -> NoMatch:
    edit = steps.edits[error.edit_index]
    with suppress(OutOfTime):
        error.suggested_place = suggest_place(
            steps.source, edit.old_string, edit.new_string, check, first_line=steps.first_line
        )
    return error


def _show_places(content: Text, examined: Examination, max_line_chars: int, max_chars: int) -> ShownLines | None:
    """Return the lines around all places of the edit; None if one is unknown, or there are too many."""
    if not examined.is_complete or not all(examined.ranges):
        return None
    places = [place for places in examined.ranges for place in places]
    return find_shown_lines(lines_of_text(content), places, max_line_chars, max_chars)


def _lines_to_read(content: Text, examined: Examination) -> LineRange | None:
    """Return the lines around the first place of the edit, and around others that fit into the same read."""
    places = [place for places in examined.ranges for place in places]
    if not places:
        return None
    first = max(1, places[0][0] - N_CONTEXT)
    stop = first + MAX_LINES_TO_READ
    last = max(last for start, last in places if (first <= start and last < stop) or (start, last) == places[0])
    n_lines = lines_of_text(content).n_lines
    return LineRange(start_line=first, end_line=min(n_lines, last + N_CONTEXT))


def _suggest_same_call(edits: Sequence[Edit], examined: Examination) -> list[Suggestion]:
    """Return what can be sent again unchanged."""
    failed = {failure.edit_index for failure in examined.failures}
    return [
        Suggestion(
            edit_index=index,
            kind="seen_now",
            start_line=places[0][0],
            end_line=places[-1][1],
            old_string=edit.old_string,
            note="These lines count as read now.",
        )
        for index, (edit, places) in enumerate(zip(edits, examined.ranges, strict=True))
        if index not in failed
    ]


def _read_proof_of(request: EditRequest, snapshot: Snapshot) -> ReadProof:
    assert snapshot.stamp is not None
    return ReadProof(
        session_id=request.session_id,
        given_path=request.file_path,
        path=snapshot.path,
        stamp=snapshot.stamp,
        taken_ns=snapshot.taken_ns,
        digest=snapshot.digest,
        source=snapshot.source,
        version=snapshot.version,
        content=snapshot.data if len(snapshot.data) <= MAX_BASE_BYTES else None,
    )
