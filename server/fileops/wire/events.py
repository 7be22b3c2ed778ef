"""Events as notifications. The fields of an event are the keys on the wire.

A separate module, because events are sent without the translation of requests and results.
"""

from fileops.core.presentation.notices import recovered_text
from fileops.model.events import (
    ApprovalModeChanged,
    BecameStale,
    DidConflict,
    DidDiagnose,
    DidEdit,
    DidRead,
    DidRecover,
    Event,
    WatcherHealth,
)

EVENT_METHODS: dict[type[Event], str] = {
    BecameStale: "fileops/didBecomeStale",
    DidRead: "fileops/didRead",
    DidEdit: "fileops/didEdit",
    DidConflict: "fileops/didConflict",
    WatcherHealth: "fileops/watcherHealth",
    ApprovalModeChanged: "fileops/approvalMode",
    DidRecover: "fileops/didRecover",
    DidDiagnose: "fileops/didDiagnose",
}


def notification_of(event: Event) -> tuple[str, Event]:
    """Return (method, params)."""
    return EVENT_METHODS[type(event)], event


def message_of(event: Event) -> str | None:
    """Return the message that the client's user sees beside the notification; None if there is none."""
    if not isinstance(event, DidRecover):
        return None

    return recovered_text(event)
