"""What a host's own tool will make of a file: announced before it writes, so that its write is recognised."""

from collections.abc import Callable, Sequence
from dataclasses import replace as with_data
from functools import partial

from msgspec import Struct

from fileops.concurrency.cancellation import CancelToken
from fileops.core import splices as splicing
from fileops.core.diff.contents import splices_between
from fileops.core.merge import relevance
from fileops.core.text import detect_format
from fileops.model.announcements import MAX_COMPARED_BYTES, Announced, Content
from fileops.model.edits import Relevance
from fileops.model.errors import FileOpsError
from fileops.model.files import Base, Snapshot
from fileops.model.requests import EditRequest
from fileops.model.sessions import SessionName
from fileops.service.companion.cell_writes import is_made_by
from fileops.service.companion.report import CellWrite, HostEdit, Removal
from fileops.service.edit import EditOperation


class Announcer(Struct, frozen=True):
    """Makes the announcements of edits. They are used in the recorder's thread."""

    editor: EditOperation

    def announce(
        self,
        edit: HostEdit,
        saved: Snapshot,
        *,
        call_id: str,
        session_id: SessionName,
        label: str,
        is_kept: bool,
        read: Callable[[str], Snapshot | None],
    ) -> list[Announced]:
        """Return the announcements for an edit of this file; a renaming has one for each path. Blocks.

        Args: read: reads a file without unsaved text.
        """
        if len(saved.data) > MAX_COMPARED_BYTES:
            return []

        def announce(
            before: Snapshot,
            given_path: str,
            results_of: Callable[[Content], Sequence[Content]],
            merged_with: Callable[[bytes], Content],
            *,
            is_whole: bool,
            is_made: Callable[[Content, Content], bool] | None = None,
        ) -> Announced:
            return Announced(
                call_id=call_id,
                session_id=session_id,
                label=label,
                given_path=given_path,
                before=before,
                results_of=results_of,
                merged_with=merged_with,
                is_whole=is_whole,
                is_kept=is_kept,
                is_made=is_made,
            )

        if isinstance(edit, Removal):
            gone = announce(saved, edit.file_path, lambda _: (None,), lambda _: None, is_whole=True)
            target = None if edit.new_path is None else read(edit.new_path)
            if target is None or edit.new_path is None:
                return [gone]
            hunks = EditRequest(file_path=edit.file_path, hunks=edit.hunks, tool="multi_edit")
            moved = self._results(hunks, saved, saved.data) if edit.hunks else (saved.data,)
            return [gone, announce(target, edit.new_path, lambda _: moved, lambda _: None, is_whole=True)]
        if isinstance(edit, CellWrite):
            is_made = partial(is_made_by, edit.call)
            return [announce(saved, edit.file_path, lambda _: (), lambda _: None, is_whole=False, is_made=is_made)]
        return [
            announce(
                saved,
                edit.file_path,
                lambda content: self._results(edit, saved, content),
                lambda theirs: self._merge(edit, saved, theirs),
                is_whole=edit.content is not None,
            )
        ]

    def _results(self, request: EditRequest, saved: Snapshot, content: Content) -> tuple[Content, ...]:
        """Return what the edit may make of a content. Hosts differ in how they end lines and files."""
        if request.content is not None:
            new = request.content.encode("utf-8", "replace")
            crlf = new.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
            bom = b"" if content is None else detect_format(content).bom
            found = [new, crlf] if content is not None and b"\r\n" in content else [new]
            return tuple(dict.fromkeys((*found, *(bom + each for each in found))))
        if content is None:
            return ()
        try:
            plan = self.editor.plan_on_snapshot(request, with_data(saved, data=content), CancelToken())
        except FileOpsError:
            return ()
        made = splicing.apply(content, plan.splices)
        # Codex ends a patched file with a line feed.
        return (made,) if not request.hunks or made.endswith(b"\n") else (made, made + b"\n")

    def _merge(self, request: EditRequest, saved: Snapshot, theirs: bytes) -> Content:
        """Return the edit with the lines of others, or None if they conflict."""
        if request.content is None:
            return next(iter(self._results(request, saved, theirs)), None)
        new = request.content.encode("utf-8", "replace")
        splices = splices_between(saved.data, new, detect_format(saved.data))
        carried = relevance.carry(Base(content=saved.data, shown=saved.data), theirs, splices, margin_lines=0)
        return None if isinstance(carried, Relevance) else splicing.apply(theirs, carried.splices)
