"""Notifications of the daemon as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from fileops_client.values import (
    BecameStale,
    DidChangeReviews,
    DidConflict,
    DidEdit,
    DidRead,
    DidRecover,
    WatcherHealth,
)


@dataclass(frozen=True, slots=True)
class Notification:
    """Any other notification, unchanged."""

    method: str
    params: Any


E = TypeVar("E", BecameStale, DidRead, DidEdit, DidConflict, DidChangeReviews, WatcherHealth, DidRecover)
"""A kind of event, where a class of `fileops_client` names it."""

Event = BecameStale | DidRead | DidEdit | DidConflict | DidChangeReviews | WatcherHealth | DidRecover | Notification

KnownEvent = type[BecameStale | DidRead | DidEdit | DidConflict | DidChangeReviews | WatcherHealth | DidRecover]

_EVENTS: Mapping[str, KnownEvent] = {
    event.METHOD: event
    for event in (BecameStale, DidRead, DidEdit, DidConflict, DidChangeReviews, WatcherHealth, DidRecover)
}
KNOWN_NAMES = frozenset(_EVENTS)


def event_of(method: str, params: Any) -> Event:
    """Return the value of a notification. Raises: msgspec.ValidationError."""
    kind = _EVENTS.get(method)
    return Notification(method, params) if kind is None else msgspec.convert(params, kind)
