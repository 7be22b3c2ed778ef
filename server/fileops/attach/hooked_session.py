"""What a host's hook asks and reports to the shared daemon. Without an answer, the host simply continues."""

import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from fileops.attach.address import AttachRefused, find_address
from fileops.attach.handshake import Command, control_line
from fileops.attach.starter import NotAttached, ask

if TYPE_CHECKING:
    import socket

    from fileops.attach.callers import Caller
    from fileops.attach.hook_record import Report

MARGIN_S = 0.1  # the daemon gives up earlier than the hook, so that what it counts as reported is printed


def notices(host: str, session: str, deadline: float, views: Mapping[str, object] | None = None) -> list[str]:
    """Return the texts for the model; they count as reported.

    Args: deadline: of time.monotonic. views: what a command has shown of files, see hook_views.views_of.
    """
    more = None if views is None else {"views": views}
    texts: object = _answer("notices", host, session, deadline, more).get("texts")
    return [text for text in cast("list[object]", texts) if isinstance(text, str)] if isinstance(texts, list) else []


def reset(host: str, session: str, deadline: float) -> None:
    """Have the daemon forget what the session has read."""
    _answer("reset", host, session, deadline)


def record(host: str, session: str, report: "Report", deadline: float) -> None:
    """Report where a turn or a command begins or ends, and wait until the daemon knows it."""
    _answer("record", host, session, deadline, report)


def has_tools(caller: "Caller", deadline: float) -> bool:
    """Return whether a server of ours is connected for the calling session."""
    report = {"event": "owner"}
    return companion(caller, report, deadline - time.monotonic() - MARGIN_S).get("is_connected") is True


def start_daemon() -> bool:
    """Start a daemon if none runs, without waiting for it. Return whether one was started."""
    from fileops.attach.starter import is_served, start_in_background

    try:
        address = find_address(None, os.environ)
        if is_served(address):
            return False
        start_in_background(address)
    except (AttachRefused, NotAttached, OSError):
        return False
    return True


def companion(caller: "Caller", report: Mapping[str, object], within_s: float) -> dict[str, Any]:
    """Return the daemon's answer about the host's own tools; {} without one."""
    from fileops.attach.bodies import BadBody, body_bytes_of, pack, unpack

    if not caller.own_id or within_s <= 0:
        return {}
    deadline, body = time.monotonic() + within_s, pack(report)
    line = control_line("companion", host=caller.session_host, session=caller.own_id, body_bytes=len(body))
    try:
        attached = ask(find_address(None, os.environ), line + body, within_s)
        if attached is None:
            return {}
        with attached.connection as connection:
            if not attached.answer.is_ok:
                return {}
            return unpack(_receive(connection, body_bytes_of(attached.answer.fields), deadline))
    except (AttachRefused, NotAttached, OSError, BadBody):
        return {}


def _receive(connection: "socket.socket", n_bytes: int, deadline: float) -> bytes:
    """Raises: OSError, if the daemon sends less in time."""
    body = bytearray()
    while len(body) < n_bytes:
        connection.settimeout(max(deadline - time.monotonic(), MARGIN_S))
        chunk = connection.recv(n_bytes - len(body))
        if not chunk:
            raise ConnectionError
        body += chunk
    return bytes(body)


def _answer(
    command: Command, host: str, session: str, deadline: float, more: Mapping[str, object] | None = None
) -> Mapping[str, Any]:
    remaining_s = deadline - time.monotonic()
    if remaining_s <= MARGIN_S:
        return {}
    about = {"host": host, "session": session, "within_s": remaining_s - MARGIN_S}
    line = control_line(command, **(more or {}), **about)
    try:
        attached = ask(find_address(None, os.environ), line, remaining_s)
    except (AttachRefused, NotAttached, OSError):
        return {}
    if attached is None:
        return {}
    attached.connection.close()
    return attached.answer.fields if attached.answer.is_ok else {}
