"""LspEditor: makes edits in the editor's documents, by `workspace/applyEdit`. Called in worker threads."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from lsprotocol import types

from fileops.lsp.client import Client, ClientGone, ClientRefused
from fileops.model.errors import ApplyRefused, DocumentUnknown
from fileops.model.internal_errors import Cancelled
from fileops.wire.notebook_edits import APPLY_NOTEBOOK_EDIT, notebook_edit_params

if TYPE_CHECKING:
    from fileops.model.documents import BufferEdit, NotebookBufferEdit

APPLY_S = 10.0  # editors answer in milliseconds, unless they ask their user first
LABEL = "Edit by agent"
_ANNOTATION = "fileops-agent"
_NO_CELLS = (
    "the notebook has unsaved changes in an editor that cannot insert, move or remove cells for others; "
    "ask the user to save it"
)


class LspEditor:
    """See ports.Editor."""

    def __init__(self, client: Client, loop: asyncio.AbstractEventLoop, *, timeout_s: float = APPLY_S) -> None:
        self._client = client
        self._loop = loop
        self._timeout_s = timeout_s

    @property
    def checks_version(self) -> bool:
        """Without `documentChanges` an edit does not contain the version for which it was made."""
        return self._client.capability("workspace.workspaceEdit.documentChanges") is True

    def apply(
        self,
        edits: "Sequence[BufferEdit]",
        *,
        is_current: Callable[[], bool],
        on_cancel: Callable[[Callable[[], None]], None],
    ) -> None:
        if self._client.capability("workspace.applyEdit") is not True:
            raise ApplyRefused(reason="the document has unsaved changes and the client lacks workspace.applyEdit")
        params = types.ApplyWorkspaceEditParams(label=LABEL, edit=self._workspace_edit(edits))
        self._apply(types.WORKSPACE_APPLY_EDIT, params, is_current, on_cancel)

    def apply_to_notebook(
        self,
        edit: "NotebookBufferEdit",
        *,
        is_current: Callable[[], bool],
        on_cancel: Callable[[Callable[[], None]], None],
    ) -> None:
        if self._client.capability("experimental.fileops.notebook_edits") is not True:
            raise ApplyRefused(reason=_NO_CELLS)
        self._apply(APPLY_NOTEBOOK_EDIT, notebook_edit_params(edit), is_current, on_cancel)

    def _apply(
        self,
        method: str,
        params: object,
        is_current: Callable[[], bool],
        on_cancel: Callable[[Callable[[], None]], None],
    ) -> None:
        withdrawal: asyncio.Future[None] = self._loop.create_future()

        def withdraw() -> None:
            if not withdrawal.done():
                withdrawal.set_result(None)

        asking = asyncio.run_coroutine_threadsafe(self._ask(method, params, is_current, withdrawal), self._loop)
        on_cancel(lambda: _on_loop(self._loop, withdraw))
        asking.result()

    async def _ask(
        self, method: str, params: object, is_current: Callable[[], bool], withdrawal: "asyncio.Future[None]"
    ) -> None:
        if not is_current():  # on the loop, everything that the editor has sent is handled
            raise ApplyRefused(reason="the document has changed")
        try:
            answer = await self._client.ask(method, params, timeout_s=self._timeout_s, withdrawal=withdrawal)
        except TimeoutError:
            if withdrawal.done():
                raise DocumentUnknown(
                    reason="the edit was withdrawn, and the editor has not said whether it had made it"
                ) from None
            raise ApplyRefused(reason=f"the editor did not answer within {self._timeout_s:g} s") from None
        except ClientGone:
            raise ApplyRefused(reason="the editor is gone") from None
        except ClientRefused as refusal:
            if withdrawal.done():
                raise Cancelled from None
            raise ApplyRefused(reason=str(refusal)) from None
        result = cast("dict[str, object]", answer) if isinstance(answer, dict) else {}
        if result.get("applied") is not True:
            if withdrawal.done():
                raise Cancelled
            reason = result.get("failureReason", result.get("failure_reason"))
            raise ApplyRefused(reason=reason[:1000] if isinstance(reason, str) else "the editor did not apply the edit")

    def _workspace_edit(self, edits: "Sequence[BufferEdit]") -> types.WorkspaceEdit:
        if not self.checks_version:
            return types.WorkspaceEdit(changes={edit.uri: _text_edits(edit) for edit in edits})
        can_annotate = isinstance(self._client.capability("workspace.workspaceEdit.changeAnnotationSupport"), dict)
        changes = [
            types.TextDocumentEdit(
                text_document=types.OptionalVersionedTextDocumentIdentifier(uri=edit.uri, version=edit.version),
                edits=_annotate(_text_edits(edit)) if can_annotate else _text_edits(edit),
            )
            for edit in edits
        ]
        annotation = types.ChangeAnnotation(label=LABEL, needs_confirmation=False)
        return types.WorkspaceEdit(
            document_changes=changes, change_annotations={_ANNOTATION: annotation} if can_annotate else None
        )


def _text_edits(edit: "BufferEdit") -> list[types.TextEdit]:
    return [
        types.TextEdit(
            range=types.Range(
                start=types.Position(text_edit.start.line, text_edit.start.character),
                end=types.Position(text_edit.end.line, text_edit.end.character),
            ),
            new_text=text_edit.new_text,
        )
        for text_edit in edit.edits
    ]


def _annotate(edits: Sequence[types.TextEdit]) -> list[types.AnnotatedTextEdit]:
    return [
        types.AnnotatedTextEdit(annotation_id=_ANNOTATION, range=edit.range, new_text=edit.new_text) for edit in edits
    ]


def _on_loop(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(callback)
