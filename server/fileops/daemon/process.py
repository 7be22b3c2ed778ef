"""The process of the shared daemon: its socket, the record for `status`, signals, and the end."""

import asyncio
import json
import logging
import os
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct

from fileops import __version__
from fileops.attach.address import Address, AttachRefused, find_address, require_private_folder
from fileops.attach.handshake import ATTACH
from fileops.attach.starter import BACKLOG, LISTENING, LOCK_S, create_socket, is_served, try_lock
from fileops.daemon.connections import MAX_CONNECTIONS
from fileops.daemon.listener import Listener
from fileops.daemon.shared_service import SharedService
from fileops.rpc.standard_io import BROKEN, Signals

log = logging.getLogger(__name__)

_PAUSE_S = 0.02


class DaemonOptions(Struct, frozen=True, kw_only=True):
    """The options on the command line.

    socket: None for the default place. log_file: shown by `status`. is_detached: a client started the daemon.
    """

    socket: str | None
    idle_s: float
    log_file: str | None
    is_detached: bool


def serve_daemon(options: DaemonOptions, make_service: Callable[[str], SharedService]) -> int:
    """Serve until no client needs the daemon; return the exit status.

    Args: make_service: called on the event loop, with the path of the socket.
    """
    listening = take_inherited_socket()
    is_ours = listening is None or options.is_detached  # otherwise systemd's, which keeps listening
    try:
        if listening is None:
            listening = _bind_socket(find_address(options.socket, os.environ))
        address = find_address(listening.getsockname(), os.environ)
        require_private_folder(address.folder, create=False)
    except AttachRefused as refused:
        sys.stderr.write(f"fileops-server daemon: {refused}\n")
        return BROKEN
    return asyncio.run(_serve(listening, address, options, make_service, is_ours=is_ours))


async def _serve(
    listening: socket.socket,
    address: Address,
    options: DaemonOptions,
    make_service: Callable[[str], SharedService],
    *,
    is_ours: bool,
) -> int:
    service = make_service(address.socket)
    listener = Listener(listening, address, service, idle_s=options.idle_s, log_file=options.log_file)
    signals = Signals(asyncio.get_running_loop(), lambda _number: listener.terminate())
    _write_record(address)
    log.info("fileops-server %s listens at %s for up to %d clients", __version__, address.socket, MAX_CONNECTIONS)
    await listener.run(lambda: _release(listener, address, is_ours=is_ours))
    await asyncio.to_thread(service.close)
    signals.ignore()
    log.info("ended")
    if listener.is_stuck:
        log.error("the disk does not answer: some requests are abandoned")
        os._exit(0)  # a thread stuck in the kernel would keep the process alive
    return 0


# --- the socket ---------------------------------------------------------------------------------------------------


def take_inherited_socket() -> socket.socket | None:
    """Return the socket from the starter or systemd; None without one. See sd_listen_fds(3)."""
    n_sockets, pid = os.environ.pop("LISTEN_FDS", ""), os.environ.pop("LISTEN_PID", "")
    if n_sockets != "1" or pid != str(os.getpid()):
        return None
    os.set_inheritable(LISTENING, False)
    inherited = socket.socket(fileno=LISTENING)
    inherited.listen(BACKLOG)  # again, so that the kernel names this process as listening
    return inherited


def _bind_socket(address: Address) -> socket.socket:
    """Raises: AttachRefused, including if a daemon already runs."""
    require_private_folder(address.folder, create=True)
    deadline = time.monotonic() + LOCK_S
    while time.monotonic() < deadline:
        with try_lock(address) as is_locked:
            if is_locked:
                if is_served(address):
                    break
                return create_socket(address)
        time.sleep(_PAUSE_S)
    raise AttachRefused(f"A shared daemon runs already at {address.socket}. `fileops-server status --stop` ends it.")


def _release(listener: Listener, address: Address, *, is_ours: bool) -> None:
    """Remove the socket and the record, unless they belong to another daemon by now. Blocks."""
    deadline = time.monotonic() + LOCK_S
    while time.monotonic() < deadline:
        with suppress(AttachRefused), try_lock(address) as is_locked:
            if is_locked:
                if listener.owns_socket():
                    _remove(address.record)
                    if is_ours:
                        _remove(address.socket)
                return
        time.sleep(_PAUSE_S)
    log.error("%s stays: its lock is held by another program", address.socket)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError as error:
        log.warning("%s could not be removed: %s", path, error.strerror)


def _write_record(address: Address) -> None:
    """Write what `status` can show for a daemon that does not answer."""
    record = {"pid": os.getpid(), "start_time": time.time(), "version": __version__, "attach": ATTACH}
    draft = f"{address.record}.{os.getpid()}"
    try:
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(fd, "w", encoding="ascii") as file:
            json.dump(record, file)
        os.replace(draft, address.record)
    except OSError as error:
        log.warning("%s could not be written: %s", address.record, error.strerror)
