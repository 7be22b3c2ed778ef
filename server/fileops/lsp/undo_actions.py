"""Undo for any LSP editor: commands, code actions and code lenses on the lines that agents wrote."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fileops.core.uris import path_of
from fileops.lsp import methods
from fileops.lsp.client import Client, ClientGone, ClientRefused
from fileops.lsp.params import CodeActionParams, CodeLensParams, ExecuteCommandParams
from fileops.lsp.progress import ProgressTokens
from fileops.model.events import DidEdit, Event
from fileops.model.requests import UndoRequest
from fileops.model.results import AgentEditRange
from fileops.rpc.decode import InvalidParams, decode
from fileops.service.hub.names import SessionNames
from fileops.wire.types import ToolResult, UndoEditArgument, UndoSessionArgument

if TYPE_CHECKING:
    from fileops.service.fileops import FileOps

log = logging.getLogger(__name__)

UNDO_EDIT, UNDO_SESSION = "fileops.undoEdit", "fileops.undoSession"
ACTION_KIND = "refactor.fileops.undo"
REFRESH_S = 10.0  # for the answer to a refresh, which contains nothing


class UndoActions:
    """Belongs to the event loop."""

    def __init__(self, service: "FileOps", client: Client, progress: ProgressTokens) -> None:
        self._service = service
        self._client = client
        self._progress = progress

    def register(self, add_standard: Callable[..., None], *, code_lens: bool) -> None:
        add_standard(methods.WORKSPACE_EXECUTE_COMMAND, self.execute, {"commands": [UNDO_EDIT, UNDO_SESSION]})
        kinds: dict[str, object] = {"codeActionKinds": [ACTION_KIND]}
        options = kinds if self._takes_literals() else None  # LSP, CodeActionOptions: valid with literals only
        add_standard(methods.TEXT_DOCUMENT_CODE_ACTION, self.code_actions, options)
        if code_lens:
            add_standard(methods.TEXT_DOCUMENT_CODE_LENS, self.code_lenses, {"resolveProvider": False})

    async def execute(self, params: ExecuteCommandParams) -> ToolResult:
        request = _undo_request(params, self._service.names)
        from fileops.wire.history import undo_result

        with self._progress.reporting(params.work_done_token, "fileops/undo"):
            outcome = await self._service.edits.undo(request)
        result = undo_result(outcome)
        if result.error is not None:
            message = {"type": methods.ERROR, "message": f"fileops: {result.error.message}"}
            self._client.notify(methods.WINDOW_SHOW_MESSAGE, message)
        return result

    async def code_actions(self, params: CodeActionParams) -> list[dict[str, object]]:
        """Return literals, or commands for a client without `codeActionLiteralSupport`."""
        if not _wants(params.context.only):
            return []
        ranges = await self._ranges(params.text_document.uri)
        first, last = params.range.start.line, params.range.end.line
        touched = {
            written.edit.edit_id: written.edit
            for written in ranges
            if written.first_line <= last and first <= written.last_line
        }
        commands = [
            _command(f"Undo agent edit ({edit.summary})", UNDO_EDIT, {"edit_id": edit.edit_id})
            for edit in touched.values()
        ]
        for session_id in dict.fromkeys(edit.session_id for edit in touched.values()):
            of_session = {written.edit.edit_id for written in ranges if written.edit.session_id == session_id}
            if len(of_session) > 1:
                argument: dict[str, object] = {"session_id": session_id, "file_path": path_of(params.text_document.uri)}
                title = f"Undo all {len(of_session)} agent edits of this file (session {session_id})"
                commands.append(_command(title, UNDO_SESSION, argument))
        if not self._takes_literals():
            return commands
        return [{"title": command["title"], "kind": ACTION_KIND, "command": command} for command in commands]

    async def code_lenses(self, params: CodeLensParams) -> list[dict[str, object]]:
        return [_lens(written) for written in await self._ranges(params.text_document.uri)]

    def _takes_literals(self) -> bool:
        return isinstance(self._client.capability("textDocument.codeAction.codeActionLiteralSupport"), dict)

    async def _ranges(self, uri: str) -> tuple[AgentEditRange, ...]:
        path = path_of(uri)
        if path is None:
            return ()
        ranges = await self._service.edits.agent_ranges(path)
        return tuple(replace(written, edit=self._service.names.shown_edit(written.edit)) for written in ranges)


class LensRefresh:
    """Asks the editor to fetch the code lenses again after an edit or an undo has changed them.

    Editors fetch lenses when the text changes. That may be before the edit is in the history, and never happens for a
    document that is not open. Belongs to the event loop; one request is open at a time, and edits that happen before
    its answer cause one more.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._asking: asyncio.Task[None] | None = None
        self._is_due = False

    def on_event(self, event: Event) -> None:
        if not isinstance(event, DidEdit) or self._client.capability("workspace.codeLens.refreshSupport") is not True:
            return
        self._is_due = True
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().create_task(self._ask())

    async def _ask(self) -> None:
        while self._is_due:
            self._is_due = False
            try:
                await self._client.ask(methods.WORKSPACE_CODE_LENS_REFRESH, None, timeout_s=REFRESH_S)
            except (TimeoutError, ClientGone):
                return
            except ClientRefused as refusal:
                log.info("the editor does not refresh its code lenses: error %s", refusal.code)


def _undo_request(params: ExecuteCommandParams, names: SessionNames) -> UndoRequest:
    """Translate a command. The editor's user ran it, so it counts as approved. Raises: InvalidParams."""
    arguments = params.arguments or []
    if params.command not in {UNDO_EDIT, UNDO_SESSION}:
        raise InvalidParams("no such command", ".command")
    if len(arguments) != 1:
        raise InvalidParams("must hold one argument", ".arguments")
    argument = arguments[0]
    try:
        if params.command == UNDO_EDIT:
            edit_id = argument if isinstance(argument, str) else decode(argument, UndoEditArgument).edit_id
            return UndoRequest(edit_id=edit_id, is_approved=True)
        if isinstance(argument, str):
            return UndoRequest(session_id=names.resolve(argument), is_approved=True)
        target = decode(argument, UndoSessionArgument)
        session = names.resolve(target.session_id)
        return UndoRequest(session_id=session, file_path=target.file_path, is_approved=True)
    except InvalidParams as fault:
        raise fault.below(".arguments[0]") from None


def _wants(only: Iterable[str] | None) -> bool:
    """Whether these kinds include our kind of action. Kinds are hierarchical: `refactor` includes it."""
    return only is None or any(kind in {"", ACTION_KIND} or ACTION_KIND.startswith(f"{kind}.") for kind in only)


def _command(title: str, command: str, argument: dict[str, object]) -> dict[str, object]:
    return {"title": title, "command": command, "arguments": [argument]}


def _lens(written: AgentEditRange) -> dict[str, object]:
    start, end = {"line": written.first_line, "character": 0}, {"line": written.last_line, "character": 0}
    command = _command("agent edit: undo", UNDO_EDIT, {"edit_id": written.edit.edit_id})
    return {"range": {"start": start, "end": end}, "command": command}
