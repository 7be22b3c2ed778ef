"""A parsed patch as the changes of a change set."""

from posixpath import join, normpath

from fileops.model.changes import CreateFile, DeleteFile, EditFile, FileChange, FilePatch, Patch, RenameFile
from fileops.model.errors import InvalidPatch, NotAbsolute


def to_changes(patch: Patch, folder: str | None) -> tuple[FileChange, ...]:
    """Return the changes of a patch, one for each of its files and in their order.

    folder: absolute, to which relative paths of the patch are relative. Paths are without `.` and `..`.
    Raises: NotAbsolute, if there is no folder; InvalidPatch, if the patch sets the executable bit.
    """
    return tuple(_to_change(file, folder) for file in patch.files)


def _to_change(file: FilePatch, folder: str | None) -> FileChange:
    path = _absolute(file.path, folder)
    if file.is_executable is not None:
        reason = f"it makes {file.path} {'' if file.is_executable else 'not '}executable, which a patch cannot do here"
        raise InvalidPatch(line=file.at, reason=f"{reason}; run chmod")
    match file.operation:
        case "create":
            return CreateFile(file_path=path, content=file.content)
        case "delete":
            return DeleteFile(file_path=path, hunks=file.hunks)
        case "modify":
            return EditFile(file_path=path, hunks=file.hunks)
        case "rename":
            return RenameFile(file_path=path, new_path=_absolute(file.new_path or "", folder), hunks=file.hunks)


def _absolute(path: str, folder: str | None) -> str:
    """Raises: NotAbsolute."""
    if not path.startswith("/") and folder is None:
        raise NotAbsolute(path=path)
    return normpath(join(folder or "/", path))
