"""Port of the daemon: what its clients share, and what serves one of them."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from fileops.attach.handshake import AttachRequest, Hook
from fileops.rpc.standard_io import ServedSession


class SharedService(Protocol):
    """What the clients share. Belongs to the event loop, except `close`."""

    def open_session(self, attachment: AttachRequest, name: str, for_reading: int, for_writing: int) -> ServedSession:
        """Create what serves one client over these descriptors. Raises: BadRequest, if its options cannot be served."""
        ...

    def leave(self, name: str) -> None:
        """Forget a client whose session has ended."""
        ...

    def describe(self) -> Sequence[Mapping[str, object]]:
        """Describe the clients: see daemon.connections."""
        ...

    def waiting_reviews(self) -> Sequence[Mapping[str, object]]:
        """Describe the waiting reviews, oldest first, as `status --json` prints them: without texts."""
        ...

    def list_unsettled(self) -> Sequence[Mapping[str, object]]:
        """Describe the journals of dead processes that cannot be ended yet: `{journal, reason, n_files}`."""
        ...

    async def language_servers(self) -> Sequence[Mapping[str, object]]:
        """Describe the language servers that were started: see model.diagnostics.LanguageServerStatus."""
        ...

    async def notices(self, hook: Hook) -> Sequence[str]:
        """Take what should be reported to a hook's session now; empty if the session is unknown."""
        ...

    async def note_views(self, hook: Hook, file_paths: Sequence[str], output: str) -> Sequence[str]:
        """Count what a shell command's output has shown of these files as read by a hook's session.

        Returns texts about the unsaved text of these files, for a session whose host's own tools are guarded.
        """
        ...

    async def reset(self, hook: Hook) -> None:
        """Forget what a hook's session has read."""
        ...

    async def record(self, hook: Hook, report: Mapping[str, object]) -> None:
        """Record that a turn or a command of a hook's session begins or ends. Raises: BadRequest."""
        ...

    async def companion(self, hook: Hook, body: Mapping[str, object]) -> Mapping[str, object]:
        """Return the answer for a hook about its host's own tools: see docs/protocol/companion.md."""
        ...

    def describe_guarded(self) -> Sequence[Mapping[str, object]]:
        """Describe the sessions whose host's own tools are guarded by hooks."""
        ...

    def n_hooked(self) -> int:
        """Return how many hosts are connected by their hooks: while there are some, the daemon does not end."""
        ...

    def close(self) -> None:
        """Finish the commits in progress. Blocks."""
        ...
