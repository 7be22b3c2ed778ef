"""EncodedFileSystem: files in the encodings that a client has named, shown as UTF-8 over another filesystem.

The first rule whose glob matches the canonical path applies. Files with a byte order mark and binary files are passed
through unchanged. `Snapshot.encoding` and `ContentStream.encoding` name the encoding that was used.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import lru_cache
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace as replaced

from fileops.core import legacy_text
from fileops.core.globs import Glob
from fileops.core.text import SNIFF_BYTES, detect_format
from fileops.model.changes import FilePlan
from fileops.model.edits import Splice
from fileops.model.files import Committed, Snapshot, Source, Stamp
from fileops.model.internal_errors import Stale
from fileops.model.settings import EncodingRule
from fileops.ports import CommitHooks, ContentStream, FileSystem, Hooks, SetHooks

T = TypeVar("T")

N_PATHS = 1000  # paths whose encoding is cached: a match takes 0.1 ms, a read needs two


class EncodedFileSystem:
    """See ports.FileSystem. `rules` have valid globs and encodings."""

    def __init__(self, delegate: FileSystem, rules: Sequence[EncodingRule]) -> None:
        self._delegate = delegate
        self._rules = tuple((Glob(rule.glob), rule.encoding) for rule in rules)
        self._encoding_of = lru_cache(maxsize=N_PATHS)(self._first_encoding)

    def resolve(self, path: str) -> str:
        return self._delegate.resolve(path)

    def stat(self, path: str) -> Stamp | None:
        return self._delegate.stat(path)

    def open(self, path: str) -> ContentStream:
        stream = self._delegate.open(path)
        encoding = self._encoding_of(path)
        if encoding is None:
            return stream
        try:
            head = stream.read(SNIFF_BYTES)
            stream.seek(0)
        except BaseException:
            stream.__exit__(None, None, None)
            raise
        return _EncodedStream(stream, encoding) if _is_text(head, encoding) else stream

    def try_open_cached(self, path: str) -> ContentStream | None:
        return self._delegate.try_open_cached(path) if self._encoding_of(path) is None else None

    def read(self, path: str) -> Snapshot:
        return self._to_shown(self._delegate.read(path))

    def replace(self, snapshot: Snapshot, splices: Sequence[Splice], hooks: CommitHooks) -> Committed:
        encoding = snapshot.encoding
        if encoding is None:
            return self._delegate.replace(snapshot, splices, hooks)
        in_file = self._in_file(snapshot)
        translated = (
            tuple(splices)
            if legacy_text.is_plain_utf8(encoding)
            else legacy_text.file_splices(in_file.data, snapshot.data, splices, encoding)
        )
        committed = self._delegate.replace(in_file, translated, _ShownHooks(self._to_shown_commit, hooks))
        return self._to_shown_commit(committed)

    def remove(self, snapshot: Snapshot, hooks: CommitHooks) -> Committed:
        if snapshot.encoding is None:
            return self._delegate.remove(snapshot, hooks)
        return self._delegate.remove(self._in_file(snapshot), hooks)

    def replace_set(
        self, set_id: str, files: Sequence[FilePlan], hooks: SetHooks, *, is_strict: bool = True
    ) -> tuple[Committed, ...]:
        in_files = tuple(map(self._plan_in_file, files))
        committed = self._delegate.replace_set(
            set_id, in_files, _ShownHooks(self._to_shown_set, hooks), is_strict=is_strict
        )
        return self._to_shown_set(committed)

    def _plan_in_file(self, file: FilePlan) -> FilePlan:
        """Return the same change of the file's bytes. Raises: Stale."""
        snapshot = file.snapshot
        if snapshot.encoding is None:
            return file
        in_file = self._in_file(snapshot)
        if legacy_text.is_plain_utf8(snapshot.encoding):
            return replaced(file, snapshot=in_file)
        splices = legacy_text.file_splices(in_file.data, snapshot.data, file.splices, snapshot.encoding)
        return replaced(file, snapshot=in_file, splices=splices)

    def lock_path(self, path: str) -> AbstractContextManager[object]:
        return self._delegate.lock_path(path)

    def lock(self, path: str, *, waits: bool = True) -> AbstractContextManager[bool]:
        return self._delegate.lock(path, waits=waits)

    # --- between the text and the file -------------------------------------------------------------------------

    def _first_encoding(self, path: str) -> str | None:
        return next((encoding for pattern, encoding in self._rules if pattern.fullmatch(path)), None)

    def text_of(self, path: str, data: bytes) -> bytes:
        """Return the whole content of a file, as this filesystem shows it. path: canonical."""
        encoding = self._encoding_of(path)
        return data if encoding is None or not _is_text(data[:SNIFF_BYTES], encoding) else _as_utf8(data, encoding)

    def _to_shown(self, snapshot: Snapshot) -> Snapshot:
        encoding = self._encoding_of(snapshot.path)
        if encoding is None or (snapshot.exists and not _is_text(snapshot.data[:SNIFF_BYTES], encoding)):
            return snapshot
        return replace(snapshot, encoding=encoding, data=_as_utf8(snapshot.data, encoding))

    def _in_file(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with the file's bytes. Raises: Stale, if they no longer match its text."""
        if not snapshot.exists:
            return replace(snapshot, encoding=None)
        present = self._delegate.read(snapshot.path)
        if not present.exists or self._to_shown(present).data != snapshot.data:
            raise Stale(path=snapshot.path)
        return replace(snapshot, encoding=None, data=present.data)

    def _to_shown_commit(self, committed: Committed) -> Committed:
        return replaced(committed, snapshot=self._to_shown(committed.snapshot))

    def _to_shown_set(self, committed: tuple[Committed, ...]) -> tuple[Committed, ...]:
        return tuple(map(self._to_shown_commit, committed))


class _EncodedStream:
    """See ports.ContentStream: the text of another stream as UTF-8."""

    def __init__(self, stream: ContentStream, encoding: str) -> None:
        self._stream = stream
        self._decoder = None if legacy_text.is_plain_utf8(encoding) else legacy_text.decoder_of(encoding)
        self._pending = b""
        self.encoding = encoding
        self.is_unsaved = False

    @property
    def stamp(self) -> Stamp:
        return self._stream.stamp

    @property
    def taken_ns(self) -> int:
        return self._stream.taken_ns

    @property
    def source(self) -> Source:
        return self._stream.source

    @property
    def version(self) -> int | None:
        return self._stream.version

    def read(self, max_bytes: int) -> bytes:
        if self._decoder is None:
            return self._stream.read(max_bytes)
        while not self._pending:
            data = self._stream.read(max_bytes)
            self._pending = self._decoder.decode(data, not data).encode("utf-8", "surrogatepass")
            if not data:
                break
        taken, self._pending = self._pending[:max_bytes], self._pending[max_bytes:]
        return taken

    def seek(self, offset_bytes: int) -> None:
        """Read up to there again: characters have no fixed width."""
        self._stream.seek(offset_bytes if self._decoder is None else 0)
        if self._decoder is not None:
            self._decoder.reset()
            self._pending = b""
            while offset_bytes and (skipped := len(self.read(offset_bytes))):
                offset_bytes -= skipped

    def __enter__(self) -> "_EncodedStream":
        self._stream.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stream.__exit__(*exc)


class _ShownHooks(Struct, Generic[T], frozen=True):
    """Hooks of a commit of the file's bytes. `shown` converts its outcome to the one with the text."""

    shown: Callable[[T], T]
    hooks: Hooks[T]

    def prepare(self) -> None:
        self.hooks.prepare()

    def before(self) -> None:
        self.hooks.before()

    def on_cancel(self, withdraw: Callable[[], None]) -> None:
        self.hooks.on_cancel(withdraw)

    def after(self, committed: T, /) -> None:
        self.hooks.after(self.shown(committed))


def _as_utf8(data: bytes, encoding: str) -> bytes:
    return data if legacy_text.is_plain_utf8(encoding) else legacy_text.to_utf8(data, encoding)


def _is_text(head: bytes, encoding: str) -> bool:
    """Return whether the codec applies to a file with this beginning: no byte order mark, and not binary."""
    if detect_format(head).bom:
        return False
    if b"\0" not in head:
        return True
    text = legacy_text.decoder_of(encoding).decode(head)
    return "\0" not in text and not legacy_text.has_escapes(text)
