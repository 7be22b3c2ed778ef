"""Finds changes that git already has: what a person has committed, or staged as it is, is decided. Worker threads.

git is asked for every list, so nothing can be out of date: with one process for each work tree, and another one if an
executable bit is listed. Such a bit counts once it is committed.
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from fileops.core.merge.authorship import ChangedPlace, find_places_in
from fileops.model.changes import is_executable
from fileops.model.digest import content_digest
from fileops.model.files import Snapshot
from fileops.model.record import Entry, Staged, is_by_agent
from fileops.model.rewind import UnkeptChange
from fileops.ports import TextOf
from fileops.record import git
from fileops.record.git_process import GitFailed

_MAX_FILES = 1000  # whose answers are cached


class UnkeptPlace(Struct, frozen=True, gc=False):
    """A listed change with its place in the current content; None for a change without lines."""

    change: UnkeptChange
    place: ChangedPlace | None


class GitState(Struct, frozen=True):
    """What a work tree has of a file. is_executable: in HEAD; None if it is not there, or was not asked for."""

    repository: git.Repository
    blobs: git.CommittedBlobs
    is_executable: bool | None


class CommittedFiles:
    """Threads may share it: its cache is replaced as a whole, and used only while it is valid."""

    def __init__(self, text_of: TextOf, staged: Callable[[], Mapping[str, Staged]]) -> None:
        """Args: text_of: see record.content.read_file. staged: returns what is in git's indexes, and who staged it."""
        self._text_of, self._staged = text_of, staged
        self._repositories: dict[str, git.Repository] = {}
        self._answers: dict[str, tuple[tuple[object, ...], frozenset[str]]] = {}
        self._digests: dict[str, tuple[GitState, frozenset[bytes]]] = {}
        self._last_read: tuple[tuple[str, GitState], list[bytes]] | None = None

    def states_of(self, paths: Iterable[str], *, with_bit: Collection[str]) -> dict[str, GitState]:
        """Return what git has of files, by canonical path. Files that git knows nothing about are left out.

        Args: with_bit: those of them whose executable bit is asked for, which takes one more process.
        """
        by_root: dict[str, list[str]] = {}
        for path in paths:
            if (root := git.top_of(os.path.dirname(path))) is not None:
                by_root.setdefault(root, []).append(path)
        states: dict[str, GitState] = {}
        staged = self._staged()
        for root, inside in by_root.items():
            repository = self._repositories.get(root) or git.find_repository(root)
            if repository is None:
                continue
            self._repositories[root] = repository
            try:
                found = git.read_committed_blobs(repository, inside)
            except GitFailed:  # then nothing counts as kept
                continue
            try:
                bits = git.read_committed_bits(repository, [path for path in inside if path in with_bit])
            except GitFailed:  # as without a commit
                bits = {}
            states.update(
                (path, GitState(repository, _choose_decided(blobs, staged.get(path)), bits.get(path)))
                for path, blobs in found.items()
            )
        return states

    def among(
        self, places: Sequence[UnkeptPlace], path: str, snapshot: Snapshot | None, state: GitState
    ) -> frozenset[str]:
        """Return the ids of the changes that HEAD or the index also has.

        Args: snapshot: None if the file cannot be read; a link cannot.
        """
        if snapshot is None:
            is_committed = _is_committed_link(path, state)
            return frozenset(found.change.change_id for found in places if is_committed)
        digest = snapshot.digest if snapshot.exists else None
        bit = None if snapshot.stamp is None else is_executable(snapshot.stamp.mode)
        made_of = (digest, bit, state, tuple(found.change.change_id for found in places))
        known = self._answers.get(snapshot.path)
        if known is not None and known[0] == made_of:
            return known[1]
        answer = frozenset(self._find_committed_places(places, path, snapshot, state))
        if bit is not None and bit == state.is_executable:
            answer |= {found.change.change_id for found in places if found.place is None and found.change.undoable}
        if len(self._answers) >= _MAX_FILES:
            self._answers.clear()
        self._answers[snapshot.path] = made_of, answer
        return answer

    def find_committed(
        self, path: str, lineage: Sequence[Entry], snapshot: Snapshot | None, state: GitState
    ) -> frozenset[str]:
        """Return the ids of the file's entries up to the one whose result HEAD or the index has.

        They are decided with it, even where later entries changed the same lines again. It is the first entry with this
        result: git or a person may bring an older content back, which decides nothing. Nor does it count if others
        brought back what was there before, because text of the earlier entries can then be in the file again.

        Args: snapshot: None if the file cannot be read. If it is what git has, the places alone suffice.
        """
        blobs = {state.blobs.head, state.blobs.index} - {None}
        if not blobs or snapshot is None:
            return frozenset()
        if snapshot.exists and git.blob_id(state.repository, snapshot.data) in {oid for oid, _ in filter(None, blobs)}:
            return frozenset()
        known = self._digests.get(path)
        if known is None or known[0] != state:
            known = state, frozenset(map(content_digest, self._contents(path, state)))
            if len(self._digests) >= _MAX_FILES:
                self._digests.clear()
            self._digests[path] = known
        results = [None if entry.after is None else entry.after.digest for entry in lineage]
        first = lineage[0].before if lineage else None
        seen, last = {None if first is None else first.digest}, -1
        for at, (entry, result) in enumerate(zip(lineage, results, strict=True)):
            if result in known[1] and result not in seen and not entry.is_carried:
                last = at
            seen.add(result)
        earlier = set(results[: max(last, 0)]) - {None}
        if first is not None:
            earlier.add(first.digest)
        later = zip(lineage[last + 1 :], results[last + 1 :], strict=True)
        if any(result in earlier and not is_by_agent(entry.by) for entry, result in later):
            return frozenset()
        return frozenset(entry.entry_id for entry in lineage[: last + 1])

    def _find_committed_places(
        self, places: Sequence[UnkeptPlace], path: str, snapshot: Snapshot, state: GitState
    ) -> Iterable[str]:
        blobs = {state.blobs.head, state.blobs.index}
        if not snapshot.exists:
            return _find_committed_deletions(places, state) if state.blobs.index is None else ()
        if git.blob_id(state.repository, snapshot.data) in {blob[0] for blob in blobs if blob is not None}:
            return [found.change.change_id for found in places if found.place is not None or not found.change.undoable]
        placed = [found.place for found in places if found.place is not None]
        contents = self._contents(path, state)
        in_git = {place for content in contents for place in find_places_in(content, placed, snapshot.data)}
        return [found.change.change_id for found in places if found.place in in_git]

    def _contents(self, path: str, state: GitState) -> list[bytes]:
        """Return what HEAD and the index have of a file, as text. It is often asked for twice, one after the other."""
        last = self._last_read
        if last is not None and last[0] == (path, state):
            return last[1]
        sizes = dict(blob for blob in (state.blobs.head, state.blobs.index) if blob is not None)
        contents = [self._text_of(path, data) for data in git.read_blobs(state.repository, sizes).values()]
        self._last_read = (path, state), contents
        return contents


def _choose_decided(blobs: git.CommittedBlobs, staged: Staged | None) -> git.CommittedBlobs:
    """Return what git has because a person decided it. What an agent has staged decides nothing."""
    oid = None if blobs.index is None else blobs.index[0]
    is_by_agent = staged is not None and staged.is_by_agent and staged.oid == oid
    return git.CommittedBlobs(head=blobs.head, index=blobs.head) if is_by_agent else blobs


def _is_committed_link(path: str, state: GitState) -> bool:
    """Return whether the path is a link that HEAD or the index also has: the blob of a link is its target."""
    try:
        target = os.fsencode(os.readlink(path))
    except OSError:  # no link
        return False
    return (git.blob_id(state.repository, target), len(target)) in {state.blobs.head, state.blobs.index}


def _find_committed_deletions(places: Sequence[UnkeptPlace], state: GitState) -> Iterable[str]:
    """Return the ids of deletions that git has. A file that git never had is missing there, too, but not decided."""
    texts = {git.blob_id(state.repository, found.place.removed): found for found in places if found.place is not None}
    sizes = {oid: len(found.place.removed) for oid, found in texts.items() if found.place is not None}
    return [texts[oid].change.change_id for oid in git.read_blobs(state.repository, sizes)]
