"""`workspace/applyEdit`: a buffer edit carried out by the editor, asked for from a worker thread."""

import asyncio
from typing import TYPE_CHECKING, cast

from fileops.errors import ApplyRefused
from fileops.lsp import methods
from fileops.lsp.client import Client, ClientGone, ClientRefused

if TYPE_CHECKING:
    from fileops.lsp.editor_writes import BufferEdit

APPLY_S = 10.0  # an editor answers in milliseconds; one that asks the person first has to be quick
LABEL = "Edit by agent"
_ANNOTATION = "fileops-agent"


class LspEditor:
    """See editor_writes.Editor."""

    def __init__(self, client: Client, loop: asyncio.AbstractEventLoop, *, timeout_s: float = APPLY_S) -> None:
        self._client, self._loop, self._timeout_s = client, loop, timeout_s

    def apply(self, edit: "BufferEdit") -> None:
        for capability in ("workspace.applyEdit", "workspace.workspaceEdit.documentChanges"):
            if self._client.capability(capability) is not True:
                raise ApplyRefused(reason=f"the document has unsaved changes and the client lacks {capability}")
        asking = asyncio.run_coroutine_threadsafe(self._ask(edit), self._loop)
        asking.result()

    async def _ask(self, edit: "BufferEdit") -> None:
        params = {"label": LABEL, "edit": self._workspace_edit(edit)}
        try:
            answer = await self._client.ask(methods.WORKSPACE_APPLY_EDIT, params, timeout_s=self._timeout_s)
        except TimeoutError:
            raise ApplyRefused(reason=f"the editor did not answer within {self._timeout_s:g} s") from None
        except ClientGone:
            raise ApplyRefused(reason="the editor is gone") from None
        except ClientRefused as refusal:
            raise ApplyRefused(reason=str(refusal)) from None
        given = cast("dict[str, object]", answer) if isinstance(answer, dict) else {}
        if given.get("applied") is not True:
            reason = given.get("failureReason")
            raise ApplyRefused(reason=reason[:1000] if isinstance(reason, str) else "the editor did not apply the edit")

    def _workspace_edit(self, edit: "BufferEdit") -> dict[str, object]:
        can_annotate = isinstance(self._client.capability("workspace.workspaceEdit.changeAnnotationSupport"), dict)
        annotation = {"annotationId": _ANNOTATION} if can_annotate else {}
        edits = [
            {
                "range": {
                    "start": {"line": one.start.line, "character": one.start.character},
                    "end": {"line": one.end.line, "character": one.end.character},
                },
                "newText": one.new_text,
                **annotation,
            }
            for one in edit.edits
        ]
        document = {"uri": edit.uri, "version": edit.version}
        changes: dict[str, object] = {"documentChanges": [{"textDocument": document, "edits": edits}]}
        if can_annotate:
            changes["changeAnnotations"] = {_ANNOTATION: {"label": LABEL, "needsConfirmation": False}}
        return changes
