"""One recorded folder: its files and what is known of each, its watches, and how both are set up and compared.

Belongs to the recorder's thread. Long work is a generator of short steps (`start`, `scan`), so that the thread can read
events between steps. Another thread asks git beforehand (`ask_git`).

The order of steps at the start matters. Each folder is watched before it is listed, so any change after the listing
causes an event. A file with the same stamp as in git's index has the content of the index's blob. The index was read
first, so the stamp shows any change in between. All other files are copied. Until a file is copied, its first change
has no content before it.
"""

import os
import re
import stat
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from fileops.core.roots import folder_of
from fileops.model.internal_errors import WatchError
from fileops.model.record import ContentKind, Found, Known
from fileops.ports import EventStream, TextOf
from fileops.record import git, git_process
from fileops.record.content import ReadFile, Unreadable, is_secret, list_folder, read_file, to_stored_ns
from fileops.record.ignore_rules import IgnoreRules
from fileops.record.known_files import is_same

MAX_COPIED_FILES = 20_000
MAX_COPIED_BYTES = 256 << 20
_NO_ENTRIES: Mapping[str, git.IndexEntry] = {}
_STEP_FILES = 200  # before events are read again: a few milliseconds
_STEP_S = 0.02  # likewise, on a slow disk
T = TypeVar("T")


_OWN_FILE = re.compile(r"/\.fileops-[^/]*\.(?:tmp|journal|set)$")  # see fs/local/own_files.py


class GitFacts(Struct, frozen=True, kw_only=True):
    """What git says about a work tree. listed: files tracked or not ignored. converted: files that git may convert."""

    repository: git.Repository
    tracked: Set[str]
    listed: Set[str]
    converted: Set[str]
    index: git.Index | None


def ask_git(root: str) -> GitFacts | None:
    """Ask git, which takes a second for 50,000 files. None if this is no work tree, or git fails. Any thread."""
    if not git.is_top(root):
        return None
    repository = git.find_repository(root)
    if repository is None:
        return None
    try:
        index, tracked, listed = git.read_files(repository)
        converted = git.find_converted_files(repository, tracked)
    except git_process.GitFailed:
        return None
    return GitFacts(
        repository=repository,
        tracked=tracked,
        listed=listed,
        converted=converted,
        index=index,
    )


class Edge(NamedTuple):
    """An edge of a command, and when it was: everything that had been written until then had been noticed."""

    number: int
    time: float  # on the steady clock


_START = Edge(0, 0.0)
_END = object()


class FolderRecording:
    """See the module. `touch` is called with a path that may have changed."""

    def __init__(self, root: str, facts: GitFacts | None, stream: EventStream | None, edge: Edge = _START) -> None:
        """Args: stream: None if no folder can be watched. edge: the commands' current edge."""
        self.root = root
        self.repository = None if facts is None else facts.repository
        self.files: dict[str, Known] = {}
        self.is_starting = True
        # When a change may have been made; see `certain_edge`:
        self.compared_edge = edge  # when the last complete comparison began
        self._stamped_edge = edge  # when the stamps of all known files were last compared
        self.lost_edge: Edge | None = None  # the last one before events were lost; None after a comparison
        self._n_losses = 0
        self._unwatched: set[str] = set()  # folders that cannot be watched
        self._unlisted: dict[str, int] = {}  # folders that could not be listed, with the number of the failure
        self._n_unlisted = 0  # failures so far
        self._unseen: set[str] = set()  # not listed yet, so their files may be old ones
        self.n_copied = 0
        self.n_copied_bytes = 0
        self.limits: set[str] = set()  # what is not covered: see RecordStatus
        self.on_nested: Callable[[str], None] = lambda _folder: None  # called with each repository found in the folder
        # Whether git holds the lock of its index, as it does whenever it writes to the work tree.
        self.is_git_writing = False
        self.text_of: TextOf = lambda _path, data: data  # see read_file
        # Files of which git is to be asked for Entry.parents, with the time of the first change.
        self.carried: dict[str, float] = {}
        self.start_steps: Iterator[None] | None = None  # until everything is known; the recorder makes them
        self.is_comparing = False
        self._comparison: Iterator[list[str]] | None = None
        self._tracked = set[str]() if facts is None else set(facts.tracked)
        self._listed: Set[str] = frozenset() if facts is None else facts.listed
        self._converted: Set[str] = frozenset() if facts is None else facts.converted
        self._index = None if facts is None else facts.index
        self._folders = _folders_of(self._listed, root)
        self._rules = IgnoreRules(root, self.repository)
        self.stream = stream
        self._to_copy: deque[str] = deque()
        self._not_copied: list[str] = []  # files that could not be read; see `scan`
        if facts is None and git.is_top(root):
            self.limits.add("git")

    @property
    def is_watched(self) -> bool:
        return self.stream is not None and not self._unwatched

    @property
    def has_unwatched(self) -> bool:
        """Whether some folders cannot be watched, although others are."""
        return bool(self._unwatched)

    @property
    def is_whole(self) -> bool:
        """Whether all folders could be listed."""
        return not self._unlisted

    @property
    def needs_comparison(self) -> bool:
        """Whether events may have missed changes."""
        has_barrier = self.stream is not None and self.stream.has_barrier
        return self.lost_edge is not None or not has_barrier or bool(self._unwatched)

    def certain_edge(self, path: str, read_edge: Edge, found: Found) -> Edge:
        """The last edge of a command by which everything written to a file until then had been noticed.

        Args: read_edge: the edge at which all events had been read. found: how this change of the file was noticed.
        """
        has_barrier = self.stream is not None and self.stream.has_barrier
        if not has_barrier or os.path.dirname(path) in self._unwatched or self.is_in_unlisted(path):
            return self.compared_edge
        if self.lost_edge is not None:
            return self.lost_edge
        if found == "event":
            return read_edge
        return max(self.compared_edge, self._stamped_edge) if path in self.files else self.compared_edge

    def note_loss(self, edge: Edge) -> None:
        """Note that events were lost. Args: edge: the one at which all events had been read."""
        self.lost_edge = edge if self.lost_edge is None else min(self.lost_edge, edge)
        self._n_losses += 1

    @property
    def n_to_copy(self) -> int:
        return len(self._to_copy)

    @property
    def has_steps(self) -> bool:
        """Whether some of its long work is left."""
        return self.start_steps is not None or self.n_to_copy > 0 or self.is_comparing

    def end_steps(self) -> None:
        """End its long work, because the folder is not recorded any more."""
        self.start_steps, self.is_comparing = None, False
        self._to_copy.clear()

    def take_carried(self) -> dict[str, float]:
        """Return the files of which git is to be asked, once: when it has written them all."""
        if self.is_git_writing:
            return {}
        carried, self.carried = self.carried, {}
        return carried

    @property
    def index_folder(self) -> str | None:
        """The folder of git's index, which is watched for the index's lock."""
        return None if self.repository is None else os.path.dirname(self.repository.index)

    @property
    def index_mtime_ns(self) -> int | None:
        return None if self._index is None else self._index.mtime_ns

    def contains(self, path: str) -> bool:
        return path.startswith(self.root + "/")

    def is_recorded(self, path: str) -> bool:
        """Whether changes of a file are recorded."""
        if _OWN_FILE.search(path):
            return False
        return path in self.files or path in self._tracked or not self._rules.is_ignored(path)

    def enters(self, folder: str) -> bool:
        """Whether to look inside a folder: it is neither ignored nor another repository."""
        if folder in self._folders:
            return True
        if folder.endswith("/.git") or self._rules.is_ignored(folder, is_folder=True):
            return False
        if git.is_top(folder):
            self.on_nested(folder)
            return False
        return True

    # --- the start ---------------------------------------------------------------------------------------------

    def start(
        self, earlier: dict[str, Known], touch: Callable[[str], object], *, is_resumed: bool
    ) -> Iterator[list[str]]:
        """Watch and list everything. After each step, yields the files that became known, for the store.

        Args: earlier: what was known when the folder was last recorded; `touch` is called with each file that changed
        since. is_resumed: whether a file that was not known then is new.
        """
        has_blobs = self.repository is not None and self.repository.has_all_blobs
        is_usable = has_blobs and self._index is not None and not self._index.is_partial
        entries = self._index.entries if self._index is not None and is_usable else _NO_ENTRIES
        head = len(self.root) + 1
        changed: list[str] = []
        for found in in_steps(self.walk()):
            fresh: list[str] = []
            for path, status in found:
                before = earlier.pop(path, None)
                if before is not None:
                    self.files[path] = before
                    if not is_same(before, status):
                        changed.append(path)
                    elif before.content == "kept" and not before.has_content:  # it was not copied in time
                        self._to_copy.append(path)
                elif is_resumed:  # it is new
                    changed.append(path)
                elif path not in self.files:  # else the daemon has written it since, and knows its content
                    self._start_file(path, status, entries.get(path[head:]))
                    fresh.append(path)
            yield fresh
        for path, before in earlier.items():  # the file existed when the folder was last recorded
            if self.is_in_unlisted(path):
                self.files[path] = before
            elif not self._is_elsewhere(path):
                self.files[path] = before
                changed.append(path)
        self.is_starting = False
        for path in changed:
            touch(path)

    def start_next(self) -> None:
        """Do the next step of the start."""
        if self.start_steps is not None and next(self.start_steps, _END) is _END:
            self.start_steps = None

    def _start_file(
        self,
        path: str,
        status: os.stat_result,
        entry: git.IndexEntry | None,
    ) -> None:
        mode, size_bytes, inode = status.st_mode, status.st_size, status.st_ino
        mtime_ns, ctime_ns = status.st_mtime_ns, status.st_ctime_ns
        content: ContentKind = "link" if stat.S_ISLNK(mode) else "protected" if is_secret(path, self.root) else "kept"
        has_blob = (
            entry is not None
            and content == "kept"
            and entry.mtime_ns == mtime_ns
            and entry.size_bytes == size_bytes
            and entry.ctime_ns in {0, ctime_ns}  # programs can set mtime, but not ctime
            and entry.inode in {0, inode & 0xFFFFFFFF}
            and path not in self._converted
        )
        self.files[path] = Known(
            content=content,
            mtime_ns=to_stored_ns(mtime_ns),
            ctime_ns=to_stored_ns(ctime_ns),
            size_bytes=size_bytes,
            inode=inode,
            is_executable=bool(mode & stat.S_IXUSR),
            mode=stat.S_IMODE(mode),
            oid=entry.oid if has_blob and entry is not None else None,
        )
        if content != "kept" or has_blob:
            return
        if path in self._tracked:
            self._to_copy.appendleft(path)  # changed files first
        else:
            self._to_copy.append(path)

    def _is_elsewhere(self, path: str) -> bool:
        """Whether a file that was not found still exists, as ignored or in another repository: no change here."""
        return os.path.lexists(path)

    def is_in_unlisted(self, path: str) -> bool:
        """Whether the file is in a folder that could not be listed, so that nothing is known of it."""
        return any(path.startswith(folder + "/") for folder in self._unlisted)

    def _note_unlisted(self, folder: str) -> None:
        self._n_unlisted += 1
        self._unlisted[folder] = self._n_unlisted

    def walk(self) -> Iterator[tuple[str, os.stat_result] | None]:
        """Watch all folders, and yield their recorded files with their status. Yields None before each folder."""
        waiting = [self.root]
        if self.index_folder is not None:
            self.watch(self.index_folder)
        while waiting:
            yield None
            folder = waiting.pop()
            self.watch(folder)
            try:
                entries = list_folder(folder)
            except Unreadable:
                self._note_unlisted(folder)
                if self.is_starting:
                    self._unseen.add(folder)
                continue
            for entry in entries:
                try:
                    if entry.is_dir(follow_symlinks=False):
                        if self.enters(entry.path):
                            waiting.append(entry.path)
                            if folder in self._unseen:
                                self._unseen.add(entry.path)
                    elif _is_recorded_kind(entry) and self._is_listed(entry.path):
                        yield entry.path, entry.stat(follow_symlinks=False)
                except OSError:  # it is gone
                    continue

    def _is_listed(self, path: str) -> bool:
        return path in self._listed or self.is_recorded(path)

    def is_refused(self, folder: str) -> bool:
        """Whether the system refused to watch a folder of this one."""
        return folder in self._unwatched

    def watch(self, folder: str) -> None:
        if self.stream is None:
            return
        try:
            self.stream.add(folder)
        except WatchError as refusal:
            if not refusal.is_missing:  # the limit of watches, or no permission
                self._unwatched.add(folder)
        else:
            self._unwatched.discard(folder)

    def find_ignored(self) -> Iterator[str | None]:
        """For each file, yield its path if a rule added later ignores it, else None."""
        for path in tuple(self.files):
            yield path if path not in self._tracked and self._rules.is_ignored(path) else None

    def forget_contents(self, path: str | None) -> None:
        """Forget the contents of the files below a path, because the store no longer has them."""
        for file, known in self.files.items():
            if known.digest is not None and (path is None or file == path or file.startswith(path + "/")):
                self.files[file] = replace(known, digest=None)
                self._to_copy.append(file)

    # --- copies ------------------------------------------------------------------------------------------------

    def copy_next(self) -> tuple[str, ReadFile] | None:
        """Read the next file whose content exists only on disk. None if no file is left to copy."""
        while self._to_copy:
            if self.n_copied >= MAX_COPIED_FILES:
                self.limits.add("files")
                self._to_copy.clear()
                break
            path = self._to_copy.popleft()
            known = self.files.get(path)
            if known is None or known.has_content or known.content != "kept":
                continue
            if self.n_copied_bytes + known.size_bytes > MAX_COPIED_BYTES:
                self.limits.add("bytes")
                continue
            try:
                found = read_file(path, self.root, self.text_of)
            except Unreadable:
                self._not_copied.append(path)
                continue
            if found is None:
                continue
            self.n_copied += 1
            self.n_copied_bytes += found.size_bytes
            return path, found
        return None

    def read_rewritten_index(self) -> git.Index | None:
        """Read git's index if it has been written since. None if not, or if it cannot be read now."""
        if self.repository is None:
            return None
        try:
            if os.stat(self.repository.index).st_mtime_ns == self.index_mtime_ns:
                return None
            return git.read_index(self.repository)
        except (OSError, git_process.GitFailed):
            return None

    def update_index(self, index: git.Index, has_events: Callable[[str], bool]) -> None:
        """Copy the files whose blobs are no longer in a rewritten index, because git may now remove these blobs."""
        self._index = index
        head = len(self.root) + 1
        for path, known in self.files.items():
            if known.oid is None or has_events(path):
                continue
            entry = index.entries.get(path[head:])
            if entry is None or entry.oid != known.oid:
                self._to_copy.appendleft(path)
                self.files[path] = replace(known, oid=None)
        self._tracked.update(f"{self.root}/{path}" for path in index.entries)

    # --- comparison --------------------------------------------------------------------------------------------

    def begin_comparison(self) -> None:
        """Compare all files, from the beginning if that is being done already; see `compare_next`."""
        self.is_comparing, self._comparison = True, None

    def compare_next(self, edge: Edge) -> list[str]:
        """Do the next step of the comparison, and return the files that may have changed. Args: see `scan`."""
        if self._comparison is None:
            self._comparison = self.scan(edge)
        changed = next(self._comparison, None)
        if changed is None:
            self.is_comparing, self._comparison = False, None
        return changed or []

    def scan(self, edge: Edge) -> Iterator[list[str]]:
        """Compare all files by their stamps, and watch all folders, in short steps.

        Yields after each step the files that may have changed. The caller looks at the files themselves, so a file is
        not taken for deleted because its folder could not be listed. It must have noted the files of each step before
        the next, because the last step notes that everything was compared. Args: edge: the commands' current edge.
        """
        seen: set[str] = set()
        n_losses, n_unlisted = self._n_losses, self._n_unlisted
        for found in in_steps(self.walk()):
            changed: list[str] = []
            for path, status in found:
                seen.add(path)
                known = self.files.get(path)
                if known is None and os.path.dirname(path) in self._unseen:
                    self._start_file(path, status, None)
                elif known is None or not is_same(known, status):
                    changed.append(path)
            yield changed
        yield [path for path in self.files if path not in seen]
        self._to_copy.extend(self._not_copied)
        self._not_copied.clear()
        # Not earlier: what is found in such a folder now may have been written long ago, before events were lost.
        self._unlisted = {folder: number for folder, number in self._unlisted.items() if number > n_unlisted}
        if self.is_whole:
            self._unseen.clear()
            self.compared_edge = edge
            if self._n_losses == n_losses:  # else events were lost again
                self.lost_edge = None

    def find_silent_writes(self, edge: Edge, within_s: float) -> list[str]:
        """Return the known files that were written without an event, through a mapping (mmap), by their stamps.

        If that takes longer, the rest is not compared. Args: edge: the commands' current edge.
        """
        written: list[str] = []
        ends_at = time.monotonic() + within_s
        for number, (path, known) in enumerate(tuple(self.files.items())):
            if number % _STEP_FILES == 0 and time.monotonic() >= ends_at:
                return written
            try:
                if not known.is_unsaved and not is_same(known, os.lstat(path)):
                    written.append(path)
            except OSError:  # it is gone, of which there is an event
                continue
        self._stamped_edge = edge
        return written

    def watch_below(self, folder: str) -> Iterator[str | None]:
        """Watch a folder that appeared, and yield its files, which may be new. Yields None before each folder."""
        waiting = [folder]
        while waiting:
            yield None
            at = waiting.pop()
            if not self.enters(at):
                continue
            self.watch(at)
            try:
                entries = list_folder(at)
            except Unreadable:
                self._note_unlisted(at)
                continue
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif _is_recorded_kind(entry) and self.is_recorded(entry.path):
                    yield entry.path

    def list_known_below(self, folder: str) -> list[str]:
        inside = folder + "/"
        return [path for path in self.files if path.startswith(inside)]


def in_steps(items: Iterator[T | None]) -> Iterator[list[T]]:
    """Collect the items in lists, each of which takes a short time.

    A None is left out: it only lets a long step end.
    """
    is_over = False
    while not is_over:
        step: list[T] = []
        ends_at = time.monotonic() + _STEP_S
        is_over = True
        for item in items:
            if item is not None:
                step.append(item)
            if len(step) >= _STEP_FILES or time.monotonic() >= ends_at:
                is_over = False
                break
        yield step


def _is_recorded_kind(entry: "os.DirEntry[str]") -> bool:
    """Whether it is a regular file, or a link. Of a link, the record only notes that it changed."""
    return entry.is_file(follow_symlinks=False) or entry.is_symlink()


def _folders_of(paths: Iterable[str], root: str) -> frozenset[str]:
    """All folders that contain one of the paths, up to the root."""
    folders = {root}
    for lowest in set(map(folder_of, paths)):
        folder = lowest
        while folder not in folders:
            folders.add(folder)
            folder = folder_of(folder)
    return frozenset(folders)
