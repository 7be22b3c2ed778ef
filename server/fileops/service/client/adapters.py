"""Everything that the service needs from one client, as one value."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from fileops.model.files import Snapshot
from fileops.model.record import ByPerson
from fileops.model.sessions import SessionName
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


def do_nothing() -> None: ...


def ignore(_sentence: str) -> None: ...


def no_version(_path: str, _snapshot: Snapshot) -> None: ...


class ClientAdapters(Struct, frozen=True, kw_only=True):
    """The adapters of one client. on_closed: called after the client's part has been closed.

    asker: asks about the client's edits. reviews: what its user decides; None for an agent.
    """

    asker: ReviewAsker
    reviews: PersonReviews | None = None
    events: EventSink
    corrector: Corrector | None = None
    sinks: tuple[Sink, ...] = ()  # for measured calls
    executor_at: ExecutorChoice | None = None
    image_detector: ImageDetector = ContentDetector()
    command_approver: CommandApprover | None = None
    on_closed: Callable[[], None] = do_nothing
    warn: Callable[[str], None] = ignore  # shows the user a message; called on any thread
    names: SessionNames = SessionNames()
    all_sessions: "Callable[[], Sequence[SessionRecord]]" = tuple
    routing: "AgentRouting | None" = None  # of an agent in a shared daemon, else None
    place: str = ""  # see SharedWorkers.of_client
    ask: "ProjectAsk | None" = None  # of an editor in a shared daemon, else None
    is_editor: bool = False  # in a shared daemon: may use files that agents must not
    editor_globs: "EditorGlobs | None" = None  # of an agent in a shared daemon, else None
    version_of: Callable[[str, Snapshot], int | None] = no_version  # of its open document, if that has this text
    person: ByPerson = ByPerson(session_id="", label="a person")  # its user's name in the record
    # The agent's program that started this client, if any: then no person acts through the client.
    agent_above: "Callable[[], str | None]" = lambda: None
    umask: int | None = None  # for new files; None: that of this process
    label_of: Callable[[SessionName], str] = str  # the name for people of a session of this client; from any thread
    is_agent: bool = False  # sees and undoes only its own edits, approves none
