"""Wire types of change sets: the request, and the question for clients that keep no list of reviews."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from fileops.model.changes import ChangeKind
from fileops.model.edits import Hunk, Operation
from fileops.wire.types import AskingSession, EditStep, JsonObject, SessionParams

EditSteps = Annotated[list[EditStep], Meta(min_length=1, description="At least one edit operation is required")]


class FileChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A change of one file. edits: of `edit` and `rename`. content: of `create`. new_path: of `rename`."""

    kind: ChangeKind
    file_path: str
    edits: EditSteps | None = None
    content: str | None = None
    new_path: str | None = None


class ApplyChangesParams(SessionParams, frozen=True, kw_only=True):
    changes: list[FileChange]
    description: str | None = None
    dry_run: bool | None = None


class ApplyPatchParams(SessionParams, frozen=True, kw_only=True):
    """A patch. Its paths are relative to the absolute folder `cwd`, without it to the first workspace folder."""

    patch: str
    cwd: str | None = None
    description: str | None = None
    dry_run: bool | None = None


class ConfirmedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a change set that a user is asked about. The texts are null over 1 MB. new_path: of a rename."""

    file_path: str
    operation: Operation
    diff: str
    hunks: tuple[Hunk, ...]
    original_text: str | None
    proposed_text: str | None
    new_path: str | msgspec.UnsetType = msgspec.UNSET
    rebased: JsonObject | msgspec.UnsetType = msgspec.UNSET  # absent unless others changed the file since it was read


class ConfirmChangesParams(msgspec.Struct, frozen=True, kw_only=True):
    """Params of the request that asks the user about a change set."""

    type: Literal["changes"]  # for a client that shows questions of several kinds in one place
    title: str
    description: str
    session_id: str
    files: list[ConfirmedFile]
    original_label: str
    proposed_label: str
    session: AskingSession | msgspec.UnsetType = msgspec.UNSET  # absent for a session of this connection
