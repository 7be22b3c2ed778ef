"""Which folders are to be recorded, because clients use them; and which of them are watched, for those who wait."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Collection, Sequence
from typing import Literal

from fileops.core.roots import is_inside

MAX_NESTED = 20  # repositories in one folder
_WATCHED_WITHIN_S = 2.0  # how long a command waits for its folder's watches

Joined = Literal["new", "known", "refused", "refused_again"]


class FolderClients:
    """The clients of each folder, for at most `max_folders`. Any thread may call any method.

    A folder without clients stays for another kept_s: editors often restart.
    """

    def __init__(self, max_folders: int, kept_s: float) -> None:
        self.max_folders, self._kept_s = max_folders, kept_s
        self._lock = threading.Lock()  # guards the rest
        self._clients: dict[str, set[str]] = {}
        self._left_at: dict[str, float] = {}  # monotonic
        self._refused: dict[str, set[str]] = {}  # the clients of folders beyond the limit
        self._nested: dict[str, set[str]] = {}  # the repositories in each folder

    @property
    def roots(self) -> frozenset[str]:
        with self._lock:
            return frozenset(self._clients)

    @property
    def refused(self) -> tuple[str, ...]:
        """The folders beyond the limit."""
        with self._lock:
            return tuple(self._refused)

    def join(self, root: str, client: str) -> Joined:
        """Add a client of a folder. Beyond the limit it is refused, and admitted once another folder is left."""
        with self._lock:
            if root not in self._clients and len(self._clients) >= self.max_folders:
                is_first = root not in self._refused
                self._refused.setdefault(root, set()).add(client)
                return "refused" if is_first else "refused_again"
            is_known = root in self._clients
            self._join(root, client)
            return "known" if is_known else "new"

    def join_nested(self, root: str, nested: str) -> Joined:
        """Give a repository in a folder the same clients."""
        with self._lock:
            known = self._nested.setdefault(root, set())
            if nested in known:
                return "known"
            is_known = nested in self._clients
            if len(known) >= MAX_NESTED or (not is_known and len(self._clients) >= self.max_folders):
                return "refused"
            known.add(nested)
            self._clients.setdefault(nested, set()).update(self._clients.get(root, ()))
            return "known" if is_known else "new"

    def leave(self, client: str) -> None:
        with self._lock:
            for root, clients in self._clients.items():
                if client in clients:
                    clients.discard(client)
                    if not clients:
                        self._left_at[root] = time.monotonic()
            for root, clients in tuple(self._refused.items()):
                clients.discard(client)
                if not clients:
                    del self._refused[root]

    def end_left(self) -> tuple[list[str], tuple[str, ...]]:
        """Remove the folders that have been left for long enough, and admit others. Returns both."""
        with self._lock:
            now = time.monotonic()
            ended = [root for root, left_at in self._left_at.items() if now - left_at >= self._kept_s]
            for root in ended:
                del self._left_at[root], self._clients[root]
                self._nested.pop(root, None)
            n_free = max(self.max_folders - len(self._clients), 0)
            admitted = tuple(self._refused)[:n_free]
            for root in admitted:
                for client in self._refused.pop(root):
                    self._join(root, client)
        return ended, admitted

    def _join(self, root: str, client: str) -> None:
        for joined in (root, *self._nested.get(root, ())):
            self._clients.setdefault(joined, set()).add(client)
            self._left_at.pop(joined, None)


class WatchedFolders:
    """The folders whose watches are set up, and those that are expected. Any thread may call any method."""

    def __init__(self) -> None:
        self._roots: frozenset[str] = frozenset()  # replaced by the recorder's thread
        self._lock = threading.Lock()
        self._expected: dict[object, str] = {}  # guarded by _lock
        self._on_change: list[Callable[[], None]] = []  # guarded by _lock

    def contains(self, path: str) -> bool:
        return any(is_inside(root, path) for root in self._roots)

    def expect(self, folder: str) -> Callable[[], None]:
        """Announce that a folder will be recorded. Returns a function to call once its clients are known."""
        token = object()
        with self._lock:
            self._expected[token] = folder

        def on_arrival() -> None:
            with self._lock:
                self._expected.pop(token, None)
            self.note_change()

        return on_arrival

    def put(self, root: str, *, is_watched: bool) -> None:
        self._roots = self._roots | {root} if is_watched else self._roots - {root}
        self.note_change()

    def note_change(self) -> None:
        """Let those who wait look again."""
        with self._lock:
            waiting = tuple(self._on_change)
        for tell in waiting:
            tell()

    async def wait(self, roots: Sequence[str], recorded: Callable[[], Collection[str] | None]) -> bool:
        """Wait for a short time until those of these folders that will be recorded are watched. False if some are not.

        Args: recorded: returns the folders that are to be recorded; None if none will be any more.
        """
        loop = asyncio.get_running_loop()
        changed = asyncio.Event()

        def tell_loop() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(changed.set)

        with self._lock:
            self._on_change.append(tell_loop)
        try:
            async with asyncio.timeout(_WATCHED_WITHIN_S):
                while self._is_awaited(roots, recorded()):
                    await changed.wait()
                    changed.clear()
        except TimeoutError:
            return False
        finally:
            with self._lock:
                self._on_change.remove(tell_loop)
        return all(any(is_inside(watched, root) for watched in self._roots) for root in roots)

    def _is_awaited(self, roots: Sequence[str], recorded: Collection[str] | None) -> bool:
        if recorded is None:
            return False
        with self._lock:
            awaited = (*self._expected.values(), *(root for root in recorded if root not in self._roots))
        return any(is_inside(root, folder) or is_inside(folder, root) for root in roots for folder in awaited)
