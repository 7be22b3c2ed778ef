"""Edits of this process in memory, with what an undo needs of them. Bounded; the oldest are dropped first.

For protected files, for contents that are too large for the record, and if nothing is kept on disk, this is the only
copy. An edit is kept as its reverse splices. The content after the newest edit of a file is kept whole. Earlier
contents are derived from it, splice by splice. They are stored themselves (compressed) only if another program wrote
in between. Thread-safe.
"""

import threading
import zlib
from collections import Counter, OrderedDict
from itertools import takewhile

from fileops.core import splices as splicing
from fileops.core.diff.contents import splices_between
from fileops.core.merge.texts import ContentOf
from fileops.core.roots import is_inside
from fileops.core.text import detect_format
from fileops.model.commits import Commit
from fileops.model.digest import content_digest
from fileops.model.edits import Change, Splice
from fileops.model.files import Snapshot
from fileops.model.history import AppliedEdit, EditKind
from fileops.model.notebooks import place_of
from fileops.model.sessions import SessionName

MAX_BYTES = 64 << 20
MAX_CONTENT_BYTES = 8 << 20  # larger files: undo only from the content the edit left
MAX_SUMMARY_CHARS = 80
EDIT_BYTES = 900  # of an edit besides its texts


class OwnEdits:
    """See the module."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._edits: OrderedDict[str, AppliedEdit] = OrderedDict()  # oldest first
        self._next: dict[bytes, AppliedEdit] = {}  # by the content before, the newest edit of it
        self._newest: dict[str, bytes] = {}  # by path, the digest of the content after its newest edit
        self._whole: dict[bytes, bytes] = {}  # by digest, the contents after the newest edits
        self._compressed: dict[bytes, bytes] = {}
        self._n_of_path: Counter[str] = Counter()
        self._n_of_newest: Counter[bytes] = Counter()
        self._n_bytes = 0

    @property
    def n_bytes(self) -> int:
        return self._n_bytes

    def add(self, edit: AppliedEdit, content: bytes | None) -> None:
        """Add an edit, and the content after it, if that is known and not too large."""
        with self._lock:
            newest = self._newest.get(edit.path)
            if newest is not None and newest != edit.before and newest not in self._compressed:
                compressed = zlib.compress(self._whole[newest], 1)  # no later content leads back to it
                self._compressed[newest] = compressed
                self._n_bytes += len(compressed)
            self._edits[edit.edit_id] = edit
            self._n_of_path[edit.path] += 1
            self._n_bytes += _cost(edit)
            if edit.before is not None:
                self._next[edit.before] = edit
            self._drop_newest(edit.path)
            if content is not None and edit.after is not None:
                self._newest[edit.path] = edit.after
                self._n_of_newest[edit.after] += 1
                if edit.after not in self._whole:
                    self._whole[edit.after] = content
                    self._n_bytes += len(content)
            while self._n_bytes > self._max_bytes and len(self._edits) > 1:
                self._drop(next(iter(self._edits)))  # in constant time, because a full list does it often

    def _drop_newest(self, path: str) -> None:
        digest = self._newest.pop(path, None)
        if digest is None:
            return
        self._n_of_newest[digest] -= 1
        if self._n_of_newest[digest] == 0:
            del self._n_of_newest[digest]
            self._n_bytes -= len(self._whole.pop(digest))

    def _drop(self, edit_id: str) -> None:
        edit = self._edits.pop(edit_id)
        self._n_bytes -= _cost(edit)
        if edit.before is not None and self._next.get(edit.before) is edit:
            del self._next[edit.before]
        if edit.after is not None:
            self._n_bytes -= len(self._compressed.pop(edit.after, b""))
        self._n_of_path[edit.path] -= 1
        if self._n_of_path[edit.path] == 0:
            del self._n_of_path[edit.path]
            self._drop_newest(edit.path)

    def forget(self, path: str | None) -> None:
        """Drop the edits of a canonical file or folder, None: all."""
        with self._lock:
            for edit in tuple(self._edits.values()):
                if path is None or is_inside(path, edit.path) or is_inside(path, edit.renamed_from or edit.path):
                    self._drop(edit.edit_id)

    def get(self, edit_id: str) -> AppliedEdit | None:
        return self._edits.get(edit_id)

    def after(self, edit_id: str | None) -> list[AppliedEdit]:
        """Return the edits after this one, oldest first; all edits if it is None or was dropped."""
        with self._lock:
            newest_first = reversed(self._edits.values())
            return list(takewhile(lambda edit: edit.edit_id != edit_id, newest_first))[::-1]

    def in_force(self, path: str, session_id: SessionName) -> list[AppliedEdit]:
        """Return a session's modifications of a file that no edit of this process has undone, newest first."""
        found: list[AppliedEdit] = []
        undone: set[str] = set()
        for edit in reversed(self.after(None)):
            if edit.edit_id not in undone:
                undone.update(edit.undoes)
                is_own = edit.path == path and edit.session_id == session_id and edit.kind == "modify"
                if is_own and not edit.is_undo:
                    found.append(edit)
        return found

    def contents(self, stored: ContentOf | None = None) -> ContentOf:
        """Return a function that looks up contents by their digests, for one view of some files.

        Looking up all contents of a file, from the newest to the oldest, costs one walk in total.
        Args: stored: returns the content with a digest, if it is kept elsewhere.
        """
        made: tuple[bytes, bytes] | None = None

        def content_of(digest: bytes) -> bytes | None:
            nonlocal made
            content = self._content(digest, made, stored)
            if content is not None:
                made = digest, content
            return content

        return content_of

    def _content(self, digest: bytes, made: tuple[bytes, bytes] | None, stored: ContentOf | None) -> bytes | None:
        """Return the content with a digest, derived if it is not stored. Args: made: one that was derived before."""
        steps: list[tuple[Splice, ...]] = []  # reverse; composed, since the content may be large
        content, at, seen = None, digest, set[bytes]()
        with self._lock:
            while at not in seen:
                seen.add(at)
                if made is not None and made[0] == at:
                    content = made[1]
                elif (compressed := self._compressed.get(at)) is not None:
                    content = zlib.decompress(compressed)
                else:
                    content = self._whole.get(at)
                edit = None if content is not None else self._next.get(at)
                if edit is None:
                    break
                steps.append(edit.reverse)
                if edit.after is None:
                    content = b""
                    break
                at = edit.after
        if content is None and stored is not None:
            content = stored(at)
        if content is None:
            return None if stored is None or at == digest else stored(digest)
        content = splicing.apply(content, splicing.compose_all(steps[::-1]))
        return content if content_digest(content) == digest else None


def _cost(edit: AppliedEdit) -> int:
    return EDIT_BYTES + len(edit.diff) + sum(len(splice.new) + 50 for splice in edit.reverse)


def to_applied_edit(commit: Commit) -> AppliedEdit:
    """Return the edit that a commit made."""
    plan, undoes = commit.plan, commit.undoes
    before, after, change = commit.before, commit.after, plan.change
    kind: EditKind = "create" if not before.exists else "modify" if after.exists else "delete"
    has_mode = kind == "delete" or (kind == "modify" and commit.permissions is not None)
    return AppliedEdit(
        edit_id=commit.edit_id,
        session_id=commit.session_id,
        file_path=commit.given_path,
        path=after.path,
        timestamp=commit.time,
        kind=kind,
        reverse=_reverse(kind, before, after, plan.splices),
        before=before.digest if before.exists else None,
        after=after.digest if after.exists else None,
        summary=_summary(kind, change, undoes),
        diff=change.unified,
        n_added=change.n_added,
        n_removed=change.n_removed,
        undoes=undoes,
        is_undo=commit.is_undo,
        n_foreign_hunks=0 if plan.rebased is None else len(plan.rebased.ranges),
        changed_by=None if plan.rebased is None else plan.rebased.changed_by,
        set_id=commit.set_id,
        renamed_from=None if after.path == before.path else before.path,
        cells=tuple(map(place_of, plan.cells)),
        mode=before.stamp.mode & 0o7777 if has_mode and before.stamp is not None else None,
    )


def _reverse(kind: EditKind, before: Snapshot, after: Snapshot, splices: tuple[Splice, ...]) -> tuple[Splice, ...]:
    match kind:
        case "create":
            return ()
        case "delete":
            return (Splice(0, 0, before.data),)
        case "modify":
            if after.source == "buffer" and splicing.apply(before.data, splices) != after.data:
                return splices_between(after.data, before.data, detect_format(after.data))  # the editor's own line ends
            return splicing.invert(before.data, splices)


def _summary(kind: EditKind, change: Change, undoes: tuple[str, ...]) -> str:
    """Return one line for a list of edits."""
    if undoes:
        return f"undo of {len(undoes)} edit{'s' if len(undoes) > 1 else ''}"
    counts = f"+{change.n_added} -{change.n_removed}"
    if change.operation == "rename":
        return f"{counts} rename"
    if kind != "modify":
        return f"{counts} {kind}"
    lines = (line.text.strip() for hunk in change.hunks for line in hunk.lines if line.kind == "+")
    shown = next((line for line in lines if line), "")
    return f"{counts} line {change.first_changed_line}: {shown}"[:MAX_SUMMARY_CHARS].rstrip(": ")
