"""The record as one client may see it: an agent sees only its own entries.

Belongs to the event loop; worker threads read the store.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from fileops.concurrency.cancellation import CancelToken
from fileops.concurrency.workers import SharedWorkers
from fileops.core import text
from fileops.core.roots import is_inside
from fileops.model.errors import FileOpsError
from fileops.model.record import Entry, LogQuery, RecordedFolder, session_of
from fileops.ports import FileSystem
from fileops.record.diffs import diff_of
from fileops.service.hub.names import SessionNames

if TYPE_CHECKING:
    from fileops.record.recorder import Recorder

MAX_TEXT_BYTES = 1_000_000
T = TypeVar("T")


class RecordRefused(Exception):
    """The record has no such entry, or nothing is recorded. The message is a full sentence."""


class ShownEntry(Struct, frozen=True, kw_only=True):
    """An entry with its diff and texts, as far as the client may see them."""

    entry: Entry
    diff: str = ""
    before_text: str | None = None
    after_text: str | None = None


class ClientRecord:
    """One client's access to the record. recorder: None if nothing is recorded."""

    def __init__(
        self,
        recorder: "Recorder | None",
        fs: FileSystem,
        names: SessionNames,
        workers: SharedWorkers,
        *,
        is_agent: bool,
        is_hidden: Callable[..., bool],
        scope: Callable[[], tuple[str, ...] | None],
    ) -> None:
        """Take what the client's requests need.

        Args: is_hidden: whether the client must not know of a file with one of these names. scope: the folders that
        lists cover if nothing else is named; None for all.
        """
        self._is_hidden = is_hidden
        self._recorder = recorder
        self._fs = fs
        self._names = names
        self._workers = workers
        self._is_agent = is_agent
        self._scope = scope

    @property
    def recorder(self) -> "Recorder":
        """Raises: RecordRefused."""
        if self._recorder is None:
            raise RecordRefused("Nothing is recorded here: a private daemon, or record is off.")
        return self._recorder

    async def log(self, query: LogQuery, file_path: str | None, root: str | None) -> tuple[list[Entry], bool]:
        """Return entries, newest first, and whether there are more.

        Raises: RecordRefused. Args: file_path, root: as given; `root` counts only without `file_path`; without either,
        the entries are those of the client's folders.
        """
        recorder = self.recorder
        await recorder.flush()

        def look() -> tuple[list[Entry], bool]:
            given = file_path if file_path is not None else root
            path = None if given is None else self._canonical(given)
            if query.before is not None and recorder.store.entry(query.before) is None:
                raise RecordRefused(f"There is no entry {query.before}.")
            return self._visible(replace(query, path=path, folders=self._scope() if path is None else None))

        return await self._run(look)

    def _visible(self, query: LogQuery) -> tuple[list[Entry], bool]:
        """Return the entries that this client may see. Only a session's name says whether it is the agent's own."""
        store = self.recorder.store
        if not self._is_agent:
            return store.entries(query)
        found: list[Entry] = []
        wanted = query.limit or 0
        while True:
            page, more = store.entries(query)
            found += [entry for entry in page if self._is_visible(entry)]
            if not more or len(found) > wanted:
                return found[:wanted], more or len(found) > wanted
            query = replace(query, before=page[-1].entry_id)

    def _is_visible(self, entry: Entry) -> bool:
        session_id = session_of(entry.by)
        if not self._is_agent or session_id is None:
            return not self._is_agent
        is_own = self._names.is_own(session_id) and self.recorder.store.is_known_by_name(session_id, entry.time)
        return is_own and not self._is_unreadable(entry)

    def _is_unreadable(self, entry: Entry) -> bool:
        """Return whether the client must not read the file, under any of its names. The content may be old."""
        names = (entry.path, entry.moved_from, entry.moved_to)
        return self._is_hidden(*[name for name in names if name is not None])

    async def entry(self, entry_id: str) -> ShownEntry:
        """Raises: RecordRefused."""
        recorder = self.recorder
        await recorder.flush()

        def look() -> ShownEntry:
            entry = recorder.store.entry(entry_id)
            if entry is None or self._is_unreadable(entry):
                raise RecordRefused(f"There is no entry {entry_id}.")
            if not self._is_visible(entry) or entry.content != "kept":
                return ShownEntry(entry=entry)
            contents = recorder.store.contents(entry)
            return ShownEntry(
                entry=entry, diff=diff_of(entry, contents), before_text=_text(contents.before),
                after_text=_text(contents.after),
            )  # fmt: skip

        return await self._run(look)

    async def status(self, root: str | None) -> list[RecordedFolder]:
        """Return the recorded folders, or only the one that contains `root`."""
        recorder = self._recorder
        if recorder is None:
            return []

        def look() -> list[RecordedFolder]:
            path = None if root is None else self._canonical(root)
            return [folder for folder in recorder.status() if path is None or is_inside(folder.root, path)]

        return await self._run(look)

    def _canonical(self, path: str) -> str:
        try:
            return self._fs.resolve(path)
        except FileOpsError:
            return path

    async def _run(self, work: Callable[[], T]) -> T:
        """Raises: RecordRefused."""
        if await self.recorder.opened() is None:
            raise RecordRefused("Nothing is recorded, because the record could not be opened; see the daemon's log.")
        return await self._workers.run(CancelToken(), work)


def _text(content: bytes | None) -> str | None:
    if content is None or len(content) > MAX_TEXT_BYTES:
        return None
    return text.decode(content, text.detect_format(content))
