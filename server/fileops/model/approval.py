"""Approval and correction requests: the values that the daemon sends to a client before an edit, and the replies.

A user approves or rejects a plan. The client's model corrects an `old_string` that was not found.
"""

from msgspec import Struct

from fileops.model.edits import Change, Rebased, SuggestedPlace
from fileops.model.review import ConsentRule, Decider, PreviousDecision, ReviewPart
from fileops.model.sessions import SessionName

# --- approval by the user -------------------------------------------------------------------------------------


class Once(Struct, frozen=True):
    """Apply as proposed."""


class Always(Struct, frozen=True):
    """Apply, and approve all later edits of this session (mode `auto_edit`).

    folders: where it applies (absolute paths); None: wherever the user who said it is asked.
    """

    folders: tuple[str, ...] | None = None


class Reject(Struct, frozen=True):
    """Write nothing. reason: what the model should know, "" if the person said nothing. by: see `Decider`."""

    reason: str = ""
    by: Decider | None = None


class TimedOut(Struct, frozen=True):
    """The client did not answer in time. Write nothing."""

    timeout_s: float


class Modify(Struct, frozen=True):
    """Write this text of the user's instead. Its line ends are LF or those of the file. reason: as in `Reject`."""

    text: str
    reason: str = ""


class SomeChanges(Struct, frozen=True):
    """Apply only the changes with these ids. always: also approves later edits of the session.

    reason: why not the others, as in `Reject`.
    """

    change_ids: tuple[str, ...]
    always: Always | None = None
    reason: str = ""


class FileDecision(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A decision about one file of a change set: some of its changes, or a text; without both, all of it."""

    file_path: str
    """The path, as in the review."""
    change_ids: tuple[str, ...] | None = None
    """Accept only these changes. Empty only with the outcome `modify`: the file stays as it is."""
    text: str | None = None
    """The whole text to write, only with the outcome `modify`."""

    @property
    def is_left_out(self) -> bool:
        return self.change_ids == ()


class SomeFiles(Struct, frozen=True):
    """Apply a change set with these files changed as the user wants, and all others as proposed.

    always: also approves later edits of the session. reason: why not as proposed, as in `Reject`.
    """

    files: tuple[FileDecision, ...]
    always: Always | None = None
    reason: str = ""


class Undecided(Struct, frozen=True):
    """No user decided. Write nothing. editor_left: because the editor that was asked has gone."""

    editor_left: bool = False


class NoConsent(Struct, frozen=True):
    """A person has to consent, but none can be asked. Write nothing. rule: what demands the consent."""

    rule: ConsentRule


class TooMany(Struct, frozen=True):
    """More edits of this session wait for a decision than a person will read. Write nothing."""

    limit: int


Decision = Once | Always | Reject | TimedOut | Modify | SomeChanges | SomeFiles | Undecided | NoConsent | TooMany


class ApprovalRequest(Struct, frozen=True, kw_only=True):
    """A plan that a user approves or rejects. `file_path` is as the caller gave it. A text over 1 MB is None.

    `original_digest` is the digest of the content that the plan was made for. rebased: if that is not what the session
    had read. `path` is canonical. `is_protected`: a
    user is asked about this file in mode `auto_edit`, too. changes: what can be decided apart. previous: what was
    decided before the file changed; None in the first round. new_path: of a rename, as given; new_canonical_path of
    the same. files: of a change set, a question each; then `change` is all of their changes, and the other fields that
    belong to one file are those of the first.
    """

    title: str
    description: str
    file_path: str
    session_id: SessionName
    change: Change
    original_text: str | None
    proposed_text: str | None
    original_digest: bytes = b""
    rebased: Rebased | None = None
    path: str = ""
    is_protected: bool = False
    changes: tuple[ReviewPart, ...] = ()
    previous: PreviousDecision | None = None
    new_path: str | None = None
    new_canonical_path: str | None = None
    files: tuple["ApprovalRequest", ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """The canonical paths of all its files."""
        if self.files:
            return tuple(path for file in self.files for path in file.paths)
        return (self.path,) if self.new_canonical_path is None else (self.path, self.new_canonical_path)

    @property
    def is_approvable(self) -> bool:
        """Whether each file still has something to approve; otherwise only a text or a rejection decides."""
        if self.files:
            return all(file.is_approvable for file in self.files)
        return self.previous is None or bool(self.changes)


# --- correction by the client's model -------------------------------------------------------------------------


class CorrectionRequest(Struct, frozen=True, kw_only=True):
    """An edit whose text was not found in the file. The client's model may correct it."""

    file_path: str
    """Path as the session gave it."""
    session_id: SessionName
    """The session whose edit it is."""
    edit_index: int
    """0-based index of a multi-edit's step."""
    old_string: str
    """The text that was not found."""
    new_string: str
    """The replacement text."""
    reason: str
    """Why it failed, in the words for the model."""
    suggested_place: SuggestedPlace | None
    """Where the text was most likely meant; null if nothing is similar."""


class CorrectedStrings(Struct, frozen=True, kw_only=True):
    """The strings that the model proposes instead. `old_string` is not empty."""

    old_string: str
    new_string: str
