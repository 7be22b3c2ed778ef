"""Shapes of the standard messages that the server sends, and of its answers to standard requests, as it writes them.

They are LSP's, without what the server does not use. `lsp/params.py` has those that it receives.
"""

from typing import Literal, NotRequired, TypedDict

from msgspec import Struct

from fileops.lsp.params import Range
from fileops.wire.capabilities import FileopsCapabilities

Json = dict[str, object]


class ExperimentalCapabilities(TypedDict):
    """LSP's place for capabilities beyond its own."""

    fileops: FileopsCapabilities
    """What this server serves."""


class ServerCapabilities(TypedDict):
    """LSP's capabilities, and the block `experimental.fileops`."""

    positionEncoding: Literal["utf-8", "utf-16", "utf-32"]
    """The encoding of characters in positions."""
    textDocumentSync: Json
    """LSP's TextDocumentSyncOptions."""
    notebookDocumentSync: NotRequired[Json]
    """LSP's NotebookDocumentSyncOptions, for clients with `notebookDocument.synchronization`."""
    executeCommandProvider: Json
    """The served commands."""
    workspace: Json
    """What is served for workspace folders."""
    codeActionProvider: NotRequired[Json | bool]
    """Whether agents' changes can be kept and undone by code actions."""
    codeLensProvider: NotRequired[Json | bool]
    """With the option `code_lens`."""
    experimental: ExperimentalCapabilities
    """Capabilities beyond LSP."""


class ServerInfo(TypedDict):
    """The server's program."""

    name: str
    """`fileops-server`."""
    version: str
    """The server's version."""


class InitializeResult(TypedDict):
    """What the server serves."""

    capabilities: ServerCapabilities
    """The capabilities of LSP and the server's own."""
    serverInfo: ServerInfo
    """The server's program."""


class InitializedParams(Struct):
    """Empty."""


class Command(TypedDict):
    """A command that the client can run."""

    title: str
    """The title for people."""
    command: str
    """The command's name."""
    arguments: list[Json]
    """One argument."""


class CodeAction(TypedDict):
    """An action on lines that agents wrote."""

    title: str
    """The title for people."""
    kind: str
    """`refactor.fileops.keep` or `refactor.fileops.undo`."""
    command: Command
    """The command that it runs."""


class CodeLens(TypedDict):
    """A line above lines that an agent wrote."""

    range: Range
    """The lines."""
    command: Command
    """The command that a click runs."""


class ShowMessageParams(TypedDict):
    """A message for the user."""

    type: Literal[1, 2, 3]
    """LSP's MessageType: 1 for errors, 2 for warnings, 3 for information."""
    message: str
    """The text, in one sentence."""


class MessageAction(TypedDict):
    """A button of a message."""

    title: str
    """The text of the button, which the answer repeats."""


class ShowMessageRequestParams(ShowMessageParams):
    """A question to the user."""

    actions: list[MessageAction]
    """The buttons."""


class ProgressValue(TypedDict):
    """A report of progress."""

    kind: Literal["begin", "report", "end"]
    """The kind of report."""
    title: NotRequired[str]
    """With `begin`: the title."""
    cancellable: NotRequired[bool]
    """With `begin`: whether it can be cancelled."""
    message: NotRequired[str]
    """With `report`: the text."""


class ProgressParams(TypedDict):
    """A report of progress."""

    token: str | int
    """The token of the request, or the server's own."""
    value: ProgressValue
    """The report."""


class WorkDoneProgressCreateParams(TypedDict):
    """Announces progress."""

    token: str | int
    """The token under which progress will be reported."""


class TextEdit(TypedDict):
    """A change of a document."""

    range: Range
    """What is replaced."""
    newText: str
    """The new text."""
    annotationId: NotRequired[str]
    """The key in `changeAnnotations`."""


class VersionedDocumentEdits(TypedDict):
    """The changes of one document."""

    textDocument: "VersionedDocumentOfEdit"
    """The document, before the changes."""
    edits: list[TextEdit]
    """The changes, which do not overlap."""


class VersionedDocumentOfEdit(TypedDict):
    """A document in a certain version."""

    uri: str
    """A `file:` URI."""
    version: int
    """The version for which the changes were made."""


class WorkspaceEdit(TypedDict):
    """Changes of documents."""

    documentChanges: NotRequired[list[VersionedDocumentEdits]]
    """The changes, if the client has that capability."""
    changes: NotRequired[dict[str, list[TextEdit]]]
    """The changes by URI, otherwise."""
    changeAnnotations: NotRequired[Json]
    """Annotations by `annotationId`."""


class ApplyWorkspaceEditParams(TypedDict):
    """Asks the client to change its documents."""

    label: str
    """The label for the client's undo list."""
    edit: WorkspaceEdit
    """The changes."""


class ApplyWorkspaceEditResult(TypedDict):
    """Whether the client has changed its documents."""

    applied: bool
    """Whether it has changed them."""
    failureReason: NotRequired[str | None]
    """Why it has not."""
