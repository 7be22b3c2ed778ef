"""Typed asyncio client of fileops-server, for agents and tests. It needs neither pygls nor the server package."""

from fileops_client._client import FileOpsClient
from fileops_client._connection import PendingCall, RequestHandler
from fileops_client.callbacks import Answer, CommandQuestion, CorrectionRequest, Question
from fileops_client.errors import ConnectionLost, ResponseError, ServerMissing
from fileops_client.events import BecameStale, DidConflict, DidEdit, DidRead, Event, Notification, WatcherHealth
from fileops_client.models import (
    Attachment,
    Details,
    HistoryEntry,
    Hunk,
    HunkLine,
    Nearest,
    Stats,
    ToolDefinition,
    ToolError,
    ToolResult,
    TrackedFile,
    UiExtra,
)
from fileops_client.requests.files import uri_of
from fileops_client.requests.history import ApprovalMode
from fileops_client.requests.sessions import CallStats, Conflict, EditStats, Latency, RecordedRead, SessionFile
from fileops_client.requests.tools import AgentTool, Tool, ToolFormat, system_prompt, tool_list
from fileops_client.requests.views import Description, DiffRow, DiffView, Location, View, ViewLine
from fileops_client.subscriptions import EventContext, Listener, Subscription

__all__ = [
    "AgentTool",
    "Answer",
    "ApprovalMode",
    "Attachment",
    "BecameStale",
    "CallStats",
    "CommandQuestion",
    "Conflict",
    "ConnectionLost",
    "CorrectionRequest",
    "Description",
    "Details",
    "DidConflict",
    "DidEdit",
    "DidRead",
    "DiffRow",
    "DiffView",
    "EditStats",
    "Event",
    "EventContext",
    "FileOpsClient",
    "HistoryEntry",
    "Hunk",
    "HunkLine",
    "Latency",
    "Listener",
    "Location",
    "Nearest",
    "Notification",
    "PendingCall",
    "Question",
    "RecordedRead",
    "RequestHandler",
    "ResponseError",
    "ServerMissing",
    "SessionFile",
    "Stats",
    "Subscription",
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
    "system_prompt",
    "tool_list",
    "uri_of",
]
