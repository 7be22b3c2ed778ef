"""LspEditor: has the editor make edits of its documents, by `workspace/applyEdit`. Called in worker threads."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from fileops.lsp import methods
from fileops.lsp.client import Client, ClientGone, ClientRefused
from fileops.model.errors import ApplyRefused, DocumentUnknown
from fileops.model.internal_errors import Cancelled

if TYPE_CHECKING:
    from fileops.model.documents import BufferEdit

APPLY_S = 10.0  # editors answer in milliseconds, unless they ask their user first
LABEL = "Edit by agent"
_ANNOTATION = "fileops-agent"


class LspEditor:
    """See ports.Editor."""

    def __init__(self, client: Client, loop: asyncio.AbstractEventLoop, *, timeout_s: float = APPLY_S) -> None:
        self._client = client
        self._loop = loop
        self._timeout_s = timeout_s

    @property
    def checks_version(self) -> bool:
        """Without `documentChanges` an edit does not carry the version that it is made for."""
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
        withdrawal: asyncio.Future[None] = self._loop.create_future()

        def withdraw() -> None:
            if not withdrawal.done():
                withdrawal.set_result(None)

        asking = asyncio.run_coroutine_threadsafe(self._ask(edits, is_current, withdrawal), self._loop)
        on_cancel(lambda: _on_loop(self._loop, withdraw))
        asking.result()

    async def _ask(
        self, edits: "Sequence[BufferEdit]", is_current: Callable[[], bool], withdrawal: "asyncio.Future[None]"
    ) -> None:
        if not is_current():  # on the loop, all that the editor has sent is handled
            raise ApplyRefused(reason="the document has changed")
        params = {"label": LABEL, "edit": self._workspace_edit(edits)}
        try:
            answer = await self._client.ask(
                methods.WORKSPACE_APPLY_EDIT, params, timeout_s=self._timeout_s, withdrawal=withdrawal
            )
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
            reason = result.get("failureReason")
            raise ApplyRefused(reason=reason[:1000] if isinstance(reason, str) else "the editor did not apply the edit")

    def _workspace_edit(self, edits: "Sequence[BufferEdit]") -> dict[str, object]:
        can_annotate = self.checks_version and isinstance(
            self._client.capability("workspace.workspaceEdit.changeAnnotationSupport"), dict
        )
        annotation = {"annotationId": _ANNOTATION} if can_annotate else {}
        if not self.checks_version:
            return {"changes": {edit.uri: _text_edits(edit, annotation) for edit in edits}}
        changes: dict[str, object] = {
            "documentChanges": [
                {
                    "textDocument": {"uri": edit.uri, "version": edit.version},
                    "edits": _text_edits(edit, annotation),
                }
                for edit in edits
            ]
        }
        if can_annotate:
            changes["changeAnnotations"] = {_ANNOTATION: {"label": LABEL, "needsConfirmation": False}}
        return changes


def _text_edits(edit: "BufferEdit", annotation: dict[str, str]) -> list[dict[str, object]]:
    return [
        {
            "range": {
                "start": {"line": text_edit.start.line, "character": text_edit.start.character},
                "end": {"line": text_edit.end.line, "character": text_edit.end.character},
            },
            "newText": text_edit.new_text,
            **annotation,
        }
        for text_edit in edit.edits
    ]


def _on_loop(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(callback)
