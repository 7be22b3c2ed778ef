"""Wire types of change sets: the request, and the question for clients that keep no list of reviews."""

from typing import Annotated

import msgspec
from msgspec import Meta

from fileops.model.changes import ChangeKind
from fileops.wire.types import EditStep, SessionParams

EditSteps = Annotated[list[EditStep], Meta(min_length=1, description="At least one edit operation is required")]


class FileChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A change of one file."""

    kind: ChangeKind
    """What happens to the file."""
    file_path: str
    """Absolute."""
    edits: EditSteps | None = None
    """Of `edit`, and of `rename` if the text changes too. Each works on the result of the one before it."""
    content: str | None = None
    """Of `create`: the whole text."""
    new_path: str | None = None
    """Of `rename`: the absolute path afterwards. No file may be there."""


class ApplyChangesParams(SessionParams, frozen=True, kw_only=True):
    """Changes of several files, which are made together or not at all."""

    changes: list[FileChange]
    """Each of another file."""
    description: str | None = None
    """What the changes are for, as a person who is asked reads it."""
    dry_run: bool | None = None
    """Check and preview, and write nothing."""


class ApplyPatchParams(SessionParams, frozen=True, kw_only=True):
    """A patch, which is applied as a whole or not at all."""

    patch: str
    """In the patch language of agents, or a unified diff."""
    cwd: str | None = None
    """Absolute, the folder that paths in the patch are relative to. Without it: the first workspace folder."""
    description: str | None = None
    """What the patch is for, as a person who is asked reads it."""
    dry_run: bool | None = None
    """Check and preview, and write nothing."""
