"""Contents of files, what identifies them, and how they are committed, as frozen values."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from msgspec import Struct

from fileops.model.digest import content_digest
from fileops.model.notebooks import KnownCells
from fileops.model.sessions import SessionName

Encoding = Literal["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
NewlineStyle = Literal["\n", "\r\n", "mixed"]
Source = Literal["disk", "buffer"]
StaleReason = Literal["modified", "deleted", "replaced"]


_UNIT_BYTES: dict[Encoding, int] = {"utf-8": 1, "utf-16-le": 2, "utf-16-be": 2, "utf-32-le": 4, "utf-32-be": 4}


class TextFormat(Struct, frozen=True, kw_only=True, gc=False):
    """How the bytes of a file encode text. `bom` is b"" if the file has none."""

    encoding: Encoding = "utf-8"
    bom: bytes = b""

    @property
    def unit_bytes(self) -> int:
        """Width of a code unit: 1, 2 or 4."""
        return _UNIT_BYTES[self.encoding]


class Text(Struct, frozen=True, kw_only=True):
    """The whole content of a file: its bytes, BOM included, and their encoding."""

    data: bytes
    format: TextFormat


class Stamp(Struct, frozen=True, kw_only=True, gc=False):
    """The `stat` fields that identify a version of a file. Times are in nanoseconds since the epoch."""

    dev: int
    ino: int
    size_bytes: int
    mtime_ns: int
    ctime_ns: int
    mode: int
    uid: int
    gid: int
    n_links: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A file's content at one moment; a missing file is a snapshot too (`stamp` None, `data` empty).

    path: canonical (no symlink in it). taken_ns: wall clock just before `stamp` was taken, to recognise a stamp that
    is too young to be trusted ("racy"). version: the LSP document version of a buffer, else None. encoding: the one
    that a client has named for the file; `data` then is its text as UTF-8. is_loaded: whether the text of a buffer came
    from the file; else the user typed it, saved or not. is_left: whether a commit has left this text in an open
    document; a commit over it is made in that document, also if the document has no unsaved changes any more.
    is_unsaved: whether the text is in an open document only, and the file has another.
    """

    path: str
    stamp: Stamp | None
    data: bytes
    taken_ns: int
    source: Source = "disk"
    version: int | None = None
    encoding: str | None = None
    is_loaded: bool = False
    is_left: bool = field(default=False, compare=False)
    is_unsaved: bool = field(default=False, compare=False)
    _digest: bytes | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def exists(self) -> bool:
        return self.stamp is not None or self.source == "buffer"

    @property
    def is_typed(self) -> bool:
        return self.source == "buffer" and not self.is_loaded

    @property
    def digest(self) -> bytes:
        """The digest of `data`, computed when first needed."""
        digest = self._digest
        if digest is None:
            digest = content_digest(self.data)
            object.__setattr__(self, "_digest", digest)
        return digest


class Base(Struct, frozen=True, kw_only=True):
    """What a session knows of a file; None if that is no longer kept.

    content: the file at the session's last read or own edit. shown: the same without others' changes that the session
    has not been shown.
    """

    content: bytes | None
    shown: bytes | None


class CommitReport(Struct, frozen=True, kw_only=True):
    """How a change was written."""

    method: Literal["swap", "in_place", "create", "delete", "rename", "buffer", "remote", "none"]
    """How: by an atomic rename of a temp file, in place with a journal, through the editor, or otherwise."""
    durability: Literal["synced", "file_synced", "not_synced", "editor"]
    """What survives a power loss: file and folder, only the file, perhaps nothing, or what the editor writes."""
    reason: str | None = None
    """Why less is guaranteed than usual."""


class Committed(Struct, frozen=True, kw_only=True):
    """The outcome of a commit. `snapshot` is the new content, with the stamp of the handle that was written."""

    snapshot: Snapshot
    report: CommitReport


class ReadProof(Struct, frozen=True, kw_only=True):
    """What a read shows a session of one file. It is recorded when the answer to the read was sent.

    given_path: as the session gave it; path: canonical. taken_ns: wall clock just before `stamp` was taken. digest: of
    the whole content, None if not all bytes were examined; content: that content, if it is kept. is_whole: whether the
    session is shown all of it. cells: of a notebook, what it is shown of the cells.
    """

    session_id: SessionName
    given_path: str
    path: str
    stamp: Stamp
    taken_ns: int
    digest: bytes | None
    source: Source = "disk"
    version: int | None = None
    content: bytes | None = None
    is_whole: bool = False
    cells: KnownCells | None = None


class FolderEvent(Struct, frozen=True, gc=False):
    """A change of a name in a watched folder.

    is_complete: the writer has closed the file, or the name is another file now; nothing more follows at once.
    is_written: the name has content that a writer has finished. appeared, vanished: the name is new there, or gone from
    there.
    """

    folder: str
    name: str
    is_folder: bool
    is_complete: bool
    is_written: bool
    appeared: bool
    vanished: bool


class FolderEvents(Struct, frozen=True):
    """Events in order. is_lost: the system has dropped some, of any folder."""

    events: Sequence[FolderEvent]
    is_lost: bool = False
