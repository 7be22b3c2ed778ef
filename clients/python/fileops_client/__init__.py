"""Typed asyncio client of fileops-server, for agents and tests. It needs neither pygls nor the server package."""

from fileops_client.client import FileOpsClient
from fileops_client.connection import PendingCall, RequestHandler
from fileops_client.errors import ConnectionLost, ResponseError, ServerMissing
from fileops_client.events import EventContext, Listener, Subscription
from fileops_client.notifications import BecameStale, DidConflict, DidEdit, DidRead, Event, Notification, WatcherHealth
from fileops_client.questions import Answer, CommandQuestion, CorrectionRequest, Question
from fileops_client.requests import ApprovalMode, uri_of
from fileops_client.session_files import CallStats, Conflict, EditStats, Latency, RecordedRead, SessionFile
from fileops_client.toolkit import AgentTool, Tool, ToolFormat, system_prompt, tool_list
from fileops_client.values import (
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
from fileops_client.views import Description, DiffRow, DiffView, Location, View, ViewLine

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
