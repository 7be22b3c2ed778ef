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
    uri: Uri
    name: str = ""


class ClientInfo(_Lsp, frozen=True, kw_only=True):
    name: str
    version: str | None = None


class InitializeParams(_Lsp, frozen=True, kw_only=True):
    """wire/options.py checks initialization_options."""

    process_id: int | None = None
    root_path: str | None = None
    root_uri: Uri | None = None
    capabilities: dict[str, object]
    initialization_options: object = None
    workspace_folders: list[WorkspaceFolder] | None = None
    trace: Literal["off", "messages", "verbose"] | None = None
    client_info: ClientInfo | None = None
    work_done_token: str | int | None = None


class FoldersEvent(_Lsp, frozen=True, kw_only=True):
    added: list[WorkspaceFolder]
    removed: list[WorkspaceFolder]


class DidChangeWorkspaceFoldersParams(_Lsp, frozen=True, kw_only=True):
    event: FoldersEvent


class CancelParams(_Lsp, frozen=True, kw_only=True):
    id: str | int


class SetTraceParams(_Lsp, frozen=True, kw_only=True):
    value: str


class ProgressCancelParams(_Lsp, frozen=True, kw_only=True):
    token: str | int


class Document(_Lsp, frozen=True, kw_only=True):
    uri: Uri


class VersionedDocument(_Lsp, frozen=True, kw_only=True):
    uri: Uri
    version: int


class OpenedDocument(_Lsp, frozen=True, kw_only=True):
    uri: Uri
    language_id: str
    version: int
    text: str


class Position(_Lsp, frozen=True, kw_only=True):
    line: int
    character: int


class Range(_Lsp, frozen=True, kw_only=True):
    start: Position
    end: Position


class ContentChange(_Lsp, frozen=True, kw_only=True):
    """A change without a range is the whole text."""

    text: str
    range: Range | None = None


class DidOpenParams(_Lsp, frozen=True, kw_only=True):
    text_document: OpenedDocument


class DidChangeParams(_Lsp, frozen=True, kw_only=True):
    text_document: VersionedDocument
    content_changes: list[ContentChange]


class DidSaveParams(_Lsp, frozen=True, kw_only=True):
    text_document: Document
    text: str | None = None


class DidCloseParams(_Lsp, frozen=True, kw_only=True):
    text_document: Document


class ExecuteCommandParams(_Lsp, frozen=True, kw_only=True):
    command: str
    arguments: list[object] | None = None
    work_done_token: str | int | None = None


class CodeActionContext(_Lsp, frozen=True, kw_only=True):
    only: list[str] | None = None


class CodeActionParams(_Lsp, frozen=True, kw_only=True):
    text_document: Document
    range: Range
    context: CodeActionContext = CodeActionContext()


class CodeLensParams(_Lsp, frozen=True, kw_only=True):
    text_document: Document


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
