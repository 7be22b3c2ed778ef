"""Change sets (changes of several files that are made together or not at all) and patches, as frozen values.

A patch describes changes as a text, by lines and their context. It is not a plan: where its hunks apply is decided by
the content of each file, in `core/patch/hunks.py`.
"""

from typing import Literal

from msgspec import Struct

from fileops.model.edits import Change, Edit, Operation, PatchHunk, Splice
from fileops.model.errors import FileOpsError
from fileops.model.events import DidEdit
from fileops.model.files import CommitReport, Snapshot, Source
from fileops.model.notebooks import CellEdit
from fileops.model.sessions import DEFAULT_SESSION, SessionName
from fileops.model.suggestions import Suggestions

MAX_CHANGES = 64  # per set: nobody reads more, and each holds descriptors during a commit
MAX_NEW_BYTES = 16 << 20  # of the new contents of a set together, which are in memory at once

ChangeKind = Literal["edit", "create", "delete", "rename"]
PatchFormat = Literal["apply_patch", "unified"]


class FilePatch(Struct, frozen=True, kw_only=True):
    """What a patch does to one file. path, new_path: as the patch has them, which may be relative.

    operation: "rename" has a `new_path`, and hunks if the text changes too; "create" has `content`; the hunks of a
    "delete" are the whole text, if the patch has it. at: the 1-based line of the patch where the file's part begins.
    is_executable: what the file shall be, None if the patch leaves that alone.
    """

    operation: Literal["modify", "create", "delete", "rename"]
    path: str
    at: int
    new_path: str | None = None
    hunks: tuple[PatchHunk, ...] = ()
    content: str = ""
    is_executable: bool | None = None


class Patch(Struct, frozen=True, kw_only=True):
    """A whole patch: at least one file, in the order of the text."""

    format: PatchFormat
    files: tuple[FilePatch, ...]


class EditFile(Struct, frozen=True, kw_only=True):
    """Change the text of a file. edits: each applies to the result of the previous one. hunks: a patch's, instead.

    cells: of a notebook, instead of both. is_executable: what the file becomes, here and below; None: no change.
    """

    file_path: str
    edits: tuple[Edit, ...] = ()
    hunks: tuple[PatchHunk, ...] = ()
    cells: tuple[CellEdit, ...] = ()
    is_executable: bool | None = None


class CreateFile(Struct, frozen=True, kw_only=True):
    """Create a file, and the folders above it that are missing. content: the whole text, written as UTF-8."""

    file_path: str
    content: str
    is_executable: bool | None = None


class DeleteFile(Struct, frozen=True, kw_only=True):
    """Delete a file. hunks: of a patch with the whole text; the file is then deleted only if it has that text."""

    file_path: str
    hunks: tuple[PatchHunk, ...] = ()


class RenameFile(Struct, frozen=True, kw_only=True):
    """Give a file another path, and change its text if there are `edits` or `hunks`.

    Nothing may exist at `new_path`.
    """

    file_path: str
    new_path: str
    edits: tuple[Edit, ...] = ()
    hunks: tuple[PatchHunk, ...] = ()
    is_executable: bool | None = None


FileChange = EditFile | CreateFile | DeleteFile | RenameFile


def paths_of(change: FileChange) -> tuple[str, ...]:
    """Return the paths that a change concerns, as given."""
    return (change.file_path, change.new_path) if isinstance(change, RenameFile) else (change.file_path,)


class ChangeSetRequest(Struct, frozen=True, kw_only=True):
    """Changes of several files by one session. description: their purpose, for the person who is asked.

    Paths are as the caller gave them. The order of `changes` only determines the order of results.
    """

    changes: tuple[FileChange, ...]
    description: str = ""
    session_id: SessionName = DEFAULT_SESSION
    dry_run: bool = False


class PatchRequest(Struct, frozen=True, kw_only=True):
    """A change set in the form of a patch.

    cwd: absolute, to which its paths are relative; None for the first folder.
    """

    patch: str
    cwd: str | None = None
    description: str = ""
    session_id: SessionName = DEFAULT_SESSION
    dry_run: bool = False


class FileOutcome(Struct, frozen=True, kw_only=True):
    """What a change set did, or would do, to one file. file_path, new_path: as given; new_path of a rename only.

    edit_id: of the entry in the history, None before it is applied. modified_by_user: it is not what was requested.
    matches: how the texts of its edits or hunks were found, as Plan.matches.
    """

    file_path: str
    operation: Operation
    change: Change
    new_path: str | None = None
    edit_id: str | None = None
    applied_to: Source = "disk"
    modified_by_user: bool = False
    matches: tuple[str, ...] = ()
    commit: CommitReport | None = None


class ChangeProblem(Struct, frozen=True, kw_only=True):
    """Why one change of a set cannot be made. change_index: 0-based.

    suggestions: what is said beside the error, without lines that count as read.
    """

    change_index: int
    error: FileOpsError
    suggestions: Suggestions | None = None


class ChangeSetResult(Struct, frozen=True, kw_only=True):
    """What a change set did, or would do (`dry_run`), or why it did nothing (`error`).

    set_id: None unless it was applied. files: in the order of the request. dropped: paths, as given, that the user has
    left out. problems: of all changes that cannot be made; the first one is the `error`. needs_approval: as EditResult.
    did_edit: the events to publish once the caller has the response.
    """

    output: str
    set_id: str | None = None
    files: tuple[FileOutcome, ...] = ()
    dropped: tuple[str, ...] = ()
    error: FileOpsError | None = None
    problems: tuple[ChangeProblem, ...] = ()
    dry_run: bool = False
    needs_approval: bool | None = None
    did_edit: tuple[DidEdit, ...] = ()


# --- between the service and the filesystem ------------------------------------------------------------------------


class Permissions(Struct, frozen=True):
    """Permission bits for a file. mode: all of them; None: those that it has, or that a new file gets.

    becomes_executable: without `mode`: whether all users who may read the file may execute it, or nobody. A file that
    is already so for its owner stays as it is.
    """

    mode: int | None = None
    becomes_executable: bool = False

    def apply_to(self, mode: int) -> int:
        """Return the permission bits of the file, which has `mode` otherwise."""
        if self.mode is not None:
            return self.mode
        if self.becomes_executable == is_executable(mode):
            return mode
        return mode | (mode & 0o444) >> 2 if self.becomes_executable else mode & ~0o111

    @property
    def is_executable(self) -> bool:
        return self.becomes_executable if self.mode is None else is_executable(self.mode)


class FilePlan(Struct, frozen=True, kw_only=True):
    """What a set will make of one file. splices: over the snapshot's data. new_path: canonical, for a rename.

    permissions: None for those of a new file, or of the file that is changed.
    """

    snapshot: Snapshot
    splices: tuple[Splice, ...] = ()
    new_path: str | None = None
    removes: bool = False
    permissions: Permissions | None = None


def is_executable(mode: int) -> bool:
    """Return whether git calls a file with these permission bits executable."""
    return bool(mode & 0o100)
