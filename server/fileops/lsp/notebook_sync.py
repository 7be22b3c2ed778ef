"""LSP's notebook document synchronisation, translated for a DocumentSink. Notebooks that are not files are ignored."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from lsprotocol import types

from fileops.core.uris import path_of
from fileops.lsp.text_sync import change_of
from fileops.model.documents import NOTEBOOK, CellsReplaced, CellTextChanged, NotebookChange, ReportedCell
from fileops.model.notebooks import CellType
from fileops.ports import DocumentSink

if TYPE_CHECKING:
    from fileops.lsp.server import LspServer

_RAW = "raw"  # the language of a raw cell, which LSP's kinds of cells do not have


class NotebookSync:
    """Belongs to the event loop. on_opened: called after notebooks were opened or closed. on_change: after changes."""

    def __init__(
        self, documents: DocumentSink, *, on_opened: Callable[[], None], on_change: Callable[[], None]
    ) -> None:
        self._documents = documents
        self._on_opened = on_opened
        self._on_change = on_change

    def register(self, server: "LspServer") -> None:
        @server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
        def did_open(params: types.DidOpenNotebookDocumentParams) -> None:
            self.did_open(params)

        @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
        def did_change(params: types.DidChangeNotebookDocumentParams) -> None:
            self.did_change(params)

        @server.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
        def did_save(params: types.DidSaveNotebookDocumentParams) -> None:
            self._documents.did_save(NOTEBOOK + params.notebook_document.uri)
            self._on_change()

        @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
        def did_close(params: types.DidCloseNotebookDocumentParams) -> None:
            self._documents.did_close(NOTEBOOK + params.notebook_document.uri)
            self._on_opened()

        server.protocol.on_lost[types.NOTEBOOK_DOCUMENT_DID_OPEN] = self.lose_open
        server.protocol.on_lost[types.NOTEBOOK_DOCUMENT_DID_CHANGE] = self.lose_change

    def did_open(self, params: types.DidOpenNotebookDocumentParams) -> None:
        notebook = params.notebook_document
        path = path_of(notebook.uri)
        if path is None:
            return
        texts = {document.uri: document for document in params.cell_text_documents}
        if any(cell.document not in texts for cell in notebook.cells):
            self._open_unknown(notebook.uri, path, "it has a cell without a text")
            return
        cells = [_to_reported_cell(cell, texts) for cell in notebook.cells]
        self._documents.did_open_notebook(NOTEBOOK + notebook.uri, path, notebook.version, cells)
        self._on_opened()
        self._on_change()

    def did_change(self, params: types.DidChangeNotebookDocumentParams) -> None:
        notebook = params.notebook_document
        changes = list[NotebookChange]()
        if (cells := params.change.cells) is not None:
            changes += _changes_of(cells)
        self._documents.did_change_notebook(NOTEBOOK + notebook.uri, notebook.version, changes)
        self._on_change()

    # --- what could not be decoded -----------------------------------------------------------------------------

    def lose_open(self, raw: object, reason: str) -> None:
        uri = _uri_in(raw)
        path = None if uri is None else path_of(uri)
        if uri is not None and path is not None:
            self._open_unknown(uri, path, reason)

    def _open_unknown(self, uri: str, path: str, reason: str) -> None:
        self._documents.did_open_unknown(
            NOTEBOOK + uri, path, f"the editor opened it with a message that cannot be read ({reason})"
        )

    def lose_change(self, raw: object, reason: str) -> None:
        uri = _uri_in(raw)
        sentence = f"the editor reported a change that cannot be read ({reason})"
        self._documents.mark_unknown(None if uri is None else NOTEBOOK + uri, sentence)


def _changes_of(cells: types.NotebookDocumentCellChanges) -> list[NotebookChange]:
    """Return the changes in the order in which they apply."""
    changes = list[NotebookChange]()
    if (structure := cells.structure) is not None:
        texts = {document.uri: document for document in structure.did_open or ()}
        array = structure.array
        reported = tuple(_to_reported_cell(cell, texts) for cell in array.cells or ())
        changes.append(CellsReplaced(start=array.start, delete_count=array.delete_count, cells=reported))
    changes += [_to_reported_cell(cell, {}) for cell in cells.data or ()]
    for text in cells.text_content or ():
        changed: Sequence[types.TextDocumentContentChangeEvent] = text.changes
        document = text.document
        changes.append(
            CellTextChanged(uri=document.uri, version=document.version, changes=tuple(map(change_of, changed)))
        )
    return changes


def _to_reported_cell(cell: types.NotebookCell, texts: Mapping[str, types.TextDocumentItem]) -> ReportedCell:
    text = texts.get(cell.document)
    return ReportedCell(
        uri=cell.document,
        cell_type=_type_of(cell, text),
        cell_id=_id_in(cell.metadata),
        text=None if text is None else text.text,
        version=None if text is None else text.version,
    )


def _type_of(cell: types.NotebookCell, text: types.TextDocumentItem | None) -> CellType | None:
    """Return the type; None for a code cell without a text, since its language tells a raw one."""
    if cell.kind == types.NotebookCellKind.Markup:
        return "markdown"
    if text is None:
        return None
    return "raw" if text.language_id == _RAW else "code"


def _id_in(metadata: object) -> str | None:
    cell_id = cast("dict[str, object]", metadata).get("id") if isinstance(metadata, dict) else None
    return cell_id if isinstance(cell_id, str) else None


def _uri_in(raw: object) -> str | None:
    notebook = cast("dict[str, object]", raw).get("notebookDocument") if isinstance(raw, dict) else None
    uri = cast("dict[str, object]", notebook).get("uri") if isinstance(notebook, dict) else None
    return uri if isinstance(uri, str) else None
