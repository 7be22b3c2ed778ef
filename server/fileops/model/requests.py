from typing import Literal

from msgspec import Struct

from fileops.model.edits import Edit
from fileops.model.errors import NoMatch
from fileops.model.sessions import DEFAULT_SESSION

DEFAULT_COMMAND_TIMEOUT_S = 120.0

Tool = Literal["read", "edit", "multi_edit"]


class ReadRequest(Struct, frozen=True, kw_only=True):
    """offset: 1-based first line; limit: lines, at least 1; None where the caller gave none.

    max_output_bytes: of the finished text in UTF-8, where the caller would not see the rest of a longer one.
    """

    file_path: str
    offset: int | None = None
    limit: int | None = None
    session_id: str = DEFAULT_SESSION
    max_output_bytes: int | None = None


class EditRequest(Struct, frozen=True, kw_only=True):
    """One `edit` (exactly one of `edits`) or one `multi_edit`.

    no_matches: of the edits that are proposed, why the caller's own words failed.
    """

    file_path: str
    edits: tuple[Edit, ...]
    tool: Literal["edit", "multi_edit"] = "edit"
    dry_run: bool = False
    session_id: str = DEFAULT_SESSION
    no_matches: tuple[NoMatch, ...] = ()


class CommandRequest(Struct, frozen=True, kw_only=True):
    """cwd: absolute, None for the first workspace folder. description: what it is for, in the agent's own words."""

    command: str
    timeout_s: float
    cwd: str | None = None
    description: str | None = None
    session_id: str = DEFAULT_SESSION


class HistoryRequest(Struct, frozen=True, kw_only=True):
    """None: not asked for. limit: the newest that many."""

    file_path: str | None = None
    session_id: str | None = None
    limit: int | None = None


class UndoRequest(Struct, frozen=True, kw_only=True):
    """Takes back the edit `edit_id`, or all that stand of session `session_id` (of one file, if `file_path`).

    by_session: who does it, and sees the outcome; None for a person. approve_rest: a person has said so meanwhile.
    is_approved: a person has asked for it or confirmed it, so that nobody is asked.
    """

    edit_id: str | None = None
    session_id: str | None = None
    file_path: str | None = None
    by_session: str | None = None
    dry_run: bool = False
    approve_rest: bool = False
    is_approved: bool = False
