"""The parameters that every kind of client takes, by name and type."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypedDict

from fileops_client._connection import RequestHandler
from fileops_client.callbacks import ConfirmCommand, ConfirmEdit, CorrectEdit, OnReviews
from fileops_client.initialization_options import Options
from fileops_client.requests.sender import FilePath, path_of

ANYWHERE = "anywhere"


class SetupOptions(TypedDict, total=False):
    """Parameters of `start`, `open`, `attach` and `in_process`.

    root, roots: the workspace folders, outside of which nothing is read or written; a relative path is below this
    program's current folder, and `~` is the home folder, unless the server has its own `command`, which may run
    elsewhere. `roots="anywhere"`: wherever your user may; `start`, `open` and `in_process` need one of the two, except
    `in_process` with a `filesystem` of yours. initialization_options: see Options.
    handlers: answer the server's requests by method ("workspace/applyEdit", ...), from params to result; their
    capabilities are announced. confirm_edit: called before each write. correct_edit: called, with the option
    `correction`, for other strings (old, new) if an edit's text was not found. confirm_command: called before each
    shell command. on_reviews: called with each change of the list of edits that wait for a person, perhaps before the
    client is open; `decide_review` decides. capabilities: merged into the announced ones. timeout_s: how long the
    client waits for the answer to a call that names no other limit, 60 by default; None for no limit. (The `timeout_s`
    of `bash` is another: the command's own, which the server enforces.)
    """

    root: FilePath | None
    roots: Sequence[FilePath] | Literal["anywhere"]
    initialization_options: Options | None
    capabilities: Mapping[str, Any] | None
    handlers: Mapping[str, RequestHandler] | None
    confirm_edit: ConfirmEdit | None
    correct_edit: CorrectEdit | None
    confirm_command: ConfirmCommand | None
    on_reviews: OnReviews | None
    timeout_s: float | None


@dataclass(frozen=True, kw_only=True)
class Setup:
    """See SetupOptions. Raises: TypeError, for an unknown name."""

    root: FilePath | None = None
    roots: Sequence[FilePath] | Literal["anywhere"] = ()
    initialization_options: Options | None = None
    capabilities: Mapping[str, Any] | None = None
    handlers: Mapping[str, RequestHandler] | None = None
    confirm_edit: ConfirmEdit | None = None
    correct_edit: CorrectEdit | None = None
    confirm_command: ConfirmCommand | None = None
    on_reviews: OnReviews | None = None
    timeout_s: float | None = 60.0

    def require_folders(self) -> "Setup":
        """Return the setup, which names its folders. Raises: ValueError, if it does not."""
        if not self.folders and self.roots != ANYWHERE:
            raise ValueError(
                'name the folders that may be read and written: root=... or roots=[...]; or roots="anywhere"'
            )
        return self

    def of_agent(self) -> "Setup":
        """Return the setup of an agent beside editors.

        Raises: ValueError, if it has a reviewer, which would never be asked.
        """
        for name in ("confirm_edit", "confirm_command", "on_reviews"):
            if getattr(self, name) is not None:
                raise ValueError(f'{name} needs the role "editor": the users of editors decide on edits of agents')
        return self

    def of_editor(self) -> "Setup":
        """Return the setup of an editor, which is not asked about agents' edits if it cannot answer."""
        if (
            self.confirm_edit is not None
            or self.on_reviews is not None
            or "window/showMessageRequest" in (self.handlers or {})
        ):
            return self
        options: Options = {"approval_fallback": "none", **(self.initialization_options or {})}
        return replace(self, initialization_options=options)

    def on_this_machine(self) -> "Setup":
        """Return the setup with absolute folders: those of this program's current folder, and of its user's home."""
        if self.roots == ANYWHERE and self.root is None:
            return self
        return replace(self, root=None, roots=[os.path.abspath(os.path.expanduser(folder)) for folder in self.folders])

    def on_any_machine(self) -> "Setup":
        """Return the setup of a server that may run elsewhere. Raises: ValueError, for a relative folder."""
        for folder in self.folders:
            if not os.path.isabs(folder):
                raise ValueError(
                    f"root must be an absolute path, not {folder!r}: a server with its own `command` may run elsewhere"
                )
        return self

    @property
    def folders(self) -> list[str]:
        """The workspace folders, the root first. Raises: ValueError, for one path instead of a list."""
        if isinstance(self.roots, str):
            if self.roots != ANYWHERE or self.root is not None:
                raise ValueError(f'roots must be a list of folders, or "anywhere" without a root, not {self.roots!r}')
            return []
        return [path_of(folder) for folder in ([] if self.root is None else [self.root]) + list(self.roots)]
