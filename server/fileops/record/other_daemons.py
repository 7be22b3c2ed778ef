"""Keeps one entry per change when several daemons of a user record the same folder in one record.

Two shared daemons (of two sockets) may watch one folder, and a private daemon that keeps its history may write its
edits next to a shared daemon. Each daemon reports each change, and may know an author that the others do not.

The store's transaction is the lock between the daemons. Callers of this module are in one, so the newest entry stays
the newest until theirs is written. That entry decides everything: it has the content that another daemon read last, and
the time when it was read. So an observed change is one of these:

- The other daemon read the same content: it is the same change, and both contribute what they know about its author.
- The other daemon read the file later than this one: what this one saw is a part of that entry.
- The other daemon read the file earlier, with different content: this change follows that entry and starts there.

A daemon alone makes one entry of two changes by an unknown writer within a moment, and none of what was taken back at
once. Beside another one that would be wrong: the other may know one of the two to be an agent's, or have noted only the
first. So from the first change that both have seen, each keeps such changes apart; and if an entry has parts by several
authors nevertheless, because a daemon read them at once, it is unsure.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec.structs import replace

from fileops.core.diff.entry_diffs import count_lines
from fileops.model.record import (
    By,
    ByOutside,
    ByUnsure,
    Contents,
    Entry,
    Evidence,
    FileVersion,
    LogQuery,
    unsure,
)
from fileops.record.store import RecordStore

SAME_CHANGE_S = 5.0  # between the reads of two daemons; one may be delayed
_N_LOOKED_AT = 20  # entries of a file, to find an edit of this daemon
# After a write, until its daemon reads the clock for the edit: its folder is synced in between, and its thread may be
# preempted. The value is chosen, not derived. A shorter one leaves two entries of one edit. A longer one takes what a
# former daemon observed just before for this edit, if both are from or to the same content.
_LATE_S = 1.0
_CLOCK_S = 0.01  # the stamp of a file has the time of the kernel's last tick

Relation = Literal["same", "later", "before"]


def relation(
    other: Entry,
    after: FileVersion | None,
    *,
    began: float,
    read: float,
    written: float,
    now: float,
    is_earlier: bool = False,
) -> Relation | None:
    """Return how a file's newest entry, if another daemon made it, relates to a change that this daemon observed.

    "same": it is that change. "later": it contains that change. "before": the change follows it. None: they are
    unrelated. Args: after: the state after the change; None if there is no file. began, read: see
    attribution.Observation. written: the time in the file's stamp, which may be arbitrary; 0 if there is none. now: a
    later entry was made before the clock was set back. is_earlier: whether the entry was made before this daemon opened
    the record, and so before it read anything.
    """
    has_read_since = 0 < written <= other.time + _CLOCK_S
    if other.time < began - SAME_CHANGE_S and not has_read_since:
        return None
    if (other.after is None) == (after is None) and not (_is_known(other.after) and _is_known(after)):
        return "same" if after is None or has_read_since else None
    if other.after == after:
        return "same"
    if not _is_known(other.after) or not _is_known(after):
        return None
    return "later" if read <= other.time <= now and not is_earlier else "before"


def join_authors(by: By, evidence: Evidence, other_by: By, other_evidence: Evidence) -> tuple[By, Evidence]:
    """Return the author of a change that two daemons know about, and the evidence."""
    if by == other_by or isinstance(other_by, ByOutside):
        return by, evidence
    if isinstance(by, ByOutside):
        return other_by, other_evidence
    for certain in ("commit", "save"):  # one of them has seen the change itself
        if evidence == certain:
            return by, evidence
        if other_evidence == certain:
            return other_by, other_evidence
    candidates = [
        candidate
        for known in (by, other_by)
        for candidate in (known.candidates if isinstance(known, ByUnsure) else (known,))
    ]
    return unsure(*dict.fromkeys(candidates)), "command"


def put_own(store: RecordStore, entry: Entry, contents: Contents) -> Entry:
    """Add the entry of an edit that this daemon made, in place of what other daemons observed of it. Returns it.

    If an observation contains the edit and another change before or after it, the other change remains.
    """
    with store.transaction():
        for other in _find_observations(store, entry):
            if _is_one_state(other.before, entry.before) and _is_one_state(other.after, entry.after):
                entry = replace(entry, entry_id=other.entry_id, recorder=store.recorder)
                store.replace(entry, contents)
                return entry
            if not _is_known(entry.before) or not _is_known(entry.after):
                continue
            if other.after == entry.after:
                store.replace(_rest(store, other, other.before, entry.before))
                break
            if other.before == entry.before:
                store.append(entry, contents, earlier_than=other.entry_id)
                store.replace(_rest(store, other, entry.after, other.after))
                return entry
        store.append(entry, contents)
    return entry


def _find_observations(store: RecordStore, entry: Entry) -> Sequence[Entry]:
    """Return the entries of the file that may be observations of an edit of this daemon, newest first."""
    newest, _ = store.entries(LogQuery(path=entry.path, limit=_N_LOOKED_AT), is_file=True)
    if newest and newest[0].time <= entry.time and newest[0].after == entry.before and _is_known(entry.before):
        return ()  # the edit follows it; an undo brings back what an earlier entry left
    for n, other in enumerate(newest):
        is_observed = other.evidence != "commit" and not other.undoes and other.undone_by is None
        # A daemon may open the record only with its first edit, and others may have observed that before. What is as
        # new as the edit is therefore no entry of a former daemon, although it was there first.
        is_new = other.time >= entry.time - _LATE_S or not store.is_earlier(other)
        is_recent = is_new and other.time >= entry.time - SAME_CHANGE_S
        if other.recorder == store.recorder or not is_observed or not is_recent:
            return newest[:n]
    return newest


def _rest(store: RecordStore, observed: Entry, before: FileVersion | None, after: FileVersion | None) -> Entry:
    """Return an observation without the edit that it contained."""
    kind = "create" if before is None else "delete" if after is None else "modify"
    rest = replace(observed, before=before, after=after, kind=kind)
    contents = store.contents(rest)
    added, removed = count_lines(contents.before or b"", contents.after or b"")
    return replace(rest, added=added, removed=removed)


def _is_known(version: FileVersion | None) -> bool:
    return version is None or version.digest is not None


def _is_one_state(observed: FileVersion | None, version: FileVersion | None) -> bool:
    """Whether both are the same content, as far as contents are known."""
    if _is_known(observed) and _is_known(version):
        return observed == version
    return (observed is None) == (version is None)
