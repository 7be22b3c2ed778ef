"""Patches: changes of files as a text says them, by lines and their context, as frozen values.

A patch is not a plan: where its hunks apply is decided on the content of each file, in `core/patch/hunks.py`.
"""

from typing import Literal

from msgspec import Struct

from fileops.model.edits import HunkLine

PatchFormat = Literal["apply_patch", "unified"]


class PatchHunk(Struct, frozen=True, kw_only=True):
    """Lines of a file that are kept, removed and added, in order.

    lines: without their newline; a carriage return before it is part of the line. `no_newline` marks the last line of
    the old or the new file if it has no line end; only unified diffs say so. at: the 1-based line of the patch where
    the hunk begins. anchors: lines of the file above the hunk, outermost first, which say in what part of the file it
    is. old_start: the 1-based line of the file, None if the patch does not say it. is_at_end: whether nothing follows.
    """

    lines: tuple[HunkLine, ...]
    at: int
    anchors: tuple[str, ...] = ()
    old_start: int | None = None
    is_at_end: bool = False

    @property
    def old_lines(self) -> tuple[str, ...]:
        return tuple(line.text for line in self.lines if line.kind != "+")

    @property
    def new_lines(self) -> tuple[str, ...]:
        return tuple(line.text for line in self.lines if line.kind != "-")


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
