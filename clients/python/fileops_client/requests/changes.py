"""The request that makes several changes together, or none of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from fileops_client.requests.sender import FilePath, Sender, drop_none, path_or_none
from fileops_client.tool_result import ToolResult


def edit_file(file_path: FilePath, *edits: tuple[str, str]) -> dict[str, Any]:
    """Return a change of a file's text: pairs of an old and a new string, each applied to the previous result."""
    return {"kind": "edit", "file_path": path_or_none(file_path), "edits": _steps(edits)}


def create_file(file_path: FilePath, content: str) -> dict[str, Any]:
    """Return a change that creates a file with this text, and the folders that it needs."""
    return {"kind": "create", "file_path": path_or_none(file_path), "content": content}


def delete_file(file_path: FilePath) -> dict[str, Any]:
    """Return a change that deletes a file."""
    return {"kind": "delete", "file_path": path_or_none(file_path)}


def rename_file(file_path: FilePath, new_path: FilePath, *edits: tuple[str, str]) -> dict[str, Any]:
    """Return a change of a file's path, and of its text if there are `edits` (see `edit_file`)."""
    change = {"kind": "rename", "file_path": path_or_none(file_path), "new_path": path_or_none(new_path)}
    return {**change, "edits": _steps(edits)} if edits else change


def _steps(edits: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"old_string": old, "new_string": new} for old, new in edits]


class ChangeRequests(Sender):
    async def apply_changes(
        self,
        changes: Sequence[Mapping[str, Any]],
        *,
        description: str | None = None,
        session_id: str | None = None,
        dry_run: bool | None = None,
        timeout_s: float | None = None,
    ) -> ToolResult:
        """Change several files together, or none of them. The session must have read each file, as for an edit.

        Args:
            changes: made by `edit_file`, `create_file`, `delete_file` and `rename_file`, each for another path.
            description: what they are for, in one line, for the user who is asked.
            session_id: whose changes they are; by default this client's session.
            dry_run: plan them and write nothing; the result has the diffs.
            timeout_s: seconds until the request is cancelled; by default the client's `timeout_s`.

        After a success `details["set_id"]` names the set, for `undo`, and `details["files"]` says what became of each
        file. After a failure `details["change_index"]` and `details["problems"]` say which changes cannot be made.
        Codes: as `edit`, `set_unsupported`, and `set_conflict`, the only one after which files may have changed:
        `details["left"]` names them.
        """
        params = drop_none(
            changes=[dict(change) for change in changes],
            description=description,
            session_id=session_id,
            dry_run=dry_run,
        )
        return await self._tool("fileops/applyChanges", params, timeout_s)

    async def apply_patch(
        self,
        patch: str,
        *,
        cwd: FilePath | None = None,
        description: str | None = None,
        session_id: str | None = None,
        dry_run: bool | None = None,
        timeout_s: float | None = None,
    ) -> ToolResult:
        """Make the changes of a patch together, or none of them. The session must have read each file, as for an edit.

        Args:
            patch: in the dialect of `apply_patch`, or unified diffs like git's.
            cwd: the absolute folder to which its paths are relative; by default the first workspace folder.
            description: what it is for, in one line, for the user who is asked.
            session_id: whose changes they are; by default this client's session.
            dry_run: plan them and write nothing; the result has the diffs.
            timeout_s: seconds until the request is cancelled; by default the client's `timeout_s`.

        Codes: as `apply_changes`, and `invalid_patch`; a failure of a hunk or of the patch itself has
        `details["patch_line"]`, the 1-based line of the patch.
        """
        params = drop_none(
            patch=patch, cwd=path_or_none(cwd), description=description, session_id=session_id, dry_run=dry_run
        )
        return await self._tool("fileops/applyPatch", params, timeout_s)
