"""One LSP client, served over a pair of descriptors."""

import asyncio
import os

from fileops.lsp.parent import ParentWatch
from fileops.lsp.server import LspServer
from fileops.rpc.session import StreamSession
from fileops.rpc.standard_io import BROKEN, Ended


class LspSession(StreamSession):
    """Serves one LSP client. Create it on the event loop, then await `serve`."""

    def __init__(
        self,
        server: LspServer,
        for_reading: int,
        for_writing: int,
        *,
        watch_parent: bool = True,
        max_unread_bytes: int | None = None,
    ) -> None:
        is_terminal = os.isatty(for_reading)  # a person ends it with Ctrl-D
        super().__init__(
            server,
            for_reading,
            for_writing,
            end_of_input=lambda: 0 if is_terminal or server.protocol.is_shut_down else BROKEN,
            max_unread_bytes=max_unread_bytes,
        )
        self._parent = ParentWatch(asyncio.get_running_loop(), lambda: self.end(BROKEN, "the client's process is gone"))
        server.protocol.on_exit = self.end
        server.on_parent = self._parent.watch if watch_parent else lambda _pid: None

    async def serve(self) -> Ended:
        try:
            return await super().serve()
        finally:
            self._parent.close()
