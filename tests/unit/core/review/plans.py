"""Plans made of two contents, as a review gets them."""

from collections.abc import Sequence

from fileops.core.diff.contents import splices_between
from fileops.core.diff.unified import change_of
from fileops.core.review.changes import changes_of
from fileops.core.text import detect_format
from fileops.model.approval import ApprovalRequest
from fileops.model.edits import Plan, Splice
from fileops.model.files import Snapshot, Stamp
from fileops.model.sessions import SessionName
from fileops.model.settings import Limits

PATH = "/p/a.py"


def snapshot_of(data: bytes | None, path: str = PATH) -> Snapshot:
    """A file with this content; None: there is no file."""
    stamp = (
        None
        if data is None
        else Stamp(
            dev=1,
            ino=1,
            size_bytes=len(data),
            mtime_ns=0,
            ctime_ns=0,
            mode=0o100644,
            uid=0,
            gid=0,
            n_links=1,
        )
    )
    return Snapshot(path=path, stamp=stamp, data=data or b"", taken_ns=0)


def plan_from(old: bytes | None, new: bytes, splices: Sequence[Splice] | None = None) -> Plan:
    """A plan that makes `new` of `old`, by these splices or by the words that differ."""
    snapshot = snapshot_of(old)
    fmt = detect_format(snapshot.data or new)
    if splices is None:
        splices = splices_between(snapshot.data, new, fmt)
    change = change_of(
        snapshot.data, fmt, splices, file_path=PATH, operation="create" if old is None else "modify", limits=Limits()
    )
    return Plan(
        snapshot=snapshot,
        format=fmt,
        splices=tuple(splices),
        edits=(),
        n_replacements=(),
        matches=(),
        match_lines=(),
        creates=old is None,
        change=change,
    )


def question_of(old: bytes, new: bytes) -> ApprovalRequest:
    """The question whether `new` may be made of `old`."""
    plan = plan_from(old, new)
    return ApprovalRequest(
        title="",
        description="",
        file_path=PATH,
        session_id=SessionName(""),
        change=plan.change,
        original_text=None,
        proposed_text=None,
        path=PATH,
        changes=changes_of(plan),
    )
