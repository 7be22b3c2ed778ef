"""The adapters of one client of the service."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from fileops.model.files import Snapshot
from fileops.model.record import ByPerson
from fileops.ports import CommandApprover, Corrector, EventSink, ExecutorChoice, ImageDetector
from fileops.service.hub.names import SessionNames
from fileops.service.reading.images import ContentDetector
from fileops.service.review.client import PersonReviews, ReviewAsker
from fileops.telemetry.calls import Sink

if TYPE_CHECKING:
    from fileops.service.client.unreadable import EditorGlobs
    from fileops.service.hub.approvals import AgentRouting
    from fileops.service.hub.ask import ProjectAsk
    from fileops.service.hub.sessions import SessionRecord


def nothing() -> None: ...


def ignore(_sentence: str) -> None: ...


def no_version(_path: str, _snapshot: Snapshot) -> None: ...


class ClientAdapters(Struct, frozen=True, kw_only=True):
    """The adapters of one client. on_closed: called once the client's part has been closed.

    asker: asks about its edits. reviews: what its user decides about, None of an agent.
    """

    asker: ReviewAsker
    reviews: PersonReviews | None = None
    events: EventSink
    corrector: Corrector | None = None
    sinks: tuple[Sink, ...] = ()  # of measured calls
    executor_at: ExecutorChoice | None = None
    image_detector: ImageDetector = ContentDetector()
    command_approver: CommandApprover | None = None
    on_closed: Callable[[], None] = nothing
    warn: Callable[[str], None] = ignore  # shows the user a sentence; called on any thread
    names: SessionNames = SessionNames()
    all_sessions: "Callable[[], Sequence[SessionRecord]]" = tuple
    routing: "AgentRouting | None" = None  # of an agent in a shared daemon, else None
    place: str = ""  # see SharedWorkers.of_client
    ask: "ProjectAsk | None" = None  # of an editor in a shared daemon, else None
    is_editor: bool = False  # in a shared daemon: its user reads and edits what agents must not
    editor_globs: "EditorGlobs | None" = None  # of an agent in a shared daemon, else None
    version_of: Callable[[str, Snapshot], int | None] = no_version  # of its open document, if that has this text
    person: ByPerson = ByPerson(session_id="", label="a person")  # what the record calls its user
    # The program of an agent below which the client was started, so that no person acts by it; None: it is a person's.
    agent_above: "Callable[[], str | None]" = lambda: None
    is_agent: bool = False  # no user gives its requests: it sees and undoes its own edits only, and approves none
