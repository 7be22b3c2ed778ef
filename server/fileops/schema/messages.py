"""The table of all messages between a client and the server, in both directions.

Requests of `fileops/*` come from `api/requests.py`, the table that the server registers; notifications from the table
of events. The standard messages are listed here; tests compare them with what the server handles.
"""

from typing import Any, Literal, TypeAlias

from lsprotocol import types
from msgspec import Struct

from fileops.api.requests import DID_CHANGE_ASK, DID_CHANGE_SESSIONS, DID_CHANGE_UNKEPT, DID_RECORD, REQUESTS, Request
from fileops.api.reviews import DID_CHANGE_REVIEWS
from fileops.lsp.corrector import CORRECT_EDIT
from fileops.lsp.diagnostics import DIAGNOSTICS, DiagnosticsAnswer, DiagnosticsParams
from fileops.lsp.document_save import SAVE_DOCUMENT, SaveDocumentParams, SaveDocumentResult
from fileops.lsp.params import STANDARD_PARAMS, CancelParams, InitializeParams
from fileops.lsp.prompts import CONFIRM_COMMAND, CONFIRM_EDIT
from fileops.model.approval import CorrectionRequest
from fileops.model.statistics import StatsResult
from fileops.schema import standard
from fileops.wire import commands, details, record, reviews, rewinds, sessions
from fileops.wire import types as wire
from fileops.wire.answers import ConfirmCommandResult, ConfirmEditResult, Correction
from fileops.wire.events import EVENT_METHODS
from fileops.wire.notebook_edits import APPLY_NOTEBOOK_EDIT, ApplyNotebookEditParams, ApplyNotebookEditResult

Shape: TypeAlias = Any  # a type that msgspec knows
Sender = Literal["client", "server"]
Kind = Literal["request", "notification"]


class OneOf(Struct, frozen=True):
    """A result of one of several types, where msgspec refuses a union because they look alike when decoded."""

    shapes: tuple[Shape, ...]


class Message(Struct, frozen=True, kw_only=True):
    """A message, with the types of its params and, for a request, of its result; None if there is none.

    details: the type of a ToolResult's `details`. needs: what it depends on, in words; "" if nothing. since: the
    version of the server in which it appeared.
    """

    method: str
    sender: Sender
    kind: Kind
    params: Shape = None
    result: Shape = None
    details: Shape = None
    needs: str = ""
    since: str = "1.0.0"


NEEDS = {
    None: "",
    "bash": "the option `bash`",
    "editor": "a shared daemon and the role `editor`",
    "user": "not the role `agent` of a shared daemon",
}
_RESULTS_LOADED_LATER = {"StatsResult": StatsResult}  # their annotations are strings


def messages() -> tuple[Message, ...]:
    return (*_standard_of_client(), *map(_to_message, REQUESTS), *_standard_of_server(), *_questions(), *_events())


def _to_message(request: Request[Any]) -> Message:
    result = request.handle.__annotations__["return"]
    return Message(
        method=request.method,
        sender="client",
        kind="request",
        params=request.params,
        result=_RESULTS_LOADED_LATER[result] if isinstance(result, str) else result,
        details=None if request.details is None else getattr(details, request.details),
        needs=NEEDS[request.needs],
        since=request.since,
    )


_RESULTS: dict[str, Shape] = {
    types.WORKSPACE_EXECUTE_COMMAND: OneOf((rewinds.KeepResult, wire.ToolResult)),
    types.TEXT_DOCUMENT_CODE_ACTION: OneOf((list[standard.CodeAction], list[standard.Command])),
    types.TEXT_DOCUMENT_CODE_LENS: list[standard.CodeLens],
}  # of the standard requests beyond the lifecycle


def _standard_of_client() -> list[Message]:
    listed = [
        _request(types.INITIALIZE, InitializeParams, standard.InitializeResult),
        _notification(types.INITIALIZED, standard.InitializedParams),
        _request(types.SHUTDOWN, None, None),
        _notification(types.EXIT, None),
        _notification(types.CANCEL_REQUEST, CancelParams),
    ]
    for method, params in STANDARD_PARAMS.items():
        if method in _RESULTS:
            needs = "the option `code_lens`" if method == types.TEXT_DOCUMENT_CODE_LENS else ""
            listed.append(_request(method, params, _RESULTS[method], needs=needs))
        else:
            since = "1.1.0" if method.startswith("notebookDocument/") else "1.0.0"
            listed.append(_notification(method, params, since=since))
    return listed


def _request(method: str, params: Shape, result: Shape, **more: Any) -> Message:
    return Message(method=method, sender="client", kind="request", params=params, result=result, **more)


def _notification(method: str, params: Shape, **more: Any) -> Message:
    return Message(method=method, sender="client", kind="notification", params=params, **more)


def _standard_of_server() -> list[Message]:
    return [
        Message(
            method=types.WINDOW_SHOW_MESSAGE_REQUEST,
            sender="server",
            kind="request",
            params=standard.ShowMessageRequestParams,
            result=standard.MessageAction | None,
            needs="the option `approval_fallback`",
        ),
        Message(
            method=types.WINDOW_WORK_DONE_PROGRESS_CREATE,
            sender="server",
            kind="request",
            params=standard.WorkDoneProgressCreateParams,
            needs="the capability `window.workDoneProgress`",
        ),
        Message(
            method=types.WORKSPACE_APPLY_EDIT,
            sender="server",
            kind="request",
            params=standard.ApplyWorkspaceEditParams,
            result=standard.ApplyWorkspaceEditResult,
            needs="the capability `workspace.applyEdit`",
        ),
        Message(
            method=types.WORKSPACE_CODE_LENS_REFRESH,
            sender="server",
            kind="request",
            needs="the option `code_lens`, the capability `workspace.codeLens.refreshSupport`",
        ),
        Message(
            method=types.WINDOW_SHOW_MESSAGE, sender="server", kind="notification", params=standard.ShowMessageParams
        ),
        Message(
            method=types.PROGRESS,
            sender="server",
            kind="notification",
            params=standard.ProgressParams,
            needs="a `workDoneToken`, or the capability `window.workDoneProgress`",
        ),
        Message(method=types.CANCEL_REQUEST, sender="server", kind="notification", params=CancelParams),
    ]


def _questions() -> list[Message]:
    capability = "the capability `experimental.fileops."
    return [
        Message(
            method=CONFIRM_EDIT,
            sender="server",
            kind="request",
            params=wire.ConfirmEditParams,
            result=ConfirmEditResult,
            needs=f"{capability}confirm_edit`",
        ),
        Message(
            method=CONFIRM_COMMAND,
            sender="server",
            kind="request",
            params=commands.ConfirmCommandParams,
            result=ConfirmCommandResult,
            needs=f"{capability}confirm_command`",
        ),
        Message(
            method=CORRECT_EDIT,
            sender="server",
            kind="request",
            params=CorrectionRequest,
            result=Correction | None,
            needs=f"the option `correction`, {capability}correct_edit`",
        ),
        Message(
            method=DIAGNOSTICS,
            sender="server",
            kind="request",
            params=DiagnosticsParams,
            result=DiagnosticsAnswer,
            needs=f"{capability}diagnostics`",
        ),
        Message(
            method=SAVE_DOCUMENT,
            sender="server",
            kind="request",
            params=SaveDocumentParams,
            result=SaveDocumentResult,
            needs=f"{capability}save_document`",
            since="1.1.0",
        ),
        Message(
            method=APPLY_NOTEBOOK_EDIT,
            sender="server",
            kind="request",
            params=ApplyNotebookEditParams,
            result=ApplyNotebookEditResult,
            needs=f"{capability}notebook_edits`",
            since="1.1.0",
        ),
    ]


def _events() -> list[Message]:
    told = [
        Message(method=method, sender="server", kind="notification", params=event)
        for event, method in EVENT_METHODS.items()
    ]
    changed = Message(
        method=DID_CHANGE_SESSIONS,
        sender="server",
        kind="notification",
        params=sessions.SessionsResult,
        needs=NEEDS["editor"],
    )
    ask_changed = Message(
        method=DID_CHANGE_ASK,
        sender="server",
        kind="notification",
        params=wire.AskResult,
        needs=NEEDS["editor"],
    )
    reviews_changed = Message(
        method=DID_CHANGE_REVIEWS,
        sender="server",
        kind="notification",
        params=reviews.DidChangeReviewsParams,
        needs="the capability `experimental.fileops.reviews`",
    )
    recorded = Message(
        method=DID_RECORD,
        sender="server",
        kind="notification",
        params=record.DidRecordParams,
        needs=f"{NEEDS['editor']}, the capability `experimental.fileops.record`",
    )
    unkept_changed = Message(
        method=DID_CHANGE_UNKEPT,
        sender="server",
        kind="notification",
        params=rewinds.DidChangeUnkeptParams,
        needs=f"{NEEDS['editor']}, the capability `experimental.fileops.unkept`",
    )
    return [*told, changed, ask_changed, reviews_changed, recorded, unkept_changed]
