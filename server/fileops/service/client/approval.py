"""Approval of one client's edits: the modes of its sessions, and the questions to its user.

Belongs to the event loop. Sessions are named by their full names.
"""

from functools import partial

from fileops.core.roots import Roots
from fileops.model.approval import Always, ApprovalRequest, Decision, SomeHunks
from fileops.model.events import ApprovalModeChanged
from fileops.model.settings import ApprovalMode, Settings
from fileops.service.client.adapters import ClientAdapters
from fileops.service.client.folders import WorkspaceFolders
from fileops.service.policy import Policy
from fileops.service.sessions import OpenSession
from fileops.telemetry.calls import excluded


class ClientApproval:
    def __init__(
        self,
        client: ClientAdapters,
        settings: Settings,
        modes: dict[str, ApprovalMode],
        folders: WorkspaceFolders,
    ) -> None:
        """Args: modes: those that were set, of the sessions of all clients."""
        self._client, self._settings = client, settings
        self._modes, self._folders = modes, folders

    def mode(self, full_name: str) -> ApprovalMode:
        if (mode := self._modes.get(full_name)) is not None:
            return mode
        settings = self._settings
        if self._client.names.is_own(full_name):
            return settings.approval_mode
        return settings.agents_approval or "default"

    def set_mode(self, full_name: str, mode: ApprovalMode) -> None:
        before = self.mode(full_name)
        self._modes[full_name] = mode
        if mode != before:
            self._client.events.publish(ApprovalModeChanged(session_id=full_name, mode=mode))

    def may_set_mode(self, full_name: str, mode: ApprovalMode) -> bool:
        """An agent may only demand more questions."""
        from fileops.service.hub.approvals import STRICTNESS

        return not self._client.is_agent or STRICTNESS[mode] >= STRICTNESS[self.mode(full_name)]

    def policy(self, full_name: str, session: OpenSession) -> Policy:
        """What holds for the next step of a request of this session."""
        corrector, mode_at = self._client.corrector, self._client.mode_at
        return Policy(
            mode_at=None if mode_at is None else partial(mode_at, full_name),
            opened_at=self._client.opened_at,
            roots=self.edit_roots,
            mode=self._settings.approval_mode if session.is_closed else self.mode(full_name),
            can_ask=self._client.approver.can_ask,
            can_correct=self._settings.correction and corrector is not None and corrector.can_ask,
        )

    @property
    def edit_roots(self) -> Roots | None:
        """Inside which folders the client may edit; None if nothing is confined."""
        return None if self._settings.confine == "off" else self._folders.roots

    async def ask(self, question: ApprovalRequest, full_name: str | None, session: OpenSession) -> Decision:
        """Return the user's decision. If it approves the rest too, the session is asked no more."""
        with excluded():
            decision = await self._client.approver.decide(question)
        if approves_rest(decision) and full_name is not None and not session.is_closed:
            self._stop_asking(full_name)
        return decision

    def _stop_asking(self, full_name: str) -> None:
        unset: ApprovalMode = self._settings.approval_mode if self._client.mode_at is None else "default"
        if self._modes.get(full_name, unset) == "default":
            self._modes[full_name] = "auto_edit"
            self._client.events.publish(ApprovalModeChanged(session_id=full_name, mode="auto_edit"))


def approves_rest(decision: Decision) -> bool:
    return isinstance(decision, Always) or (isinstance(decision, SomeHunks) and decision.is_always)
