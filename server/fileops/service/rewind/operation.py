"""One rewind in a worker thread: find the entries, plan all files, and write them unless a user has to approve it.

A rewind is an undo of many files (`service/undo.py`). It is confined, approved once for all files, and written by
compare-and-swap, in all files or in none. What it undoes differs: entries of the record, which any program may have
written, each only as far as others have not changed its text again.

It is one module because planning and writing are one critical section (`RewindPlanner.hold`).
"""

import os
import threading
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import product
from typing import cast

import msgspec
import xxhash
from msgspec import Struct
from msgspec.structs import replace

from fileops.concurrency.cancellation import CancelToken
from fileops.core import text
from fileops.core.decision import apply_decision
from fileops.core.diff.contents import has_lines, may_be_one_file, splices_between
from fileops.core.merge.texts import ContentOf
from fileops.core.merge.undo import Undone
from fileops.core.presentation.failures import failure_message, failure_text
from fileops.core.presentation.outputs import with_permissions
from fileops.core.presentation.phrases import format_count, lines_named
from fileops.core.presentation.rewinds import rewind_question_texts, rewind_text
from fileops.model.approval import Always, ApprovalRequest, Decision, Modify, Once, SomeChanges
from fileops.model.changes import Permissions, is_executable
from fileops.model.edits import Change, Splice
from fileops.model.errors import (
    DocumentUnknown,
    FileOpsError,
    PlanChanged,
    Rejected,
    TooManyFiles,
    UndoConflict,
    UnknownTarget,
)
from fileops.model.files import Committed, Snapshot
from fileops.model.internal_errors import PathMoved
from fileops.model.record import By, ByPerson, Entry, EntryKind, session_of
from fileops.model.review import ReviewPart
from fileops.model.rewind import (
    DecidedCount,
    LeftReason,
    RewindConflict,
    RewindFileOutcome,
    RewindOutcome,
    RewindRequest,
    RewindResult,
)
from fileops.model.sessions import NO_SESSION, SessionName
from fileops.model.settings import Settings
from fileops.ports import Decisions, EventSink, FileSystem
from fileops.record.history import History, Look
from fileops.service.carry_out import CarryOut, Made, NotDone, Pending, Work
from fileops.service.commit import Committer, PlannedCommit
from fileops.service.policy import Policy, question_about
from fileops.service.restoration import Restoration, Undoer, plan_restoration, to_outcome
from fileops.service.rewind.committed import CommittedFiles
from fileops.service.rewind.files import (
    FileRewind,
    executable_bit_without,
    may_have_text,
    rewind_of_file,
    unknown_of,
    without_decided,
)
from fileops.service.rewind.lineage import Lineages, follows_all, follows_others
from fileops.service.rewind.renames import Rename, renames_of, with_other_names
from fileops.service.rewind.targets import MayRewind, entries_of, find_unsure, unsure_entries
from fileops.service.rewind.unkept import UndecidedEntries, UnkeptPlaces, entry_of_change
from fileops.tracking.freshness import Freshness

MAX_FILES = 1000


class PlannedFile(Struct, frozen=True, kw_only=True):
    """One file of a rewind. chosen: the target's entries in this file, newest first."""

    chosen: tuple[Entry, ...]
    rewind: FileRewind
    change: Restoration

    @property
    def effects(self) -> tuple[object, ...]:
        """What would be done. This does not change if others change other parts of the file."""
        undone = [entry.entry_id for entry in self.rewind.undone]
        return undone, self.change.plan.change.hunks, self.change.permissions


class PlannedRewind(Struct, frozen=True, kw_only=True):
    """All files of a rewind. conflicts: also those of files that do not change. plan: an id of what would be done.

    decided: what is left out, at least in part, because it is kept, committed or overwritten.
    """

    files: tuple[PlannedFile, ...]
    conflicts: tuple[RewindConflict, ...]
    plan: str
    decided: tuple[Entry, ...] = ()

    @property
    def undone(self) -> list[Entry]:
        return [entry for file in self.files for entry in file.rewind.undone]

    @property
    def authors(self) -> list[By]:
        return [by for file in self.files for by in file.rewind.authors]

    @property
    def n_left(self) -> int:
        return len({entry_id for conflict in self.conflicts for entry_id in conflict.entries})


RewindWork = Work[Restoration, PlannedRewind]
PendingRewind = Pending[Restoration, PlannedRewind]


class RewindOperation(Struct, frozen=True, kw_only=True):
    """Plans rewinds for one client.

    may_rewind: whether this client may undo an entry. person: its user's name in the record. settle: waits until
    everything written so far is recorded; False if that takes too long. deciding: see Workspace. committed: see
    UnkeptPlaces.
    """

    fs: FileSystem
    freshness: Freshness
    events: EventSink
    committer: Committer
    settings: Settings
    history: History
    store: Decisions
    may_rewind: MayRewind
    settle: Callable[[], bool]
    deciding: threading.Lock
    person: ByPerson
    committed: CommittedFiles | None = None

    def of(self, request: RewindRequest, by: By) -> CarryOut[Restoration, PlannedRewind, RewindResult]:
        """Args: by: the recorded author of the rewind."""
        rewind_id = f"w-{os.urandom(6).hex()}"
        return CarryOut(
            planner=RewindPlanner(op=self, request=request, by=by, rewind_id=rewind_id),
            committer=self.committer,
            events=self.events,
            session_id=request.by_session or NO_SESSION,
        )

    # --- plan --------------------------------------------------------------------------------------------------

    def plan(self, request: RewindRequest, policy: Policy) -> PlannedRewind:
        """Raises: UnknownTarget, TooManyFiles."""
        paths = tuple(self.fs.resolve(path) for path in request.paths)
        groups: dict[str, list[Entry]] = {}
        unsure: list[RewindConflict] = []
        possible: list[Entry] = []
        request = replace(request, paths=paths)
        places = UnkeptPlaces(self.store, self.fs, committed=self.committed)
        undecided: UndecidedEntries | None = None
        decided: tuple[Entry, ...] = ()
        lineages = Lineages(self.store, follows_all)
        if request.target.kind == "change_ids":
            ids = places.with_renames(request.target.ids, undoable=True)
            request = replace(request, target=replace(request.target, ids=ids))
            for path, change_ids in places.paths_of(ids).items():
                entries = [entry for entry in map(self.store.entry, map(entry_of_change, change_ids)) if entry]
                groups[path] = entries
        else:
            chosen = entries_of(self.store, request, self.may_rewind)
            possible += unsure_entries(self.store, request.target)
            perhaps = find_unsure(self.store, request, self.may_rewind, chosen) if possible else []
            if request.is_undecided_only:
                undecided = places.find_undecided([*chosen, *perhaps], lineages)
                taken = self._without_half_renames(chosen, undecided.entry_ids)
                taken_ids = {entry.entry_id for entry in taken}
                decided = tuple(each for each in chosen if each.entry_id not in taken_ids - undecided.partly)
                perhaps = [entry for entry in perhaps if entry.entry_id in undecided.entry_ids]
                chosen = taken
            lineages = lineages.following(follows_others(chosen))
            for entry in chosen:
                groups.setdefault(lineages.present_path(entry), []).append(entry)
            unsure += _unsure(perhaps, lineages)
        if not groups and decided:
            return PlannedRewind(files=(), conflicts=tuple(unsure), plan=_plan_id((), unsure), decided=decided)
        if not groups:
            raise UnknownTarget(explanation="these changes are no longer there")
        if len(groups) > MAX_FILES:
            raise TooManyFiles(n_files=len(groups), max_files=MAX_FILES)
        look = self.history.look()
        plans, conflicts = dict[str, PlannedFile](), list[RewindConflict]()
        for path, chosen in sorted(groups.items()):
            if request.target.kind != "change_ids" and not any(map(may_have_text, chosen)):
                conflicts += unknown_of(path, chosen)
                continue
            try:
                plans[path] = self._plan_file(look, request, path, chosen, policy, places, undecided, lineages)
            except FileOpsError as error:  # this file is left, and the others are undone
                conflicts.append(_to_conflict(error, path, chosen))
        if request.target.kind != "change_ids":
            self._plan_renames(look, groups, plans)
            contents = look.contents()
            may_remove = partial(self._find_what_may_remove, groups, possible, plans)
            if any(self._has_left(entry, contents) for _, entry in _not_restored(may_remove(), plans)):
                removals = dict[str, tuple[str, Entry]]()
                for path, entry in may_remove():
                    if self._has_left(entry, contents):
                        removals.setdefault(entry.entry_id, (path, entry))
                self._leave_changed_renames(list(removals.values()), plans)
        conflicts += [*(conflict for file in plans.values() for conflict in file.rewind.conflicts), *unsure]
        files = [file for file in plans.values() if file.rewind.undone or file.change.has_effect]
        if request.target.kind == "change_ids" and not files and not conflicts:
            raise UnknownTarget(explanation="these changes are no longer there")
        plan = _plan_id(files, conflicts)
        return PlannedRewind(files=tuple(files), conflicts=tuple(conflicts), plan=plan, decided=decided)

    def _without_half_renames(self, chosen: Sequence[Entry], open_ids: Collection[str]) -> list[Entry]:
        """Return the open ones of these entries. A rename is decided as one, so both halves are taken, or neither."""
        ids = {entry.entry_id for entry in chosen}
        found: list[Entry] = []
        for entry in chosen:
            other = self.store.other_half(entry)
            is_half_decided = other is not None and other.entry_id in ids and other.entry_id not in open_ids
            if entry.entry_id in open_ids and not is_half_decided:
                found.append(entry)
        return found

    def _plan_file(
        self,
        look: Look,
        request: RewindRequest,
        path: str,
        chosen: Sequence[Entry],
        policy: Policy,
        places: UnkeptPlaces,
        undecided: UndecidedEntries | None,
        lineages: Lineages,
    ) -> PlannedFile:
        """Args: undecided: what alone is to be undone; None for all of it. lineages: have read the entries.

        Raises: the failures of reading.
        """
        if policy.roots is not None:
            policy.roots.require_inside(path, path)
        try:
            snapshot = self.fs.read(path)
        except PathMoved:
            raise UndoConflict(explanation="the path leads elsewhere now") from None
        lineages = lineages.following(follows_others(chosen))
        if request.target.kind == "change_ids":
            rewind = places.rewind_of(path, snapshot, request.target.ids, self.may_rewind)
        else:
            rewind = rewind_of_file(look, path, chosen, snapshot, lineages)
            if undecided is not None and (decided := undecided.decided.get(path)):
                rewind = without_decided(rewind, snapshot, decided, undecided.partly)
        change = self._change(snapshot, rewind.content, rewind.undone, rewind.splices)
        change = self._with_permissions(change, rewind, lineages)
        # An undo that is partly undone stays in force, and so does what it undid.
        restored = tuple(dict.fromkeys(entry_id for entry in rewind.partly for entry_id in entry.undoes))
        change = replace(change, restored_ids=restored)
        return PlannedFile(chosen=tuple(chosen), rewind=rewind, change=change)

    def _plan_renames(self, look: Look, groups: Mapping[str, Sequence[Entry]], plans: dict[str, PlannedFile]) -> None:
        """Plan renames again if one half would be left: either both halves are undone, or neither is.

        Leaving one may break another of the same file, so earlier ones are checked again.
        """

        def first_broken() -> Rename | None:
            undone = {entry.entry_id for file in plans.values() for entry in file.rewind.undone}
            broken = (rename for rename in renames if any(half.entry_id not in undone for half in rename.halves))
            return next(broken, None)

        renames = renames_of(self.store, groups)
        n_of_path = Counter(path for rename in renames for path in (rename.old_path, rename.new_path))
        while renames and (rename := first_broken()) is not None:
            renames.remove(rename)
            paths = (rename.old_path, rename.new_path)
            is_planned = all(path in plans for path in paths)
            if (
                not is_planned
                or any(n_of_path[path] > 1 for path in paths)
                or not self._renames_back(look, rename, plans)
            ):
                self._leave_rename(rename, plans)

    def _renames_back(self, look: Look, rename: Rename, plans: dict[str, PlannedFile]) -> bool:
        """Plan to give the file its first name back, with what others wrote since.

        Returns False if that is impossible.
        """
        old, new = (plans[path].change.plan.snapshot for path in (rename.old_path, rename.new_path))
        if old.exists or not new.exists or not rename.is_alone or new.stamp is None:
            return False
        texts = [entry for path in (new.path, old.path) for entry in plans[path].chosen if entry not in rename.halves]
        rewind = FileRewind(path=new.path, content=new.data, undone=(), authors=(), conflicts=())
        if texts:
            rewind = rewind_of_file(look, new.path, texts, new)
        undone = (*rewind.undone, rename.departure)
        back = replace(
            rewind,
            path=old.path,
            undone=undone,
            authors=(*rewind.authors, rename.departure.by),
            conflicts=tuple(replace(conflict, file_path=old.path) for conflict in rewind.conflicts),
        )
        history = Lineages(self.store, follows_others(texts)).of(new.path)
        becomes = executable_bit_without(history, {entry.entry_id for entry in rewind.undone})
        mode = new.stamp.mode & 0o7777
        mode = mode if becomes is None else Permissions(becomes_executable=becomes).apply_to(mode)
        change = self._change(old, back.content, undone)
        if change.plan.creates:
            plan = replace(change.plan, change=with_permissions(change.plan.change, Permissions(mode)))
            change = replace(change, plan=plan, permissions=Permissions(mode))
        plans[old.path] = PlannedFile(chosen=(rename.departure, *texts), rewind=back, change=change)
        removed = FileRewind(
            path=new.path, content=None, undone=(rename.arrival,), authors=(rename.arrival.by,), conflicts=()
        )
        removal = self._change(new, None, removed.undone)
        plans[new.path] = PlannedFile(chosen=(rename.arrival,), rewind=removed, change=removal)
        return True

    def _find_what_may_remove(
        self, groups: Mapping[str, Sequence[Entry]], possible: Iterable[Entry], plans: Mapping[str, PlannedFile]
    ) -> Iterator[tuple[str, Entry]]:
        """Yield what the target changed or may have changed, and deletions by others of files that it changed.

        Each has the path of its file. If an entry comes twice, the first path counts.
        """
        yield from ((path, entry) for path, chosen in groups.items() for entry in chosen)
        yield from ((entry.path, entry) for entry in possible)
        for path, file in plans.items():
            newest = None if file.change.plan.snapshot.exists else self.store.newest(path)
            if newest is not None and newest.kind == "delete" and not (newest.moved_to or newest.undoes):
                yield path, newest

    def _has_left(self, entry: Entry, content_of: ContentOf) -> bool:
        """Return whether the text before is no longer at this name, because the file was removed or replaced since."""
        if entry.kind == "delete":
            return True
        if entry.kind != "modify" or not entry.removed or entry.before is None or entry.before.digest is None:
            return False
        before = content_of(entry.before.digest)
        if before is None or has_lines(before, 2 * entry.removed):  # then at least half of them remained
            return False
        after = self.store.contents(entry).after
        return not may_be_one_file(before, after or b"")

    def _leave_changed_renames(self, removals: Sequence[tuple[str, Entry]], plans: dict[str, PlannedFile]) -> None:
        """Leave what may be one file that was renamed and changed, or renamed over another one, if a half has to stay.

        The record did not see that this is one file. If the removal of the first name stays, the second name may have
        the last copy of the text. If others have changed the file at the second name, the first name would duplicate
        its text.

        Args: removals: those that the target made or may have made, and those by others of files that the target
        changed, with the present paths of their files.
        """
        pairs = [(*removed, path) for removed, path in product(removals, tuple(plans))]
        while any(self._leaves_changed_rename(*pair, plans) for pair in pairs):
            pass  # now the copy under another name may be the last one

    def _leaves_changed_rename(
        self, old_path: str, removal: Entry, new_path: str, plans: dict[str, PlannedFile]
    ) -> bool:
        """Leave one of two files if necessary, see above. Returns whether that was done."""
        new = plans[new_path]
        if self._is_elsewhere(removal, new.chosen):
            return False
        is_restored = old_path in plans and removal in plans[old_path].rewind.undone
        is_creation_left = _has(new.chosen, "create") and not _is_undone(new, "create")
        if (old_path == new_path or not is_creation_left) if is_restored else not new.rewind.undone:
            return False
        before, present = self.store.contents(removal).before, new.change.plan.snapshot.data
        if before is None or not may_be_one_file(before, present):
            return False
        if is_restored:
            self._leave_file(old_path, plans, reason="overlaps")
        elif may_be_one_file(before, new.rewind.content or b""):
            return False
        else:
            self._leave_file(new_path, plans, reason="overlaps")
        return True

    def _is_elsewhere(self, removal: Entry, chosen: Sequence[Entry]) -> bool:
        """Return whether the removed file still has a new name, which none of these entries gave to it."""
        arrival = None if removal.kind != "delete" else self.store.other_half(removal)
        if arrival is None or any(entry.entry_id == arrival.entry_id for entry in chosen):
            return False
        newest = self.store.newest(arrival.path)
        return newest is not None and newest.kind != "delete"

    def _leave_rename(self, rename: Rename, plans: dict[str, PlannedFile]) -> None:
        """Plan that both names stay as they are."""
        of_others = [
            by
            for file in plans.values()
            for conflict in file.rewind.conflicts
            for by in conflict.by
            if file.rewind.path in {rename.old_path, rename.new_path}
        ]
        for path in {rename.old_path, rename.new_path} & plans.keys():
            is_recreated = path == rename.old_path and plans[path].change.plan.snapshot.exists
            self._leave_file(path, plans, reason="recreated" if is_recreated else "overlaps", by=of_others)

    def _leave_file(
        self, path: str, plans: dict[str, PlannedFile], *, reason: LeftReason, by: Sequence[By] = ()
    ) -> None:
        """Plan that a file stays as it is."""
        file = plans[path]
        snapshot = file.change.plan.snapshot
        entries = tuple(entry.entry_id for entry in file.chosen)
        conflict = RewindConflict(file_path=path, entries=entries, reason=reason, by=tuple(dict.fromkeys(by)))
        content = snapshot.data if snapshot.exists else None
        left = FileRewind(path=path, content=content, undone=(), authors=(), conflicts=(conflict,))
        plans[path] = replace(file, rewind=left, change=self._change(snapshot, content, ()))

    def _change(
        self,
        snapshot: Snapshot,
        content: bytes | None,
        undone_entries: Sequence[Entry],
        splices: tuple[Splice, ...] | None = None,
    ) -> Restoration:
        """Args: splices: from the present content to the other, if they are known."""
        if splices is None and snapshot.exists and content is not None:
            splices = splices_between(snapshot.data, content, text.detect_format(snapshot.data))
        edit_ids = dict.fromkeys(entry.edit_id for entry in undone_entries if entry.edit_id is not None)
        undone = Undone(content=content, splices=splices or (), edit_ids=tuple(edit_ids))
        limits = self.settings.limits
        change = plan_restoration(snapshot, undone, file_path=snapshot.path, limits=limits, with_snippet=False)
        return replace(change, entry_ids=tuple(entry.entry_id for entry in undone_entries))

    def _with_permissions(self, change: Restoration, rewind: FileRewind, lineages: Lineages) -> Restoration:
        """Return the change with the executable bit that the file gets back; if it was deleted, with all bits."""
        if rewind.content is None:
            return change
        snapshot, undone = change.plan.snapshot, {entry.entry_id for entry in rewind.undone}
        history = lineages.of(rewind.path)
        becomes = executable_bit_without(history, undone)
        if snapshot.stamp is None:
            permissions = self._of_deleted(history, becomes)
        else:
            is_so = is_executable(snapshot.stamp.mode)
            newest = history[-1].after if history else None
            # Changes that the record does not know yet are by others, and later than everything that is undone.
            is_known = newest is not None and newest.is_executable == is_so
            changes = becomes is not None and is_known and is_so != becomes
            permissions = Permissions(becomes_executable=bool(becomes)) if changes else None
        if permissions is None:
            return change
        plan = replace(change.plan, change=with_permissions(change.plan.change, permissions))
        return replace(change, plan=plan, permissions=permissions)

    def _of_deleted(self, history: Sequence[Entry], becomes: bool | None) -> Permissions | None:
        """Return the permission bits of a recreated file. They are never wider than before."""
        deletion = next((entry for entry in reversed(history) if entry.kind == "delete"), None)
        mode = None if deletion is None else deletion.mode
        if mode is None:
            return Permissions(becomes_executable=True) if becomes else None
        return Permissions(mode if becomes is None else Permissions(becomes_executable=becomes).apply_to(mode))


def _not_restored(
    entries: Iterable[tuple[str, Entry]], plans: Mapping[str, PlannedFile]
) -> Iterator[tuple[str, Entry]]:
    """Yield the entries that may keep a rename from its undo: all if a creation stays, else those that stay."""
    undone = {entry.entry_id for file in plans.values() for entry in file.rewind.undone}
    is_creation_left = any(_has(file.chosen, "create") and not _is_undone(file, "create") for file in plans.values())
    return (found for found in entries if is_creation_left or found[1].entry_id not in undone)


def _has(entries: Sequence[Entry], kind: EntryKind) -> bool:
    return any(entry.kind == kind for entry in entries)


def _is_undone(file: PlannedFile, kind: EntryKind) -> bool:
    return _has(file.rewind.undone, kind)


class RewindPlanner(Struct, frozen=True, kw_only=True):
    """See carry_out.Planner. A rewind is decided as a whole."""

    op: RewindOperation
    request: RewindRequest
    by: By
    rewind_id: str

    @property
    def is_dry_run(self) -> bool:
        return self.request.dry_run

    @contextmanager
    def hold(self) -> Generator[None]:
        with nullcontext() if self.request.dry_run else self.op.deciding:
            if not self.op.settle():  # else changes without an entry yet would be left silently
                raise UndoConflict(explanation="the record is still reading what was changed; try again in a moment")
            yield

    def plan(self, policy: Policy, token: CancelToken) -> RewindWork:
        planned = self.op.plan(self.request, policy)
        work = Work(files=tuple(file.change for file in planned.files), known=planned)
        if self.request.plan is not None and self.request.plan != planned.plan:
            raise NotDone(error=PlanChanged(), work=work)
        if planned.decided and not planned.files and not planned.conflicts:
            raise NotDone(error=UnknownTarget(explanation=_why_decided(planned.decided)), work=work)
        if (self.request.fails_on_conflict and planned.conflicts) or not planned.files:
            raise NotDone(error=UndoConflict(explanation=_why_nothing(planned.conflicts)), work=work)
        return work

    def find_waiting(self, work: RewindWork, policy: Policy) -> tuple[int, ...]:
        if self.request.is_approved or work.is_decided:
            return ()
        changed = tuple(at for at, file in enumerate(work.files) if file.has_effect)
        needs = [policy.needs_decision(work.files[at].plan.snapshot) for at in changed]  # each may raise
        return changed if any(needs) else ()

    def question(self, work: RewindWork, waiting: Sequence[int], policy: Policy, token: CancelToken) -> ApprovalRequest:
        files = [work.files[at] for at in waiting]
        return _question(work.known, files, self.request.by_session or NO_SESSION, policy, token)

    def decide(self, pending: PendingRewind, decision: Decision, policy: Policy, token: CancelToken) -> RewindWork:
        match decision:
            case Modify() | SomeChanges():
                raise Rejected
            case Once() | Always():
                pass
            case _:
                first = pending.work.files[0]
                apply_decision(first.plan, decision, file_path=first.file_path, limits=self.op.settings.limits)
        work = self.plan(policy, token)
        if work.known.plan != pending.work.known.plan:
            raise UndoConflict(explanation="files were changed in between")
        return replace(work, is_decided=True)

    def again(self, work: RewindWork, policy: Policy, token: CancelToken) -> RewindWork:
        """Plan everything again because a file has changed. The result must match the preview."""
        planned = self.op.plan(self.request, policy)
        before, now = ({file.rewind.path: file.effects for file in each.files} for each in (work.known, planned))
        changed = next((path for path in before | now if before.get(path) != now.get(path)), None)
        if changed is not None:
            raise NotDone(error=UndoConflict(explanation="the file has just changed"), work=work, file_path=changed)
        return replace(work, files=tuple(file.change for file in planned.files), known=planned)

    def commit_of(self, file: Restoration) -> PlannedCommit:
        return self._undoer.commit_of(file)

    def tracker_update_of(self, file: Restoration) -> Callable[[Committed], None]:
        return self._undoer.tracker_update_of(file)

    @property
    def _undoer(self) -> Undoer:
        return Undoer(
            freshness=self.op.freshness,
            by_session=self.request.by_session,
            person=self.op.person,
            rewind_id=self.rewind_id,
        )

    def result(
        self, work: RewindWork, made: Sequence[Made[Restoration]], *, needs_approval: bool | None = None
    ) -> RewindResult:
        files = with_other_names(self.op.store, tuple(map(_before_writing, work.known.files)))
        if self.request.dry_run:
            return _result(self.request, work.known, files, None, needs_approval=needs_approval)
        done = [to_outcome(each.file, each.commit) for each in made]
        files = tuple(
            replace(file, applied_to=each.applied_to, edit_id=each.edit_id)
            for file, each in zip(files, done, strict=True)
        )
        return _result(self.request, work.known, files, self.rewind_id)

    def answer_failure(self, failure: NotDone) -> RewindResult:
        result = RewindResult(
            output=failure_text(failure.error, "edit", failure.file_path or ""),
            error=failure.error,
            dry_run=self.request.dry_run,
            file_path=failure.file_path,
            still_undone=failure.left,
        )
        work = cast("RewindWork | None", failure.work)
        if work is None or failure.file_path is not None:
            return result
        planned = work.known
        is_shown = isinstance(failure.error, PlanChanged)
        files = with_other_names(self.op.store, tuple(map(_before_writing, planned.files))) if is_shown else ()
        return replace(
            result,
            plan=planned.plan,
            conflicts=planned.conflicts,
            n_left=planned.n_left,
            files=files,
            decided=count_decided(planned.decided) if self.request.is_undecided_only else None,
        )


def count_decided(decided: Sequence[Entry]) -> DecidedCount:
    """Count what is left out. The two halves of a rename are of one file."""
    ids = {entry.entry_id for entry in decided}
    return DecidedCount(len(ids), len({entry.path for entry in decided if entry.moved_to is None}))


def _why_decided(decided: Sequence[Entry]) -> str:
    """Return why there is nothing to undo, as a clause."""
    count = count_decided(decided)
    verb = "is" if count.n_entries == 1 else "are"
    files = format_count(count.n_files, "file")
    return f"{format_count(count.n_entries, 'edit')} in {files} {verb} kept, committed or overwritten"


def _why_nothing(conflicts: Sequence[RewindConflict]) -> str:
    """Return why a rewind was not made, as a clause."""
    if all(conflict.reason in {"refused", "not_kept"} for conflict in conflicts):
        return "the files cannot be changed, or their contents are not kept"
    if len(conflicts) == 1 and conflicts[0].ranges:
        named = lines_named(conflicts[0].ranges)
        return f"{named} {'was' if named.startswith('line ') else 'were'} changed since"
    return "others have changed its text"


def _to_conflict(error: FileOpsError, path: str, chosen: Sequence[Entry]) -> RewindConflict:
    """Return what is left in a file that cannot be read or changed."""
    ids = tuple(entry.entry_id for entry in chosen)
    if isinstance(error, DocumentUnknown):
        return RewindConflict(file_path=path, entries=ids, reason="editor")
    return RewindConflict(file_path=path, entries=ids, reason="refused", message=failure_message(error))


def _unsure(entries: Sequence[Entry], lineages: Lineages) -> Iterator[RewindConflict]:
    """Yield what is left because another author may have written it."""
    by_path: dict[str, list[Entry]] = {}
    for entry in entries:
        by_path.setdefault(lineages.present_path(entry), []).append(entry)
    for path, found in sorted(by_path.items()):
        authors = tuple(dict.fromkeys(entry.by for entry in found))
        yield RewindConflict(
            file_path=path, entries=tuple(entry.entry_id for entry in found), reason="unsure", by=authors
        )


def _plan_id(files: Sequence[PlannedFile], conflicts: Sequence[RewindConflict]) -> str:
    """Return a digest of what would be done: contents before and after, what is undone, and what is left."""
    done = [
        (
            os.fsencode(file.rewind.path),  # need not be UTF-8
            file.change.plan.snapshot.digest if file.change.plan.snapshot.exists else None,
            file.rewind.content,
            file.change.permissions,
            [entry.entry_id for entry in file.rewind.undone],
        )
        for file in files
    ]
    left = [(os.fsencode(conflict.file_path), conflict.entries, conflict.reason) for conflict in conflicts]
    return f"p-{xxhash.xxh3_128_hexdigest(msgspec.msgpack.encode((done, left)))}"


def _question(
    planned: PlannedRewind, changed: Sequence[Restoration], session: SessionName, policy: Policy, token: CancelToken
) -> ApprovalRequest:
    """Return one question about all files, which is decided as a whole.

    It has a file's texts only if there is just one file.
    """
    texts = rewind_question_texts([change.file_path for change in changed], len(planned.undone), session or "A person")
    first = changed[0]
    question = question_about(
        first.plan,
        first.undone.content or b"",
        texts,
        file_path=first.file_path,
        session_id=session,
        policy=policy,
        check=token.check,
    )
    whole = ReviewPart(
        id="1-rewind", old_start=0, old_lines=0, new_start=0, new_lines=0, diff="", splice=Splice(0, 0, b"")
    )
    if len(changed) == 1:
        return replace(question, changes=(whole,))
    return replace(
        question,
        change=_join_changes([change.plan.change for change in changed]),
        original_text=None,
        proposed_text=None,
        is_protected=any(policy.is_protected(change.plan.snapshot) for change in changed),
        changes=(whole,),
    )


def _join_changes(changes: Sequence[Change]) -> Change:
    return Change(
        operation="modify",
        unified="".join(change.unified for change in changes),
        exact=all(change.exact for change in changes),
        truncated=True,  # only the diff has the hunks
        hunks=(),
        n_added=sum(change.n_added for change in changes),
        n_removed=sum(change.n_removed for change in changes),
        first_changed_line=1,
        snippet="",
    )


def _outcome(change: Restoration) -> RewindOutcome:
    if not change.has_effect:
        return "unchanged"
    return "removed" if change.removes else "created" if change.plan.creates else "modified"


def _before_writing(file: PlannedFile) -> RewindFileOutcome:
    return RewindFileOutcome(
        file_path=file.rewind.path,
        outcome=_outcome(file.change),
        entries=tuple(entry.entry_id for entry in file.rewind.undone),
        applied_to=file.change.plan.snapshot.source,
        change=file.change.plan.shown,
        n_places=_count_places(file.change),
    )


def _count_places(change: Restoration) -> int:
    """Return how many runs of lines change. Of a diff that was cut, those that were spliced."""
    shown = change.plan.change
    if change.removes or change.plan.creates:
        return 1
    if shown.truncated:
        return max(len(change.plan.splices), 1)
    kinds = ("".join([line.kind for line in hunk.lines]) for hunk in shown.hunks)
    return max(sum(len(of_hunk.split()) for of_hunk in kinds), 1)  # the kind of unchanged lines is a blank


def _result(
    request: RewindRequest,
    planned: PlannedRewind,
    files: Sequence[RewindFileOutcome],
    rewind_id: str | None,
    *,
    needs_approval: bool | None = None,
) -> RewindResult:
    return RewindResult(
        output=rewind_text(files, planned.conflicts, is_dry=request.dry_run, decided=count_decided(planned.decided)),
        rewind_id=rewind_id,
        dry_run=request.dry_run,
        plan=planned.plan,
        files=tuple(files),
        conflicts=planned.conflicts,
        n_undone=len(planned.undone),
        n_left=planned.n_left,
        decided=count_decided(planned.decided) if request.is_undecided_only else None,
        needs_approval=needs_approval,
        sessions=tuple(Counter(session for by in planned.authors if (session := session_of(by))).items()),
    )
