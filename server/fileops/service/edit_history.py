"""Queries about applied edits: lists of them, and the line ranges of a file that agents have written.

Runs in worker threads.
"""

from collections.abc import Iterable

from msgspec import Struct

from fileops.core import text
from fileops.core.merge.undo import current_ranges
from fileops.history.journal import History
from fileops.model.edits import Span
from fileops.model.errors import FileOpsError
from fileops.model.files import Snapshot, TextFormat
from fileops.model.history import AppliedEdit
from fileops.model.internal_errors import PathMoved
from fileops.model.requests import HistoryRequest
from fileops.model.results import AgentEditRange
from fileops.model.sessions import SessionName
from fileops.ports import FileSystem

MAX_LOCATED = 50  # edits of one file shown to an editor; older ones are in the history


class EditHistory(Struct, frozen=True, kw_only=True):
    fs: FileSystem
    history: History

    def edits(self, request: HistoryRequest) -> tuple[AppliedEdit, ...]:
        """Return the edits, newest first."""
        path = None
        if request.file_path is not None:
            try:
                path = self.fs.resolve(request.file_path)
            except FileOpsError:
                return ()
        return self.history.edits(path=path, session_id=request.session_id, limit=request.limit)

    def agent_ranges(self, file_path: str) -> tuple[AgentEditRange, ...]:
        """Return the current ranges of the newest MAX_LOCATED edits in force, newest edit first."""
        try:
            path = self.fs.resolve(file_path)
            edits = [edit for edit in self.history.edits(path=path) if edit.undone_by is None and not edit.undoes]
            snapshot = self.fs.read(path) if edits else None
        except (FileOpsError, PathMoved):
            return ()
        if snapshot is None or not snapshot.exists:
            return ()
        ranges: list[AgentEditRange] = []
        contents = self.history.contents(path)
        for edit in edits[:MAX_LOCATED]:
            base = contents.after(edit.edit_id)
            if base is not None:
                ranges.extend(_ranges_of(edit, base, snapshot.data))
        return tuple(ranges)

    def ranges_in(self, snapshot: Snapshot, session_id: SessionName, limit: int) -> tuple[AgentEditRange, ...]:
        """Return the lines of a snapshot that the session's newest edits wrote, newest first, without creations."""
        edits = [
            edit
            for edit in self.history.edits(path=snapshot.path, session_id=session_id)
            if edit.undone_by is None and not edit.undoes and edit.kind == "modify"
            if not self.history.is_earlier(edit)
        ]
        contents = self.history.contents(snapshot.path)
        ranges: list[AgentEditRange] = []
        for edit in edits[:limit]:
            if (base := contents.after(edit.edit_id)) is not None:
                ranges.extend(_ranges_of(edit, base, snapshot.data))
        return tuple(ranges)


def _ranges_of(edit: AppliedEdit, base: bytes, present: bytes) -> Iterable[AgentEditRange]:
    """Return the ranges from top to bottom. Ranges that share a line or touch are joined."""
    fmt = text.detect_format(present)
    lines: list[tuple[int, int]] = []
    spans = [Span(0, len(present))] if edit.kind == "create" else current_ranges(edit.reverse, base, present)
    for span in sorted(spans, key=lambda span: span.start):
        first = _editor_line(present, fmt, span.start)
        last = _editor_line(present, fmt, max(span.start, span.end - fmt.unit_bytes))
        if lines and first <= lines[-1][1] + 1:
            first, last = lines[-1][0], max(last, lines.pop()[1])
        lines.append((first, last))
    return (AgentEditRange(edit=edit, first_line=first, last_line=last) for first, last in lines)


def _editor_line(data: bytes, fmt: TextFormat, offset: int) -> int:
    """Return the 0-based line as LSP counts it: a lone carriage return ends a line as well."""
    before = text.decode_part(data[:offset], fmt)
    n_returns = before.count("\r") - before.count("\r\n")
    if before.endswith("\r") and data[offset : offset + fmt.unit_bytes] == text.newline_of(fmt):
        n_returns -= 1
    return before.count("\n") + n_returns
