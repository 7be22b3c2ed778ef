"""The adapters of one client of the service."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from fileops.core.roots import Roots
from fileops.model.settings import ApprovalMode
from fileops.ports import Approver, CommandApprover, Corrector, EventSink, ExecutorChoice
from fileops.service.hub.names import SessionNames
from fileops.telemetry.calls import Sink

if TYPE_CHECKING:
    from fileops.service.hub.sessions import SessionRecord


def nothing() -> None: ...


def ignore(_sentence: str) -> None: ...


class ClientAdapters(Struct, frozen=True, kw_only=True):
    """The adapters of one client. on_closed: called once the client's part has been closed."""

    approver: Approver
    events: EventSink
    corrector: Corrector | None = None
    sinks: tuple[Sink, ...] = ()  # of measured calls
    executor_at: ExecutorChoice | None = None
    command_approver: CommandApprover | None = None
    on_closed: Callable[[], None] = nothing
    warn: Callable[[str], None] = ignore  # shows the user a sentence; called on any thread
    names: SessionNames = SessionNames()
    all_sessions: "Callable[[], Sequence[SessionRecord]]" = tuple
    mode_at: Callable[[str, str], ApprovalMode] | None = None  # of a session, for a path: see Policy
    opened_at: Callable[[str], Roots | None] | None = None  # see Policy
    place: str = ""  # see SharedWorkers.of_client
    is_agent: bool = False  # in a shared daemon: it is shown its own history, and undoes its own edits only
