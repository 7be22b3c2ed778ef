"""Ports: the Protocols between the service and its adapters."""

from fileops.ports.clients import Approver, CommandApprover, Corrector, DocumentSink, Editor, EventSink
from fileops.ports.files import (
    CommitHooks,
    ContentStream,
    DirectoryWatch,
    EventStream,
    FileSystem,
    Hooks,
    RuleFiles,
    SetHooks,
)
from fileops.ports.history import EditRecorder
from fileops.ports.system import Clock, Executor, ExecutorChoice, ImageDetector, RunningProcess

__all__ = [
    "Approver",
    "Clock",
    "CommandApprover",
    "CommitHooks",
    "ContentStream",
    "Corrector",
    "DirectoryWatch",
    "DocumentSink",
    "EditRecorder",
    "Editor",
    "EventSink",
    "EventStream",
    "Executor",
    "ExecutorChoice",
    "FileSystem",
    "Hooks",
    "ImageDetector",
    "RuleFiles",
    "RunningProcess",
    "SetHooks",
]
