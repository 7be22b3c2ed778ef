"""Undo for any LSP editor: commands, code actions and code lenses on the lines that agents wrote."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from fileops.core.uris import path_of
from fileops.lsp import methods
from fileops.lsp.client import Client
from fileops.lsp.params import CodeActionParams, CodeLensParams, ExecuteCommandParams
from fileops.lsp.progress import ProgressTokens
from fileops.model.requests import UndoRequest
from fileops.model.results import AgentEditRange
from fileops.rpc.decode import InvalidParams, decode
from fileops.wire.types import ToolResult, UndoEditArgument, UndoSessionArgument

if TYPE_CHECKING:
    from fileops.service.fileops import FileOps

UNDO_EDIT, UNDO_SESSION = "fileops.undoEdit", "fileops.undoSession"
ACTION_KIND = "refactor.fileops.undo"


class AgentEdits:
    """Belongs to the event loop."""

    def __init__(self, service: "FileOps", client: Client, progress: ProgressTokens) -> None:
        self._service, self._client, self._progress = service, client, progress

    def register(self, add_standard: Callable[..., None], *, code_lens: bool) -> None:
        add_standard(methods.WORKSPACE_EXECUTE_COMMAND, self.execute, {"commands": [UNDO_EDIT, UNDO_SESSION]})
        add_standard(methods.TEXT_DOCUMENT_CODE_ACTION, self.code_actions, {"codeActionKinds": [ACTION_KIND]})
        if code_lens:
            add_standard(methods.TEXT_DOCUMENT_CODE_LENS, self.code_lenses, {"resolveProvider": False})

    async def execute(self, params: ExecuteCommandParams) -> ToolResult:
        request = _undo_request(params)
        from fileops.wire.history import undo_result

        with self._progress.reporting(params.work_done_token, "fileops/undo"):
            outcome = await self._service.undo(request)
        result = undo_result(outcome)
        if result.error is not None:
            message = {"type": methods.ERROR, "message": f"fileops: {result.error.message}"}
            self._client.notify(methods.WINDOW_SHOW_MESSAGE, message)
        return result

    async def code_actions(self, params: CodeActionParams) -> list[dict[str, object]]:
        if not _wants(params.context.only):
            return []
        places = await self._places(params.text_document.uri)
        first, last = params.range.start.line, params.range.end.line
        touched = {
            place.edit.edit_id: place.edit for place in places if place.first_line <= last and first <= place.last_line
        }
        actions = [
            _action(f"Undo agent edit ({edit.summary})", UNDO_EDIT, {"edit_id": edit.edit_id})
            for edit in touched.values()
        ]
        for session_id in dict.fromkeys(edit.session_id for edit in touched.values()):
            of_session = {place.edit.edit_id for place in places if place.edit.session_id == session_id}
            if len(of_session) > 1:
                argument: dict[str, object] = {"session_id": session_id, "file_path": path_of(params.text_document.uri)}
                title = f"Undo all {len(of_session)} agent edits of this file (session {session_id})"
                actions.append(_action(title, UNDO_SESSION, argument))
        return actions

    async def code_lenses(self, params: CodeLensParams) -> list[dict[str, object]]:
        return [_lens(place) for place in await self._places(params.text_document.uri)]

    async def _places(self, uri: str) -> tuple[AgentEditRange, ...]:
        path = path_of(uri)
        return () if path is None else await self._service.agent_places(path)


def _undo_request(params: ExecuteCommandParams) -> UndoRequest:
    """Commands are run by the editor's user, who is not asked about them again. Raises: InvalidParams."""
    arguments = params.arguments or []
    if params.command not in {UNDO_EDIT, UNDO_SESSION}:
        raise InvalidParams("no such command", ".command")
    if len(arguments) != 1:
        raise InvalidParams("must hold one argument", ".arguments")
    given = arguments[0]
    try:
        if params.command == UNDO_EDIT:
            edit_id = given if isinstance(given, str) else decode(given, UndoEditArgument).edit_id
            return UndoRequest(edit_id=edit_id, is_approved=True)
        if isinstance(given, str):
            return UndoRequest(session_id=given, is_approved=True)
        argument = decode(given, UndoSessionArgument)
        return UndoRequest(session_id=argument.session_id, file_path=argument.file_path, is_approved=True)
    except InvalidParams as fault:
        raise fault.below(".arguments[0]") from None


def _wants(only: Iterable[str] | None) -> bool:
    """Kinds are hierarchical: who wants `refactor` wants ours."""
    return only is None or any(kind in {"", ACTION_KIND} or ACTION_KIND.startswith(f"{kind}.") for kind in only)


def _action(title: str, command: str, argument: dict[str, object]) -> dict[str, object]:
    return {
        "title": title,
        "kind": ACTION_KIND,
        "command": {"title": title, "command": command, "arguments": [argument]},
    }


def _lens(place: AgentEditRange) -> dict[str, object]:
    start, end = {"line": place.first_line, "character": 0}, {"line": place.last_line, "character": 0}
    title = f"agent edit, session {place.edit.session_id}: undo"
    command = {"title": title, "command": UNDO_EDIT, "arguments": [{"edit_id": place.edit.edit_id}]}
    return {"range": {"start": start, "end": end}, "command": command}
