"""One client from its first message to its last, over a pair of descriptors.

A session ends a connection and never the process: `standard_io.py` does that, and several sessions may run on one
event loop. Everything here belongs to that loop, except where a comment names a thread.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from fileops.rpc.connection import Connection
from fileops.rpc.framing import BadFrame, FrameParser, StreamBroken, lsp_frame
from fileops.rpc.reader import MessageReader, Parser
from fileops.rpc.standard_io import BROKEN, Ended
from fileops.rpc.writer import FrameWriter

log = logging.getLogger(__name__)

FINISH_S = 2.0  # for requests in flight when the client has only stopped sending
CANCEL_S = 5.0  # for cancelled ones: a commit that has begun finishes
CLOSE_S = 5.0  # for the service's threads
WRITE_S = 2.0  # for a client that still has to take its answers
MAX_PENDING_BYTES = 32 << 20  # of unread answers; beyond this, the client's requests wait too
# Requests in progress, except those that wait for the client's own answer. Beyond this, the next ones wait. It is far
# more than there are threads for them; each may produce a large answer while the client does not read.
MAX_WORKING = 128
# The limit including those that wait for an editor, a mapped host, a plugin or a review, and those behind them: they
# must not keep the server from the next message, which may be the very answer or cancel that they wait for.
MAX_WAITING = 1024


class Server(Protocol):
    """What a session serves."""

    @property
    def connection(self) -> Connection: ...

    @property
    def n_waiting_for_others(self) -> int:
        """Return how many requests in progress wait for another program or a person."""
        ...

    def flush(self) -> None:
        """Send the notifications that still wait."""
        ...

    def close_service(self) -> None:
        """Finish the commits in progress. Blocks."""
        ...


class StreamSession:
    """See standard_io.Session. Serves one client. Create it on the event loop."""

    def __init__(
        self,
        server: Server,
        for_reading: int,
        for_writing: int,
        *,
        end_of_input: Callable[[], int] = lambda: BROKEN,
        parser: Parser | None = None,
        frame: Callable[[bytes], bytes] = lsp_frame,
        max_unread_bytes: int | None = None,
    ) -> None:
        """Take how messages are framed, by default as LSP frames them.

        Args: end_of_input: the exit status if the client closes its end. max_unread_bytes: see FrameWriter; a client
        that does not read is disconnected.
        """
        self._server = server
        self._end_of_input = end_of_input
        self._connection = server.connection
        self._loop = asyncio.get_running_loop()
        self._end: asyncio.Future[int] = self._loop.create_future()
        self._room = asyncio.Event()
        self._reader = MessageReader(
            self._loop,
            for_reading,
            self._take,
            lambda: self._connection.is_settled,
            self._connection.batch,
            parser or FrameParser(),
        )
        self._writer = FrameWriter(
            for_writing,
            on_broken=lambda: self._from_thread(self.end, BROKEN, "the client does not read any more"),
            on_drained=lambda: self._from_thread(self._room.set),
            frame=frame,
            max_unread_bytes=max_unread_bytes,
            on_unread=lambda: self.end(BROKEN, "the client does not read what it is sent"),
        )
        self._connection.on_request_done = self._room.set

    async def serve(self) -> Ended:
        """Serve until the client is done, is gone, or `end` is called."""
        self._connection.sink = self._writer
        self._reader.open()
        status = await self._end
        self._reader.close()
        return await self._finish(status)

    def end(self, status: int, reason: str | None = None) -> None:
        """Start to end. Only the first call counts."""
        if not self._end.done():
            if reason is not None:
                log.error("shutting down: %s", reason)
            self._end.set_result(status)

    def _from_thread(self, callback: Any, *args: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *args)
        except RuntimeError:
            log.debug("the loop is closed already")

    # --- in ----------------------------------------------------------------------------------------------------

    def _take(self, frame: bytes | BadFrame | StreamBroken | None) -> Coroutine[Any, Any, None] | None:
        """Handle one frame. A returned coroutine must be awaited before the next one."""
        match frame:
            case bytes(body):
                self._connection.receive(body)
            case BadFrame(reason):
                log.warning("bad frame: %s", reason)
                self._connection.refuse_frame(reason)
            case StreamBroken() as broken:
                return self._on_end_of_input(str(broken))
            case None:
                return self._on_end_of_input("stdin was closed")
        return None if self._has_room() else self._wait_for_room()

    def _has_room(self) -> bool:
        if self._writer.n_pending_bytes > MAX_PENDING_BYTES:
            return False
        n_working = self._connection.n_working
        return n_working <= MAX_WORKING or (
            n_working <= MAX_WAITING and n_working - self._server.n_waiting_for_others <= MAX_WORKING
        )

    async def _wait_for_room(self) -> None:
        """Apply back pressure: memory stays bounded if a client floods the server or does not read.

        A request makes room when it is done, and also when it begins to wait for the client's own answer.
        """
        while not self._has_room():
            self._room.clear()
            if not self._has_room():
                await self._room.wait()

    async def _on_end_of_input(self, reason: str) -> None:
        """Handle the end of input: requests in flight are still answered if they need nothing from the client."""
        self._connection.outgoing.disconnect()
        if in_flight := self._connection.in_flight():
            await asyncio.wait(in_flight, timeout=FINISH_S)
        status = self._end_of_input()
        self.end(status, reason if status else None)

    # --- the end -----------------------------------------------------------------------------------------------

    async def _finish(self, status: int) -> Ended:
        """Leave nothing half done: no temp file, no lock, no unsent answer or notification."""
        self._connection.outgoing.disconnect()
        in_flight = self._connection.in_flight()
        for future in in_flight:
            future.cancel()
        stuck: set[Any] = set()
        if in_flight:
            _, stuck = await asyncio.wait(in_flight, timeout=CANCEL_S)
        is_closed = await self._in_thread(self._server.close_service, CLOSE_S)
        self._server.flush()
        await self._in_thread(lambda: self._writer.close(WRITE_S), CLOSE_S)
        return Ended(status, len(stuck), is_closed)

    async def _in_thread(self, work: Callable[[], object], timeout_s: float) -> bool:
        """Do something that blocks, and return whether it finished in time.

        It runs in a separate thread, because asyncio would wait for its executor for ever.
        """
        done = asyncio.Event()

        def run() -> None:
            try:
                work()
            finally:
                self._from_thread(done.set)

        threading.Thread(target=run, name="fileops-close", daemon=True).start()
        try:
            async with asyncio.timeout(timeout_s):
                await done.wait()
        except TimeoutError:
            return False
        return True
