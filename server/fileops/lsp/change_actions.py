"""Keep and undo for any LSP editor: commands, code actions and code lenses on the lines that agents wrote."""

import asyncio
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from msgspec.structs import replace

from fileops.api import rewinds
from fileops.core.uris import path_of
from fileops.lsp.client import Client, ClientGone, ClientRefused
from fileops.model.errors import FileOpsError, NotRecorded
from fileops.model.events import DidEdit, Event
from fileops.model.requests import UndoRequest
from fileops.model.results import AgentEditRange
from fileops.model.rewind import RewindRequest, RewindTarget, UnkeptChange
from fileops.rpc.decode import InvalidParams, decode
from fileops.wire.history import undo_result
from fileops.wire.rewinds import KeepParams, KeepResult, rewind_result
from fileops.wire.types import KeepArgument, ToolResult, UndoArgument

if TYPE_CHECKING:
    from fileops.lsp.server import LspServer
    from fileops.service.fileops import FileOps

log = logging.getLogger(__name__)

KEEP, UNDO = "fileops.keep", "fileops.undo"
ACTION_KIND = "refactor.fileops"
KEEP_KIND, UNDO_KIND = f"{ACTION_KIND}.keep", f"{ACTION_KIND}.undo"
REFRESH_S = 10.0  # for the empty answer to a refresh


class ChangeActions:
    """Belongs to the event loop."""

    def __init__(self, service: "FileOps", client: Client) -> None:
        self._service = service
        self._client = client

    def register(self, server: "LspServer", *, code_lens: bool) -> None:
        @server.command(KEEP)
        async def keep(argument: Any) -> KeepResult:
            return await self._keep(decode(argument, KeepArgument))

        @server.command(UNDO)
        async def undo(argument: Any) -> ToolResult:
            return await self._undo(decode(argument, UndoArgument))

        kinds = types.CodeActionOptions(code_action_kinds=[KEEP_KIND, UNDO_KIND])

        # LSP, CodeActionOptions: valid with literals only
        @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds if self._takes_literals() else None)
        async def code_actions(params: types.CodeActionParams) -> list[types.CodeAction] | list[types.Command]:
            return await self.code_actions(params)

        if code_lens:

            @server.feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions(resolve_provider=False))
            async def code_lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
                return [_lens(written) for written in await self._ranges(params.text_document.uri)]

    async def _keep(self, argument: KeepArgument) -> KeepResult:
        return await rewinds.keep(self._service, KeepParams(change_ids=argument.change_ids))

    async def _undo(self, argument: UndoArgument) -> ToolResult:
        """The editor's user ran the command, so it counts as approved."""
        if (argument.change_ids is None) == (argument.edit_id is None):
            raise InvalidParams("exactly one of change_ids and edit_id is required")
        if argument.change_ids is not None:
            target = RewindTarget("change_ids", tuple(argument.change_ids))
            result = rewind_result(await self._service.history.rewind(RewindRequest(target=target, is_approved=True)))
        else:
            request = UndoRequest(edit_id=argument.edit_id, is_approved=True)
            result = undo_result(await self._service.history.undo(request))
        if result.error is not None:
            message = types.ShowMessageParams(type=types.MessageType.Error, message=f"fileops: {result.error.message}")
            self._client.notify(types.WINDOW_SHOW_MESSAGE, message)
        return result

    async def code_actions(self, params: types.CodeActionParams) -> list[types.CodeAction] | list[types.Command]:
        """Return literals, or commands for a client without `codeActionLiteralSupport`."""
        if not any(_wants(params.context.only, kind) for kind in (KEEP_KIND, UNDO_KIND)):
            return []
        commands = await self._commands(params.text_document.uri, params.range.start.line, params.range.end.line)
        if not self._takes_literals():
            return commands
        actions = [(_kind_of(command), command) for command in commands]
        return [
            types.CodeAction(title=command.title, kind=kind, command=command)
            for kind, command in actions
            if _wants(params.context.only, kind)
        ]

    async def _commands(self, uri: str, first: int, last: int) -> list[types.Command]:
        """Return the commands for agents' changes in these lines. Args: first, last: 0-based."""
        path = path_of(uri)
        if path is None:
            return []
        try:
            files = (await self._service.history.unkept(path, None, None)).files
        except NotRecorded:  # without a record nothing can be kept, but edits can be undone
            return await self._undos_of_edits(uri, first, last)
        except FileOpsError:
            return []
        changes = [change for file in files for change in file.changes if _meets(change, first, last)]
        undoable = [change for change in changes if change.undoable]
        return [
            *([_change_command("Keep", KEEP, changes)] if changes else ()),
            *([_change_command("Undo", UNDO, undoable)] if undoable else ()),
        ]

    async def _undos_of_edits(self, uri: str, first: int, last: int) -> list[types.Command]:
        touched = {
            written.edit.edit_id: written.edit
            for written in await self._ranges(uri)
            if written.first_line <= last and first <= written.last_line
        }
        return [_command(f"Undo ({edit.summary})", UNDO, {"edit_id": edit.edit_id}) for edit in touched.values()]

    def _takes_literals(self) -> bool:
        return isinstance(self._client.capability("textDocument.codeAction.codeActionLiteralSupport"), dict)

    async def _ranges(self, uri: str) -> tuple[AgentEditRange, ...]:
        path = path_of(uri)
        if path is None:
            return ()
        ranges = await self._service.history.agent_ranges(path)
        return tuple(replace(written, edit=self._service.names.show_edit(written.edit)) for written in ranges)


class LensRefresh:
    """Asks the editor to fetch the code lenses again after an edit or an undo has changed them.

    Editors fetch lenses when the text changes. That may be before the edit is in the history, and never happens for a
    document that is not open. Belongs to the event loop. Only one request is open at a time; edits before its answer
    cause one more.
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


def _wants(only: Iterable[str] | None, own: str) -> bool:
    """Return whether these kinds include one of ours. Kinds are hierarchical: `refactor` includes it."""
    return only is None or any(kind in {"", own} or own.startswith(f"{kind}.") for kind in only)


def _kind_of(command: types.Command) -> str:
    return KEEP_KIND if command.command == KEEP else UNDO_KIND


def _meets(change: UnkeptChange, first: int, last: int) -> bool:
    """Return whether a change is in these lines (0-based). One that only removed lines is where they were."""
    begins, ends = change.start_line - 1, max(change.end_line, change.start_line) - 1
    return begins <= last and first <= ends


def _change_command(verb: str, command: str, changes: "list[UnkeptChange]") -> types.Command:
    """Return a command for all of these changes, since several agents' adjacent changes may be meant."""
    labels = ", ".join(dict.fromkeys(change.label for change in changes))
    what = labels if len(changes) == 1 else f"{len(changes)} changes: {labels}"
    return _command(f"{verb} ({what})", command, {"change_ids": [change.change_id for change in changes]})


def _command(title: str, command: str, argument: dict[str, object]) -> types.Command:
    return types.Command(title=title, command=command, arguments=[argument])


def _lens(written: AgentEditRange) -> types.CodeLens:
    lines = types.Range(start=types.Position(written.first_line, 0), end=types.Position(written.last_line, 0))
    return types.CodeLens(range=lines, command=_command("agent edit: undo", UNDO, {"edit_id": written.edit.edit_id}))
