"""The journal of applied edits and how to undo them, limited in bytes; the oldest edits are dropped first.

An edit is kept as reverse splices. The content after a file's newest edit is kept as a whole. Those after earlier edits
follow from it splice by splice; they are kept themselves (compressed) only if another program wrote in between.

With a store, the first query loads the edits of earlier processes, and their contents are read when needed. So no start
and no edit waits for the store; queries may, and belong to worker threads. Thread-safe.
"""

import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from fileops.core import splices as splicing
from fileops.core.diff.contents import splices_between
from fileops.core.roots import is_inside
from fileops.core.text import detect_format
from fileops.model.commits import Commit
from fileops.model.digest import content_digest
from fileops.model.edits import Change, Splice
from fileops.model.files import Snapshot
from fileops.model.history import AppliedEdit, EditKind
from fileops.model.sessions import SessionName
from fileops.ports import HistoryStore

MAX_BYTES = 64 << 20
MAX_CONTENT_BYTES = 8 << 20  # of files whose content is kept; larger ones undo only from where edits left them
ENTRY_BYTES = 900  # of an entry besides its texts
MAX_SUMMARY_CHARS = 80


class _FileHistory(Struct):
    """The edits of one file, oldest first. latest: the content after the newest; contents: after others, compressed."""

    edits: OrderedDict[str, AppliedEdit] = field(default_factory=OrderedDict[str, AppliedEdit])
    latest: bytes | None = None
    contents: dict[str, bytes] = field(default_factory=dict[str, bytes])


class History:
    """See the module."""

    def __init__(self, store: HistoryStore | None = None, *, max_bytes: int = MAX_BYTES) -> None:
        self._store = store
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._files: dict[str, _FileHistory] = {}
        self._edits: OrderedDict[str, AppliedEdit] = OrderedDict()  # oldest first
        self._n_bytes = 0
        self._earlier: set[str] = set()  # edits of earlier processes
        self._load_lock = threading.Lock()
        self._is_loaded = store is None  # guarded by _load_lock

    # --- keeping -----------------------------------------------------------------------------------------------

    def keep(self, commit: Commit) -> None:
        """Keep a commit; one that wrote nothing only if it undid edits. Must not raise."""
        if not commit.has_changed and not commit.undoes and commit.set_id is None:
            return
        plan, undoes = commit.plan, commit.undoes
        before, after, change = commit.before, commit.after, plan.change
        kind: EditKind = "create" if not before.exists else "modify" if after.exists else "delete"
        has_mode = kind == "delete" or (kind == "modify" and commit.permissions is not None)
        edit = AppliedEdit(
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
            n_foreign_hunks=0 if plan.rebased is None else len(plan.rebased.ranges),
            changed_by=None if plan.rebased is None else plan.rebased.changed_by,
            set_id=commit.set_id,
            renamed_from=None if after.path == before.path else before.path,
            mode=before.stamp.mode & 0o7777 if has_mode and before.stamp is not None else None,
        )
        content = after.data if after.exists and len(after.data) <= MAX_CONTENT_BYTES else None
        with self._lock:
            self._add(edit, content)
        if self._store is not None:
            self._store.append(edit, content)

    def _load(self) -> None:
        """Load the edits of earlier processes before those of this one, at the first query."""
        with self._load_lock:  # not _lock, which edits need
            if self._is_loaded or self._store is None:
                return
            loaded = list(self._store.load())
            with self._lock:
                self._put_before(loaded)
            self._is_loaded = True

    def _put_before(self, loaded: Iterable[AppliedEdit]) -> None:
        """The lock is held."""
        own_files, own_edits = self._files, self._edits
        self._files, self._edits = {}, OrderedDict()
        for edit in loaded:
            if edit.edit_id not in own_edits:
                self._add(edit, None)
        self._earlier = set(self._edits)
        for path, own in own_files.items():
            history = self._files.setdefault(path, _FileHistory())
            history.edits.update(own.edits)
            history.contents.update(own.contents)
            history.latest = own.latest
        self._edits.update(own_edits)
        self._forget_surplus()

    def _add(self, edit: AppliedEdit, content: bytes | None) -> None:
        """Add an edit, and the content after it, if known."""
        history = self._files.setdefault(edit.path, _FileHistory())
        last = next(reversed(history.edits.values()), None)
        if last is not None and history.latest is not None and last.after != edit.before:
            self._keep(history, last.edit_id, zlib.compress(history.latest, 1))
        self._n_bytes += len(content or b"") - len(history.latest or b"")
        history.latest = content
        history.edits[edit.edit_id] = edit
        self._edits[edit.edit_id] = edit
        self._n_bytes += _cost(edit)
        self._link_undo(edit)
        self._forget_surplus()

    def _forget_surplus(self) -> None:
        while self._n_bytes > self._max_bytes and len(self._edits) > 1:
            self._forget_oldest()

    def _keep(self, history: _FileHistory, edit_id: str, compressed: bytes) -> None:
        history.contents[edit_id] = compressed
        self._n_bytes += len(compressed)

    def _link_undo(self, edit: AppliedEdit) -> None:
        """Mark the edits that this one undid; if they were undos, the edits that they undid are in force again."""
        for edit_id in edit.undoes:
            undone = self._edits.get(edit_id)
            if undone is not None:
                self._change(replace(undone, undone_by=edit.edit_id))
                for again in undone.undoes:
                    if (applied := self._edits.get(again)) is not None:
                        self._change(replace(applied, undone_by=None))

    def _change(self, edit: AppliedEdit) -> None:
        self._files[edit.path].edits[edit.edit_id] = self._edits[edit.edit_id] = edit

    def _forget_oldest(self) -> None:
        """Drop the oldest edit of all, which is also the oldest of its file."""
        _, edit = self._edits.popitem(last=False)  # constant time: a full journal does this for each edit
        self._drop(edit)

    def _drop(self, edit: AppliedEdit) -> None:
        """Drop an edit from those of its file."""
        history = self._files[edit.path]
        del history.edits[edit.edit_id]
        self._n_bytes -= _cost(edit) + len(history.contents.pop(edit.edit_id, b""))
        if not history.edits:
            self._n_bytes -= len(history.latest or b"")
            del self._files[edit.path]

    def forget(self, path: str | None) -> None:
        """Drop the edits of a canonical file or folder; None: all. The store must already have dropped them."""
        with self._load_lock, self._lock:  # what is being loaded may have been read before that
            for edit in tuple(self._edits.values()):
                if path is None or is_inside(path, edit.path) or is_inside(path, edit.renamed_from or edit.path):
                    del self._edits[edit.edit_id]
                    self._drop(edit)

    # --- queries -----------------------------------------------------------------------------------------------

    @property
    def n_bytes(self) -> int:
        return self._n_bytes

    def edit(self, edit_id: str) -> AppliedEdit | None:
        self._load()
        with self._lock:
            return self._edits.get(edit_id)

    def is_earlier(self, edit: AppliedEdit) -> bool:
        """Return whether an earlier process made the edit."""
        self._load()
        with self._lock:
            return edit.edit_id in self._earlier

    def edits(
        self,
        *,
        path: str | None = None,
        session_id: SessionName | None = None,
        set_id: str | None = None,
        limit: int | None = None,
    ) -> tuple[AppliedEdit, ...]:
        """Return the edits, newest first. path: canonical."""
        self._load()
        with self._lock:
            history = self._files.get(path) if path is not None else None
            known: Iterable[AppliedEdit] = (
                self._edits.values() if path is None else history.edits.values() if history is not None else ()
            )
            found = [
                edit
                for edit in known
                if (session_id is None or edit.session_id == session_id) and (set_id is None or edit.set_id == set_id)
            ]
        return tuple(found[::-1][:limit])

    def contents(self, path: str) -> "Contents":
        """Return the contents after a file's edits, as far as they are known now. path: canonical."""
        self._load()
        with self._lock:
            history = self._files.get(path) or _FileHistory()
            stored = None if self._store is None else self._store.content
            return Contents(tuple(history.edits.values()), history.latest, dict(history.contents), stored)

    def content_after(self, edit_id: str) -> bytes | None:
        """Return the content after the edit; None if it is not known (any more)."""
        edit = self.edit(edit_id)
        return None if edit is None else self.contents(edit.path).after(edit_id)


class Contents:
    """The contents after the edits of one file. Queries from the newest to the oldest cost one pass together."""

    def __init__(
        self,
        edits: Sequence[AppliedEdit],
        latest: bytes | None,
        kept: Mapping[str, bytes],
        stored: Callable[[bytes], bytes | None] | None = None,
    ) -> None:
        """Take edits, oldest first, the content after the newest, and (`kept`) compressed contents by edit id.

        Args: stored: returns the content with a digest, if there is a store and it has that.
        """
        self._edits = edits
        self._kept = kept
        self._stored = stored
        self._numbers = {edit.edit_id: number for number, edit in enumerate(edits)}
        self._start = (len(edits) - 1, latest)
        self._at, self._content = self._start

    def after(self, edit_id: str) -> bytes | None:
        """Return the content after this edit; None if unknown."""
        number = self._numbers.get(edit_id)
        if number is None:
            return None
        if number > self._at:
            self._at, self._content = self._start
        self._walk(number)
        content = self._content
        return content if content is not None and content_digest(content) == self._edits[number].after else None

    def _walk(self, number: int) -> None:
        steps: list[tuple[Splice, ...]] = []  # reverse; composed, since the content may be large
        content = self._content if self._content is not None else self._kept_after(self._at)
        for at in range(self._at, number, -1):
            edit = self._edits[at]
            if self._edits[at - 1].after != edit.before or edit.kind == "create":
                content, steps = None, []
            elif edit.kind == "delete":
                content, steps = splicing.apply(b"", edit.reverse), []
            else:
                steps.append(edit.reverse)
            if content is None:
                content, steps = self._kept_after(at - 1), []
        self._at = number
        self._content = None if content is None else splicing.apply(content, splicing.compose_all(steps))

    def _kept_after(self, number: int) -> bytes | None:
        edit = self._edits[number]
        compressed = self._kept.get(edit.edit_id)
        if compressed is not None:
            return zlib.decompress(compressed)
        return None if self._stored is None or edit.after is None else self._stored(edit.after)


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


def _cost(edit: AppliedEdit) -> int:
    return ENTRY_BYTES + len(edit.diff) + sum(len(splice.new) + 50 for splice in edit.reverse)
