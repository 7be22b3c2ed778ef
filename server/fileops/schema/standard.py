"""Shapes of the standard messages that the server sends, and of its answers to standard requests, as it writes them.

They are LSP's, without what the server does not use. `lsp/params.py` has those that it receives.
"""

from typing import Literal, NotRequired, TypedDict

from msgspec import Struct

from fileops.lsp.params import Range
from fileops.wire.capabilities import FileopsCapabilities

Json = dict[str, object]


class ExperimentalCapabilities(TypedDict):
    fileops: FileopsCapabilities


class ServerCapabilities(TypedDict):
    """LSP's capabilities, and the block `experimental.fileops`."""

    positionEncoding: Literal["utf-8", "utf-16", "utf-32"]
    textDocumentSync: Json
    executeCommandProvider: Json
    workspace: Json
    codeActionProvider: NotRequired[Json | bool]
    codeLensProvider: NotRequired[Json | bool]
    experimental: ExperimentalCapabilities


class ServerInfo(TypedDict):
    name: str
    version: str


class InitializeResult(TypedDict):
    capabilities: ServerCapabilities
    serverInfo: ServerInfo


class InitializedParams(Struct):
    """Empty."""


class Command(TypedDict):
    title: str
    command: str
    arguments: list[Json]


class CodeAction(TypedDict):
    title: str
    kind: str
    command: Command


class CodeLens(TypedDict):
    range: Range
    command: Command


class ShowMessageParams(TypedDict):
    """`type` is LSP's MessageType: 1 for errors, 2 for warnings, 3 for information."""

    type: Literal[1, 2, 3]
    message: str


class MessageAction(TypedDict):
    title: str


class ShowMessageRequestParams(ShowMessageParams):
    actions: list[MessageAction]


class ProgressValue(TypedDict):
    """`title` and `cancellable` go with "begin", `message` with "report"."""

    kind: Literal["begin", "report", "end"]
    title: NotRequired[str]
    cancellable: NotRequired[bool]
    message: NotRequired[str]


class ProgressParams(TypedDict):
    token: str | int
    value: ProgressValue


class WorkDoneProgressCreateParams(TypedDict):
    token: str | int


class TextEdit(TypedDict):
    range: Range
    newText: str
    annotationId: NotRequired[str]


class VersionedDocumentEdits(TypedDict):
    textDocument: "VersionedDocumentOfEdit"
    edits: list[TextEdit]


class VersionedDocumentOfEdit(TypedDict):
    uri: str
    version: int


class WorkspaceEdit(TypedDict):
    """`documentChanges` if the client has that capability, else `changes`."""

    documentChanges: NotRequired[list[VersionedDocumentEdits]]
    changes: NotRequired[dict[str, list[TextEdit]]]
    changeAnnotations: NotRequired[Json]


class ApplyWorkspaceEditParams(TypedDict):
    label: str
    edit: WorkspaceEdit


class ApplyWorkspaceEditResult(TypedDict):
    applied: bool
    failureReason: NotRequired[str | None]
