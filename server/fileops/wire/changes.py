"""Wire types of change sets: the request, and the question for clients that keep no list of reviews."""

from typing import Annotated

import msgspec
from msgspec import Meta

from fileops.model.changes import ChangeKind
from fileops.wire.types import CellSteps, EditStep, SessionParams

EditSteps = Annotated[list[EditStep], Meta(min_length=1, description="At least one edit operation is required")]


class FileChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A change of one file."""

    kind: ChangeKind
    """What happens to the file."""
    file_path: str
    """Absolute path of the file."""
    edits: EditSteps | None = None
    """For `edit`, and for `rename` if the text also changes. Each applies to the result of the previous one."""
    cells: CellSteps | None = None
    """For `edit` of a notebook, instead of `edits`: changes of its cells, as `fileops/editNotebook` has them."""
    content: str | None = None
    """For `create`: the whole text."""
    new_path: str | None = None
    """For `rename`: the new absolute path, at which no file may exist."""


class ApplyChangesParams(SessionParams, frozen=True, kw_only=True):
    """Changes of several files that are made together or not at all."""

    changes: list[FileChange]
    """The changes, each of another file."""
    description: str | None = None
    """The purpose of the changes, for the person who is asked."""
    dry_run: bool | None = None
    """Check and preview, but write nothing."""


class ApplyPatchParams(SessionParams, frozen=True, kw_only=True):
    """A patch that is applied as a whole or not at all."""

    patch: str
    """The patch, in the patch language of agents or as a unified diff."""
    cwd: str | None = None
    """Absolute path of the folder to which the patch's paths are relative; by default the first workspace folder."""
    description: str | None = None
    """The purpose of the patch, for the person who is asked."""
    dry_run: bool | None = None
    """Check and preview, but write nothing."""
