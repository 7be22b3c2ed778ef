"""Shapes of the standard messages that the server sends, and of its answers to standard requests, as it writes them.

They are LSP's, without what the server does not use. `lsp/params.py` has those that it receives.
"""

from typing import Literal, NotRequired, TypedDict

from msgspec import Struct

from fileops.lsp.params import Range
from fileops.wire.capabilities import FileopsCapabilities

Json = dict[str, object]


class ExperimentalCapabilities(TypedDict):
    """LSP's place for capabilities beyond it."""

    fileops: FileopsCapabilities
    """What this server serves."""


class ServerCapabilities(TypedDict):
    """LSP's capabilities, and the block `experimental.fileops`."""

    positionEncoding: Literal["utf-8", "utf-16", "utf-32"]
    """Of characters in positions."""
    textDocumentSync: Json
    """LSP's TextDocumentSyncOptions."""
    executeCommandProvider: Json
    """The commands."""
    workspace: Json
    """What is served for workspace folders."""
    codeActionProvider: NotRequired[Json | bool]
    """Whether agents' changes can be kept and undone by code actions."""
    codeLensProvider: NotRequired[Json | bool]
    """With the option `code_lens`."""
    experimental: ExperimentalCapabilities
    """Beyond LSP."""


class ServerInfo(TypedDict):
    """What the server is."""

    name: str
    """`fileops-server`."""
    version: str
    """Of the server."""


class InitializeResult(TypedDict):
    """What the server serves."""

    capabilities: ServerCapabilities
    """LSP's, and its own."""
    serverInfo: ServerInfo
    """What the server is."""


class InitializedParams(Struct):
    """Empty."""


class Command(TypedDict):
    """A command that the client can run."""

    title: str
    """For people."""
    command: str
    """Its name."""
    arguments: list[Json]
    """One."""


class CodeAction(TypedDict):
    """An action on lines that agents wrote."""

    title: str
    """For people."""
    kind: str
    """`refactor.fileops.keep` or `refactor.fileops.undo`."""
    command: Command
    """What it runs."""


class CodeLens(TypedDict):
    """A line above lines that an agent wrote."""

    range: Range
    """These lines."""
    command: Command
    """What a click runs."""


class ShowMessageParams(TypedDict):
    """A message for the user."""

    type: Literal[1, 2, 3]
    """LSP's MessageType: 1 for errors, 2 for warnings, 3 for information."""
    message: str
    """One sentence."""


class MessageAction(TypedDict):
    """A button of a message."""

    title: str
    """What the answer repeats."""


class ShowMessageRequestParams(ShowMessageParams):
    """A question to the user."""

    actions: list[MessageAction]
    """The buttons."""


class ProgressValue(TypedDict):
    """A report of progress."""

    kind: Literal["begin", "report", "end"]
    """Which report."""
    title: NotRequired[str]
    """With `begin`."""
    cancellable: NotRequired[bool]
    """With `begin`."""
    message: NotRequired[str]
    """With `report`."""


class ProgressParams(TypedDict):
    """A report of progress."""

    token: str | int
    """Of the request, or of the server's own."""
    value: ProgressValue
    """The report."""


class WorkDoneProgressCreateParams(TypedDict):
    """Announces progress."""

    token: str | int
    """Under which it is reported."""


class TextEdit(TypedDict):
    """A change of a document."""

    range: Range
    """What is replaced."""
    newText: str
    """The new text."""
    annotationId: NotRequired[str]
    """In `changeAnnotations`."""


class VersionedDocumentEdits(TypedDict):
    """The changes of one document."""

    textDocument: "VersionedDocumentOfEdit"
    """The document, before them."""
    edits: list[TextEdit]
    """None meets another."""


class VersionedDocumentOfEdit(TypedDict):
    """A document in one of its states."""

    uri: str
    """A `file:` URI."""
    version: int
    """The one that the changes were made for."""


class WorkspaceEdit(TypedDict):
    """Changes of documents."""

    documentChanges: NotRequired[list[VersionedDocumentEdits]]
    """If the client has that capability."""
    changes: NotRequired[dict[str, list[TextEdit]]]
    """Else, by URI."""
    changeAnnotations: NotRequired[Json]
    """By `annotationId`."""


class ApplyWorkspaceEditParams(TypedDict):
    """Asks the client to change its documents."""

    label: str
    """For the undo list of the client."""
    edit: WorkspaceEdit
    """The changes."""


class ApplyWorkspaceEditResult(TypedDict):
    """Whether the client has changed its documents."""

    applied: bool
    """Whether it has."""
    failureReason: NotRequired[str | None]
    """Why not."""
