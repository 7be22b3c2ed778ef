"""Typed client of fileops-server, for agents and tests, on asyncio. `fileops_client.sync` is the same without it."""

from fileops_client._client import FileOpsClient
from fileops_client._connection import PendingCall, RequestHandler
from fileops_client._opening import Opening
from fileops_client._session import Session
from fileops_client.callbacks import (
    Answer,
    AskingSession,
    CommandQuestion,
    ConfirmCommand,
    ConfirmEdit,
    CorrectEdit,
    CorrectionRequest,
    Question,
)
from fileops_client.details import Details, Nearest
from fileops_client.errors import (
    AttachRefused,
    CallbackFailed,
    ConnectionLost,
    RequestTimeout,
    ResponseError,
    ServerMissing,
)
from fileops_client.events import BecameStale, DidConflict, DidEdit, DidRead, Event, Notification, WatcherHealth
from fileops_client.formats import ResultFormat, ToolFormat, tool_list
from fileops_client.models import (
    Attachment,
    ErrorCode,
    HistoryEntry,
    Hunk,
    HunkLine,
    Stats,
    ToolDefinition,
    ToolError,
    ToolResult,
    TrackedFile,
    UiExtra,
)
from fileops_client.options import EncodingOptions, FilesystemOptions, LimitOptions, Options, SetupOptions, TextOptions
from fileops_client.requests.files import uri_of
from fileops_client.requests.history import ApprovalMode
from fileops_client.requests.sessions import (
    CallStats,
    Conflict,
    EditStats,
    ErrorStats,
    Latency,
    RecordedRead,
    SessionFile,
)
from fileops_client.requests.tools import AgentTool, Tool, system_prompt
from fileops_client.requests.views import Description, DiffRow, DiffView, Location, View, ViewLine
from fileops_client.subscriptions import EventContext, Listener, Subscription

__version__ = "0.1.0"
__all__ = [
    "AgentTool",
    "Answer",
    "ApprovalMode",
    "AskingSession",
    "AttachRefused",
    "Attachment",
    "BecameStale",
    "CallStats",
    "CallbackFailed",
    "CommandQuestion",
    "ConfirmCommand",
    "ConfirmEdit",
    "Conflict",
    "ConnectionLost",
    "CorrectEdit",
    "CorrectionRequest",
    "Description",
    "Details",
    "DidConflict",
    "DidEdit",
    "DidRead",
    "DiffRow",
    "DiffView",
    "EditStats",
    "EncodingOptions",
    "ErrorCode",
    "ErrorStats",
    "Event",
    "EventContext",
    "FileOpsClient",
    "FilesystemOptions",
    "HistoryEntry",
    "Hunk",
    "HunkLine",
    "Latency",
    "LimitOptions",
    "Listener",
    "Location",
    "Nearest",
    "Notification",
    "Opening",
    "Options",
    "PendingCall",
    "Question",
    "RecordedRead",
    "RequestHandler",
    "RequestTimeout",
    "ResponseError",
    "ResultFormat",
    "ServerMissing",
    "Session",
    "SessionFile",
    "SetupOptions",
    "Stats",
    "Subscription",
    "TextOptions",
    "Tool",
    "ToolDefinition",
    "ToolError",
    "ToolFormat",
    "ToolResult",
    "TrackedFile",
    "UiExtra",
    "View",
    "ViewLine",
    "WatcherHealth",
    "__version__",
    "system_prompt",
    "tool_list",
    "uri_of",
]
