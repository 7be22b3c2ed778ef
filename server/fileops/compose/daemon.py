"""The process of a shared daemon: the listener, and in `state.py` what its clients share."""

import gc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fileops.daemon.arbiter import DaemonOptions


def serve_daemon(options: "DaemonOptions") -> int:
    """Serve the clients that attach; returns the exit status."""
    gc.disable()  # thousands of classes are made by the imports, and none of them is garbage
    import fileops.fs.local.filesystem  # pyright: ignore[reportUnusedImport]  # needed by the first client
    import fileops.history.journal  # noqa: F401  # pyright: ignore[reportUnusedImport]
    from fileops.compose.state import SharedDaemonState
    from fileops.daemon import arbiter

    gc.freeze()
    gc.enable()
    return arbiter.serve_daemon(options, SharedDaemonState)
