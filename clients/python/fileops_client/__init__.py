"""A typed asyncio client of fileops-server, for agents and tests. Needs neither pygls nor the server."""

from fileops_client.client import FileOpsClient
from fileops_client.connection import PendingCall, RequestHandler
from fileops_client.errors import ConnectionLost, ResponseError, ServerMissing
from fileops_client.events import Listener, Subscription
from fileops_client.requests import ApprovalMode, uri_of
from fileops_client.values import (
    Answer,
    BecameStale,
    Details,
    DidConflict,
    DidEdit,
    DidRead,
    Event,
    HistoryEntry,
    Hunk,
    HunkLine,
    Nearest,
    Notification,
    Question,
    Stats,
    ToolDefinition,
    ToolError,
    ToolResult,
    TrackedFile,
    UiExtra,
    WatcherHealth,
)
from fileops_client.views import Description, DiffRow, DiffView, Location, View, ViewLine

__all__ = [
    "Answer",
    "ApprovalMode",
    "BecameStale",
    "ConnectionLost",
    "Description",
    "Details",
    "DidConflict",
    "DidEdit",
    "DidRead",
    "DiffRow",
    "DiffView",
    "Event",
    "FileOpsClient",
    "HistoryEntry",
    "Hunk",
    "HunkLine",
    "Listener",
    "Location",
    "Nearest",
    "Notification",
    "PendingCall",
    "Question",
    "RequestHandler",
    "ResponseError",
    "ServerMissing",
    "Stats",
    "Subscription",
    "ToolDefinition",
    "ToolError",
    "ToolResult",
    "TrackedFile",
    "UiExtra",
    "View",
    "ViewLine",
    "WatcherHealth",
    "uri_of",
]
