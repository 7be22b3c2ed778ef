"""Finds the line ranges of a file that agents have written. Runs in worker threads."""

from collections.abc import Iterable, Iterator
from itertools import islice

from msgspec import Struct

from fileops.core import text
from fileops.core.merge.texts import ContentOf
from fileops.core.merge.undo import current_ranges
from fileops.model.edits import ByteSpan
from fileops.model.errors import FileOpsError
from fileops.model.files import Snapshot, TextFormat
from fileops.model.history import AppliedEdit
from fileops.model.internal_errors import PathMoved
from fileops.model.results import AgentEditRange
from fileops.model.sessions import SessionName
from fileops.ports import FileSystem
from fileops.record.history import History

MAX_LOCATED = 50  # edits of one file shown to an editor; the history has older ones


class AgentLines(Struct, frozen=True, kw_only=True):
    """See the module."""

    fs: FileSystem
    history: History

    def agent_ranges(self, file_path: str) -> tuple[AgentEditRange, ...]:
        """The current ranges of the newest MAX_LOCATED edits that are not undone, newest edit first."""
        look = self.history.look()
        try:
            path = self.fs.resolve(file_path)
            in_force = (edit for edit in look.edits(path=path) if edit.undone_by is None and not edit.is_undo)
            edits = list(islice(in_force, MAX_LOCATED))
            snapshot = self.fs.read(path) if edits else None
        except (FileOpsError, PathMoved):
            return ()
        if snapshot is None or not snapshot.exists:
            return ()
        return tuple(_ranges_in(snapshot, edits, look.contents()))

    def ranges_in(self, snapshot: Snapshot, session_id: SessionName, limit: int) -> tuple[AgentEditRange, ...]:
        """The lines of a snapshot that the session's newest edits wrote, newest edit first, without creations.

        It does not wait for the record, because it is called after each failed edit.
        """
        own = self.history.own
        return tuple(_ranges_in(snapshot, own.in_force(snapshot.path, session_id)[:limit], own.contents()))


def _ranges_in(snapshot: Snapshot, edits: Iterable[AppliedEdit], content_of: ContentOf) -> Iterator[AgentEditRange]:
    for edit in edits:
        base = None if edit.after is None else content_of(edit.after)
        if base is not None:
            yield from _ranges_of(edit, base, snapshot.data)


def _ranges_of(edit: AppliedEdit, base: bytes, present: bytes) -> Iterable[AgentEditRange]:
    """Return the ranges from top to bottom. Ranges that touch or share a line are joined."""
    fmt = text.detect_format(present)
    lines: list[tuple[int, int]] = []
    spans = [ByteSpan(0, len(present))] if edit.kind == "create" else current_ranges(edit.reverse, base, present)
    for span in sorted(spans, key=lambda span: span.start):
        first = _editor_line(present, fmt, span.start)
        last = _editor_line(present, fmt, max(span.start, span.end - fmt.unit_bytes))
        if lines and first <= lines[-1][1] + 1:
            first, last = lines[-1][0], max(last, lines.pop()[1])
        lines.append((first, last))
    return (AgentEditRange(edit=edit, first_line=first, last_line=last) for first, last in lines)


def _editor_line(data: bytes, fmt: TextFormat, offset: int) -> int:
    """Return the 0-based line as LSP counts it: a lone carriage return also ends a line."""
    before = text.decode_part(data[:offset], fmt)
    n_returns = before.count("\r") - before.count("\r\n")
    if before.endswith("\r") and data[offset : offset + fmt.unit_bytes] == text.newline_of(fmt):
        n_returns -= 1
    return before.count("\n") + n_returns
