"""The requests of tools: each handler returns the result on the wire, together with the model's.

`requests.py` lists them with the notices that a client has asked for; the tools of MCP call them directly.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from fileops.core.presentation.suggestion_texts import (
    NO_SUGGESTIONS,
    SuggestionTexts,
    texts_of_edit,
    texts_of_read,
    texts_of_set,
)
from fileops.model.changes import ChangeSetResult
from fileops.model.errors import FileOpsError, ModifiedExternally
from fileops.model.results import CommandResult, EditResult, ReadResult, UndoResult
from fileops.model.rewind import RewindResult
from fileops.model.sessions import SessionName
from fileops.service.companion.losses import is_loss, restore_lines
from fileops.wire import commands, convert
from fileops.wire import types as wire
from fileops.wire.change_sets import change_set_request, change_set_result, patch_request
from fileops.wire.history import undo_request, undo_result
from fileops.wire.notebooks import edit_notebook_request
from fileops.wire.rewinds import rewind_request, rewind_result

if TYPE_CHECKING:
    from fileops.model.requests import EditRequest
    from fileops.service.fileops import FileOps
    from fileops.wire.changes import ApplyChangesParams, ApplyPatchParams
    from fileops.wire.rewinds import RewindParams


class ToolAnswer(Struct, frozen=True, kw_only=True):
    """A tool's result on the wire, and the outcome behind it. edited: the file of an edit, as given."""

    result: wire.ToolResult
    outcome: ReadResult | EditResult | ChangeSetResult | UndoResult | RewindResult | CommandResult
    session: SessionName
    edited: str | None = None

    @property
    def error(self) -> FileOpsError | None:
        return self.outcome.error

    @property
    def is_rebased(self) -> bool:
        """Whether others had changed the file and the edit was applied."""
        outcome = self.outcome
        return isinstance(outcome, EditResult) and outcome.rebased is not None and not outcome.dry_run

    @property
    def is_outdated(self) -> bool:
        """Whether others had changed the file and the edit was refused for that reason."""
        return isinstance(self.error, ModifiedExternally)

    @property
    def suggestions(self) -> SuggestionTexts:
        """What is said beside the result, so that the next call succeeds."""
        outcome = self.outcome
        if isinstance(outcome, ReadResult):
            return NO_SUGGESTIONS if outcome.error is None else texts_of_read(outcome)
        if isinstance(outcome, EditResult) and self.edited is not None:
            return texts_of_edit(outcome, self.edited)
        return texts_of_set(outcome) if isinstance(outcome, ChangeSetResult) else NO_SUGGESTIONS

    @property
    def edit_ids(self) -> tuple[str, ...]:
        """The committed edits."""
        match self.outcome:
            case EditResult(edit_id=str(edit_id), dry_run=False):
                return (edit_id,)
            case ChangeSetResult(did_edit=events):
                return tuple(event.edit_id for event in events)
            case UndoResult(files=files, dry_run=False) | RewindResult(files=files, dry_run=False):
                return tuple(file.edit_id for file in files if file.edit_id is not None)
            case _:
                return ()

    @property
    def shown_path(self) -> str | None:
        """The canonical path of the file whose current content the result shows."""
        return self.outcome.shown_path if isinstance(self.outcome, ReadResult | EditResult) else None


def try_read(service: "FileOps", params: wire.ReadParams, max_output_bytes: int | None = None) -> ToolAnswer | None:
    """Read if nothing has to be waited for; otherwise return None without any effect."""
    session = service.names.full(params.session_id)
    outcome = service.read_at_once(convert.read_request(params, session, max_output_bytes))
    return None if outcome is None else read_answer(session, outcome)


async def read(service: "FileOps", params: wire.ReadParams, max_output_bytes: int | None = None) -> ToolAnswer:
    """Args: max_output_bytes: see model.requests.ReadRequest."""
    session = service.names.full(params.session_id)
    return read_answer(session, await service.read(convert.read_request(params, session, max_output_bytes)))


def edit(service: "FileOps", params: wire.EditParams) -> Awaitable[ToolAnswer]:
    return _to_answer(service, convert.edit_request(params, service.names.full(params.session_id)))


def multi_edit(service: "FileOps", params: wire.MultiEditParams) -> Awaitable[ToolAnswer]:
    return _to_answer(service, convert.multi_edit_request(params, service.names.full(params.session_id)))


def edit_notebook(service: "FileOps", params: wire.EditNotebookParams) -> Awaitable[ToolAnswer]:
    return _to_answer(service, edit_notebook_request(params, service.names.full(params.session_id)))


def write(service: "FileOps", params: wire.WriteParams) -> Awaitable[ToolAnswer]:
    return _to_answer(service, convert.write_request(params, service.names.full(params.session_id)))


async def _to_answer(service: "FileOps", request: "EditRequest") -> ToolAnswer:
    service.begin_diagnosis(request.session_id)
    outcome = service.names.show_result(await service.edit(request))
    return edit_answer(request.session_id, request.file_path, outcome)


async def apply_changes(service: "FileOps", params: "ApplyChangesParams") -> ToolAnswer:
    session = service.names.full(params.session_id)
    service.begin_diagnosis(session)
    outcome = await service.apply_changes(change_set_request(params, session))
    return changes_answer(session, service.names.show_set_result(outcome))


async def apply_patch(service: "FileOps", params: "ApplyPatchParams") -> ToolAnswer:
    session = service.names.full(params.session_id)
    service.begin_diagnosis(session)
    outcome = await service.apply_patch(patch_request(params, session))
    return changes_answer(session, service.names.show_set_result(outcome))


async def undo(service: "FileOps", params: wire.UndoParams) -> ToolAnswer:
    session = service.names.full(params.session_id)
    of = None if params.session_id is None else service.names.resolve(params.session_id)
    request = undo_request(params, of=of, by=session, has_user=not service.history.is_agent)
    service.begin_diagnosis(session)
    if request.edit_id is not None and is_loss(request.edit_id):
        return undo_answer(session, await restore_lines(service, request.edit_id, session, dry_run=request.dry_run))
    return undo_answer(session, await service.history.undo(request))


async def rewind(service: "FileOps", params: "RewindParams") -> ToolAnswer:
    session = service.names.full(params.by_session)
    of = None if params.session_id is None else service.names.resolve(params.session_id)
    request = rewind_request(params, of=of, by=session, has_user=not service.history.is_agent)
    service.begin_diagnosis(session)
    return rewind_answer(session, await service.history.rewind(request))


async def bash(service: "FileOps", params: commands.BashParams, say: Callable[[str], None] | None) -> ToolAnswer:
    if service.bash is None:
        raise RuntimeError("commands are not served")
    session = service.names.full(params.session_id)
    outcome = await service.bash.run(commands.command_request(params, session), say)
    return ToolAnswer(result=commands.command_result(outcome), outcome=outcome, session=session)


# --- answers -----------------------------------------------------------------------------------------------------


def read_answer(session: SessionName, outcome: ReadResult) -> ToolAnswer:
    return ToolAnswer(result=convert.read_result(outcome), outcome=outcome, session=session)


def edit_answer(session: SessionName, file_path: str, outcome: EditResult) -> ToolAnswer:
    result = convert.edit_result(outcome, file_path)
    return ToolAnswer(result=result, outcome=outcome, session=session, edited=file_path)


def changes_answer(session: SessionName, outcome: ChangeSetResult) -> ToolAnswer:
    return ToolAnswer(result=change_set_result(outcome), outcome=outcome, session=session)


def undo_answer(session: SessionName, outcome: UndoResult) -> ToolAnswer:
    return ToolAnswer(result=undo_result(outcome), outcome=outcome, session=session)


def rewind_answer(session: SessionName, outcome: RewindResult) -> ToolAnswer:
    return ToolAnswer(result=rewind_result(outcome), outcome=outcome, session=session)
