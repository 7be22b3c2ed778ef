"""Every way in which an operation can fail, one class per failure.

A failure carries the fields that a caller can act on and no sentence: sentences are made from the fields in
`core/outputs.py`. The `code` of each class is the string of the wire contract (docs/PROTOCOL.md, "Error codes").
The classes are not frozen dataclasses only because Python itself assigns `__traceback__` to a raised exception.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from fileops.model.edits import LineRange, Nearest


@dataclass(eq=False, kw_only=True)
class FileOpsError(Exception):
    """Base of all failures that a caller is told as a tool result."""

    code: ClassVar[str]


@dataclass(eq=False, kw_only=True)
class FileMissing(FileOpsError):
    code: ClassVar[str] = "not_found"


@dataclass(eq=False, kw_only=True)
class IsDirectory(FileOpsError):
    code: ClassVar[str] = "is_directory"


@dataclass(eq=False, kw_only=True)
class NotAbsolute(FileOpsError):
    code: ClassVar[str] = "not_absolute"
    path: str


@dataclass(eq=False, kw_only=True)
class OutsideRoots(FileOpsError):
    code: ClassVar[str] = "outside_roots"
    path: str


@dataclass(eq=False, kw_only=True)
class PermissionRefused(FileOpsError):
    """reason: the operating system's own words. hint: what to do about it, "" for the usual."""

    code: ClassVar[str] = "permission_denied"
    reason: str
    hint: str = ""


@dataclass(eq=False, kw_only=True)
class NotRegularFile(FileOpsError):
    """kind: "fifo", "socket", "character device", "block device", "kernel stream"."""

    code: ClassVar[str] = "not_regular_file"
    kind: str


@dataclass(eq=False, kw_only=True)
class BinaryFile(FileOpsError):
    code: ClassVar[str] = "binary"


@dataclass(eq=False, kw_only=True)
class ImageUnreadable(FileOpsError):
    """An image by its first bytes, but damaged, or larger than is decoded here."""

    code: ClassVar[str] = "image_unreadable"
    reason: str


@dataclass(eq=False, kw_only=True)
class NotebookFile(FileOpsError):
    code: ClassVar[str] = "notebook"


@dataclass(eq=False, kw_only=True)
class TooLarge(FileOpsError):
    code: ClassVar[str] = "too_large"
    size_bytes: int
    max_kb: int


@dataclass(eq=False, kw_only=True)
class TooManyChars(FileOpsError):
    code: ClassVar[str] = "too_many_chars"
    n_chars: int
    max_chars: int


@dataclass(eq=False, kw_only=True)
class NotRead(FileOpsError):
    code: ClassVar[str] = "not_read"


@dataclass(eq=False, kw_only=True)
class ModifiedExternally(FileOpsError):
    """changed_by: "external", "buffer" or the id of the session that wrote.

    diff_since_read: unified diff from what the session saw to what stands, where what it saw is still known.
    """

    code: ClassVar[str] = "modified_externally"
    changed_by: str = "external"
    diff_since_read: str | None = None
    also_changed_by: str | None = None


@dataclass(eq=False, kw_only=True)
class NoMatch(FileOpsError):
    code: ClassVar[str] = "no_match"
    old_string: str
    edit_index: int = 0
    nearest: "Nearest | None" = None


@dataclass(eq=False, kw_only=True)
class MultipleMatches(FileOpsError):
    """lines: 1-based line on which each candidate starts, in order."""

    code: ClassVar[str] = "multiple_matches"
    old_string: str
    n_matches: int
    lines: tuple[int, ...]
    edit_index: int = 0


@dataclass(eq=False, kw_only=True)
class CountMismatch(FileOpsError):
    code: ClassVar[str] = "count_mismatch"
    n_expected: int
    n_found: int
    lines: tuple[int, ...] = ()
    edit_index: int = 0


@dataclass(eq=False, kw_only=True)
class NoChange(FileOpsError):
    """same_strings: True where old and new are equal, False where only the resulting bytes are."""

    code: ClassVar[str] = "no_change"
    same_strings: bool = True
    edit_index: int = 0


@dataclass(eq=False, kw_only=True)
class AlreadyExists(FileOpsError):
    code: ClassVar[str] = "already_exists"
    edit_index: int = 0


@dataclass(eq=False, kw_only=True)
class NotEncodable(FileOpsError):
    code: ClassVar[str] = "not_encodable"
    encoding: str
    characters: str
    edit_index: int = 0


@dataclass(eq=False, kw_only=True)
class InvalidPattern(FileOpsError):
    """A pattern, or what a replacement names of it, is not of the strategy's language."""

    code: ClassVar[str] = "invalid_pattern"
    reason: str
    edit_index: int = 0


@dataclass(eq=False, kw_only=True)
class StrategyFailed(FileOpsError):
    """A strategy of a plugin raised, or its places were no edit of the text."""

    code: ClassVar[str] = "strategy_failed"
    strategy: str
    reason: str
    edit_index: int = 0


@dataclass(eq=False, kw_only=True)
class ValidationFailed(FileOpsError):
    """A validator of a plugin refused what the edit would make of the file. reason: its own words."""

    code: ClassVar[str] = "validation_failed"
    validator: str
    reason: str


@dataclass(eq=False, kw_only=True)
class Rejected(FileOpsError):
    """what: "edit" or "command"."""

    code: ClassVar[str] = "rejected"
    what: str = "edit"


@dataclass(eq=False, kw_only=True)
class ApprovalTimedOut(FileOpsError):
    code: ClassVar[str] = "approval_timeout"
    timeout_s: float
    what: str = "edit"


@dataclass(eq=False, kw_only=True)
class ApplyRefused(FileOpsError):
    """The editor did not take a `workspace/applyEdit`. reason: its own words, or ours where it said none."""

    code: ClassVar[str] = "apply_refused"
    reason: str


@dataclass(eq=False, kw_only=True)
class DocumentUnknown(FileOpsError):
    """The editor has the file open, and what it shows is not known: neither its text nor the disk's may serve."""

    code: ClassVar[str] = "apply_refused"
    reason: str


@dataclass(eq=False, kw_only=True)
class UndoConflict(FileOpsError):
    """ranges: the parts of the present file that the undo would have to overwrite."""

    code: ClassVar[str] = "undo_conflict"
    ranges: "tuple[LineRange, ...]" = ()
    reason: str = ""


@dataclass(eq=False, kw_only=True)
class DiskFull(FileOpsError):
    code: ClassVar[str] = "disk_full"
    reason: str
    hint: str = ""


@dataclass(eq=False, kw_only=True)
class IoFailure(FileOpsError):
    code: ClassVar[str] = "io_error"
    reason: str
    hint: str = ""


@dataclass(eq=False, kw_only=True)
class ConnectionFailed(FileOpsError):
    """where: the far side, without secrets. is_unsure: the last step was under way, and may have been taken."""

    code: ClassVar[str] = "connection_lost"
    where: str
    reason: str
    is_unsure: bool = False


@dataclass(eq=False, kw_only=True)
class CommandTimedOut(FileOpsError):
    code: ClassVar[str] = "command_timeout"
    timeout_s: float


@dataclass(eq=False, kw_only=True)
class CommandNotStarted(FileOpsError):
    code: ClassVar[str] = "command_failed"
    reason: str


FAILURES: tuple[type[FileOpsError], ...] = (
    FileMissing, IsDirectory, NotAbsolute, OutsideRoots, PermissionRefused, NotRegularFile, BinaryFile,
    ImageUnreadable, NotebookFile, TooLarge, TooManyChars, NotRead, ModifiedExternally, NoMatch, MultipleMatches,
    CountMismatch, NoChange, AlreadyExists, NotEncodable, InvalidPattern, StrategyFailed, ValidationFailed, Rejected,
    ApprovalTimedOut, DocumentUnknown, ApplyRefused, UndoConflict, DiskFull, IoFailure, ConnectionFailed,
    CommandTimedOut, CommandNotStarted,
)  # fmt: skip


@dataclass(eq=False, kw_only=True)
class Stale(Exception):
    """A compare-and-swap lost: the file is no longer the one in the snapshot. Never reaches a caller as such."""

    path: str


@dataclass(eq=False, kw_only=True)
class PathMoved(Exception):
    """A canonical path turned out to hold a symlink: somebody swapped a component. Resolve again."""

    path: str


@dataclass(eq=False, kw_only=True)
class PluginFailed(Exception):
    """Another package's code gave no answer. reason: a clause of which the plugin is the subject, or what it raised."""

    reason: str


@dataclass(eq=False, kw_only=True)
class Cancelled(Exception):
    """The caller took the request back before anything was committed."""

    where: str = field(default="")


@dataclass(eq=False, kw_only=True)
class WatchError(Exception):
    """A folder cannot be watched; its files are only swept. reason: the operating system's own words.

    is_missing: no such folder stands there at the moment, which is no fault of the watcher.
    """

    folder: str
    reason: str
    is_missing: bool = False
