"""A parsed patch as the changes of a change set."""

from posixpath import join, normpath

from fileops.model.changes import CreateFile, DeleteFile, EditFile, FileChange, FilePatch, Patch, RenameFile
from fileops.model.errors import NotAbsolute


def to_changes(patch: Patch, folder: str | None) -> tuple[FileChange, ...]:
    """Return the changes of a patch, one for each of its files and in their order.

    folder: absolute; the patch's relative paths are relative to it. Paths are without `.` and `..`. Raises:
    NotAbsolute, if there is no folder.
    """
    return tuple(_to_change(file, folder) for file in patch.files)


def _to_change(file: FilePatch, folder: str | None) -> FileChange:
    path = _absolute(file.path, folder)
    match file.operation:
        case "create":
            return CreateFile(file_path=path, content=file.content, is_executable=file.is_executable)
        case "delete":
            return DeleteFile(file_path=path, hunks=file.hunks)
        case "modify":
            return EditFile(file_path=path, hunks=file.hunks, is_executable=file.is_executable)
        case "rename":
            return RenameFile(
                file_path=path,
                new_path=_absolute(file.new_path or "", folder),
                hunks=file.hunks,
                is_executable=file.is_executable,
            )


def _absolute(path: str, folder: str | None) -> str:
    """Raises: NotAbsolute."""
    if not path.startswith("/") and folder is None:
        raise NotAbsolute(path=path)
    return normpath(join(folder or "/", path))
