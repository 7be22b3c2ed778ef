"""Who may write where and who is asked, at the time of a request, and the question for the user."""

from collections.abc import Callable, Sequence
from functools import reduce

from msgspec import Struct
from msgspec.structs import replace

from fileops.core import text
from fileops.core.approval import is_rule_file, needs_decision
from fileops.core.pausing import Check
from fileops.core.presentation.outputs import join_changes
from fileops.core.review.changes import MAX_SHOWN_BYTES, changes_of
from fileops.core.roots import Roots
from fileops.model.approval import ApprovalRequest
from fileops.model.digest import content_digest
from fileops.model.edits import Plan
from fileops.model.errors import NotPermitted
from fileops.model.files import Snapshot, TextFormat
from fileops.model.results import EditTexts
from fileops.model.sessions import SessionName
from fileops.model.settings import ApprovalMode


class Policy(Struct, frozen=True, kw_only=True):
    """Confinement, approval mode and abilities of the client.

    can_correct: whether it may propose other strings. mode_at: the mode for a canonical path, if it depends on that.
    opened_at: which folders around a canonical path a user has opened, if they are not `roots`. Only the part of a path
    below them decides whether a file is protected. is_agent: whether the session is not a person's own editor.
    rules_of: the rule file that a file is under another name, for agents; see UnreadableFiles.
    """

    roots: Roots | None
    mode: ApprovalMode
    can_ask: bool
    can_correct: bool = False
    mode_at: Callable[[str], ApprovalMode] | None = None
    opened_at: Callable[[str], Roots | None] | None = None
    is_agent: bool = True
    rules_of: Callable[[Snapshot], str | None] = lambda _snapshot: None

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders relative to which paths are shown to the user."""
        return () if self.roots is None else self.roots.folders

    def needs_decision(self, snapshot: Snapshot) -> bool:
        """Return whether the user decides before this file is written.

        Raises: NotPermitted, if the file is one that says what agents must not read, and the user cannot be asked, or
        would be asked about another name of it.
        """
        if (rules := self.rules_of(snapshot)) is not None:
            raise NotPermitted(source=rules, is_rule_file=True, is_other_name=True)
        if self.is_agent and not self.can_ask and is_rule_file(snapshot.path):
            raise NotPermitted(source=snapshot.path, is_rule_file=True)
        mode = self.mode if self.mode_at is None else self.mode_at(snapshot.path)
        return needs_decision(mode, snapshot, self._find_roots(snapshot), self.can_ask)

    def is_protected(self, snapshot: Snapshot) -> bool:
        """Return whether the user decides even in mode `auto_edit`."""
        return needs_decision("auto_edit", snapshot, self._find_roots(snapshot), client_can_ask=True)

    def _find_roots(self, snapshot: Snapshot) -> Roots | None:
        return self.roots if self.opened_at is None else self.opened_at(snapshot.path)


def question_about(
    plan: Plan,
    proposed: bytes,
    texts: tuple[str, str],
    *,
    file_path: str,
    session_id: SessionName,
    policy: Policy,
    check: Check,
) -> ApprovalRequest:
    """Return the question whether `plan`, which changes the file to `proposed`, may be applied.

    texts: title, description. Raises: the errors of `check`.
    """
    title, description = texts
    shown = texts_of(plan, proposed)
    return ApprovalRequest(
        title=title,
        description=description,
        file_path=file_path,
        session_id=session_id,
        change=plan.shown,
        original_text=shown.original,
        proposed_text=shown.proposed,
        original_digest=plan.snapshot.digest,
        rebased=plan.rebased,
        path=plan.snapshot.path,
        is_protected=policy.is_protected(plan.snapshot),
        changes=changes_of(plan, check),
    )


def question_about_set(questions: Sequence[ApprovalRequest], texts: tuple[str, str]) -> ApprovalRequest:
    """Return one question about several files (at least one).

    questions: one about each file. texts: title, description.
    """
    title, description = texts
    return replace(
        questions[0],
        title=title,
        description=description,
        files=tuple(questions),
        change=reduce(join_changes, [question.change for question in questions]),
        original_text=None,
        proposed_text=None,
        original_digest=content_digest(b"".join(question.original_digest for question in questions)),
        is_protected=any(question.is_protected for question in questions),
        changes=(),
        previous=None,
        rebased=None,
        new_path=None,
        new_canonical_path=None,
    )


def texts_of(plan: Plan, proposed: bytes) -> EditTexts:
    """Return the whole text before and after the plan, as a user or a client sees it."""
    return EditTexts(
        original=_to_shown_text(plan.snapshot.data, plan.format), proposed=_to_shown_text(proposed, plan.format)
    )


def _to_shown_text(data: bytes, fmt: TextFormat) -> str | None:
    """Return the text for a question or a result; None if it is too long."""
    return text.decode(data, fmt) if len(data) <= MAX_SHOWN_BYTES else None
