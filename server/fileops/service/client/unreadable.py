"""Files that agents must not read: the rules of `.agentsignore` files and `unreadable` options, and their guard.

A rule file applies to its folder and everything below. So all rule files above a file apply to it, and so do the
client's globs. A file is unreadable if any of them says so. Rules that cannot be used make every file below them
unreadable, so that an error never opens anything.

`GuardedFileSystem` is the filesystem of a restricted client. All of the client's requests get their paths from its
`resolve`, which refuses unreadable ones. Runs in worker threads, except for methods documented as waiting for nothing.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import islice

from msgspec import Struct

from fileops.core.approval import is_rule_file
from fileops.core.globs import is_below
from fileops.core.ignore import MAX_BYTES, BadPatternsError, IgnorePatterns
from fileops.core.presentation.failures import failure_message
from fileops.core.roots import folder_of, is_inside
from fileops.core.stamps import is_racy, same_stamp
from fileops.model.bounded import LruDict
from fileops.model.errors import ConnectionFailed, FileOpsError, NotPermitted
from fileops.model.files import Snapshot, Stamp
from fileops.model.internal_errors import PathMoved
from fileops.ports import ContentStream, FileSystem, RuleFiles

OPTION = "the option `unreadable`"
MAX_FOLDERS = 65_536  # folders whose rules are cached
MAX_LINKED = 10_000  # files with several hard links whose results are cached


class Rules(Struct, frozen=True, eq=False):
    """The rules of one file. fault: why they cannot be used; "" if they can."""

    path: str
    patterns: IgnorePatterns | None = None
    fault: str = ""

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    def refusal(self, path: str) -> NotPermitted | None:
        """Return why a file below the folder is unreadable, or None."""
        if self.patterns is None:
            return NotPermitted(source=self.path, fault=self.fault)
        return NotPermitted(source=self.path) if self.patterns.match(path[len(self.folder) + 1 :]) else None


class _Loaded(Struct, frozen=True):
    """The content of a rule file at one moment."""

    stamp: Stamp
    taken_ns: int
    data: bytes
    rules: Rules


class _EditorGlobs(Struct, frozen=True):
    globs: Sequence[str]
    folders: Callable[[], Sequence[str]]
    is_open: Callable[[str], bool]


class RuleBook:
    """The rule files of all clients; each is read again when it changes. Thread-safe.

    fs: reads them as saved on disk. finder: finds them.
    """

    def __init__(self, fs: FileSystem, finder: RuleFiles) -> None:
        self._fs = fs
        self.finder = finder
        self._lock = threading.Lock()
        self._loaded: dict[str, _Loaded] = {}  # by the path of the rule file
        self._last_known: LruDict[str, tuple[Rules, ...]] = LruDict(MAX_FOLDERS)
        self.has_found_any = False  # set before `_last_known` gets the first rules, and never reset

    def above(self, path: str) -> tuple[Rules, ...]:
        """Return the rules for a canonical path. Raises: NeedsShare, ConnectionFailed."""
        folder = folder_of(path)
        found = self.finder.above(folder) or ()
        rules = tuple(known for file in found if (known := self._rules_at(file)) is not None)
        if not rules and not self.has_found_any:  # `last_known` already says so for every folder
            return ()
        with self._lock:
            self.has_found_any = True
            self._last_known.put(folder, rules)
        return rules

    def refresh(self, path: str) -> None:
        """Update what `last_known` returns for a canonical path."""
        with suppress(FileOpsError):
            self.above(path)

    def names(self, canonical_path: str, given_path: str) -> tuple[str, ...]:
        """Return the file's names on the way from the given path to the canonical one, one for each link.

        A link that is itself the target of a link is left out: the file can be read under its canonical name anyway.
        """
        names, above = {canonical_path: None}, ""
        rest = [name for name in given_path.split("/") if name not in {"", "."}]
        while rest and given_path != canonical_path:
            if ".." not in rest:
                names["/".join([above, *rest])] = None
            above = self._fs.resolve(f"{above}/{rest.pop(0)}").rstrip("/")
        return tuple(names)

    def last_known(self, path: str) -> tuple[Rules, ...]:
        """Return the rules that `above` last found for a path; none if it was never asked. Waits for nothing."""
        if not self.has_found_any:  # most projects have no such file
            return ()
        with self._lock:
            return self._last_known.use(folder_of(path)) or ()

    def is_at(self, path: str, stamp: Stamp) -> bool:
        """Return whether the rule file last read at this path has this stamp."""
        with self._lock:
            known = self._loaded.get(path)
        return known is not None and (known.stamp.dev, known.stamp.ino) == (stamp.dev, stamp.ino)

    def has_none_above(self, path: str) -> bool:
        """Return whether there are no rules for a path; False if that is not known at once. Waits for nothing."""
        return self.finder.above(folder_of(path), waits=False) == ()

    def _rules_at(self, path: str) -> Rules | None:
        """Return None if the file was removed after it was found. Raises: NeedsShare, ConnectionFailed."""
        try:
            return self._read(path)
        except ConnectionFailed:
            raise
        except FileOpsError as error:
            return Rules(path=path, fault=failure_message(error))
        except PathMoved:
            return Rules(path=path, fault="It is being replaced.")
        except (ImportError, OSError) as error:
            return Rules(path=path, fault=f"The library for its patterns could not be loaded: {error}.")

    def _read(self, path: str) -> Rules | None:
        """Raises: NeedsShare, FileOpsError, PathMoved, ImportError, OSError."""
        with self._lock:
            known = self._loaded.get(path)
        if known is not None and self.finder.keeps(path, known.taken_ns):
            return known.rules
        canonical = self._fs.resolve(path)
        stamp = self._fs.stat(canonical)
        is_usable = known is not None and not is_racy(known.stamp, known.taken_ns)
        if known is not None and is_usable and stamp is not None and same_stamp(stamp, known.stamp):
            return known.rules
        if stamp is not None and stamp.size_bytes > MAX_BYTES:  # a project's file, perhaps larger than memory
            return Rules(path=path, fault=f"It has more than {MAX_BYTES:,} bytes.")
        snapshot = self._fs.read(canonical)
        if snapshot.stamp is None:
            is_there = path in (self.finder.above(folder_of(path)) or ())
            return Rules(path=path, fault="It is a link that leads nowhere.") if is_there else None
        rules = known.rules if known is not None and known.data == snapshot.data else _rules_of(path, snapshot.data)
        with self._lock:
            self._loaded[path] = _Loaded(snapshot.stamp, snapshot.taken_ns, snapshot.data, rules)
        return rules


class UnreadableFiles:
    """The files that one client must not read. Methods that may wait raise what RuleBook raises.

    globs: those of the client's option. editors: more globs, demanded by editors. folders: of the client; other names
    of files with several hard links are searched for there.
    """

    def __init__(
        self,
        book: RuleBook,
        globs: Sequence[str] = (),
        editors: "EditorGlobs | None" = None,
        folders: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._book = book
        self._globs = globs
        self._editors = editors
        self._folders = folders
        self._lock = threading.Lock()
        self._linked: LruDict[object, tuple[NotPermitted] | tuple[()]] = LruDict(MAX_LINKED)
        self._names: LruDict[object, tuple[str, ...]] = LruDict(MAX_LINKED)  # of rule files

    def require_readable(self, canonical_path: str, given_path: str | None = None) -> None:
        """Raise NotPermitted if the file is unreadable under its own or the given name."""
        names = (canonical_path,) if given_path is None else self._book.names(canonical_path, given_path)
        for name in names:
            if (refusal := self._refusal(name, self._book.above(name))) is not None:
                raise refusal

    def require_no_unreadable_name(self, canonical_path: str, stamp: Stamp | None) -> None:
        """Raise NotPermitted if a file with several hard links is unreadable under another name that can be found.

        The names are searched for below the rule files that apply to the file, and below those in the client's folders.
        A new name gives the file a new ctime, so a result holds until the ctime or the rules change.
        """
        if stamp is None or stamp.n_links < 2:
            return
        rules = self._rules_around(canonical_path)
        folders = {above.folder or "/" for above in rules}
        if self._globs:
            folders.update(self._folders())
        key = stamp.dev, stamp.ino, stamp.ctime_ns, frozenset(rules), frozenset(folders)
        with self._lock:
            verdict = self._linked.use(key)
        if verdict is None:
            names = (name for folder in folders for name in self._book.finder.names_of(stamp, folder))
            refusals = (self._refusal(name, self._book.above(name)) for name in names)
            verdict = next(((found,) for found in refusals if found is not None), ())
            with self._lock:
                self._linked.put(key, verdict)
        if verdict:
            raise verdict[0]

    def rules_of(self, canonical_path: str, stamp: Stamp | None) -> str | None:
        """Return the rule file that is this same file, through a hard link or as a link that leads here; else None.

        The rule files that apply to the file or to the client's folders are known. Other rule files are searched for in
        the client's folders if the file has several hard links.
        """
        if stamp is None or is_rule_file(canonical_path):
            return None
        for above in self._rules_around(canonical_path):
            if self._book.is_at(above.path, stamp):
                return above.path
        if stamp.n_links < 2:
            return None
        key = stamp.dev, stamp.ino, stamp.ctime_ns, tuple(self._folders())
        with self._lock:
            known = self._names.use(key)
        if known is None:
            names = (name for folder in self._folders() for name in self._book.finder.names_of(stamp, folder))
            known = tuple(islice(filter(is_rule_file, names), 1))
            with self._lock:
                self._names.put(key, known)
        return known[0] if known else None

    def is_hidden(self, *names: str) -> bool:
        """Return whether a file is unreadable under one of these names."""
        return any(self._refusal(name, self._book.above(name)) is not None for name in names)

    def knows_no_rules(self) -> bool:
        """Return whether `is_known_hidden` is now false for every path. Waits for nothing."""
        return not (self._globs or self._book.has_found_any or (self._editors is not None and self._editors.has_any))

    def is_known_hidden(self, *names: str) -> bool:
        """Return what `is_hidden` would by the rules as last read. Waits for nothing."""
        return any(self._refusal(name, self._book.last_known(name)) is not None for name in names)

    def is_free(self, path: str, *, in_folders: bool = False) -> bool:
        """Return whether there are no rules for a path; False if that is not known at once. Waits for nothing.

        Args: in_folders: whether the client's folders must have no rules either.
        """
        if self._globs_at(path) or not self._book.has_none_above(path):
            return False
        return not in_folders or all(self._book.has_none_above(f"{folder}/") for folder in self._folders())

    def _rules_around(self, canonical_path: str) -> tuple[Rules, ...]:
        """Return the rules that apply to the file or to the client's folders."""
        rules = self._book.above(canonical_path)
        for folder in self._folders():
            if not is_inside(folder, canonical_path):  # else they are above the file, too
                rules += self._book.above(f"{folder}/")
        return rules

    def _refusal(self, path: str, rules: Iterable[Rules]) -> NotPermitted | None:
        for above in rules:
            if (refusal := above.refusal(path)) is not None:
                return refusal
        if any(is_below(glob, path) for glob in self._globs_at(path)):
            return NotPermitted(source=OPTION)
        return None

    def _globs_at(self, path: str) -> Sequence[str]:
        return self._globs if self._editors is None else (*self._globs, *self._editors.at(path))


class EditorGlobs:
    """The globs that the editors of a shared daemon demand of agents, for files in their folders or open there."""

    def __init__(self) -> None:
        self._editors: Mapping[str, _EditorGlobs] = {}  # replaced on the event loop, never modified

    def connect(
        self, name: str, globs: Sequence[str], folders: Callable[[], Sequence[str]], is_open: Callable[[str], bool]
    ) -> None:
        if globs:
            self._editors = {**self._editors, name: _EditorGlobs(globs, folders, is_open)}

    def disconnect(self, name: str) -> None:
        self._editors = {known: editor for known, editor in self._editors.items() if known != name}

    @property
    def has_any(self) -> bool:
        return bool(self._editors)

    def at(self, path: str) -> Iterator[str]:
        """Return the globs for a canonical path."""
        for editor in self._editors.values():
            if any(is_inside(folder, path) for folder in editor.folders()) or editor.is_open(path):
                yield from editor.globs


class GuardedFileSystem:
    """The filesystem of a client that must not read all files; see ports.FileSystem."""

    def __init__(self, fs: FileSystem, unreadable: UnreadableFiles) -> None:
        self._fs = fs
        self._unreadable = unreadable
        self.stat = fs.stat
        self.replace = fs.replace
        self.replace_set = fs.replace_set
        self.remove = fs.remove
        self.lock = fs.lock
        self.lock_path = fs.lock_path

    def resolve(self, path: str) -> str:
        canonical = self._fs.resolve(path)
        self._unreadable.require_readable(canonical, path)
        return canonical

    def open(self, path: str) -> ContentStream:
        stream = self._fs.open(path)
        if stream.stamp.n_links > 1:
            with ExitStack() as failing:
                failing.push(stream)
                self._unreadable.require_no_unreadable_name(path, stream.stamp)
                failing.pop_all()
        return stream

    def try_open_cached(self, path: str) -> ContentStream | None:
        if not self._unreadable.is_free(path):
            return None
        stream = self._fs.try_open_cached(path)
        if stream is None or stream.stamp.n_links == 1 or self._unreadable.is_free(path, in_folders=True):
            return stream
        with stream:
            return None

    def read(self, path: str) -> Snapshot:
        self._unreadable.require_readable(path)
        return self.read_resolved(path)

    def read_resolved(self, path: str) -> Snapshot:
        """Read the file at a path that `resolve` has just returned to the same request.

        `resolve` has checked the path, and the rules are looked up only once per request. A rule written between the
        two calls is written during the request, so it may take effect before the request or after it.
        """
        snapshot = self._fs.read(path)
        self._unreadable.require_no_unreadable_name(path, snapshot.stamp)
        return snapshot


# --- helpers ---------------------------------------------------------------------------------------------------


def _rules_of(path: str, data: bytes) -> Rules:
    """Raises: ImportError, OSError."""
    try:
        return Rules(path=path, patterns=IgnorePatterns(data))
    except BadPatternsError as error:
        return Rules(path=path, fault=f"{str(error).capitalize()}.")
