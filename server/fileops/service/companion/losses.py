"""Brings back lines that a write has removed, because it was made on an older content: R-COMP-24."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from fileops.concurrency.cancellation import Attempts, CancelToken
from fileops.core import splices as splicing
from fileops.core.diff.contents import splices_between
from fileops.core.merge import relevance
from fileops.core.merge.rewind_cells import is_notebook
from fileops.core.notebook.cell_changes import changes_of_contents
from fileops.core.notebook.cells import is_notebook_path
from fileops.core.plan import plan_write
from fileops.core.presentation.failures import failure_text
from fileops.core.text import decode, detect_format
from fileops.model.edits import Plan, Relevance
from fileops.model.errors import FileOpsError, UndoConflict
from fileops.model.events import DidEdit
from fileops.model.files import Base, Snapshot
from fileops.model.losses import LOSS_PREFIX, Loss
from fileops.model.record import ByPerson
from fileops.model.requests import EditRequest
from fileops.model.results import UndoFileOutcome, UndoResult
from fileops.model.sessions import SessionName
from fileops.model.settings import Limits
from fileops.service.commit import PlannedCommit, did_edit
from fileops.service.edit import EditOperation
from fileops.service.policy import Policy

if TYPE_CHECKING:
    from fileops.service.fileops import FileOps

_NEEDS_PERSON = "a person decides about edits of this file: ask them to bring the lines back"


def is_loss(edit_id: str) -> bool:
    """Return whether an id names lost lines. Undo takes such an id as it takes that of an edit."""
    return edit_id.startswith(LOSS_PREFIX)


async def restore_lines(
    service: "FileOps", loss_id: str, session_id: SessionName, *, dry_run: bool = False
) -> UndoResult:
    """Bring the lines back beside what was written, and beside later changes of others."""
    loss = await service.run_on_disk(lambda: service.loss(loss_id))
    if loss is None:
        error = UndoConflict(reason="unknown_edit", explanation="no lost lines have this id")
        return _fail(error, "", dry_run=dry_run)
    policy, person, editor = service.policy(session_id), service.person, service.edit_operation
    try:
        result = await service.run_on_disk(lambda: _restore(editor, loss, session_id, policy, person, dry_run=dry_run))
    except FileOpsError as error:
        return _fail(error, loss.path, dry_run=dry_run)
    done, event = result
    if event is not None:
        service.publish(event)
    return done


def _restore(
    editor: EditOperation,
    loss: Loss,
    session_id: SessionName,
    policy: Policy,
    person: ByPerson | None,
    *,
    dry_run: bool,
) -> tuple[UndoResult, DidEdit | None]:
    """Raises: FileOpsError."""
    token = CancelToken()
    attempts = Attempts(token)
    while True:
        with attempts.next():
            snapshot = editor.fs.read(editor.fs.resolve(loss.path))
            content = _with_lines(loss, snapshot.data)
            text = decode(content, detect_format(content)).removeprefix("\ufeff")
            request = EditRequest(file_path=loss.path, tool="write", content=text, session_id=session_id)
            if is_notebook_path(loss.path) and is_notebook(snapshot.data):
                plan = _plan_of_notebook(loss, snapshot, content, text)
            else:
                plan = editor.plan_on_snapshot(request, snapshot, token)
            if not plan.splices:
                raise UndoConflict(reason="already_undone", explanation="the lines are there")
            if person is None and policy.needs_decision(snapshot):
                raise UndoConflict(explanation=_NEEDS_PERSON)
            restored = UndoFileOutcome(
                file_path=loss.path,
                edit_ids=(loss.loss_id,),
                change=plan.shown,
                outcome="modified",
                applied_to=snapshot.source,
            )
            output = f"{len(loss.lines)} lost {'line is' if len(loss.lines) == 1 else 'lines are'} back in {loss.path}."
            if dry_run:
                return UndoResult(output=output, files=(restored,), dry_run=True), None
            commit = editor.committer.commit(
                PlannedCommit(plan=plan, given_path=loss.path, by=person),
                token,
                session_id=session_id,
                on_committed=editor.tracker_update_of(request, plan),
            )
            restored = replace(restored, edit_id=commit.edit_id, commit=commit.report)
            return UndoResult(output=output, files=(restored,)), did_edit(commit)


def _plan_of_notebook(loss: Loss, snapshot: Snapshot, content: bytes, text: str) -> Plan:
    """Plan the whole text, without processors and formatters, which are not for JSON. Raises: UndoConflict."""
    if not is_notebook(content):
        raise UndoConflict(explanation="the lines do not fit into the notebook that was written instead")
    fmt = detect_format(snapshot.data)
    plan = plan_write(snapshot, fmt, text, limits=Limits(), file_path=loss.path)
    return replace(plan, cells=changes_of_contents(loss.path, snapshot.data, content))


def _with_lines(loss: Loss, present: bytes) -> bytes:
    """Return the present content with the lines. Raises: UndoConflict."""
    if loss.merged is None:
        raise UndoConflict(explanation="the lines conflict with what was written instead")
    if present == loss.written:
        return loss.merged
    splices = splices_between(loss.written, loss.merged, detect_format(loss.written))
    known = Base(content=loss.written, shown=loss.written)
    carried = relevance.carry(known, present, splices, margin_lines=0)
    if isinstance(carried, Relevance):
        raise UndoConflict(explanation="the file was changed at the same place since")
    return splicing.apply(present, carried.splices)


def _fail(error: FileOpsError, path: str, *, dry_run: bool) -> UndoResult:
    output = failure_text(error, "edit", path)
    return UndoResult(output=output, error=error, file_path=path or None, dry_run=dry_run)
