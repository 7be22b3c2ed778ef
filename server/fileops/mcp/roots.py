"""The folders in which an agent may edit: where they come from, and which folders cannot be roots."""

import asyncio
import logging
import os
import pwd
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from fileops.core.uris import path_of
from fileops.mcp.protocol import ROOTS_LIST, RootsResult
from fileops.rpc.decode import InvalidParams, decode
from fileops.rpc.outgoing import ClientGone, ClientRefused, OutgoingRequests

log = logging.getLogger(__name__)

OnDisk = Callable[[Callable[[], list[str]]], Awaitable[list[str]]]

ROOTS_S = 5.0  # until the working folder replaces the answer to `roots/list`


class ClientRoots:
    """The roots of one client, found once, and again when the client says that they have changed."""

    def __init__(
        self,
        fixed: list[str] | None,
        environ: Mapping[str, str],
        cwd: str | None,
        outgoing: Callable[[], OutgoingRequests],
        on_set: Callable[[Sequence[str]], None],
        run_on_disk: OnDisk,
    ) -> None:
        """Take fixed: see `find_fixed_roots`; cwd: see `working_folder`.

        Args: on_set: called with the usable roots, or with none if the last was closed. run_on_disk: runs work that may
        wait for a disk; a root on a mount that hangs then delays only its own client's calls.
        """
        self._run_on_disk = run_on_disk
        self._turn = asyncio.Lock()
        self._setting = asyncio.Lock()  # in order: older roots may take the disk longer
        self._fixed = fixed
        self._environ = environ
        self._cwd = cwd
        self._outgoing = outgoing
        self._on_set = on_set
        self.folders: list[str] = []
        self._is_set = False  # whether there was a root
        self._has_named = False  # whether the client has named a folder of this machine
        self._finding: asyncio.Future[None] | None = None
        self._finding_again: asyncio.Task[None] | None = None

    async def wait_until_known(self, *, asks: bool) -> None:
        """Wait until the roots are known. Callers continue in the order in which they came.

        Args: asks: see `find`.
        """
        async with self._turn:
            await asyncio.shield(self.find(asks=asks))
            if self._finding_again is not None and self._setting.locked():
                await asyncio.shield(self._finding_again)

    def find(self, *, asks: bool) -> "asyncio.Future[None]":
        """Start to find the roots, once. Args: asks: whether the client can be asked for them."""
        if self._finding is None:
            self._finding = asyncio.get_running_loop().create_task(self._find(asks=asks))
        return self._finding

    def find_again(self) -> None:
        """Ask a client that can be asked whether its roots have changed."""
        self._finding_again = asyncio.get_running_loop().create_task(self._ask_again())

    async def _find(self, *, asks: bool) -> None:
        roots = await self._ask() if self._fixed is None and asks else self._fixed
        await self._set(roots or working_folder(self._cwd))

    async def _ask_again(self) -> None:
        """Replace the roots with those that the client names now.

        A client that named folders before and names none now has closed them. An empty list from a client that never
        named any means nothing, and its working folder stays the root. An unreadable answer changes nothing.
        """
        await self.find(asks=True)
        if self._fixed is not None:
            return
        had_named = self._has_named
        roots = await self._ask()
        is_latest = self._finding_again is asyncio.current_task()  # otherwise a newer question is pending
        if is_latest and roots is not None and (roots or had_named):
            await self._set(roots)

    async def _ask(self) -> list[str] | None:
        """Return the folders of this machine that the client names; None without a readable answer."""
        try:
            roots = roots_of_answer(await self._outgoing().ask(ROOTS_LIST, None, ROOTS_S))
        except (TimeoutError, ClientGone, ClientRefused) as fault:
            log.info("the client names no roots: %s", fault)
            return None
        self._has_named = self._has_named or bool(roots)
        return roots

    async def _set(self, roots: list[str]) -> None:
        def usable() -> list[str]:
            return [root for root in roots if is_usable(root, self._environ)]

        async with self._setting:
            self.folders = await self._run_on_disk(usable)
            if self.folders or self._is_set:
                self._on_set(self.folders)
            self._is_set = self._is_set or bool(self.folders)
        log.info("edits are confined to %s", ", ".join(self.folders) or "no folder")


def find_fixed_roots(given: Iterable[str], environ: Mapping[str, str]) -> list[str] | None:
    """Return the roots that are known without asking the client: `--root`, or Claude Code's project; or None."""
    roots = list(given)
    if roots:
        return roots
    project = environ.get("CLAUDE_PROJECT_DIR", "")
    return [project] if project.startswith("/") else None


def roots_of_answer(answer: object) -> list[str] | None:
    """Return the folders of this machine in the answer to `roots/list`; None if it cannot be read."""
    try:
        named = decode(answer, RootsResult).roots
    except InvalidParams:
        return None
    return [path for root in named if (path := path_of(root.uri)) is not None]


def is_usable(folder: str, environ: Mapping[str, str]) -> bool:
    """Return whether a folder can be a root.

    `/`, the home folder and the folders above it hold far more than a project.
    """
    canonical = os.path.realpath(folder)
    return not any(_is_above(canonical, home) for home in _home_folders(environ))


def _is_above(folder: str, home: str) -> bool:
    """Return whether a folder is the home folder or above it, however it is spelled."""
    if os.path.commonpath([folder, home]) == folder:
        return True
    with suppress(OSError):  # one of them does not exist
        while home != "/":
            if os.path.samefile(folder, home):
                return True
            home = os.path.dirname(home)
    return False


def _home_folders(environ: Mapping[str, str]) -> list[str]:
    homes = ["/"]
    if environ.get("HOME", "").startswith("/"):
        homes.append(os.path.realpath(environ["HOME"]))
    with suppress(KeyError):  # the user database does not know this user
        homes.append(os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir))
    return homes


def working_folder(cwd: str | None) -> list[str]:
    """Return the folder in which the host started its server. Args: cwd: from the client; None to ask this process."""
    try:
        return [cwd or os.getcwd()]
    except FileNotFoundError:  # it was removed
        return []
