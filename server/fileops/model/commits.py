"""One file that the daemon has changed: the value from which history, record, events and results are made."""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from fileops.model.changes import Permissions
from fileops.model.edits import Plan
from fileops.model.files import CommitReport, Snapshot
from fileops.model.record import By
from fileops.model.sessions import SessionName


class Commit(Struct, frozen=True, kw_only=True):
    """See the module. before, after: of a rename they have different paths.

    given_path: what the session calls the file now. by: the author, for the record. time: seconds since the epoch.
    undoes: the edits, and undone: the entries, that it undid; restored: entries that are in force again although their
    undo is too, because it was undone in part. is_kept: a person has accepted it. permissions: those that it
    should set. moved_from, moved_to: canonical, of the halves of a rename that is not an undo.
    """

    edit_id: str
    session_id: SessionName
    by: By
    given_path: str
    plan: Plan
    before: Snapshot
    after: Snapshot
    report: CommitReport
    time: float
    undoes: tuple[str, ...] = ()
    undone: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    rewind_id: str | None = None
    set_id: str | None = None
    is_kept: bool = False
    permissions: Permissions | None = None
    moved_from: str | None = None
    moved_to: str | None = None

    @property
    def has_changed(self) -> bool:
        """Whether anything was written."""
        return self.report.method != "none"

    @property
    def is_undo(self) -> bool:
        return bool(self.undoes or self.undone) or self.rewind_id is not None

    def by_path(self) -> Iterator["Commit"]:
        """Return the commit as the record has it: a rename is a removal at the old path and a creation at the new one.

        The halves of the undo of a rename do not name each other; RecordStore.other_half knows them by what they undo.
        """
        old, new = self.before.path, self.after.path
        if old == new:
            yield self
            return
        is_rename = not self.is_undo
        yield replace(self, after=_make_missing(old), moved_to=new if is_rename else None)
        yield replace(self, before=_make_missing(new), moved_from=old if is_rename else None)


def _make_missing(path: str) -> Snapshot:
    return Snapshot(path=path, stamp=None, data=b"", taken_ns=0)


class IntendedWrite(Struct, frozen=True, kw_only=True):
    """A write of a session that the daemon is about to make: what the record needs if the daemon is killed after it.

    path: canonical. label: of the session. before, after: digests of the contents; before is None without a file.
    time: seconds since the epoch.
    """

    path: str
    session_id: SessionName
    label: str
    before: bytes | None
    after: bytes
    time: float
