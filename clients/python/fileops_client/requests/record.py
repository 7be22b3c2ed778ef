"""Requests about the record: who changed what, and rewinds."""

from collections.abc import Iterable
from typing import Literal

import msgspec

from fileops_client.author import AuthorKind
from fileops_client.requests.sender import FilePath, Sender, given, path_of, path_or_none
from fileops_client.rewind import Rewind
from fileops_client.values import BlamedLines, Keep, Log, RecordedChange, RecordedFolder, RecordItem, UndoneKeep, Unkept


class RecordRequests(Sender):
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
        """Return who changed what, newest first, by default the newest 100 changes.

        file_path: a file or a folder. since: seconds since the epoch. before: an entry id: only older ones.
        """
        params = given(
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
        """Return one change, with its diff and texts."""
        return msgspec.convert(await self.request("fileops/entry", {"entry_id": entry_id}), RecordedChange)

    async def record_status(self, root: FilePath | None = None) -> tuple[RecordedFolder, ...]:
        """Return which folders are recorded, and how far that is; with a root only the one that contains it."""
        params = given(root=None if root is None else path_of(root))
        answer = await self.request("fileops/recordStatus", params)
        return msgspec.convert(answer["folders"], tuple[RecordedFolder, ...])

    async def record_item(self, id: str) -> RecordItem:  # noqa: A002
        """Return the entry, command, turn or rewind with this id prefix.

        Raises: ResponseError, unless there is exactly one.
        """
        return msgspec.convert(await self.request("fileops/recordItem", {"id": id}), RecordItem)

    async def blame(self, file_path: FilePath) -> tuple[BlamedLines, ...]:
        """Return which entry last changed each line of the current content, top to bottom."""
        answer = await self.request("fileops/blame", {"file_path": path_of(file_path)})
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

        root: in this folder; without it and `file_path`, in the client's folders.
        """
        params = given(
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
        """Record that your user wants these changes. `undo_keep` undoes it."""
        params = given(
            entry_ids=None if entry_ids is None else list(entry_ids),
            change_ids=None if change_ids is None else list(change_ids),
            file_path=path_or_none(file_path),
            turn_id=turn_id,
            session_id=session_id,
            all=all,
        )
        return msgspec.convert(await self.request("fileops/keep", params), Keep)

    async def undo_keep(self, keep_id: str) -> UndoneKeep:
        """Undo a keep. Raises: ResponseError, if there is none with this id."""
        return msgspec.convert(await self.request("fileops/undoKeep", {"keep_id": keep_id}), UndoneKeep)

    async def forget_record(self, *, file_path: FilePath | None = None, all: bool | None = None) -> int:  # noqa: A002
        """Delete what is recorded of a file or folder, or everything; return the number of entries.

        They cannot be undone then.
        """
        params = given(file_path=path_or_none(file_path), all=all)
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
        by_session: str | None = None,
        approved: bool | None = None,
        reason: str | None = None,
        timeout_s: float | None = None,
    ) -> Rewind:
        """Undo what one author did, in all files, and keep what others wrote; for a rewind: redo.

        Name exactly one target, an id or several. since: only changes made since then, in seconds since the epoch.
        plan: of a preview (`dry_run`), which must still hold. on_conflict: "fail" undoes nothing if something would be
        left. by_session: the session that asks. approved: your user has requested or confirmed it. reason: your user's,
        in one line, for the agents whose changes are undone. Failures are in the result's `error`.
        """
        params = given(
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
            by_session=by_session,
            approved=approved,
            reason=reason,
        )
        answer = await self.request("fileops/rewind", params, timeout_s=timeout_s)
        return msgspec.convert({**answer["details"], "output": answer["output"], "error": answer.get("error")}, Rewind)
