"""LSP's text document synchronisation, translated for a DocumentSink. Documents that are not files are ignored.

A message that cannot be decoded is reported as well: from then on the daemon does not know the text in the editor.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from lsprotocol import types

from fileops.core.uris import path_of
from fileops.model.documents import DocumentChange, DocumentPosition
from fileops.ports import DocumentSink

if TYPE_CHECKING:
    from fileops.lsp.server import LspServer

log = logging.getLogger(__name__)

CLASSIFY_EVERY_S = 0.1  # reads the file, so not after every keystroke


class DocumentSync:
    """Belongs to the event loop. on_opened: called after documents were opened, found on disk, or closed."""

    def __init__(
        self,
        documents: DocumentSink,
        on_opened: Callable[[], None] = lambda: None,
        *,
        classify_every_s: float = CLASSIFY_EVERY_S,
    ) -> None:
        self._documents = documents
        self._on_opened = on_opened
        self._classify_every_s = classify_every_s
        self._is_classifying = False

    def register(self, server: "LspServer") -> None:
        @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
        def did_open(params: types.DidOpenTextDocumentParams) -> None:
            self.did_open(params)

        @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
        def did_change(params: types.DidChangeTextDocumentParams) -> None:
            self.did_change(params)

        @server.feature(types.TEXT_DOCUMENT_DID_SAVE, types.SaveOptions(include_text=False))
        def did_save(params: types.DidSaveTextDocumentParams) -> None:
            self.did_save(params)

        @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
        def did_close(params: types.DidCloseTextDocumentParams) -> None:
            self.did_close(params)

        server.protocol.on_lost[types.TEXT_DOCUMENT_DID_OPEN] = self.lose_open
        server.protocol.on_lost[types.TEXT_DOCUMENT_DID_CHANGE] = self.lose_change

    def did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        path = path_of(document.uri)
        if path is None:
            return
        self._documents.did_open(document.uri, path, document.version, document.text)
        self._on_opened()
        self.classify_soon()

    def did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        document = params.text_document
        changes = [change_of(change) for change in params.content_changes]
        if (
            not self._documents.did_change(document.uri, document.version, changes)
            and path_of(document.uri) is not None
        ):
            log.warning("a change of a document that is not open was ignored")
        self.classify_soon()

    def did_save(self, params: types.DidSaveTextDocumentParams) -> None:
        self._documents.did_save(params.text_document.uri)
        self.classify_soon()

    def did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self._documents.did_close(params.text_document.uri)
        self._on_opened()

    # --- what could not be decoded -----------------------------------------------------------------------------

    def lose_open(self, raw: object, reason: str) -> None:
        """Take note of a lost `didOpen`. Without a readable URI nothing is known about the document."""
        uri = _uri_in(raw)
        path = None if uri is None else path_of(uri)
        if uri is not None and path is not None:
            self._documents.did_open_unknown(
                uri, path, f"the editor opened it with a message that cannot be read ({reason})"
            )

    def lose_change(self, raw: object, reason: str) -> None:
        """Take note of a lost change. Without a readable URI it may belong to any document."""
        self._documents.mark_unknown(_uri_in(raw), f"the editor reported a change that cannot be read ({reason})")

    # --- classification ---------------------------------------------------------------------------------------

    def classify_soon(self) -> None:
        """Classify in the background, unless a request does so first: now, and then at most every CLASSIFY_EVERY_S."""
        if self._is_classifying or not self._documents.has_unclassified:
            return
        self._is_classifying = True
        loop = asyncio.get_running_loop()
        try:
            threading.Thread(target=self._classify, args=(loop,), name="fileops-classify", daemon=True).start()
        except RuntimeError as fault:  # no thread is available; requests classify for themselves
            log.error("open documents could not be compared with their files: %s", fault)
            self._classify_documents()

    def _classify(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run in a separate thread, because a disk that does not answer may block it for ever."""
        try:
            self._documents.classify_pending()
        finally:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._classify_documents)

    def _classify_documents(self) -> None:
        self._on_opened()
        asyncio.get_running_loop().call_later(self._classify_every_s, self._classify_again)

    def _classify_again(self) -> None:
        self._is_classifying = False
        self.classify_soon()


def ignore_documents(server: "LspServer") -> None:
    """Ignore an agent's documents, with one warning: their text would count as a person's unsaved text."""
    is_first = True

    def ignore(_params: object, _reason: str) -> None:
        nonlocal is_first
        if is_first:
            server.client.warn("documents of an agent are ignored; attach with the role editor to open documents")
        is_first = False

    for method in (
        types.TEXT_DOCUMENT_DID_OPEN,
        types.TEXT_DOCUMENT_DID_CHANGE,
        types.TEXT_DOCUMENT_DID_SAVE,
        types.TEXT_DOCUMENT_DID_CLOSE,
        types.NOTEBOOK_DOCUMENT_DID_OPEN,
        types.NOTEBOOK_DOCUMENT_DID_CHANGE,
        types.NOTEBOOK_DOCUMENT_DID_SAVE,
        types.NOTEBOOK_DOCUMENT_DID_CLOSE,
    ):
        server.protocol.on_lost[method] = ignore


def _uri_in(raw: object) -> str | None:
    document = cast("dict[str, object]", raw).get("textDocument") if isinstance(raw, dict) else None
    uri = cast("dict[str, object]", document).get("uri") if isinstance(document, dict) else None
    return uri if isinstance(uri, str) else None


def change_of(change: types.TextDocumentContentChangeEvent) -> DocumentChange:
    """Return a change of a text as a value of the model."""
    if isinstance(change, types.TextDocumentContentChangeWholeDocument):
        return change.text
    start, end = change.range.start, change.range.end
    return DocumentPosition(start.line, start.character), DocumentPosition(end.line, end.character), change.text
