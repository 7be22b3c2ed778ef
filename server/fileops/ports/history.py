"""The ports to the record: what is notified of edits, what is known of changes, and what people have decided."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from fileops.model.commits import Commit, IntendedWrite
from fileops.model.record import (
    CommandRecord,
    Contents,
    CountedTurn,
    Entry,
    KnownBy,
    LogQuery,
    RecordedFolder,
    Staged,
    TurnRecord,
)
from fileops.model.sessions import SessionName

TextOf = Callable[[str, bytes], bytes]
"""Returns UTF-8 text, given the canonical path and the bytes of a file whose encoding a client may have named."""


class EditRecorder(Protocol):
    """Is notified of the daemon's commits, so that it does not take them for others' changes. Waits for nothing."""

    def begin_commit(self, path: str, intended: IntendedWrite | None = None) -> None:
        """A file is about to be written. Args: path: canonical. intended: if a session writes a content to it."""
        ...

    def cancel_commit(self, path: str) -> None:
        """It was not written."""
        ...

    def end_commit(self, commit: Commit) -> None:
        """It was written."""
        ...


class RecordedChanges(Protocol):
    """The entries of the record, and what belongs to them. Blocks for the disk: call it in worker threads."""

    def entry(self, entry_id: str) -> Entry | None: ...

    def entries(self, query: LogQuery, *, is_file: bool = False) -> tuple[list[Entry], bool]:
        """Return entries, newest first, and whether there are more than `query.limit`.

        Args: is_file: whether `query.path` is a file, not a folder. Raises: UnknownId, if `query.before` is unknown.
        """
        ...

    def newest(self, path: str) -> Entry | None:
        """Return the newest entry of a file."""
        ...

    def was_removed(self, path: str) -> bool:
        """Return whether an entry removed the file at this path, or left a content that is not kept."""
        ...

    def other_half(self, entry: Entry) -> Entry | None:
        """Return the other half of the rename that an entry is half of; None if it is none, or the other is unknown."""
        ...

    def entry_of_edit(self, edit_id: str) -> Entry | None:
        """Return the entry of an edit through the daemon; of a rename, the later one."""
        ...

    def contents(self, entry: Entry, known: dict[bytes, bytes] | None = None) -> Contents:
        """Return the contents of an entry; None for one that is not kept. Args: known: see `content`."""
        ...

    def content(self, digest: bytes, known: dict[bytes, bytes] | None = None) -> bytes | None:
        """Return the content with this digest; None if it is not kept.

        Args: known: contents by digest, from which this one may be built; those built on the way are added.
        """
        ...

    def turn(self, turn_id: str) -> TurnRecord | None: ...

    def turns(
        self,
        *,
        session_ids: tuple[SessionName, ...] | None = None,
        folders: tuple[str, ...] | None = None,
        limit: int | None = None,
    ) -> list[CountedTurn]:
        """Return turns, newest first. Args: folders: only turns without entries, or with entries in one of these."""
        ...

    def newest_turn(self, session_id: SessionName) -> TurnRecord | None: ...

    def command(self, command_id: str) -> CommandRecord | None: ...

    def whole_id(self, beginning: str) -> str:
        """Return the only id of an entry, command, turn or rewind that begins so. Raises: UnknownId."""
        ...

    def is_known_by_name(self, session_id: SessionName, at: float) -> bool:
        """Return whether this name meant the same session at that time as now."""
        ...

    def covers(self, folders: Sequence[str], path: str) -> bool:
        """Return whether a path is in one of these folders, and in the work tree of git that contains that folder."""
        ...

    def answer(self, path: str, key: bytes) -> bytes | None:
        """Return the answer about a file that was put under this key; None if it is not there, or was replaced."""
        ...

    def put_answer(self, path: str, kind: str, key: bytes, answer: bytes, *, oldest: float) -> None:
        """Keep an answer that took long to compute, in place of the last one of its kind, if that is possible at once.

        Args: key: digest of all that it was computed from. oldest: the time of the oldest entry of these.
        """
        ...


class Decisions(RecordedChanges, Protocol):
    """What people have decided about changes: kept ones are accepted, and are not listed any more."""

    def keep(self, keep_id: str, entry_ids: Iterable[str]) -> int:
        """Note that a person has accepted these entries. Returns how many they had not accepted before."""
        ...

    def keep_places(self, keep_id: str, places: Iterable[tuple[str, str]]) -> int:
        """Note that a person has accepted single changes. Returns how many they had not accepted before.

        Args: places: pairs of the ids of a change and of its entry.
        """
        ...

    def keeps(self) -> Iterator[tuple[str, str]]:
        """Yield the keeps that were not undone, the newest first, each with the path of each of its entries."""
        ...

    def undo_keep(self, keep_id: str) -> tuple[list[Entry], int, int]:
        """Undo a keep. Returns its entries, how many of them are no longer kept, and how many single changes.

        Raises: UnknownId.
        """
        ...

    def kept_places(self) -> set[str]:
        """Return the ids of single changes that a person has accepted, in entries that are not kept as a whole."""
        ...

    def unkept_paths(self) -> set[str]:
        """Return the files with entries that no person has accepted."""
        ...

    def newest_unkept(self) -> list[Entry]:
        """Return the newest entry of each path that no person has accepted and that is in force, newest first."""
        ...

    def staged_files(self) -> dict[str, Staged]:
        """Return what was last seen in git's indexes that is not in HEAD, by path: to stage is to decide."""
        ...


class ChangeRecorder(EditRecorder, Protocol):
    """Records who changed what in the folders of clients. Nobody waits for it, unless they ask to."""

    @property
    def store(self) -> Decisions:
        """What has been recorded. May block until it is open."""
        ...

    @property
    def text_of(self) -> TextOf: ...

    async def wait_until_open(self) -> Decisions | None:
        """Return what has been recorded, once it can be read; None if it never can."""
        ...

    async def flush(self) -> bool:
        """Wait until everything written until now has entries; some authors may change. False if that takes long."""
        ...

    def settle(self) -> bool:
        """Wait until everything written until now has entries with certain authors. Blocks.

        Returns False if that takes long.
        """
        ...

    def is_watched(self, path: str) -> bool:
        """Return whether the changes of a canonical path are observed."""
        ...

    def claim(self, path: str, by: KnownBy, digest: bytes, *, is_unsure: bool) -> None:
        """A host's own tool has written this content, which is not the one that it had announced."""
        ...

    def status(self) -> list[RecordedFolder]:
        """Return each folder with the state of its recording. Blocks."""
        ...

    def forget(self, path: str | None) -> int:
        """Remove all that is recorded of a canonical file or folder (None: everything); return how much. Blocks."""
        ...

    def close(self) -> None:
        """Write everything observed, and end. Blocks."""
        ...
