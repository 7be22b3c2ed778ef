"""Polls remote files, which have no watcher, in its own thread, so no other work waits for it."""

import threading
import time
from collections.abc import Callable, Iterable

from fileops.model.errors import FileOpsError, IsDirectory, NotRegularFile
from fileops.model.files import Stamp
from fileops.model.internal_errors import PathMoved

POLL_S = 5.0
PATIENCE_SHARE = 0.1  # of the time; a slow server is polled less often
FORGET_S = 30.0  # a file not watched again within this is dropped


class Poller:
    """Calls `on_changed` for each file whose stamp has changed. `stat` takes a canonical path and may be slow."""

    def __init__(
        self, stat: Callable[[str], Stamp | None], on_changed: Callable[[str], None], *, poll_s: float = POLL_S
    ) -> None:
        self._stat = stat
        self._on_changed = on_changed
        self._poll_s = poll_s
        self._wake = threading.Condition()
        # Guarded by _wake:
        self._wanted: dict[str, tuple[Stamp | None, float]] = {}
        self._thread: threading.Thread | None = None

    def watch(self, files: Iterable[tuple[str, Stamp | None]]) -> None:
        """Poll these files until they have not been given again for `FORGET_S`. Never waits."""
        with self._wake:
            now = time.monotonic()
            self._wanted.update({path: (stamp, now) for path, stamp in files})
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="fileops-remote-poll", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        pause_s = self._poll_s
        while True:
            with self._wake:
                self._wake.wait(pause_s)
                since = time.monotonic() - FORGET_S
                self._wanted = {path: want for path, want in self._wanted.items() if want[1] >= since}
                if not self._wanted:
                    self._thread = None
                    return
                files = tuple(self._wanted)
            began = time.monotonic()
            for path in files:
                self._check(path)
            pause_s = max(self._poll_s, (time.monotonic() - began) / PATIENCE_SHARE)

    def _check(self, path: str) -> None:
        try:
            stamp = self._stat(path)
        except (IsDirectory, NotRegularFile, PathMoved):
            stamp = None
        except FileOpsError:
            return  # cannot be reached now
        with self._wake:
            wanted = self._wanted.get(path)
        if wanted is not None and wanted[0] != stamp:
            self._on_changed(path)
