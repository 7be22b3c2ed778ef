"""Requests about approval, the history of applied edits, and undo."""

from abc import abstractmethod
from typing import Literal

import msgspec

from fileops_client.requests.sender import FilePath, Sender, drop_none, path_or_none
from fileops_client.tool_result import ToolResult
from fileops_client.values import HistoryEntry

ApprovalMode = Literal["default", "auto_edit", "yolo"]


class HistoryRequests(Sender):
    @property
    @abstractmethod
    def own_session_id(self) -> str:
        """The session of requests that name none."""

    async def approval_mode(self, *, session_id: str | None = None) -> ApprovalMode:
        """Return when the user is asked about edits of the session.

        Args:
            session_id: by default this client's session.
        """
        return (await self.request("fileops/approvalMode", drop_none(session_id=session_id)))["mode"]

    async def set_approval_mode(self, mode: ApprovalMode, *, session_id: str | None = None) -> None:
        """Set when the user is asked about edits of the session.

        Args:
            mode: "default": before each edit; "auto_edit": only for protected files and files with several hard links;
                "yolo": never. Nobody is asked if this client cannot ask (`confirm_edit`).
            session_id: by default this client's session.

        Raises: ResponseError if the client may not set it, as an agent of a shared daemon.
        """
        await self.request("fileops/setApprovalMode", drop_none(mode=mode, session_id=session_id))

    async def history(
        self, *, file_path: FilePath | None = None, session_id: str | None = None, limit: int | None = None
    ) -> tuple[HistoryEntry, ...]:
        """Return applied edits, newest first.

        Args:
            file_path: absolute; only edits of this file.
            session_id: only edits of this session; by default of all.
            limit: at most so many; by default all that are kept.
        """
        path = path_or_none(file_path)
        answer = await self.request("fileops/history", drop_none(file_path=path, session_id=session_id, limit=limit))
        return msgspec.convert(answer["edits"], tuple[HistoryEntry, ...])

    async def undo(
        self,
        *,
        edit_id: str | None = None,
        set_id: str | None = None,
        file_path: FilePath | None = None,
        session_id: str | None = None,
        dry_run: bool | None = None,
        approved: bool | None = None,
        timeout_s: float | None = None,
    ) -> ToolResult:
        """Undo one edit, one change set, or all edits of a session. What others wrote since stays.

        Args:
            edit_id: the one edit, from `details["edit_id"]` or `history`.
            set_id: the one change set, from `details["set_id"]`.
            file_path: absolute; of a session, only its edits of this file.
            session_id: all edits of this session; by default, without an id, of this client's session.
            dry_run: plan it and write nothing; the result has the diff.
            approved: your user has requested or confirmed it, so the daemon asks nobody.
            timeout_s: seconds until the request is cancelled; by default the client's `timeout_s`.

        Codes: `undo_conflict` (nothing was undone; `details["reason"]` says why), `unknown_target`, `rejected`, and
        those of an edit.
        """
        path = path_or_none(file_path)
        if edit_id is None and set_id is None and session_id is None:
            session_id = self.own_session_id
        params = drop_none(
            edit_id=edit_id, set_id=set_id, file_path=path, session_id=session_id, dry_run=dry_run, approved=approved
        )
        return await self._tool("fileops/undo", params, timeout_s)
