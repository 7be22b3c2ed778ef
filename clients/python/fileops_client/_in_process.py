"""The server inside this process. The client's only module that names the server, which it loads when opened."""

import asyncio
import os
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING

from fileops_client._process import STREAM_LIMIT_BYTES
from fileops_client.errors import ServerMissing

if TYPE_CHECKING:
    from fileops.core.matching.strategies import StrategyPlugin
    from fileops.core.processing import ProcessorPlugin
    from fileops.core.validation import ValidatorPlugin
    from fileops.ports import Approver, Executor, FileSystem, ImageDetector

END_S = 20.0  # more than the session's own limits for requests in flight


class InProcessServer:
    """See Transport."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, serving: "asyncio.Task[None]"
    ) -> None:
        self.reader = reader
        self.writer = writer
        self._serving = serving
        self.pid = os.getpid()
        self.stderr_tail = ""

    async def require_serving(self) -> None:
        """Raises: the error that ended the server."""
        if self._serving.done():
            await self._serving

    async def wait(self, timeout_s: float) -> int | None:
        await asyncio.wait([self._serving], timeout=timeout_s)
        return None

    async def end(self, grace_s: float) -> int | None:
        self.writer.close()
        await asyncio.wait([self._serving], timeout=max(grace_s, END_S))
        self._serving.cancel()
        await asyncio.gather(self._serving, return_exceptions=True)
        return None

    def kill(self) -> None:
        self.writer.close()
        self._serving.cancel()


async def launch(
    *,
    filesystem: "FileSystem | None",
    strategies: "Mapping[str, StrategyPlugin] | None",
    processors: "Mapping[str, ProcessorPlugin] | None",
    validators: "Mapping[str, ValidatorPlugin] | None",
    executor: "Executor | None",
    image_detector: "ImageDetector | None",
    approver: "Approver | None",
) -> InProcessServer:
    """Raises: ServerMissing."""
    try:
        from fileops.compose import embedded, own_parts
    except ImportError as error:
        raise ServerMissing(f"the package fileops-server cannot be imported: {error}. Install it.") from error
    parts = own_parts.OwnParts(
        filesystem=filesystem,
        strategies=strategies or {},
        processors=processors or {},
        validators=validators or {},
        executor=executor,
        image_detector=image_detector,
        approver=approver,
    )
    ours, peer = socket.socketpair()
    connecting = asyncio.ensure_future(asyncio.open_connection(sock=ours, limit=STREAM_LIMIT_BYTES))
    try:
        reader, writer = await asyncio.shield(connecting)
    except asyncio.CancelledError:
        peer.close()
        (await connecting)[1].close()
        raise
    server = InProcessServer(reader, writer, asyncio.create_task(embedded.serve(peer, parts), name="fileops-server"))
    try:
        await asyncio.sleep(0)  # until its first wait, so that a taken name is reported here
        await server.require_serving()
    except BaseException:
        server.kill()
        raise
    return server
