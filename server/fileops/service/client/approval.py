"""Approval of one client's edits: the modes of its sessions, and the questions to its user.

Belongs to the event loop. Sessions are identified by their full names.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Self

from fileops.core.approval import is_rule_file
from fileops.core.decision import always_of
from fileops.core.roots import Roots
from fileops.model.approval import Always, ApprovalRequest, Decision, Once
from fileops.model.errors import FileOpsError
from fileops.model.events import ApprovalModeChanged
from fileops.model.files import Snapshot
from fileops.model.sessions import SessionName
from fileops.model.settings import ApprovalMode, Settings
from fileops.service.client.adapters import ClientAdapters
from fileops.service.client.folders import WorkspaceFolders
from fileops.service.hub.ask import DEFAULT_ASK, MODE_OF
from fileops.service.hub.modes import STRICTNESS, SessionModes, strictest
from fileops.service.policy import Policy
from fileops.service.review.client import ReviewAsker
from fileops.service.review.queue import WaitingReview
from fileops.service.sessions import OpenSession
from fileops.telemetry.calls import exclude_wait


class ClientApproval:
    def __init__(
        self,
        client: ClientAdapters,
        settings: Settings,
        modes: SessionModes,
        folders: WorkspaceFolders,
        rules_of: Callable[[Snapshot], str | None],
    ) -> None:
        """Args: modes: of all clients' sessions. rules_of: see Policy."""
        self._rules_of = rules_of
        self._client = client
        self._settings = settings
        self._modes = modes
        self._folders = folders
        self._n_waiting = 0
        self.on_wait: Callable[[], None] = lambda: None  # called when `n_waiting` increases

    @property
    def n_waiting(self) -> int:
        """The number of requests that wait for a person's decision."""
        return self._n_waiting

    @contextmanager
    def count_as_waiting(self) -> Generator[None]:
        self._n_waiting += 1
        self.on_wait()
        try:
            yield
        finally:
            self._n_waiting -= 1

    def mode(self, full_name: SessionName) -> ApprovalMode:
        """Return the mode of a session in this client's folders."""
        client, settings, folders = self._client, self._settings, self._folders.shown
        if client.routing is not None:
            return client.routing.mode_in(full_name, folders)
        decided = self._modes.of(full_name)
        if client.names.is_own(full_name):
            return decided.in_place_of(settings.approval_mode, is_approved=decided.is_approved_by_own_user)
        is_approved = bool(folders) and all(map(decided.is_approved_in, folders))
        unset = MODE_OF[DEFAULT_ASK if client.ask is None else client.ask.current]
        return decided.in_place_of(unset, is_approved=is_approved)

    def set_mode(self, full_name: SessionName, mode: ApprovalMode) -> None:
        """Set the mode that this client's user has chosen, or that an agent demands for itself."""
        before = self.mode(full_name)
        if self._client.is_agent:
            self._modes.demand(full_name, mode)
        else:
            self._modes.choose(full_name, mode)
        if mode != before:
            self._client.events.publish(ApprovalModeChanged(session_id=full_name, mode=mode))

    def may_set_mode(self, full_name: SessionName, mode: ApprovalMode) -> bool:
        """Return whether the mode may be set: an agent may only ask for more questions than now."""
        return not self._client.is_agent or STRICTNESS[mode] >= STRICTNESS[self.mode(full_name)]

    def policy(self, full_name: SessionName, session: OpenSession) -> Policy:
        """Return the policy for the next step of a request of this session."""
        corrector, routing = self._client.corrector, self._client.routing
        is_own_mode = routing is None and not session.is_closed
        return Policy(
            mode_at=None if routing is None else partial(routing.mode_at, full_name),
            opened_at=self._opened_at,
            is_agent=not self._client.is_editor,
            rules_of=self._rules_of,
            roots=self.edit_roots,
            mode=self.mode(full_name) if is_own_mode else self._settings.approval_mode,
            can_ask=self._client.asker.can_ask(),
            can_correct=self._settings.correction and corrector is not None and corrector.can_ask,
        )

    @property
    def _opened_at(self) -> Callable[[str], Roots | None] | None:
        """Return the function that says which folders a user has opened, see Policy.

        An agent's own folders do not count.
        """
        if self._client.routing is not None:
            return self._client.routing.find_roots
        return (lambda _path: None) if self._client.is_agent else None

    @property
    def edit_roots(self) -> Roots | None:
        """Return the folders in which the client may edit; None if nothing is confined."""
        return None if self._settings.confine == "off" else self._folders.roots

    async def know_folders(self) -> None:
        """Wait until it is known where the client's folders lead, so that `policy` allows files inside them."""
        await self._folders.resolve_all()

    def begin_asking(self, full_name: SessionName | None, session: OpenSession) -> "Asking":
        """Return the asker for one request of this session; None: of the client's user, without a session."""
        return Asking(self, self._client.asker, full_name, session)

    def is_settled(self, question: ApprovalRequest, full_name: SessionName | None, session: OpenSession) -> bool:
        """Return whether "always" was said after the edit was planned, so that no person need be asked."""
        if any(map(is_rule_file, question.paths)):
            return False
        mode_at = None if full_name is None else self.policy(full_name, session).mode_at
        mode = "default" if mode_at is None else strictest(map(mode_at, question.paths))
        return mode == "yolo" or (mode == "auto_edit" and not question.is_protected)

    def note_decision(self, decision: Decision, full_name: SessionName | None, session: OpenSession) -> None:
        """Take note of a decision. If it also approves later edits, the session is not asked about those."""
        always = always_of(decision)
        if always is not None and full_name is not None and not session.is_closed:
            self._stop_asking(full_name, always)

    def _stop_asking(self, full_name: SessionName, always: Always) -> None:
        if self._client.routing is None and self.mode(full_name) != "default":
            return  # the question was about a protected file
        if self._modes.approve_rest(full_name, always.folders):
            self._client.events.publish(ApprovalModeChanged(session_id=full_name, mode=self.mode(full_name)))


class Asking:
    """The review of one request, if a person has to be asked. Leaving the context ends the review."""

    def __init__(
        self, approval: ClientApproval, asker: ReviewAsker, full_name: SessionName | None, session: OpenSession
    ) -> None:
        self._approval = approval
        self._asker = asker
        self._full_name = full_name
        self._session = session
        self._review: WaitingReview | None = None
        self._error: FileOpsError | None = None

    async def decide(self, question: ApprovalRequest) -> Decision:
        """Return the decision. A second question of the request reopens its review.

        "Always" settles only the first question. A second one means that the file has changed near what was decided,
        and the person has not seen that.
        """
        if self._review is None and self._approval.is_settled(question, self._full_name, self._session):
            return Once()
        if self._review is None:
            self._review = self._asker.open(self._full_name or question.session_id)
        with exclude_wait(), self._approval.count_as_waiting():
            decision = await self._review.decide(question)
        self._approval.note_decision(decision, self._full_name, self._session)
        return decision

    def settle(self, error: FileOpsError | None) -> None:
        """Record how the request ended: it was written, or `error` says why not."""
        self._error = error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, fault: object, trace: object) -> None:
        if self._review is not None and fault is None:
            self._review.close(self._error)
        elif self._review is not None:
            self._review.withdraw()
