"""Renames in the files of a rewind, which has a removed and a created file for each. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher, unified_diff

from msgspec import Struct

from fileops_client.values import CellUiExtra, RewoundFile

LEAST_SIMILAR = 0.5  # of the lines, as for git diff
MAX_COMPARED = 400  # pairs of files that are not equal


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


def to_shown_files(files: Sequence[RewoundFile]) -> list[ShownFile]:
    """Return the files in their order, a renamed one under the name that it gets."""
    others = _other_names(files)
    gone = {file.file_path for file in others.values()}
    return [
        _show_renamed(others[file.file_path], file) if file.file_path in others else _show(file)
        for file in files
        if file.file_path not in gone
    ]


def _other_names(files: Sequence[RewoundFile]) -> dict[str, RewoundFile]:
    """For each created file, by path, the removed file that it was before."""
    left = [file for file in files if file.outcome == "removed" and file.removed and not file.ui_extra.truncated]
    found: dict[str, RewoundFile] = {}
    without: list[RewoundFile] = []
    for file in files:
        if file.outcome != "created" or not file.added or file.ui_extra.truncated:
            continue
        same = next((other for other in left if _text(other) == _text(file)), None)
        if same is None:
            without.append(file)
        else:
            left.remove(same)
            found[file.file_path] = same
    if len(left) * len(without) > MAX_COMPARED:
        return found
    for file in without:
        rated = [(_similarity(other, file), n) for n, other in enumerate(left)]
        best, n = max(rated, default=(0.0, 0))
        if best >= LEAST_SIMILAR:
            found[file.file_path] = left.pop(n)
    return found


def _similarity(file: RewoundFile, other: RewoundFile) -> float:
    matcher = SequenceMatcher(None, _text(file), _text(other), autojunk=False)
    return 0.0 if matcher.real_quick_ratio() < LEAST_SIMILAR else matcher.ratio()


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
    lines = list(unified_diff(_text(old), _text(new), *names, lineterm=""))
    body = lines[2:]
    return ShownFile(
        path=new.file_path,
        moved_from=old.file_path,
        added=sum(line.startswith("+") for line in body),
        removed=sum(line.startswith("-") for line in body),
        outcome="renamed",
        diff="".join(f"{line}\n" for line in [f"rename from {names[0]}", f"rename to {names[1]}", *lines]),
    )
