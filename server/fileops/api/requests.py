"""The table of `fileops/*` requests: method, params, handler. A new request is one row.

The server registers and announces what is in this table, and `fileops-server schema` generates the schema from it. The
type of a result is the handler's annotated return type.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from msgspec.structs import replace

from fileops.api import record, reviews, rewinds, sessions, tools, turns, views
from fileops.api.additions import Additions, with_additions
from fileops.model.sessions import DEFAULT_SESSION
from fileops.rpc.decode import InvalidParams
from fileops.wire import types as wire
from fileops.wire.changes import ApplyChangesParams, ApplyPatchParams
from fileops.wire.commands import BashParams
from fileops.wire.events import EVENT_METHODS
from fileops.wire.history import history_request, history_result
from fileops.wire.record import EntryParams, LogParams, RecordStatusParams
from fileops.wire.reviews import DecideReviewParams, DecideReviewsParams, ReviewsParams
from fileops.wire.rewinds import (
    BlameParams,
    ForgetRecordParams,
    KeepParams,
    RecordItemParams,
    RewindParams,
    UndoKeepParams,
    UnkeptParams,
)
from fileops.wire.sessions import FileParams, SessionFilesParams
from fileops.wire.tools import ALL_TOOLS, BASH, NOTEBOOK_TEXTS, general_guidelines, tool_definitions
from fileops.wire.turns import BeginCommandParams, BeginTurnParams, EndCommandParams, TurnsParams
from fileops.wire.views import CellTextsParams, DescribeParams, RenderParams

if TYPE_CHECKING:
    from fileops.model.statistics import StatsResult
    from fileops.service.fileops import FileOps
    from fileops.service.hub.ask import ProjectAsk

# The option `bash`; an editor of a shared daemon; a client whose user decides: any except an agent of a shared daemon.
Need = Literal["bash", "editor", "user"]
P = TypeVar("P", bound=wire.Params)


@dataclass(frozen=True, slots=True)
class Request(Generic[P]):
    """A request and its handlers, which take the service and the decoded params and return the JSON-RPC result."""

    method: str
    params: type[P]
    handle: "Callable[..., Awaitable[object]]"
    # `handle` takes a third argument, which reports output; None if the client did not ask for reports.
    streams_output: bool = False
    # Called first, on the event loop. Returns None without any effect if it would have to wait.
    try_sync: "Callable[[FileOps, P], object | None] | None" = None
    needs: Need | None = None  # what is required to serve it; None: nothing
    is_persons: "Callable[[P], bool]" = lambda _params: False  # whether only a person may send it, by its params
    details: str | None = None  # of a ToolResult: the shape of its `details`, in wire/details.py
    since: str = "1.0.0"  # the version of the server in which it appeared


def try_read(service: "FileOps", params: wire.ReadParams) -> wire.ToolResult | None:
    if service.settings.notices != "off" or service.diagnosis is not None:
        return None
    answer = tools.try_read(service, params)
    return None if answer is None else Additions(suggestions=answer.suggestions).add_to(answer.result, service.settings)


async def list_tools(service: "FileOps", params: wire.ToolsParams) -> wire.ToolsResult:
    offered = ALL_TOOLS if service.bash is None else (*ALL_TOOLS, BASH)
    available = (*offered, *NOTEBOOK_TEXTS)
    enabled = offered if params.enabled is None else params.enabled
    for index, name in enumerate(enabled):
        if name not in available:
            raise InvalidParams(f"no such tool; there are {', '.join(available)}", f".enabled[{index}]")
    return wire.ToolsResult(
        tools=tool_definitions(enabled),
        guidelines=general_guidelines(enabled, params.other_tools or ()),
    )


async def list_tracked(service: "FileOps", params: wire.SessionParams) -> wire.TrackedResult:
    return wire.TrackedResult(files=await service.list_tracked(service.names.resolve(params.session_id)))


async def close_session(service: "FileOps", params: wire.CloseSessionParams) -> None:
    service.close_session(service.names.resolve(params.session_id))


async def approval_mode(service: "FileOps", params: wire.SessionParams) -> wire.ApprovalModeResult:
    return _mode_of(service, params)


async def set_approval_mode(service: "FileOps", params: wire.SetApprovalModeParams) -> wire.ApprovalModeResult:
    session = service.names.resolve(params.session_id)
    if not service.may_set_mode(session, params.mode):
        raise InvalidParams("an agent can demand more questions, not fewer", ".mode")
    service.set_approval_mode(session, params.mode)
    return _mode_of(service, params)


async def ask(service: "FileOps", params: wire.Params) -> wire.AskResult:
    del params
    return ask_result(service)


async def set_ask(service: "FileOps", params: wire.SetAskParams) -> wire.AskResult:
    switch = _switch(service)
    if not switch.folders():
        raise InvalidParams("there is no folder to which it could apply")
    await switch.set(params.ask)
    return ask_result(service)


def ask_result(service: "FileOps") -> wire.AskResult:
    """Return the switch in this client's folders."""
    return wire.AskResult(ask=_switch(service).current)


def _switch(service: "FileOps") -> "ProjectAsk":
    if service.ask is None:
        raise RuntimeError("this client is not an editor of a shared daemon")
    return service.ask


def _mode_of(service: "FileOps", params: wire.SessionParams) -> wire.ApprovalModeResult:
    session_id = DEFAULT_SESSION if params.session_id is None else params.session_id
    mode = service.approval_mode(service.names.resolve(session_id))
    return wire.ApprovalModeResult(session_id=session_id, mode=mode)


async def history(service: "FileOps", params: wire.HistoryParams) -> wire.HistoryResult:
    of = None if params.session_id is None else service.names.resolve(params.session_id)
    edits = await service.history.edits(history_request(params, of))
    return history_result(map(service.names.show_edit, edits))


async def stats(service: "FileOps", params: wire.SessionParams) -> "StatsResult":
    of = None if params.session_id is None else service.names.resolve(params.session_id)
    return replace(await service.history.stats(of), session_id=params.session_id)


def always(_params: object) -> bool:
    return True


def is_approved(params: "wire.UndoParams | RewindParams") -> bool:
    return params.approved is True and params.dry_run is not True


REQUESTS: tuple[Request[Any], ...] = (
    Request("fileops/read", wire.ReadParams, with_additions(tools.read), try_sync=try_read, details="ReadDetails"),
    Request("fileops/edit", wire.EditParams, with_additions(tools.edit), details="EditDetails"),
    Request("fileops/multiEdit", wire.MultiEditParams, with_additions(tools.multi_edit), details="EditDetails"),
    Request(
        "fileops/editNotebook",
        wire.EditNotebookParams,
        with_additions(tools.edit_notebook),
        details="EditDetails",
        since="1.1.0",
    ),
    Request("fileops/write", wire.WriteParams, with_additions(tools.write), details="EditDetails"),
    Request("fileops/applyChanges", ApplyChangesParams, with_additions(tools.apply_changes), details="ChangesDetails"),
    Request("fileops/applyPatch", ApplyPatchParams, with_additions(tools.apply_patch), details="ChangesDetails"),
    Request("fileops/tools", wire.ToolsParams, list_tools),
    Request("fileops/tracked", wire.SessionParams, list_tracked),
    Request("fileops/closeSession", wire.CloseSessionParams, close_session),
    Request("fileops/approvalMode", wire.SessionParams, approval_mode),
    Request("fileops/setApprovalMode", wire.SetApprovalModeParams, set_approval_mode, is_persons=always),
    Request("fileops/recordRead", FileParams, sessions.record_read),
    Request("fileops/forget", FileParams, sessions.forget),
    Request("fileops/conflicts", wire.SessionParams, sessions.conflicts),
    Request("fileops/sessionFiles", SessionFilesParams, sessions.session_files),
    Request("fileops/resetSession", wire.SessionParams, sessions.reset_session),
    Request("fileops/stats", wire.SessionParams, stats),
    Request("fileops/describe", DescribeParams, views.describe),
    Request("fileops/render", RenderParams, views.render),
    Request("fileops/cellTexts", CellTextsParams, views.cell_texts),
    Request("fileops/history", wire.HistoryParams, history),
    Request("fileops/undo", wire.UndoParams, with_additions(tools.undo), details="UndoDetails", is_persons=is_approved),
    Request(
        "fileops/rewind", RewindParams, with_additions(tools.rewind), details="RewindDetails", is_persons=is_approved
    ),
    Request("fileops/recordItem", RecordItemParams, rewinds.item, needs="user"),
    Request("fileops/blame", BlameParams, rewinds.blame, needs="user"),
    Request("fileops/unkept", UnkeptParams, rewinds.unkept, needs="user"),
    Request("fileops/keep", KeepParams, rewinds.keep, needs="user", is_persons=always),
    Request("fileops/undoKeep", UndoKeepParams, rewinds.undo_keep, needs="user", is_persons=always),
    Request("fileops/forgetRecord", ForgetRecordParams, rewinds.forget, needs="user", is_persons=always),
    Request("fileops/log", LogParams, record.log),
    Request("fileops/entry", EntryParams, record.entry),
    Request("fileops/recordStatus", RecordStatusParams, record.record_status),
    Request(
        "fileops/bash", BashParams, with_additions(tools.bash), streams_output=True, needs="bash", details="BashDetails"
    ),
    Request("fileops/beginTurn", BeginTurnParams, turns.begin_turn),
    Request("fileops/turns", TurnsParams, turns.list_turns),
    Request("fileops/beginCommand", BeginCommandParams, turns.begin_command),
    Request("fileops/endCommand", EndCommandParams, turns.end_command),
    Request("fileops/reviews", ReviewsParams, reviews.list_reviews, needs="user"),
    Request("fileops/decideReview", DecideReviewParams, reviews.decide_review, needs="user", is_persons=always),
    Request("fileops/decideReviews", DecideReviewsParams, reviews.decide_reviews, needs="user", is_persons=always),
    Request("fileops/sessions", wire.Params, sessions.list_sessions, needs="editor"),
    Request("fileops/ask", wire.Params, ask, needs="editor"),
    Request("fileops/setAsk", wire.SetAskParams, set_ask, needs="editor", is_persons=always),
)
NOTIFICATIONS: tuple[str, ...] = tuple(EVENT_METHODS.values())
DID_RECORD = "fileops/didRecord"  # to editors of a shared daemon that ask for it
DID_CHANGE_UNKEPT = "fileops/didChangeUnkept"  # as DID_RECORD
DID_CHANGE_SESSIONS = "fileops/didChangeSessions"  # to editors of a shared daemon
DID_CHANGE_ASK = "fileops/didChangeAsk"  # as DID_CHANGE_SESSIONS
