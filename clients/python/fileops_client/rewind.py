"""What a rewind did, as a value made from a result's details."""

from __future__ import annotations

from fileops_client._value import Value
from fileops_client.values import RewindConflict, RewoundFile, ToolError


class Rewind(Value):
    """What a rewind did, or would do (`dry_run`), or why it did nothing (`error`). plan: the id of a preview.

    n_changes: how many places change, in n_files files; a renamed file is one. n_undone: how many entries are undone.
    n_decided: with `undecided`, how many entries are left out because they are kept, committed or overwritten;
    n_decided_files: in how many files.
    file_path: the file that could not be written; still_undone: files that could not be restored after that.
    """

    output: str = ""
    error: ToolError | None = None
    rewind_id: str | None = None
    dry_run: bool = False
    plan: str | None = None
    files: tuple[RewoundFile, ...] = ()
    conflicts: tuple[RewindConflict, ...] = ()
    n_undone: int = 0
    n_changes: int = 0
    n_files: int = 0
    n_left: int = 0
    n_decided: int = 0
    n_decided_files: int = 0
    needs_approval: bool | None = None
    file_path: str | None = None
    still_undone: tuple[str, ...] = ()
