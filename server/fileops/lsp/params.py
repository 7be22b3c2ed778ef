"""Params of the standard messages, strictly typed, in place of those of lsprotocol.

Its converter coerces (null becomes "None", "3" becomes 3), so the parts that the server relies on are checked here.
Other keys pass unchecked, as LSP requires of a server.
"""

from typing import Literal

import msgspec

from fileops.lsp import methods

Uri = str


class _Lsp(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Allows unknown keys, unlike params of `fileops/*`."""


class WorkspaceFolder(_Lsp, frozen=True, kw_only=True):
    """LSP's WorkspaceFolder."""

    uri: Uri
    """A `file:` URI."""
    name: str = ""
    """For people."""


class ClientInfo(_Lsp, frozen=True, kw_only=True):
    """What the client is."""

    name: str
    """The program."""
    version: str | None = None
    """Of the program."""


class InitializeParams(_Lsp, frozen=True, kw_only=True):
    """LSP's InitializeParams, as far as they are used."""

    process_id: int | None = None
    """The server ends when this process does."""
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
    """What the client is."""
    work_done_token: str | int | None = None
    """Accepted, and ignored."""


class FoldersEvent(_Lsp, frozen=True, kw_only=True):
    """A change of the workspace folders."""

    added: list[WorkspaceFolder]
    """Opened folders."""
    removed: list[WorkspaceFolder]
    """Closed folders."""


class DidChangeWorkspaceFoldersParams(_Lsp, frozen=True, kw_only=True):
    """The client opened or closed folders."""

    event: FoldersEvent
    """Which."""


class CancelParams(_Lsp, frozen=True, kw_only=True):
    """Cancels a request."""

    id: str | int
    """Of the request."""


class SetTraceParams(_Lsp, frozen=True, kw_only=True):
    """LSP's SetTraceParams."""

    value: str
    """Accepted, and ignored."""


class ProgressCancelParams(_Lsp, frozen=True, kw_only=True):
    """The user cancelled what is in progress."""

    token: str | int
    """Of the progress."""


class Document(_Lsp, frozen=True, kw_only=True):
    """A document of the client."""

    uri: Uri
    """A `file:` URI."""


class VersionedDocument(_Lsp, frozen=True, kw_only=True):
    """A document in one of its states."""

    uri: Uri
    """A `file:` URI."""
    version: int
    """Grows with each change."""


class OpenedDocument(_Lsp, frozen=True, kw_only=True):
    """A document that was opened."""

    uri: Uri
    """A `file:` URI."""
    language_id: str
    """Ignored."""
    version: int
    """Grows with each change."""
    text: str
    """The whole text."""


class Position(_Lsp, frozen=True, kw_only=True):
    """A place in a document."""

    line: int
    """0-based."""
    character: int
    """0-based, in units of the negotiated encoding."""


class Range(_Lsp, frozen=True, kw_only=True):
    """A part of a document."""

    start: Position
    """Its first position."""
    end: Position
    """The position after it."""


class ContentChange(_Lsp, frozen=True, kw_only=True):
    """A change of a document."""

    text: str
    """The new text."""
    range: Range | None = None
    """What it replaces. Null: the whole document."""


class DidOpenParams(_Lsp, frozen=True, kw_only=True):
    """A document was opened."""

    text_document: OpenedDocument
    """The document."""


class DidChangeParams(_Lsp, frozen=True, kw_only=True):
    """A document was changed."""

    text_document: VersionedDocument
    """The document, after the changes."""
    content_changes: list[ContentChange]
    """Each in the text that those before it left."""


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
    """`fileops.undoEdit` or `fileops.undoSession`."""
    arguments: list[object] | None = None
    """One: an id, UndoEditArgument or UndoSessionArgument."""
    work_done_token: str | int | None = None
    """The server reports progress under it."""


class CodeActionContext(_Lsp, frozen=True, kw_only=True):
    """Which code actions are wanted."""

    only: list[str] | None = None
    """Kinds. Null: all."""


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


STANDARD_PARAMS: dict[str, type[msgspec.Struct]] = {
    methods.SET_TRACE: SetTraceParams,
    methods.WINDOW_WORK_DONE_PROGRESS_CANCEL: ProgressCancelParams,
    methods.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: DidChangeWorkspaceFoldersParams,
    methods.TEXT_DOCUMENT_DID_OPEN: DidOpenParams,
    methods.TEXT_DOCUMENT_DID_CHANGE: DidChangeParams,
    methods.TEXT_DOCUMENT_DID_SAVE: DidSaveParams,
    methods.TEXT_DOCUMENT_DID_CLOSE: DidCloseParams,
    methods.WORKSPACE_EXECUTE_COMMAND: ExecuteCommandParams,
    methods.TEXT_DOCUMENT_CODE_ACTION: CodeActionParams,
    methods.TEXT_DOCUMENT_CODE_LENS: CodeLensParams,
}
