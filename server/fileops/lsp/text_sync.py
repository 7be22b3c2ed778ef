"""What the client says of its open documents, handed on to the overlay. Documents that are no files are not ours.

What cannot be taken is not passed over: from then on the editor shows a text that we do not know.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from fileops.core.uris import path_of
from fileops.fs.overlay.filesystem import OverlayFileSystem
from fileops.lsp import methods
from fileops.lsp.params import ContentChange, DidChangeParams, DidCloseParams, DidOpenParams, DidSaveParams

if TYPE_CHECKING:
    from fileops.fs.overlay.documents import Change

log = logging.getLogger(__name__)

SETTLE_EVERY_S = 0.1  # a look reads the file; while a person types, that is not done for every key


class DocumentSync:
    """Belongs to the event loop."""

    def __init__(self, buffers: OverlayFileSystem, *, settle_every_s: float = SETTLE_EVERY_S) -> None:
        self._buffers, self._settle_every_s = buffers, settle_every_s
        self._is_settling = False

    def register(self, add_standard: Callable[..., None]) -> None:
        add_standard(methods.TEXT_DOCUMENT_DID_OPEN, self.did_open, on_lost=self.lose_open)
        add_standard(methods.TEXT_DOCUMENT_DID_CHANGE, self.did_change, on_lost=self.lose_change)
        add_standard(methods.TEXT_DOCUMENT_DID_SAVE, self.did_save, {"includeText": False})
        add_standard(methods.TEXT_DOCUMENT_DID_CLOSE, self.did_close)

    def did_open(self, params: DidOpenParams) -> None:
        document = params.text_document
        path = path_of(document.uri)
        if path is None:
            return
        self._buffers.opened(document.uri, path, document.version, document.text)
        self._settle_soon()

    def did_change(self, params: DidChangeParams) -> None:
        document = params.text_document
        changes = [_change_of(change) for change in params.content_changes]
        if not self._buffers.changed(document.uri, document.version, changes) and path_of(document.uri) is not None:
            log.warning("a change of a document that is not open was ignored")
        self._settle_soon()

    def did_save(self, params: DidSaveParams) -> None:
        self._buffers.saved(params.text_document.uri)
        self._settle_soon()

    def did_close(self, params: DidCloseParams) -> None:
        self._buffers.closed(params.text_document.uri)

    # --- what could not be taken -------------------------------------------------------------------------------

    def lose_open(self, raw: object, reason: str) -> None:
        """Of a document without a readable URI nothing can be known."""
        uri = _uri_in(raw)
        path = None if uri is None else path_of(uri)
        if uri is not None and path is not None:
            self._buffers.opened_unknown(
                uri, path, f"the editor opened it with a message that cannot be read ({reason})"
            )

    def lose_change(self, raw: object, reason: str) -> None:
        """A change without a readable URI may be one of any document."""
        self._buffers.doubted(_uri_in(raw), f"the editor told of a change that cannot be read ({reason})")

    # --- beside which disk a text came -------------------------------------------------------------------------

    def _settle_soon(self) -> None:
        """Whether a text is the file's is seen now, or by the first request that asks. At once, then now and then."""
        if self._is_settling or not self._buffers.has_unsettled:
            return
        self._is_settling = True
        loop = asyncio.get_running_loop()
        try:
            threading.Thread(target=self._settle, args=(loop,), name="fileops-settle", daemon=True).start()
        except RuntimeError as fault:  # no thread is to be had; requests look for themselves
            log.error("open documents could not be looked at: %s", fault)
            self._settled()

    def _settle(self, loop: asyncio.AbstractEventLoop) -> None:
        """In a thread of its own, which a disk that does not answer may hold for ever."""
        try:
            self._buffers.settle()
        finally:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._settled)

    def _settled(self) -> None:
        asyncio.get_running_loop().call_later(self._settle_every_s, self._settle_again)

    def _settle_again(self) -> None:
        self._is_settling = False
        self._settle_soon()


def _uri_in(raw: object) -> str | None:
    document = cast("dict[str, object]", raw).get("textDocument") if isinstance(raw, dict) else None
    uri = cast("dict[str, object]", document).get("uri") if isinstance(document, dict) else None
    return uri if isinstance(uri, str) else None


def _change_of(change: ContentChange) -> "Change":
    if change.range is None:
        return change.text
    from fileops.model.documents import Position

    start, end = change.range.start, change.range.end
    return Position(start.line, start.character), Position(end.line, end.character), change.text
