"""What the client says of its open documents, handed on to EditorBuffers. Documents that are no files are not ours."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from fileops.lsp import methods
from fileops.lsp.buffers import EditorBuffers
from fileops.lsp.standard import ContentChange, DidChangeParams, DidCloseParams, DidOpenParams, DidSaveParams
from fileops.wire.uris import path_of

log = logging.getLogger(__name__)


class DocumentSync:
    """Belongs to the event loop."""

    def __init__(self, buffers: EditorBuffers) -> None:
        self._buffers = buffers

    def register(self, add_standard: Callable[..., None]) -> None:
        add_standard(methods.TEXT_DOCUMENT_DID_OPEN, self.did_open)
        add_standard(methods.TEXT_DOCUMENT_DID_CHANGE, self.did_change)
        add_standard(methods.TEXT_DOCUMENT_DID_SAVE, self.did_save, {"includeText": False})
        add_standard(methods.TEXT_DOCUMENT_DID_CLOSE, self.did_close)

    def did_open(self, params: DidOpenParams) -> None:
        document = params.text_document
        path = path_of(document.uri)
        if path is None:
            return
        self._buffers.opened(document.uri, path, document.version, document.text)
        # Beside which disk it was opened is seen now, or by the first request that asks.
        asyncio.get_running_loop().run_in_executor(None, self._buffers.settle)

    def did_change(self, params: DidChangeParams) -> None:
        document = params.text_document
        changes = [_change_of(change) for change in params.content_changes]
        if not self._buffers.changed(document.uri, document.version, changes) and path_of(document.uri) is not None:
            log.warning("a change of a document that is not open was ignored")

    def did_save(self, params: DidSaveParams) -> None:
        self._buffers.saved(params.text_document.uri)

    def did_close(self, params: DidCloseParams) -> None:
        self._buffers.closed(params.text_document.uri)


def _change_of(change: ContentChange) -> Any:
    if change.range is None:
        return change.text
    from fileops.lsp.documents import Position  # loaded with the first open document

    start, end = change.range.start, change.range.end
    return Position(start.line, start.character), Position(end.line, end.character), change.text
