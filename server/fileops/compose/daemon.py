"""The process of a shared daemon: the listener, and in `shared.py` what its clients share."""

import gc
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fileops.compose.shared import open_connection, shared_world

if TYPE_CHECKING:
    from fileops.attach.handshake import Attachment
    from fileops.daemon.arbiter import DaemonOptions
    from fileops.rpc.standard_io import Session


def serve_daemon(options: "DaemonOptions") -> int:
    """Serve the clients that attach; returns the exit status."""
    gc.disable()  # thousands of classes are made by the imports, and none of them is garbage
    import fileops.fs.local.filesystem  # pyright: ignore[reportUnusedImport]  # needed by the first client
    import fileops.history.journal  # noqa: F401  # pyright: ignore[reportUnusedImport]
    from fileops.daemon import arbiter

    gc.freeze()
    gc.enable()
    return arbiter.serve_daemon(options, SharedFileOps)


class SharedFileOps:
    """See daemon.listener.SharedService."""

    def __init__(self, socket: str) -> None:
        self._world = shared_world(socket)

    def open_session(self, attachment: "Attachment", name: str, for_reading: int, for_writing: int) -> "Session":
        import msgspec

        from fileops.attach.handshake import BadRequest
        from fileops.rpc.decode import InvalidParams

        try:
            return open_connection(self._world, attachment, name, for_reading, for_writing)
        except msgspec.ValidationError as fault:
            raise BadRequest(f"options: {fault}") from None
        except InvalidParams as fault:
            option = fault.path.rpartition(".")[2]
            raise BadRequest(f"The option {option} {fault.reason}") from None

    def leave(self, name: str) -> None:
        self._world.leave(name)

    def describe(self) -> Sequence[Mapping[str, object]]:
        return self._world.describe()

    async def notices(self, host: str, own_id: str) -> Sequence[str]:
        return await self._world.notices(host, own_id)

    def reset(self, host: str, own_id: str) -> None:
        self._world.reset(host, own_id)

    def close(self) -> None:
        self._world.close()
