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
from fileops.ports.history import ChangeRecorder, Decisions, EditRecorder, RecordedChanges, TextOf
from fileops.ports.system import Clock, Executor, ExecutorChoice, ImageDetector, RunningProcess

__all__ = [
    "Approver",
    "ChangeRecorder",
    "Clock",
    "CommandApprover",
    "CommitHooks",
    "ContentStream",
    "Corrector",
    "Decisions",
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
    "RecordedChanges",
    "RuleFiles",
    "RunningProcess",
    "SetHooks",
    "TextOf",
]
