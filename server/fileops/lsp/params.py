"""Checks of the params of standard messages, before lsprotocol's types are made of them.

lsprotocol's converter coerces (null becomes "None", "3" becomes 3), so the parts that the server relies on are checked
first. Other keys are ignored, as LSP requires of a server.
"""

from typing import Any, Literal, cast

import msgspec
from cattrs import BaseValidationError
from lsprotocol import types

from fileops.lsp.converter import converter
from fileops.rpc.decode import InvalidParams, decode

Uri = str


class _Lsp(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Allows unknown keys, unlike params of `fileops/*`."""


class WorkspaceFolder(_Lsp, frozen=True, kw_only=True):
    """LSP's WorkspaceFolder."""

    uri: Uri
    """A `file:` URI."""
    name: str = ""
    """The name for people."""


class ClientInfo(_Lsp, frozen=True, kw_only=True):
    """The client's program."""

    name: str
    """The program's name."""
    version: str | None = None
    """The program's version."""


class InitializeParams(_Lsp, frozen=True, kw_only=True):
    """The used parts of LSP's InitializeParams."""

    process_id: int | None = None
    """The client's process; the server ends when it does."""
    root_path: str | None = None
    """Replaced by `rootUri`."""
    root_uri: Uri | None = None
    """Replaced by `workspaceFolders`."""
    capabilities: dict[str, object]
    """LSP's ClientCapabilities."""
    initialization_options: object = None
    """See InitializationOptions."""
    workspace_folders: list[WorkspaceFolder] | None = None
    """The open folders."""
    trace: Literal["off", "messages", "verbose"] | None = None
    """Accepted, and ignored."""
    client_info: ClientInfo | None = None
    """The client's program."""
    work_done_token: str | int | None = None
    """Accepted, and ignored."""

    def standard(self) -> types.InitializeParams:
        """Return lsprotocol's value, with the part of the capabilities that pygls reads."""
        folders, info = self.workspace_folders, self.client_info
        return types.InitializeParams(
            capabilities=converter().structure(self.capabilities, types.ClientCapabilities),
            process_id=self.process_id,
            root_path=self.root_path,
            root_uri=self.root_uri,
            initialization_options=self.initialization_options,
            workspace_folders=None
            if folders is None
            else [types.WorkspaceFolder(uri=folder.uri, name=folder.name) for folder in folders],
            client_info=None if info is None else types.ClientInfo(name=info.name, version=info.version),
        )


class FoldersEvent(_Lsp, frozen=True, kw_only=True):
    """A change of the workspace folders."""

    added: list[WorkspaceFolder]
    """Opened folders."""
    removed: list[WorkspaceFolder]
    """Closed folders."""


class DidChangeWorkspaceFoldersParams(_Lsp, frozen=True, kw_only=True):
    """The client opened or closed folders."""

    event: FoldersEvent
    """The change."""


class CancelParams(_Lsp, frozen=True, kw_only=True):
    """Cancels a request."""

    id: str | int
    """The id of the request."""


class SetTraceParams(_Lsp, frozen=True, kw_only=True):
    """LSP's SetTraceParams."""

    value: str
    """Accepted, and ignored."""


class ProgressCancelParams(_Lsp, frozen=True, kw_only=True):
    """The user cancelled something in progress."""

    token: str | int
    """The token of the progress."""


class Document(_Lsp, frozen=True, kw_only=True):
    """A document of the client."""

    uri: Uri
    """A `file:` URI."""


class VersionedDocument(_Lsp, frozen=True, kw_only=True):
    """A document in a certain version."""

    uri: Uri
    """A `file:` URI."""
    version: int
    """The version, which grows with each change."""


class OpenedDocument(_Lsp, frozen=True, kw_only=True):
    """A document that was opened."""

    uri: Uri
    """A `file:` URI."""
    language_id: str
    """Ignored."""
    version: int
    """The version, which grows with each change."""
    text: str
    """The whole text."""


class Position(_Lsp, frozen=True, kw_only=True):
    """A place in a document."""

    line: int
    """0-based line."""
    character: int
    """0-based character, in units of the negotiated encoding."""


class Range(_Lsp, frozen=True, kw_only=True):
    """A part of a document."""

    start: Position
    """Its first position."""
    end: Position
    """The position after it."""


class ContentChange(_Lsp, frozen=True, kw_only=True, omit_defaults=True):
    """A change of a document."""

    text: str
    """The new text."""
    range: Range | None = None
    """The replaced range. Null: the whole document."""


class DidOpenParams(_Lsp, frozen=True, kw_only=True):
    """A document was opened."""

    text_document: OpenedDocument
    """The document."""


class DidChangeParams(_Lsp, frozen=True, kw_only=True):
    """A document was changed."""

    text_document: VersionedDocument
    """The document, after the changes."""
    content_changes: list[ContentChange]
    """The changes, each applied to the result of the previous ones."""


class DidSaveParams(_Lsp, frozen=True, kw_only=True):
    """A document was saved."""

    text_document: Document
    """The document."""
    text: str | None = None
    """The whole text, if the client sends it."""


class DidCloseParams(_Lsp, frozen=True, kw_only=True):
    """A document was closed."""

    text_document: Document
    """The document."""


class ExecuteCommandParams(_Lsp, frozen=True, kw_only=True):
    """Runs a command."""

    command: str
    """`fileops.keep` or `fileops.undo`."""
    arguments: list[object] | None = None
    """One argument: KeepArgument or UndoArgument."""
    work_done_token: str | int | None = None
    """The token under which the server reports progress."""


class CodeActionContext(_Lsp, frozen=True, kw_only=True):
    """Which code actions are wanted."""

    only: list[str] | None = None
    """Kinds of code actions. Null: all."""


class CodeActionParams(_Lsp, frozen=True, kw_only=True):
    """Asks for code actions."""

    text_document: Document
    """The document."""
    range: Range
    """The part for which actions are wanted."""
    context: CodeActionContext = CodeActionContext()
    """Which actions are wanted."""


class CodeLensParams(_Lsp, frozen=True, kw_only=True):
    """Asks for code lenses."""

    text_document: Document
    """The document."""


class NotebookCell(_Lsp, frozen=True, kw_only=True):
    """A cell of an open notebook."""

    kind: Literal[1, 2]
    """1: markup, 2: code, or raw if its text has the language `raw`."""
    document: Uri
    """The URI of the cell's text."""
    metadata: dict[str, object] | None = None
    """`id` is the cell's id in the file."""
    execution_summary: object = None
    """Ignored."""


class OpenedNotebook(_Lsp, frozen=True, kw_only=True):
    """A notebook that was opened."""

    uri: Uri
    """A `file:` URI."""
    notebook_type: str
    """Ignored."""
    version: int
    """The version, which grows with each change."""
    metadata: object = None
    """Ignored."""
    cells: list[NotebookCell]
    """The cells."""


class DidOpenNotebookParams(_Lsp, frozen=True, kw_only=True):
    """A notebook was opened."""

    notebook_document: OpenedNotebook
    """The notebook."""
    cell_text_documents: list[OpenedDocument]
    """The texts of its cells."""


class NotebookCellArrayChange(_Lsp, frozen=True, kw_only=True):
    """Cells that were replaced."""

    start: int
    """The index of the first one."""
    delete_count: int
    """How many were removed."""
    cells: list[NotebookCell] | None = None
    """The new ones."""


class NotebookCellsStructure(_Lsp, frozen=True, kw_only=True):
    """Cells that were added, removed or moved."""

    array: NotebookCellArrayChange
    """The change of the list."""
    did_open: list[OpenedDocument] | None = None
    """The texts of added cells."""
    did_close: list[Document] | None = None
    """Ignored: the list decides."""


class NotebookCellText(_Lsp, frozen=True, kw_only=True):
    """A cell whose text was changed."""

    document: VersionedDocument
    """The cell's text, after the changes."""
    changes: list[ContentChange]
    """The changes, each applied to the result of the previous ones."""


class NotebookCellChanges(_Lsp, frozen=True, kw_only=True):
    """Changes of cells."""

    structure: NotebookCellsStructure | None = None
    """Cells that were added, removed or moved."""
    data: list[NotebookCell] | None = None
    """Cells with other metadata or another kind."""
    text_content: list[NotebookCellText] | None = None
    """Changed texts."""


class NotebookChange(_Lsp, frozen=True, kw_only=True):
    """A change of a notebook."""

    metadata: object = None
    """Ignored."""
    cells: NotebookCellChanges | None = None
    """Changes of its cells."""


class VersionedNotebook(_Lsp, frozen=True, kw_only=True):
    """A notebook in a certain version."""

    uri: Uri
    """A `file:` URI."""
    version: int
    """The version, which grows with each change."""


class DidChangeNotebookParams(_Lsp, frozen=True, kw_only=True):
    """A notebook was changed."""

    notebook_document: VersionedNotebook
    """The notebook, after the change."""
    change: NotebookChange
    """The change."""


class DidSaveNotebookParams(_Lsp, frozen=True, kw_only=True):
    """A notebook was saved."""

    notebook_document: Document
    """The notebook."""


class DidCloseNotebookParams(_Lsp, frozen=True, kw_only=True):
    """A notebook was closed."""

    notebook_document: Document
    """The notebook."""
    cell_text_documents: list[Document] = []
    """Ignored."""


STANDARD_PARAMS: dict[str, type[msgspec.Struct]] = {
    types.SET_TRACE: SetTraceParams,
    types.WINDOW_WORK_DONE_PROGRESS_CANCEL: ProgressCancelParams,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: DidChangeWorkspaceFoldersParams,
    types.TEXT_DOCUMENT_DID_OPEN: DidOpenParams,
    types.TEXT_DOCUMENT_DID_CHANGE: DidChangeParams,
    types.TEXT_DOCUMENT_DID_SAVE: DidSaveParams,
    types.TEXT_DOCUMENT_DID_CLOSE: DidCloseParams,
    types.NOTEBOOK_DOCUMENT_DID_OPEN: DidOpenNotebookParams,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE: DidChangeNotebookParams,
    types.NOTEBOOK_DOCUMENT_DID_SAVE: DidSaveNotebookParams,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE: DidCloseNotebookParams,
    types.WORKSPACE_EXECUTE_COMMAND: ExecuteCommandParams,
    types.TEXT_DOCUMENT_CODE_ACTION: CodeActionParams,
    types.TEXT_DOCUMENT_CODE_LENS: CodeLensParams,
}


def standard_params(method: str, params: object) -> Any:
    """Check params, and return lsprotocol's value of them. Raises: InvalidParams.

    lsprotocol itself refuses little: numbers that are not an LSP `uinteger`.
    """
    given: Any = {} if params is None else params
    if method == types.INITIALIZE:
        return decode(given, InitializeParams)
    if (
        shape := STANDARD_PARAMS.get(method)
    ) is None:  # the params of `initialized`, `shutdown` and `exit` are not used
        return given
    checked: dict[str, Any] = msgspec.to_builtins(decode(given, shape))
    if method == types.TEXT_DOCUMENT_CODE_ACTION:
        checked["context"]["diagnostics"] = []  # required by LSP, but unused
    value: Any = types.METHOD_TO_TYPES[method][2]
    try:
        return cast("object", converter().structure(checked, value))
    except BaseValidationError as fault:
        raise InvalidParams("is no " + getattr(value, "__name__", method)) from fault
