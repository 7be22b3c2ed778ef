"""Taking edits back in a worker thread: look, plan, and, unless a person has to be asked, commit.

An undo is an edit like any other: it is confined, approved, written by compare-and-swap, told to everyone and
recorded, so that it can be taken back itself. Nothing is written (undo_writing.py) before all its files are planned
and approved.
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fileops.concurrency.cancellation import CancelToken
from fileops.core import text
from fileops.core.approval import needs_decision, simplified
from fileops.core.decision import hunk_splices, modified_splices
from fileops.core.diff.unified import change_of, unified_diff
from fileops.core.merge.undo import current_ranges, undo_edits
from fileops.core.presentation import outputs
from fileops.history.journal import History
from fileops.model.approval import Always, Decision, Modify, Once, Question, Reject, SomeHunks, TimedOut
from fileops.model.edits import Change, Plan, Splice
from fileops.model.errors import ApprovalTimedOut, BinaryFile, FileOpsError, PathMoved, Rejected, UndoConflict
from fileops.model.files import Snapshot, Text, TextFormat
from fileops.model.history import AppliedEdit
from fileops.model.requests import HistoryRequest, UndoRequest
from fileops.model.results import AgentEditRange, UndoneFile, UndoResult
from fileops.model.sessions import DEFAULT_SESSION
from fileops.model.settings import Settings
from fileops.ports import Clock, Events, FileSystem
from fileops.service.change_set import ChangeSetCommitter, FileChange, UndoFailed, told
from fileops.service.edit import shown_text
from fileops.service.policy import Policy
from fileops.tracking.freshness import Freshness

MAX_PLACED = 50  # edits of one file that an editor is shown; older ones are in the history


class PendingUndo(Struct, frozen=True, kw_only=True):
    """Plans of all files, and the question of the first that waits for a decision."""

    files: tuple[FileChange, ...]
    waiting: int
    question: Question


class UndoOperation(Struct, frozen=True, kw_only=True):
    fs: FileSystem
    freshness: Freshness
    events: Events
    clock: Clock
    settings: Settings
    history: History

    def attempt(self, request: UndoRequest, policy: Policy, token: CancelToken) -> UndoResult | PendingUndo:
        """Raises: Cancelled."""

        def work() -> UndoResult | PendingUndo:
            groups = self._groups(request)
            plans = tuple(self._planned(edits, policy, n_files=len(groups)) for edits in groups)
            return self._go_on(request, plans, policy, token)

        return self._guarded(request, work)

    def settle(
        self, request: UndoRequest, policy: Policy, token: CancelToken, proposal: PendingUndo, decision: Decision
    ) -> UndoResult | PendingUndo:
        """Raises: Cancelled."""

        def work() -> UndoResult | PendingUndo:
            asked = proposal.files[proposal.waiting]
            try:
                decided = self._decided(asked, decision)
            except FileOpsError as error:
                raise UndoFailed(error=error, file_path=asked.file_path, n_files=len(proposal.files)) from error
            files = (*proposal.files[: proposal.waiting], decided, *proposal.files[proposal.waiting + 1 :])
            return self._go_on(request, files, policy, token)

        return self._guarded(request, work)

    def _guarded(self, request: UndoRequest, work: Callable[[], UndoResult | PendingUndo]) -> UndoResult | PendingUndo:
        try:
            return work()
        except UndoFailed as failure:
            path, left = failure.file_path, [file.file_path for file in failure.left]
            note = outputs.undo_failure_note(path, left) if failure.n_files > 1 else ""
            told_text = outputs.failure_text(failure.error, "edit", path)
            return UndoResult(
                output=f"{told_text}\n{note}" if note else told_text, error=failure.error, file_path=path,
                files=failure.left, note=note, dry_run=request.dry_run,
            )  # fmt: skip
        except FileOpsError as error:
            path = request.file_path or ""
            return UndoResult(output=outputs.failure_text(error, "edit", path), error=error, dry_run=request.dry_run)

    # --- what there is -----------------------------------------------------------------------------------------

    def edits(self, request: HistoryRequest) -> tuple[AppliedEdit, ...]:
        path = None
        if request.file_path is not None:
            try:
                path = self.fs.resolve(request.file_path)
            except FileOpsError:
                return ()
        return self.history.edits(path=path, session_id=request.session_id, limit=request.limit)

    def places(self, file_path: str) -> tuple[AgentEditRange, ...]:
        """Of the newest MAX_PLACED edits that stand."""
        try:
            path = self.fs.resolve(file_path)
            edits = [edit for edit in self.history.edits(path=path) if edit.undone_by is None and not edit.undoes]
            snapshot = self.fs.read(path) if edits else None
        except (FileOpsError, PathMoved):
            return ()
        if snapshot is None or not snapshot.exists:
            return ()
        found: list[AgentEditRange] = []
        contents = self.history.contents(path)
        for edit in edits[:MAX_PLACED]:
            base = contents.after(edit.edit_id)
            if base is not None:
                found.extend(_places_of(edit, base, snapshot.data))
        return tuple(found)

    # --- which edits -------------------------------------------------------------------------------------------

    def _groups(self, request: UndoRequest) -> list[list[AppliedEdit]]:
        """The edits to take back, newest first, by file. Raises: UndoConflict."""
        if request.edit_id is not None:
            edit = self.history.edit(request.edit_id)
            if edit is None:
                raise UndoConflict(reason="the history holds no such edit")
            if edit.undone_by is not None:
                raise UndoConflict(reason="it is taken back already")
            return [[edit]]
        path = self.fs.resolve(request.file_path) if request.file_path is not None else None
        known = self.history.edits(path=path, session_id=request.session_id)
        standing = [
            edit
            for edit in known
            if edit.undone_by is None
            and not edit.undoes
            and self.history.is_of_session(edit, request.session_id or DEFAULT_SESSION)
        ]
        if not standing:
            raise UndoConflict(reason="the history holds no edit of this session that stands")
        groups: dict[str, list[AppliedEdit]] = {}
        for edit in standing:
            groups.setdefault(edit.path, []).append(edit)
        return list(groups.values())

    # --- look and plan -----------------------------------------------------------------------------------------

    def _planned(self, edits: Sequence[AppliedEdit], policy: Policy, *, n_files: int) -> FileChange:
        """Raises: UndoFailed."""
        try:
            return self._plan(edits, policy)
        except FileOpsError as error:
            raise UndoFailed(error=error, file_path=edits[0].file_path, n_files=n_files) from error

    def _plan(self, edits: Sequence[AppliedEdit], policy: Policy) -> FileChange:
        """Raises: UndoConflict and the failures of looking."""
        given, path = edits[0].file_path, edits[0].path
        if policy.roots is not None:
            policy.roots.require_inside(path, given)
        try:
            snapshot = self.fs.read(path)
        except PathMoved:
            raise UndoConflict(reason="the path leads elsewhere now") from None
        if snapshot.exists and text.is_binary(snapshot.data, text.detect_format(snapshot.data)):
            raise BinaryFile
        present = snapshot.data if snapshot.exists else None
        undone = undo_edits(edits, present, self.history.contents(path).after)
        removes = present is not None and undone.content is None
        creates = present is None and undone.content is not None
        if removes:
            splices: tuple[Splice, ...] = (Splice(0, len(snapshot.data), b""),) if snapshot.data else ()
        elif creates:
            splices = (Splice(0, 0, undone.content or b""),)
        else:
            splices = undone.splices
        fmt = text.detect_format((undone.content or b"") if creates else snapshot.data)
        plan = Plan(
            snapshot=snapshot, format=fmt, splices=splices, edits=(), n_replacements=(len(splices),), matches=(),
            match_lines=(), creates=creates, change=self._change(snapshot, splices, given, creates, removes),
        )  # fmt: skip
        return FileChange(file_path=given, undone=undone, plan=plan, removes=removes)

    def _change(
        self, snapshot: Snapshot, splices: Sequence[Splice], given: str, creates: bool, removes: bool
    ) -> Change:
        change = change_of(
            snapshot.data, text.detect_format(snapshot.data), splices,
            file_path=given, operation="create" if creates else "modify", limits=self.settings.limits,
        )  # fmt: skip
        if not removes:
            return change
        return replace(change, unified=unified_diff(change.hunks, file_path=given, removes=True))

    # --- decide ------------------------------------------------------------------------------------------------

    def _go_on(
        self, request: UndoRequest, files: tuple[FileChange, ...], policy: Policy, token: CancelToken
    ) -> UndoResult | PendingUndo:
        if request.dry_run:
            return _outcome(request, [told(file) for file in files])
        for index, file in enumerate(files):
            is_due = needs_decision(policy.mode, file.plan.snapshot, policy.roots, policy.can_ask)
            if is_due and file.has_effect and not (file.is_decided or request.is_approved):
                return PendingUndo(files=files, waiting=index, question=self._question(request, file))
        writer = ChangeSetCommitter(
            fs=self.fs, freshness=self.freshness, events=self.events, clock=self.clock, history=self.history,
            by_session=request.by_session, plan=lambda edits: self._plan(edits, policy),
        )  # fmt: skip
        return _outcome(request, writer.write(files, token))

    def _question(self, request: UndoRequest, file: FileChange) -> Question:
        title, description = outputs.undo_question_texts(file.file_path, file.plan.change, len(file.undone.edit_ids))
        fmt, before = file.plan.format, file.plan.snapshot.data
        return Question(
            title=title,
            description=description,
            file_path=file.file_path,
            session_id=request.by_session or request.session_id or "",
            change=file.plan.change,
            original_text=shown_text(before, fmt),
            proposed_text=shown_text(file.undone.content or b"", fmt),
        )

    def _decided(self, file: FileChange, decision: Decision) -> FileChange:
        """Raises: Rejected, ApprovalTimedOut, NotEncodable."""
        plan = file.plan
        decision = simplified(decision, plan)
        match decision:
            case Once() | Always():
                return replace(file, is_decided=True)
            case TimedOut(timeout_s):
                raise ApprovalTimedOut(timeout_s=timeout_s)
            case Modify(person_text) if not file.removes:
                wanted = modified_splices(Text(data=plan.snapshot.data, format=plan.format), person_text)
            case SomeHunks(hunk_ids) if not file.removes:
                wanted = hunk_splices(plan, hunk_ids)
            case Reject() | Modify() | SomeHunks():
                raise Rejected
        if not wanted:
            raise Rejected
        if wanted == plan.splices:
            return replace(file, is_decided=True)
        change = self._change(plan.snapshot, wanted, file.file_path, plan.creates, removes=False)
        return replace(file, is_decided=True, modified_by_user=True, plan=replace(plan, splices=wanted, change=change))


def _places_of(edit: AppliedEdit, base: bytes, present: bytes) -> Iterable[AgentEditRange]:
    """Top to bottom; what shares a line, or stands on the line below, is one place."""
    fmt = text.detect_format(present)
    lines: list[tuple[int, int]] = []
    for place in sorted(current_ranges(edit, base, present), key=lambda place: place.start):
        first = _editor_line(present, fmt, place.start)
        last = _editor_line(present, fmt, max(place.start, place.end - fmt.unit_bytes))
        if lines and first <= lines[-1][1] + 1:
            first, last = lines[-1][0], max(last, lines.pop()[1])
        lines.append((first, last))
    return (AgentEditRange(edit=edit, first_line=first, last_line=last) for first, last in lines)


def _editor_line(data: bytes, fmt: TextFormat, offset: int) -> int:
    """LSP counts a lone carriage return as a line end."""
    before = text.decode_part(data[:offset], fmt)
    n_returns = before.count("\r") - before.count("\r\n")
    if before.endswith("\r") and data[offset : offset + fmt.unit_bytes] == text.newline_of(fmt):
        n_returns -= 1
    return before.count("\n") + n_returns


def _outcome(request: UndoRequest, files: Sequence[UndoneFile]) -> UndoResult:
    texts: list[str] = []
    for file in files:
        done = outputs.undone_text(
            file.file_path, file.change, len(file.edit_ids), file.outcome, is_dry=request.dry_run
        )
        texts.append(outputs.with_user_change(done, file.change.unified) if file.modified_by_user else done)
    return UndoResult(output="\n".join(texts), files=tuple(files), dry_run=request.dry_run)
