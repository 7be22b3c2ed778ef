"""One client's workspace folders, resolved when they are opened. Belongs to the event loop."""

import asyncio
import os
from collections.abc import Callable, Iterable

from fileops.concurrency import shares
from fileops.concurrency.cancellation import CancelToken
from fileops.concurrency.workers import SharedWorkers
from fileops.core.roots import Roots, is_inside
from fileops.model.errors import FileOpsError
from fileops.model.internal_errors import PathMoved
from fileops.ports import FileSystem


class WorkspaceFolders:
    """The open folders. roots: None if nothing is confined. shown: the folders, both as given and canonical."""

    def __init__(self, fs: FileSystem, workers: SharedWorkers, warn: Callable[[str], None], *, may_wait: bool) -> None:
        """Args: may_wait: whether the event loop may wait for the disk, because it serves only this client.

        warn: called on any thread with a message about each folder that does not exist.
        """
        self._fs = fs
        self._workers = workers
        self._warn = warn
        self._may_wait = may_wait
        self.on_change: Callable[[], None] = lambda: None
        self.roots: Roots | None = None
        self.shown: tuple[str, ...] = ()
        # Open folders: as given -> canonical, or None while a disk or host is being asked where the folder leads.
        self._canonical: dict[str, str | None] = {}
        self._unresolved: list[str] = []
        self._resolving: set[asyncio.Task[None]] = set()

    def set(self, folders: Iterable[str]) -> None:
        """Set the folders that are open from now on (absolute paths).

        Confinement never loosens: once there has been a folder, having none puts everything outside. A folder is
        resolved when it is opened and not later, because it may have been replaced by a link by then. A folder that
        cannot be resolved at once (on a mapped host; in a shared daemon, any folder) contains nothing until it is
        resolved.
        """
        before = self._canonical
        self._canonical = {folder: before.get(folder) or self._canonical_at_once(folder) for folder in folders}
        self._update()
        for folder in (folder for folder, canonical in self._canonical.items() if canonical is None):
            task = asyncio.get_running_loop().create_task(self._resolve(folder))
            self._resolving.add(task)  # the loop keeps only a weak reference
            task.add_done_callback(self._resolving.discard)

    async def canonical(self) -> tuple[str, ...]:
        """Return the canonical folders, once it is known where links among them lead."""
        await self.resolve_all()
        return tuple(dict.fromkeys(folder for folder in self._canonical.values() if folder is not None))

    def find_unresolved(self, file_path: str) -> list[str]:
        """Return the unresolved folders that contain, or may contain under another name, this file."""
        unresolved = self._unresolved
        if not unresolved:  # almost always true, and every request asks
            return []
        above = [folder for folder in unresolved if is_inside(folder, file_path)]
        if above or any(is_inside(folder, file_path) for folder in self.shown if folder not in unresolved):
            return above
        return unresolved

    async def resolve_above(self, file_path: str) -> None:
        """Resolve the folders that were opened before this request, which needs the same disk or host anyway."""
        for folder in self.find_unresolved(file_path):
            if self._canonical.get(folder, "") is None:
                await self._resolve(folder)

    async def resolve_all(self) -> None:
        """Resolve the folders that were opened before this request, which may touch files in any of them."""
        for folder in self._unresolved:
            if self._canonical.get(folder, "") is None:
                await self._resolve(folder)

    def _update(self) -> None:
        canonical = [folder for folder in self._canonical.values() if folder is not None]
        self._unresolved = [folder for folder, canonical in self._canonical.items() if canonical is None]
        if self._canonical or self.roots is not None:
            self.roots = Roots.of(canonical)
        self.shown = tuple(dict.fromkeys((*self._canonical, *canonical)))
        self.on_change()

    def _canonical_at_once(self, folder: str) -> str | None:
        """Return the canonical folder; None if that may mean waiting for a disk, or asking a mapped host."""
        if not self._may_wait:
            return None
        try:
            with shares.wait_for_disk_only():
                return self._resolve_path(folder)
        except shares.NeedsShare:
            return None

    async def _resolve(self, folder: str) -> None:
        canonical = await self._workers.run(CancelToken(), lambda: self._resolve_path(folder), folder)
        if self._canonical.get(folder, "") is None:  # neither closed nor resolved in the meantime
            self._canonical[folder] = canonical
            self._update()

    def _resolve_path(self, folder: str) -> str:
        """Return the resolved folder. If that fails, it contains nothing, but the client is still confined."""
        try:
            canonical = self._fs.resolve(folder)
        except FileOpsError:
            return folder
        if not self._is_folder(canonical):
            self._warn(
                f"the workspace folder {folder} does not exist or is not a folder. Create it, or open another one."
            )
        return canonical

    def _is_folder(self, canonical: str) -> bool:
        """Return False if it is a file or does not exist. A path that cannot be checked counts as a folder."""
        try:
            self._fs.stat(canonical)
        except (FileOpsError, PathMoved):  # a folder is IsDirectory
            return True
        return False


def own_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # it has been removed
        return "/"
