"""Requests about the record: who changed what, and rewinds."""

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from fileops_client.author import AuthorKind
from fileops_client.requests.sender import FilePath, Sender, drop_none, path_of, path_or_none
from fileops_client.rewind import Rewind
from fileops_client.values import BlamedLines, Keep, Log, RecordedChange, RecordedFolder, RecordItem, UndoneKeep, Unkept


class RecordRequests(Sender):
    """Who changed what in the folders that a shared daemon records, and how to take one author's part back.

    All raise what `FileOpsClient.request` raises; ResponseError also if the folder is not recorded, or if the client
    may not ask, as an agent of a shared daemon for most of them.
    """

    async def log(
        self,
        *,
        root: FilePath | None = None,
        file_path: FilePath | None = None,
        session_id: str | None = None,
        turn_id: str | None = None,
        command_id: str | None = None,
        by: AuthorKind | None = None,
        since: float | None = None,
        limit: int | None = None,
        before: str | None = None,
    ) -> Log:
        """Return who changed what, newest first.

        Args:
            root: an absolute folder; by default this client's folders.
            file_path: absolute; only changes of this file, or in this folder.
            session_id: only changes of this session.
            turn_id: only changes of this turn.
            command_id: only changes of this command.
            by: only changes of this kind of author.
            since: only changes since then, in seconds since the epoch.
            limit: at most so many; by default 100.
            before: an entry id; only changes older than it, for the next page.
        """
        params = drop_none(
            root=None if root is None else path_of(root),
            file_path=None if file_path is None else path_of(file_path),
            session_id=session_id,
            turn_id=turn_id,
            command_id=command_id,
            by=by,
            since=since,
            limit=limit,
            before=before,
        )
        return msgspec.convert(await self.request("fileops/log", params), Log)

    async def entry(self, entry_id: str) -> RecordedChange:
        """Return one change, with its diff and texts.

        Args:
            entry_id: its whole id.

        Raises: ResponseError if there is none.
        """
        return msgspec.convert(await self.request("fileops/entry", {"entry_id": entry_id}), RecordedChange)

    async def record_status(self, root: FilePath | None = None) -> tuple[RecordedFolder, ...]:
        """Return which folders are recorded, and how much of each is read.

        Args:
            root: an absolute folder; only the recorded folder that contains it. By default all.
        """
        params = drop_none(root=None if root is None else path_of(root))
        answer = await self.request("fileops/recordStatus", params)
        return msgspec.convert(answer["folders"], tuple[RecordedFolder, ...])

    async def record_item(self, id: str) -> RecordItem:  # noqa: A002
        """Return the entry, command, turn or rewind with this id.

        Args:
            id: its id, or the beginning of it.

        Raises: ResponseError unless there is exactly one.
        """
        return msgspec.convert(await self.request("fileops/recordItem", {"id": id}), RecordItem)

    async def blame(self, file_path: FilePath, *, cells: bool = False) -> tuple[BlamedLines, ...]:
        """Return who wrote each line of the current content, top to bottom, in runs of lines.

        Args:
            file_path: absolute.
            cells: of a notebook, the lines of its sources, as a read by cells numbers them.
        """
        params: dict[str, Any] = {"file_path": path_of(file_path), **({"cells": True} if cells else {})}
        answer = await self.request("fileops/blame", params)
        return msgspec.convert(answer["lines"], tuple[BlamedLines, ...])

    async def unkept(
        self,
        *,
        file_path: FilePath | None = None,
        root: FilePath | None = None,
        session_id: str | None = None,
        turn_id: str | None = None,
    ) -> Unkept:
        """Return the places that agents changed and that your user has not kept yet.

        Args:
            file_path: absolute; only places in this file.
            root: an absolute folder; only places in it. Without it and `file_path`, in this client's folders.
            session_id: only places of this session.
            turn_id: only places of this turn.
        """
        params = drop_none(
            file_path=path_or_none(file_path), root=path_or_none(root), session_id=session_id, turn_id=turn_id
        )
        return msgspec.convert(await self.request("fileops/unkept", params), Unkept)

    async def keep(
        self,
        *,
        entry_ids: Iterable[str] | None = None,
        change_ids: Iterable[str] | None = None,
        file_path: FilePath | None = None,
        turn_id: str | None = None,
        session_id: str | None = None,
        all: bool | None = None,  # noqa: A002
    ) -> Keep:
        """Record that your user wants these changes, so that they leave the list of `unkept`. `undo_keep` undoes it.

        Args: name what is kept in one way:
            entry_ids: all places of these entries.
            change_ids: these places, from `unkept`.
            file_path: absolute; all places in this file.
            turn_id: all places of this turn.
            session_id: all places of this session.
            all: True: all places in this client's folders.
        """
        params = drop_none(
            entry_ids=None if entry_ids is None else list(entry_ids),
            change_ids=None if change_ids is None else list(change_ids),
            file_path=path_or_none(file_path),
            turn_id=turn_id,
            session_id=session_id,
            all=all,
        )
        return msgspec.convert(await self.request("fileops/keep", params), Keep)

    async def undo_keep(self, keep_id: str | None = None) -> UndoneKeep:
        """Undo a keep: its places are listed by `unkept` again.

        Args:
            keep_id: from the result of `keep`; None: the newest one in this client's folders.

        Raises: ResponseError if there is none.
        """
        return msgspec.convert(await self.request("fileops/undoKeep", drop_none(keep_id=keep_id)), UndoneKeep)

    async def forget_record(self, *, file_path: FilePath | None = None, all: bool | None = None) -> int:  # noqa: A002
        """Delete what is recorded; return the number of entries. They cannot be undone then.

        Args:
            file_path: absolute; of this file, or in this folder.
            all: True: everything.
        """
        params = drop_none(file_path=path_or_none(file_path), all=all)
        return (await self.request("fileops/forgetRecord", params))["n_entries"]

    async def rewind(
        self,
        *,
        entry_id: str | None = None,
        entry_ids: Iterable[str] | None = None,
        change_ids: Iterable[str] | None = None,
        command_id: str | None = None,
        turn_id: str | None = None,
        since_turn: str | None = None,
        all_since_turn: str | None = None,
        session_id: str | None = None,
        rewind_id: str | None = None,
        paths: Iterable[FilePath] | None = None,
        since: float | None = None,
        dry_run: bool | None = None,
        plan: str | None = None,
        on_conflict: Literal["leave", "fail"] | None = None,
        include: Iterable[Literal["unsure"]] | None = None,
        undecided: bool | None = None,
        by_session: str | None = None,
        approved: bool | None = None,
        reason: str | None = None,
        timeout_s: float | None = None,
    ) -> Rewind:
        """Undo what one author did, in all files, and keep what others wrote. Failures are in the result's `error`.

        Args: name exactly one target:
            entry_id: one entry.
            entry_ids: several entries.
            change_ids: places, from `unkept`.
            command_id: all that a command changed.
            turn_id: all that a turn changed.
            since_turn: what the turn's session changed in this turn and later.
            all_since_turn: what all agents changed since this turn began.
            session_id: all that a session changed.
            rewind_id: redo: take this rewind back.

            paths: absolute files or folders; only changes in them.
            since: only changes made since then, in seconds since the epoch.
            dry_run: a preview; nothing is written.
            plan: of a preview; if it does not hold any more, the error is `plan_changed`.
            on_conflict: "leave" (default) lists what others changed since; "fail" then undoes nothing at all.
            include: ("unsure",): changes whose author is not certain, too.
            undecided: True: of a command, turn or session only what is neither kept nor committed.
            by_session: the session that asks; by default the user does.
            approved: your user has requested or confirmed it, so the daemon asks nobody.
            reason: your user's, in one line, for the agents whose changes are undone.
            timeout_s: seconds until the request is cancelled; by default the client's `timeout_s`.

        Errors: `unknown_target`, `plan_changed`, `too_many_files` (over 1,000), `not_recorded`, `undo_conflict`, and
        those of an edit; nothing was written then, except where `still_undone` names files.
        """
        params = drop_none(
            entry_id=entry_id,
            entry_ids=None if entry_ids is None else list(entry_ids),
            change_ids=None if change_ids is None else list(change_ids),
            command_id=command_id,
            turn_id=turn_id,
            since_turn=since_turn,
            all_since_turn=all_since_turn,
            session_id=session_id,
            rewind_id=rewind_id,
            paths=None if paths is None else [path_of(path) for path in paths],
            since=since,
            dry_run=dry_run,
            plan=plan,
            on_conflict=on_conflict,
            include=None if include is None else list(include),
            undecided=undecided,
            by_session=by_session,
            approved=approved,
            reason=reason,
        )
        answer = await self.request("fileops/rewind", params, timeout_s=timeout_s)
        return msgspec.convert({**answer["details"], "output": answer["output"], "error": answer.get("error")}, Rewind)
