"""One agent's session as an object: every request of the client that takes a session, bound to its id."""

from collections.abc import Awaitable, Callable, Collection
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast, overload

from fileops_client.events import E, KnownEvent
from fileops_client.requests.changes import ChangeRequests
from fileops_client.requests.commands import CommandRequests
from fileops_client.requests.files import FileRequests
from fileops_client.requests.history import HistoryRequests
from fileops_client.requests.sessions import SessionRequests
from fileops_client.requests.tools import ToolRequests
from fileops_client.requests.turns import TurnRequests
from fileops_client.subscriptions import Listener, Subscription
from fileops_client.values import ToolDefinition

if TYPE_CHECKING:
    from fileops_client._client import FileOpsClient

# Requests that do not concern a session; all other `fileops/*` requests take `session_id`.
WITHOUT_SESSION = frozenset({
    "fileops/tools", "fileops/describe", "fileops/render", "fileops/cellTexts", "fileops/sessions", "fileops/ask",
    "fileops/setAsk", "fileops/reviews", "fileops/decideReview", "fileops/rewind", "fileops/recordItem",
    "fileops/blame", "fileops/forgetRecord", "fileops/unkept", "fileops/keep", "fileops/undoKeep", "fileops/log",
    "fileops/entry", "fileops/recordStatus", "fileops/endCommand",
})  # fmt: skip


class Session(
    FileRequests, ChangeRequests, SessionRequests, HistoryRequests, ToolRequests, CommandRequests, TurnRequests
):
    """What one agent has read and done. Created by `client.session(id)`; `close`, or a `with` block, ends it.

    It has the methods of the client. Where they take `session_id`, this session is the default.
    """

    def __init__(self, client: "FileOpsClient", session_id: str) -> None:
        self.id = session_id
        self.client = client

    def __repr__(self) -> str:
        return f"<Session {self.id!r}>"

    @property
    def own_session_id(self) -> str:
        """The id of this session."""
        return self.id

    async def close(self) -> None:
        """End the session: what it has read and was granted is forgotten. Its edits stay in the history."""
        await self.close_session(self.id)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.client.is_open:
            await self.close()

    async def request(self, method: str, params: Any = None, *, timeout_s: float | None = None) -> Any:
        """Send a request, as `FileOpsClient.request`, with this session's id unless the params name one."""
        if method.startswith("fileops/") and method not in WITHOUT_SESSION:
            params = {"session_id": self.id, **cast("dict[str, Any]", params or {})}
        return await self.client.request(method, params, timeout_s=timeout_s)

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification, as `FileOpsClient.notify`. It names no session."""
        self.client.notify(method, params)

    async def _definitions(self, enabled: Collection[str] | None) -> tuple[ToolDefinition, ...]:
        return await self.client.definitions(enabled)

    def _strategies(self) -> list[str]:
        return self.client.strategies

    @overload
    def on(self, name: type[E], listener: Callable[[E], Awaitable[None] | None]) -> Callable[[], None]: ...

    @overload
    def on(self, name: str, listener: Listener) -> Callable[[], None]: ...

    def on(self, name: str | KnownEvent, listener: Listener) -> Callable[[], None]:
        """Call `listener` with each event of that kind about this session, as `FileOpsClient.on`."""

        def pass_on(event: Any) -> Any:
            return listener(event) if _is_about(event, self.id) else None

        return self.client.on(name if isinstance(name, str) else name.METHOD, pass_on)

    def events(self, *names: str | KnownEvent) -> Subscription:
        """Subscribe to events about this session, as `FileOpsClient.events`."""
        return self.client.events(*names, where=lambda event: _is_about(event, self.id))


def _is_about(event: Any, session_id: str) -> bool:
    """Whether the event names this session, or none at all."""
    return getattr(event, "session_id", session_id) == session_id
