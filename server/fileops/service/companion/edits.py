"""Checks an edit that a host's own tool is about to make: R-COMP-14 to 18.

The edit is planned on what the session has seen and on the present text, with the rules of our own edits. What the host
says better is left to it: a text that is not found, a missing file, a place outside its folders.
"""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from fileops.concurrency.cancellation import CancelToken
from fileops.core.matching.correction import SENTENCES
from fileops.core.presentation import companion_texts as texts
from fileops.core.presentation.failures import failure_text
from fileops.core.presentation.notebook_texts import compared_cells_text
from fileops.core.presentation.suggestion_texts import texts_of_edit
from fileops.model.edits import Plan
from fileops.model.errors import FileOpsError, ModifiedExternally, NoMatch, NotPermitted, NotRead
from fileops.model.files import ReadProof, Snapshot
from fileops.model.internal_errors import PathMoved, Stale
from fileops.model.requests import EditRequest
from fileops.model.results import EditResult
from fileops.model.sessions import SessionName
from fileops.model.suggestions import Suggestions
from fileops.service.companion import rewrites
from fileops.service.companion.answers import CorrectedText
from fileops.service.companion.files import BothTexts, HostFiles, proof_of, to_shown_text
from fileops.service.companion.report import CellWrite, HostEdit, Removal
from fileops.service.companion.rewrites import Rewritten
from fileops.service.edit import EditOperation
from fileops.service.formatting import Formatter
from fileops.service.policy import Policy
from fileops.tracking.freshness import Freshness

Outcome = Literal["unknown", "passed", "refused", "unsaved", "person"]


class Checked(Struct, frozen=True, kw_only=True):
    """What was found about one edit.

    outcome: "unknown" if the host itself will say what is wrong, and "person" if a person decides. refusal: for the
    model; read_proof: what the refusal shows, which counts as read. plan: on the present text; None if the edit does
    not fit unsaved text. texts: what replaces those of the host's call (rewrites.py); edit and plan have them, too.
    note: what the model is told of that once it is written.
    """

    outcome: Outcome
    edit: HostEdit
    both: BothTexts | None = None
    plan: Plan | None = None
    refusal: str = ""
    read_proof: ReadProof | None = None
    texts: CorrectedText | None = None
    note: str = ""


class EditGuard(Struct, frozen=True, kw_only=True):
    """Checks edits in worker threads. literal: the editor without corrections, as the host itself edits."""

    files: HostFiles
    editor: EditOperation
    literal: EditOperation
    freshness: Freshness
    session_id: SessionName

    def check(
        self, edit: HostEdit, policy: Policy, *, can_correct: bool = False, formatter: Formatter | None = None
    ) -> Checked:
        """Check one edit.

        Args: can_correct: whether the host takes other texts of it before it looks for them in the file. formatter: if
        the host takes other texts, and the user wants the lines of edits formatted.
        """
        try:
            both = self.files.look(edit.file_path)
        except NotPermitted as error:
            return self._not_permitted(edit, error)
        except (FileOpsError, PathMoved):
            return Checked(outcome="unknown", edit=edit)
        if isinstance(edit, Removal):
            return self._check_removal(edit, both)
        if isinstance(edit, CellWrite):
            return Checked(outcome="passed", edit=edit, both=both)  # the host refuses it if the file was changed
        try:
            plan = self._plan(edit, both)
        except (NotRead, ModifiedExternally) as error:
            return self.refuse(edit, error, both.present)
        except (FileOpsError, PathMoved, Stale):
            plan = None
        if plan is None:
            return Checked(outcome="unknown" if both.editor is None else "unsaved", edit=edit, both=both)
        rewritten: Rewritten | None = None
        note = ""
        if both.editor is None and any(match in SENTENCES for match in plan.matches):
            is_known = can_correct and self.freshness.knows(self.session_id, plan.snapshot)
            rewritten = rewrites.correct(edit, plan) if is_known else None
            if rewritten is None:
                return Checked(outcome="unknown", edit=edit, both=both)
            edit, note = rewritten.request, texts.corrected_text(plan.matches)
        if edit.content is not None and plan.rebased is not None:
            # Our own write would keep the others' changes; the host's tool overwrites them.
            changed = ModifiedExternally(
                changed_by=plan.rebased.changed_by,
                diff_since_read=plan.rebased.diff,
                cells_since_read=plan.rebased.cells,
            )
            return self.refuse(edit, changed, both.present)
        if formatter is not None:
            styled = rewrites.format_changes(edit, plan, formatter, self.editor.settings.limits)
            if styled is not None:
                rewritten, edit, plan = styled, styled.request, styled.plan
                note = "\n".join(filter(None, (note, styled.note)))
        try:
            is_asked = bool(plan.splices or plan.creates) and policy.needs_decision(plan.snapshot)
        except NotPermitted as error:
            return self._not_permitted(edit, error)
        outcome = "unsaved" if both.editor is not None else "person" if is_asked else "passed"
        found = None if rewritten is None else rewritten.texts
        return Checked(outcome=outcome, edit=edit, both=both, plan=plan, texts=found, note=note)

    def refuse(self, request: EditRequest, error: NotRead | ModifiedExternally, present: Snapshot) -> Checked:
        """Return a refusal that shows the present text, as the refusal of our own edit would."""
        path = request.file_path
        suggested = self.editor.suggest(request, error, None)
        helps = [*texts_of_edit(_fail(request, suggested.error, suggested.suggestions), path).texts()]
        read_proof = suggested.read_proof
        if isinstance(error, NotRead):
            what = texts.not_read_text(path)
        else:
            cells = error.cells_since_read
            shown = error.diff_since_read if cells is None else compared_cells_text(cells.compared, path)
            what = texts.changed_text(path, error.changed_by, shown)
        content = to_shown_text(present)
        whole = None if content is None or read_proof is not None else texts.number_whole(content)
        if whole is not None:
            helps = [texts.whole_text(whole)]
            read_proof = proof_of(self.session_id, path, present, is_whole=True)
        elif read_proof is None:
            helps.append(texts.READ_AGAIN)
        return Checked(outcome="refused", edit=request, refusal="\n\n".join((what, *helps)), read_proof=read_proof)

    def help_after_refusal(
        self, request: EditRequest, tool_prefix: str | None
    ) -> tuple[tuple[str, ...], ReadProof | None]:
        """Return what helps the next call after the host itself has refused this one: R-COMP-25."""
        path = request.file_path
        try:
            both = self.files.look(path)
        except (FileOpsError, PathMoved):
            return (), None
        if both.present.exists and both.editor is not None:
            return (texts.unseen_text(path, both.editor, tool_prefix),), None
        try:
            self.literal.plan(replace(request, dry_run=True), None, CancelToken())
        except (NotRead, ModifiedExternally) as error:
            checked = self.refuse(request, error, both.present)
            return (checked.refusal,), checked.read_proof
        except NoMatch as error:
            suggested = self.editor.suggest(request, error, None)
            failed = _fail(request, suggested.error, suggested.suggestions)
            return tuple(texts_of_edit(failed, path).texts()), None
        except (FileOpsError, PathMoved, Stale):
            pass
        return (), None

    def _plan(self, request: EditRequest, both: BothTexts) -> Plan | None:
        """Return the plan on the present text; None if there is nothing to check, or the edit does not fit that text.

        Raises: NotRead (a whole text), ModifiedExternally and the failures of planning.
        """
        token = CancelToken()
        try:
            return self.editor.plan(replace(request, dry_run=True), None, token)
        except NotRead:
            if request.content is not None and both.present.exists and both.present.data:
                raise
            if request.content is None and not both.present.exists:
                return None
            # Its old text says what it relies on. The session can only have found it in the file.
            if both.editor is not None and not self.editor.fits(request, both.present, both.saved, token):
                return None
            return self.editor.plan_on_snapshot(request, both.present, token)
        except ModifiedExternally:
            if not both.present.exists:
                return None
            raise

    def _check_removal(self, edit: Removal, both: BothTexts) -> Checked:
        """Refuse to delete or rename a file that has changed since the session read it."""
        path, present = edit.file_path, both.present
        if not present.exists:
            return Checked(outcome="unknown", edit=edit)
        if self.freshness.is_tracked(self.session_id, present.path) and not self.freshness.knows(
            self.session_id, present
        ):
            by = self.freshness.find_changer(self.session_id, present)
            return Checked(outcome="refused", edit=edit, refusal=texts.deletion_text(path, by))
        if both.editor is not None:
            shown = texts.number_whole(to_shown_text(present) or "") or texts.READ_AGAIN
            return Checked(outcome="refused", edit=edit, refusal=texts.unsaved_refusal(path, both.editor, shown, None))
        return Checked(outcome="passed", edit=edit, both=both)

    def _not_permitted(self, edit: HostEdit, error: NotPermitted) -> Checked:
        tool = edit.tool if isinstance(edit, EditRequest) else "edit"
        reason = failure_text(error, tool, edit.file_path, self.editor.settings.texts)
        return Checked(outcome="refused", edit=edit, refusal=reason)


def _fail(request: EditRequest, error: FileOpsError, suggestions: Suggestions | None) -> EditResult:
    return EditResult(
        output="",
        error=error,
        edits=request.edits,
        is_multi=request.tool == "multi_edit",
        suggestions=suggestions,
    )
