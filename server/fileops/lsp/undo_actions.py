"""Undo for any LSP editor: commands, code actions and code lenses on the lines that agents wrote."""

import asyncio
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from msgspec.structs import replace

from fileops.core.uris import path_of
from fileops.lsp.client import Client, ClientGone, ClientRefused
from fileops.model.events import DidEdit, Event
from fileops.model.requests import UndoRequest
from fileops.model.results import AgentEditRange
from fileops.rpc.decode import decode
from fileops.wire.history import undo_result
from fileops.wire.types import ToolResult, UndoEditArgument, UndoSessionArgument

if TYPE_CHECKING:
    from fileops.lsp.server import LspServer
    from fileops.service.fileops import FileOps

log = logging.getLogger(__name__)

UNDO_EDIT, UNDO_SESSION = "fileops.undoEdit", "fileops.undoSession"
ACTION_KIND = "refactor.fileops.undo"
REFRESH_S = 10.0  # for the answer to a refresh, which contains nothing


class UndoActions:
    """Belongs to the event loop."""

    def __init__(self, service: "FileOps", client: Client) -> None:
        self._service = service
        self._client = client

    def register(self, server: "LspServer", *, code_lens: bool) -> None:
        @server.command(UNDO_EDIT)
        async def undo_edit(argument: Any) -> ToolResult:
            edit_id = argument if isinstance(argument, str) else decode(argument, UndoEditArgument).edit_id
            return await self._undo(UndoRequest(edit_id=edit_id, is_approved=True))

        @server.command(UNDO_SESSION)
        async def undo_session(argument: Any) -> ToolResult:
            names = self._service.names
            if isinstance(argument, str):
                return await self._undo(UndoRequest(session_id=names.resolve(argument), is_approved=True))
            target = decode(argument, UndoSessionArgument)
            session = names.resolve(target.session_id)
            return await self._undo(UndoRequest(session_id=session, file_path=target.file_path, is_approved=True))

        kinds = types.CodeActionOptions(code_action_kinds=[ACTION_KIND])

        # LSP, CodeActionOptions: valid with literals only
        @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds if self._takes_literals() else None)
        async def code_actions(params: types.CodeActionParams) -> list[types.CodeAction] | list[types.Command]:
            return await self.code_actions(params)

        if code_lens:

            @server.feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions(resolve_provider=False))
            async def code_lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
                return [_lens(written) for written in await self._ranges(params.text_document.uri)]

    async def _undo(self, request: UndoRequest) -> ToolResult:
        """The editor's user ran the command, so it counts as approved."""
        result = undo_result(await self._service.edits.undo(request))
        if result.error is not None:
            message = types.ShowMessageParams(type=types.MessageType.Error, message=f"fileops: {result.error.message}")
            self._client.notify(types.WINDOW_SHOW_MESSAGE, message)
        return result

    async def code_actions(self, params: types.CodeActionParams) -> list[types.CodeAction] | list[types.Command]:
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
        return [types.CodeAction(title=command.title, kind=ACTION_KIND, command=command) for command in commands]

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
                await self._client.ask(types.WORKSPACE_CODE_LENS_REFRESH, None, timeout_s=REFRESH_S)
            except (TimeoutError, ClientGone):
                return
            except ClientRefused as refusal:
                log.info("the editor does not refresh its code lenses: error %s", refusal.code)


def _wants(only: Iterable[str] | None) -> bool:
    """Whether these kinds include our kind of action. Kinds are hierarchical: `refactor` includes it."""
    return only is None or any(kind in {"", ACTION_KIND} or ACTION_KIND.startswith(f"{kind}.") for kind in only)


def _command(title: str, command: str, argument: dict[str, object]) -> types.Command:
    return types.Command(title=title, command=command, arguments=[argument])


def _lens(written: AgentEditRange) -> types.CodeLens:
    lines = types.Range(start=types.Position(written.first_line, 0), end=types.Position(written.last_line, 0))
    return types.CodeLens(
        range=lines, command=_command("agent edit: undo", UNDO_EDIT, {"edit_id": written.edit.edit_id})
    )
