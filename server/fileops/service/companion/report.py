"""What a hook reports about its host's own tools, as values, and the edits that a call asks for."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from fileops.core.patch.changes import to_changes
from fileops.core.patch.parser import parse_patch
from fileops.model.changes import CreateFile, DeleteFile, EditFile, RenameFile
from fileops.model.edits import Edit, PatchHunk
from fileops.model.requests import EditRequest
from fileops.model.sessions import SessionName

Event = Literal["start", "before", "after", "failed", "batch", "decision", "owner", "turn", "end"]
Path = Annotated[str, Meta(max_length=4096, pattern=r"\A/[^\0]*\Z")]
MAX_FILES = 64  # of one patch


class ReadCall(Struct, frozen=True, kw_only=True, tag_field="kind", tag="read"):
    """A read. start, n_lines: the lines that were asked for or shown, 1-based. shown: their text, if the host says."""

    path: Path
    start: int | None = None
    n_lines: int | None = None
    shown: str | None = None


class OneEdit(Struct, frozen=True, kw_only=True):
    old: str
    new: str
    all: bool = False


class EditCall(Struct, frozen=True, kw_only=True, tag_field="kind", tag="edit"):
    """An edit. original, result: the file's text before and after, if the host says."""

    path: Path
    edits: Annotated[list[OneEdit], Meta(min_length=1)]
    original: str | None = None
    result: str | None = None


class WriteCall(Struct, frozen=True, kw_only=True, tag_field="kind", tag="write"):
    """A write of a whole text. original, result: as in EditCall."""

    path: Path
    content: str
    original: str | None = None
    result: str | None = None


class PatchCall(Struct, frozen=True, kw_only=True, tag_field="kind", tag="patch"):
    """A patch. cwd: for its relative paths."""

    patch: str
    cwd: Path


HostCall = ReadCall | EditCall | WriteCall | PatchCall


class CalledTool(Struct, frozen=True, kw_only=True):
    """A call of a batch. is_refused: the host has refused it, perhaps before it called any hook."""

    call: HostCall
    call_id: str = ""
    is_refused: bool = False


class CompanionReport(Struct, frozen=True, kw_only=True):
    """See docs/protocol/companion.md.

    mode: the host's permission mode. tool_prefix: of the names of our tools in this host. waiting: of a decision.
    agent_id, agent_type: of a subagent. can_correct: whether the host takes other texts of an edit from a hook, before
    it looks for them in the file.
    """

    event: Event
    cwd: str = ""
    mode: str = ""
    tool_prefix: str | None = None
    can_correct: bool = False
    call_id: str = ""
    agent_id: Annotated[str, Meta(max_length=4096)] = ""
    agent_type: Annotated[str, Meta(max_length=4096)] = ""
    calls: list[HostCall] = []
    batch: list[CalledTool] = []
    waiting: str = ""


class Removal(Struct, frozen=True, kw_only=True):
    """The deletion of a file by a patch; with new_path: its renaming, after these hunks were applied."""

    file_path: str
    new_path: str | None = None
    hunks: tuple[PatchHunk, ...] = ()


HostEdit = EditRequest | Removal


def edits_of(call: HostCall, session_id: SessionName) -> list[HostEdit]:
    """Return what a call writes, one element for each path. Raises: FileOpsError, if a patch cannot be read."""
    match call:
        case ReadCall():
            return []
        case WriteCall():
            return [EditRequest(file_path=call.path, content=call.content, tool="write", session_id=session_id)]
        case EditCall():
            edits = tuple(Edit(old_string=each.old, new_string=each.new, replace_all=each.all) for each in call.edits)
            tool = "edit" if len(edits) == 1 else "multi_edit"
            return [EditRequest(file_path=call.path, edits=edits, tool=tool, session_id=session_id)]
        case PatchCall():
            return _edits_of_patch(call, session_id)


def _edits_of_patch(call: PatchCall, session_id: SessionName) -> list[HostEdit]:
    found: list[HostEdit] = []
    for change in to_changes(parse_patch(call.patch), call.cwd)[:MAX_FILES]:
        match change:
            case CreateFile():
                found.append(
                    EditRequest(file_path=change.file_path, content=change.content, tool="write", session_id=session_id)
                )
            case DeleteFile():
                found.append(Removal(file_path=change.file_path))
            case RenameFile():
                found.append(Removal(file_path=change.file_path, new_path=change.new_path, hunks=change.hunks))
            case EditFile():
                found.append(
                    EditRequest(
                        file_path=change.file_path, hunks=change.hunks, tool="multi_edit", session_id=session_id
                    )
                )
    return found
