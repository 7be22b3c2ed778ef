"""Accepts the clients of the shared daemon, and decides when the daemon ends.

Everything here belongs to the event loop. Each client has one task, from its connection to the end of its session.
"""

import asyncio
import json
import logging
import os
import re
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import assert_never, cast

from fileops import __version__
from fileops.attach.address import Address
from fileops.attach.bodies import BadBody, body_bytes_of, pack, unpack
from fileops.attach.handshake import (
    ATTACH,
    LINE_S,
    MAX_ANSWER_BYTES,
    MAX_LINE_BYTES,
    AttachMismatch,
    AttachRequest,
    BadRequest,
    ControlRequest,
    Reason,
    answer_line,
    control_answer_line,
    hook_of,
    parse_request,
    refusal_line,
    views_of_request,
)
from fileops.concurrency.delivery import Delivery
from fileops.daemon.connections import MAX_CONNECTIONS, AttachedClient, Connections, describe
from fileops.daemon.lines import client_closed, has_hung_up, receive_body, receive_line, send
from fileops.daemon.peer import PeerProcess, is_exhaustion, peer_of, refusal_of
from fileops.daemon.shared_service import SharedService
from fileops.rpc.standard_io import BROKEN

log = logging.getLogger(__name__)

LOOK_S = 60.0  # between checks that the socket is still this daemon's
ACCEPT_PAUSE_S = 1.0  # while no descriptor is free
MAX_LISTED = 1 << 15  # items of a list of `status` whose answer is too long; then half as many, and so on
MAX_REVIEWS = 50  # that `status` lists
MAX_REVIEWS_BYTES = 16_000  # of the 64 kB of a line, which also lists the clients
HOOK_S = 1.0  # for what a hook asks or reports; the host's user waits

_MESSAGES: dict[Reason, str] = {
    "attach": f"The shared daemon is fileops-server {__version__}, which attaches no clients of this version. "
    "Update the older of them, or end the daemon with `fileops-server status --stop`.",
    "uid": "The shared daemon belongs to another user.",
    "confined": "The shared daemon runs in another sandbox than this program.",
    "full": f"{MAX_CONNECTIONS} clients are connected with the shared daemon. Close one of them.",
    "exhausted": "The shared daemon has no free file descriptor. Close a client, or raise its limit (ulimit -n).",
    "retiring": "The shared daemon is ending.",
}


class Listener:
    """One listening socket. `run` serves until the daemon has a reason to end."""

    def __init__(
        self,
        listening: socket.socket,
        address: Address,
        service: SharedService,
        *,
        idle_s: float,
        log_file: str | None,
        look_s: float = LOOK_S,
    ) -> None:
        """Take a listening socket. Create it on the event loop.

        Args: idle_s: how long the daemon waits for a client. log_file: shown by `status`. look_s: between checks that
        the socket is still this daemon's.
        """
        self._listening = listening
        self._address = address
        self._service = service
        self._connections = Connections(service.describe)
        self._idle_s = idle_s
        self._look_s = look_s
        self._log_file = log_file
        self._inode = inode_of(address.socket)
        self._started_at = time.monotonic()
        self._empty_since = time.monotonic()
        self._is_retiring = False
        self._is_ending = False
        self._spare: int | None = None  # a spare descriptor, to accept a client only to refuse it
        self._is_outdated = False  # a newer client has attached
        self._tasks: set[asyncio.Task[None]] = set()
        self._reports: set[asyncio.Future[None]] = set()  # reports of hooks
        self._changed = asyncio.Event()
        self.is_stuck = False  # a thread waits for a dead disk and would keep the process alive

    async def run(self, release: Callable[[], None]) -> None:
        """Serve until no client is left and none is expected.

        Args: release: gives up the socket's name. Called in a thread before the socket is closed: while it is open, no
        other socket can have its inode number.
        """
        loop = asyncio.get_running_loop()
        accepting = loop.create_task(self._accept_all())
        looking = loop.create_task(self._look_at_socket())
        try:
            while (remaining_s := self._remaining_s()) is None or remaining_s > 0:
                self._changed.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(remaining_s):
                        await self._changed.wait()
        finally:
            accepting.cancel()
            looking.cancel()
            await asyncio.to_thread(release)
            if self._spare is not None:
                os.close(self._spare)
                self._spare = None
            self._listening.close()  # clients in its queue connect again, and start another daemon

    def retire(self, reason: str) -> None:
        """Accept no new clients, and end when the last one has left."""
        if not self._is_retiring:
            log.info("retiring: %s", reason)
        self._is_retiring = True
        self._changed.set()

    def terminate(self) -> None:
        """Retire, and end the sessions: requests that have begun are finished and answered.

        Their status is 0: an editor that has not asked for its end learns from it that the daemon did not crash.
        """
        self._is_ending = True
        self.retire("terminated")
        for client in self._connections:
            if client.session is not None:
                client.session.end(0)

    def owns_socket(self) -> bool:
        """Return whether the socket's name still leads to this daemon."""
        return self._inode is not None and inode_of(self._address.socket) == self._inode

    def _remaining_s(self) -> float | None:
        """Return how long to wait for a client; None while there are some."""
        if self._tasks:
            return None
        if self._is_retiring:
            return 0
        if self._service.n_hooked():  # their hooks come again, or they are ended after a while
            self._empty_since = time.monotonic()
            return max(self._idle_s, self._look_s)
        return self._empty_since + self._idle_s - time.monotonic()

    async def _look_at_socket(self) -> None:
        while True:
            await asyncio.sleep(self._look_s)
            if not self.owns_socket():
                self.retire(f"{self._address.socket} is gone, or another daemon's")

    # --- clients -----------------------------------------------------------------------------------------------

    async def _accept_all(self) -> None:
        loop = asyncio.get_running_loop()
        self._listening.setblocking(False)
        self._keep_spare()
        while True:
            try:
                connection, _ = await loop.sock_accept(self._listening)
            except OSError as fault:  # mostly no descriptor is free
                log.error("no client can be accepted: %s", fault)
                if self._spare is None:
                    await asyncio.sleep(ACCEPT_PAUSE_S)
                else:  # used to accept the next client, and refuse it
                    os.close(self._spare)
                    self._spare = None
                continue
            task = loop.create_task(self._serve(connection))
            self._tasks.add(task)
            task.add_done_callback(self._on_served)

    def _keep_spare(self) -> None:
        """Reserve a descriptor.

        Call it when one has become free, but after the client that took the last one was answered.
        """
        if self._spare is None:
            with suppress(OSError):  # none is free; try again after the next client
                self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def _on_served(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._keep_spare()
        if self._is_outdated and not self._tasks:
            self.retire("a newer version of fileops-server is in use")
        if not task.cancelled() and (fault := task.exception()) is not None:
            log.error("a client could not be served", exc_info=fault)
        self._changed.set()

    async def _serve(self, connection: socket.socket) -> None:
        with connection:
            connection.setblocking(False)
            try:
                peer = peer_of(connection)
                refusal = refusal_of(connection, peer)  # before its first byte is read
                async with asyncio.timeout(LINE_S):
                    line = await receive_line(connection)
            except OSError as fault:
                log.debug("a client did not say who it is: %r", fault)
                return
            if line is None:
                return
            with suppress(OSError):  # it has already gone
                await self._answer(connection, peer, line, refusal)

    async def _answer(self, connection: socket.socket, peer: PeerProcess, line: bytes, refusal: Reason | None) -> None:
        """Answer the first line, and serve the client if it may attach. Raises: OSError, if it does not read."""
        try:
            request = parse_request(line)
        except AttachMismatch as mismatch:
            self._connections.note_refused(mismatch.about, peer, "attach")
            return await send(connection, refusal_line("attach", _MESSAGES["attach"]))
        except BadRequest as fault:
            return await send(connection, refusal_line("bad", f"The first line is not a request to attach: {fault}."))
        if refusal is None and isinstance(request, AttachRequest):
            refusal = "retiring" if self._is_retiring else "full" if self._connections.is_full else None
        if refusal is not None:
            if isinstance(request, AttachRequest) and refusal != "retiring":
                self._connections.note_refused(describe(request), peer, refusal)
            return await send(connection, refusal_line(refusal, _MESSAGES[refusal], ends_soon=self._is_ending))
        if isinstance(request, AttachRequest) and has_hung_up(connection):  # the daemon hung, and serves nothing here
            return self._connections.note_refused(describe(request), peer, "silent")
        match request:
            case ControlRequest():
                return await self._control(connection, request, peer)
            case AttachRequest():
                return await self._serve_session(connection, self._connections.enter(request, peer))
            case _:
                assert_never(request)

    async def _serve_session(self, connection: socket.socket, client: AttachedClient) -> None:
        log.info("%s attached: %s, process %d", client.name, client.attachment.protocol, client.peer.pid)
        self._is_outdated = self._is_outdated or is_newer(client.attachment.version, __version__)
        status = BROKEN
        try:
            fd = connection.fileno()
            try:
                client.session = self._service.open_session(client.attachment, client.name, fd, fd)
            except OSError as fault:
                if not is_exhaustion(fault):
                    raise
                log.error("%s is refused: %s", client.name, fault)
                await send(connection, refusal_line("exhausted", _MESSAGES["exhausted"]))
                return
            await send(connection, answer_line(client.name))
            connection.setblocking(True)  # the writer's thread may wait; the reader runs when data is there
            ended = await client.session.serve()
            status = ended.status
            self.is_stuck = self.is_stuck or ended.n_stuck > 0 or not ended.is_closed
        except BadRequest as fault:
            await send(connection, refusal_line("bad", f"{fault}."))
        finally:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_WR)  # a thread that is still writing fails now
            self._connections.leave(client, status)
            self._service.leave(client.name)
            self._empty_since = time.monotonic()
            log.info("%s left with status %d", client.name, status)
        if not self._is_ending:
            await client_closed(connection)  # its pump may first ask for the outcome

    # --- about the daemon --------------------------------------------------------------------------------------

    async def _control(self, connection: socket.socket, request: ControlRequest, peer: PeerProcess) -> None:
        """Raises: OSError, if the client does not take the answer; nothing in the answer counts as reported then."""
        is_sent = False
        with Delivery() as delivery:
            try:
                try:
                    if request.command == "companion":
                        answer = await self._companion(connection, request, peer)
                    else:
                        answer = await self._answer_of(request, peer)
                except BadRequest as fault:
                    answer = refusal_line("bad", f"{fault}.")
                await send(connection, answer)
                is_sent = True
            finally:
                delivery.settle(is_sent=is_sent)

    async def _answer_of(self, request: ControlRequest, peer: PeerProcess) -> bytes:
        """Raises: BadRequest."""
        match request.command:
            case "status":
                status = {
                    "attach": ATTACH,
                    "socket": self._address.socket,
                    "uptime_s": round(time.monotonic() - self._started_at, 1),
                    "log": self._log_file,
                    "connections": self._connections.describe(),
                    "private": self._connections.describe_private(),
                    "language_servers": await self._service.language_servers(),
                    "unsettled": self._service.list_unsettled(),
                    "guarded": self._service.describe_guarded(),
                    **_limit_reviews(self._service.waiting_reviews()),
                }
                return fit_line(status, request.params.get("max_bytes"))
            case "stop":
                self.retire("asked to stop")
                return control_answer_line(n_connections=len(self._connections))
            case "outcome":
                return control_answer_line(status=self._connections.outcome_of(request.params.get("connection")))
            case "notices":
                return control_answer_line(texts=await self._notices(request, peer))
            case "reset":
                await self._service.reset(hook_of(request, peer.pid))
                return control_answer_line()
            case "record":
                await self._record(request, peer)
                return control_answer_line()
            case "companion":
                raise BadRequest("companion is answered with a body")
            case _:
                assert_never(request.command)

    async def _companion(self, connection: socket.socket, request: ControlRequest, peer: PeerProcess) -> bytes:
        """Return the line and the body that answer a hook about its host's own tools. Raises: BadRequest, OSError."""
        hook = hook_of(request, peer.pid)
        try:
            async with asyncio.timeout(LINE_S):
                body = await receive_body(connection, body_bytes_of(request.params))
            report = {} if body is None else unpack(body)
        except BadBody as fault:
            raise BadRequest(str(fault)) from None
        answer = pack(await self._service.companion(hook, report))
        return control_answer_line(body_bytes=len(answer)) + answer

    async def _notices(self, request: ControlRequest, peer: PeerProcess) -> list[str]:
        """Take the texts for a hook. They count as reported once they have been sent: see _control."""
        hook = hook_of(request, peer.pid)
        with suppress(TimeoutError):
            async with asyncio.timeout(_patience_of(request)):
                views = views_of_request(request)
                unsaved = () if views is None else await self._service.note_views(hook, *views)
                return [*unsaved, *await self._service.notices(hook)]
        return []

    async def _record(self, request: ControlRequest, peer: PeerProcess) -> None:
        """Record what a hook reports.

        What the hook cannot wait for is recorded after the answer. Raises: BadRequest.
        """
        report = asyncio.ensure_future(self._service.record(hook_of(request, peer.pid), request.params))
        self._reports.add(report)
        report.add_done_callback(self._reports.discard)
        with suppress(TimeoutError):
            async with asyncio.timeout(_patience_of(request)):
                await asyncio.shield(report)


def _patience_of(request: ControlRequest) -> float:
    """Return how long the hook waits for its answer."""
    within_s = request.params.get("within_s")
    return min(within_s, HOOK_S) if isinstance(within_s, int | float) else HOOK_S


def _limit_reviews(reviews: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Return the oldest reviews that fit into one line, and the number of all that wait."""
    shown: list[Mapping[str, object]] = []
    left = MAX_REVIEWS_BYTES
    for review in reviews[:MAX_REVIEWS]:
        left -= len(json.dumps(review))
        if left < 0:
            break
        shown.append(review)
    return {"reviews": shown, "n_reviews": len(reviews)}


def fit_line(status: Mapping[str, object], max_bytes: object) -> bytes:
    """Return the answer to `status` in one line that its reader reads: its lists are cut until it is short enough.

    A list that is cut has its length beside it: `n_roots` for `roots`. Args: max_bytes: as the request says it.
    """
    bound = min(max_bytes, MAX_ANSWER_BYTES) if isinstance(max_bytes, int) else MAX_LINE_BYTES
    line = control_answer_line(**status)
    n_items = MAX_LISTED
    while len(line) > bound and n_items:
        line = control_answer_line(**_cut(status, n_items))
        n_items //= 2
    return line


def _cut(described: Mapping[str, object], n_items: int) -> dict[str, object]:
    """Return the description with lists of at most `n_items` items, at any depth, and the lengths of those cut."""
    cut: dict[str, object] = {}
    for key, value in described.items():
        if not isinstance(value, list):
            cut[key] = value
            continue
        items = cast("list[object]", value)
        cut[key] = [
            _cut(cast("Mapping[str, object]", item), n_items) if isinstance(item, dict) else item
            for item in items[:n_items]
        ]
        if len(items) > n_items:
            cut.setdefault(f"n_{key}", len(items))
    return cut


def inode_of(path: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def is_newer(version: str, than: str) -> bool:
    """Compare two version numbers; anything else counts as older."""

    def numbers(text: str) -> list[int]:
        match = re.match(r"\d+(?:\.\d+)*", text)
        return [int(number[:9]) for number in match[0].split(".")] if match else []

    return numbers(version) > numbers(than)
