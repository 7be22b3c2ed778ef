"""Renames in the files of a rewind, which has a removed and a created file for each. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from difflib import unified_diff

from msgspec import Struct

from fileops_client.values import CellUiExtra, RewoundFile


class ShownFile(Struct, frozen=True, kw_only=True):
    """A file as people see it. moved_from: its other name. diff: unified, without the lines of a rename alone.

    cells: of a notebook, its changes by cells, which are shown instead.
    """

    path: str
    moved_from: str | None = None
    added: int
    removed: int
    outcome: str
    diff: str
    cells: Sequence[CellUiExtra] = ()

    @property
    def is_rename_only(self) -> bool:
        return self.moved_from is not None and not (self.added or self.removed)


def to_shown_files(files: Sequence[RewoundFile]) -> list[ShownFile]:
    """Return the files in their order, a renamed one under the name that it gets."""
    by_path = {file.file_path: file for file in files}
    old_names = {file.moved_from for file in files}
    shown = (file for file in files if file.file_path not in old_names)
    return [_show(file) if file.moved_from is None else _show_renamed(by_path[file.moved_from], file) for file in shown]


def _text(file: RewoundFile) -> list[str]:
    """The lines of a file that is removed or created as a whole. A line that lacks its end has a mark after it."""
    return list(_lines(file.ui_extra.diff.split("\n")))


def _lines(diff: Iterable[str]) -> Iterator[str]:
    is_text = False
    for line in diff:
        if is_text and line:
            yield line[1:] if line[0] in "+-" else line
        is_text = is_text or line.startswith("@@ ")


def _name(file: RewoundFile) -> str:
    """The name as the head of its diff has it, perhaps quoted."""
    heads = (line[4:] for line in file.ui_extra.diff.split("\n", 2)[:2])
    return next((name for name in heads if name != "/dev/null"), file.file_path)


def _show(file: RewoundFile) -> ShownFile:
    return ShownFile(
        path=file.file_path,
        added=file.added,
        removed=file.removed,
        outcome=file.outcome,
        diff=file.ui_extra.diff,
        cells=file.ui_extra.cells,
    )


def _show_renamed(old: RewoundFile, new: RewoundFile) -> ShownFile:
    names = _name(old), _name(new)
    is_cut = old.ui_extra.truncated or new.ui_extra.truncated
    lines = [] if is_cut else list(unified_diff(_text(old), _text(new), *names, lineterm=""))
    body = lines[2:]
    return ShownFile(
        path=new.file_path,
        moved_from=old.file_path,
        added=new.added if is_cut else sum(line.startswith("+") for line in body),
        removed=old.removed if is_cut else sum(line.startswith("-") for line in body),
        outcome="renamed",
        diff="".join(f"{line}\n" for line in [f"rename from {names[0]}", f"rename to {names[1]}", *lines]),
    )
