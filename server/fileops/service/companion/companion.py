"""Guards and records what a host's own tools read and write, as its hooks report it: docs/protocol/companion.md.

One instance for each session. Belongs to the event loop; worker threads read the disk. No lock is held between a hook
before a write and the hook after it: the write is recognised by its content (record/announced_writes.py).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace as with_data
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from fileops.concurrency.cancellation import CancelToken
from fileops.core.presentation import companion_texts as texts
from fileops.core.presentation.problems import problems_text
from fileops.core.presentation.suggestion_texts import texts_of_edit
from fileops.model.approval import Always, Modify, NoConsent, Once, Reject, SomeChanges, TimedOut, Undecided
from fileops.model.digest import content_digest
from fileops.model.errors import FileOpsError
from fileops.model.files import CommitReport, Committed, ReadProof, Snapshot
from fileops.model.record import BySession
from fileops.model.requests import EditRequest
from fileops.model.sessions import SessionName
from fileops.record.announced_writes import AnnouncedWrite
from fileops.service.commit import did_edit
from fileops.service.companion.answers import NOTHING, Answer, fit_into_answer, join, refusal
from fileops.service.companion.edits import Checked, EditGuard
from fileops.service.companion.files import HostFiles, proof_of, to_shown_text
from fileops.service.companion.made import carry_to, find_step_of_host
from fileops.service.companion.reads import ReadsAhead, after_read, before_read, tell_of_unsaved
from fileops.service.companion.report import (
    CalledTool,
    EditCall,
    HostCall,
    HostEdit,
    NotebookCall,
    ReadCall,
    WriteCall,
    edits_of,
)
from fileops.service.companion.writes import Announcer
from fileops.service.fileops import FileOps
from fileops.service.formatting import Formatter
from fileops.service.workspace import Workspace

# The permission modes in which the host would not ask its user before it writes.
CARRIES_OUT = frozenset({"acceptEdits", "bypassPermissions", "dontAsk", "auto", "yolo", "auto_edit"})
PLAN_MODE = "plan"
LOOKS, LOOK_S = 20, 0.03  # how often, and how far apart, to look for the end of a host's write


class Answered(Struct, frozen=True, kw_only=True):
    """An answer, and what counts as read once it is delivered."""

    answer: Answer
    read_proofs: tuple[ReadProof, ...] = ()


class Companion:
    def __init__(
        self,
        service: FileOps,
        workspace: Workspace,
        session_id: SessionName,
        *,
        label: Callable[[], str],
        editor_at: Callable[[str], str | None],
        save: Callable[[str], Awaitable[None]],
        tool_prefix: Callable[[], str | None],
    ) -> None:
        """Args: label: of the session. editor_at: see HostFiles. tool_prefix: of our tools, if its model has them.

        save: asks editors to save their unsaved text of a file, if their users want that.
        """
        self.session_id = session_id
        self._service, self._workspace = service, workspace
        self._label, self._save, self._tool_prefix = label, save, tool_prefix
        self._files = HostFiles(fs=service.guarded_files, saved=workspace.saved, editor_at=editor_at)
        editor = service.edit_operation
        literal = replace(editor, settings=replace(editor.settings, correction=False))
        self._guard = EditGuard(
            files=self._files, editor=editor, literal=literal, freshness=workspace.freshness, session_id=session_id
        )
        self._announcer, self._reads = Announcer(literal), ReadsAhead()
        self._told: set[str] = set()  # texts about unsaved text, in this turn
        self._rewritten: dict[str, str] = {}  # notes about replaced texts, told once they are written, by path

    # --- before ------------------------------------------------------------------------------------------------

    async def before(
        self,
        calls: Sequence[HostCall],
        call_id: str,
        mode: str,
        *,
        can_correct: bool = False,
        formatter: Formatter | None = None,
    ) -> Answered:
        """Answer a hook before calls of the host's own tools. can_correct, formatter: see EditGuard.check."""
        if len(calls) != 1:  # the texts of one call can be replaced
            can_correct, formatter = False, None
        answered = [
            await self._before(call, call_id, mode, can_correct=can_correct, formatter=formatter) for call in calls
        ]
        return _join(answered)

    async def _before(
        self, call: HostCall, call_id: str, mode: str, *, can_correct: bool, formatter: Formatter | None
    ) -> Answered:
        if isinstance(call, ReadCall):
            await self._save(call.path)
            look = partial(before_read, self._files, call, self._service.settings.texts)
            answer, digest = await self._service.run_on_disk(look)
            self._reads.note(call, call_id, digest)
            return Answered(answer=answer)
        if mode == PLAN_MODE:
            return Answered(answer=NOTHING)  # the host refuses it after its hooks
        try:
            edits = edits_of(call, self.session_id)
        except FileOpsError:
            return Answered(answer=NOTHING)  # the host says what is wrong with the patch
        for edit in edits:
            await self._save(edit.file_path)
        checks = [await self._check(edit, can_correct=can_correct, formatter=formatter) for edit in edits]
        refused = next((each for each in checks if each.outcome == "refused"), None)
        if refused is not None:
            proofs = () if refused.read_proof is None else (refused.read_proof,)
            return Answered(answer=refusal(refused.refusal), read_proofs=proofs)
        unsaved = next((each for each in checks if each.outcome == "unsaved"), None)
        if unsaved is not None:
            return await self._in_editor(unsaved, mode, n_files=len(checks))
        answers: list[Answer] = []
        accepted: set[str] = set()
        for each in checks:
            if each.outcome == "person":
                others = [other.edit.file_path for other in checks if other is not each]
                answer = await self._ask(each, others)
                if answer.decision != "allow":
                    return Answered(answer=answer)
                answers.append(answer)
                accepted.add(each.edit.file_path)
        for each in checks:
            if each.texts is not None:
                self._rewritten[each.edit.file_path] = each.note
                answers.append(Answer(corrected=each.texts))
            if each.both is not None:
                self._announce(each.edit, each.both.saved, call_id, is_kept=each.edit.file_path in accepted)
        return Answered(answer=join(answers))

    async def _check(self, edit: HostEdit, *, can_correct: bool, formatter: Formatter | None) -> Checked:
        policy = self._service.policy(self.session_id)
        check = partial(self._guard.check, edit, policy, can_correct=can_correct, formatter=formatter)
        return await self._service.run_on_disk(check)

    async def _in_editor(self, checked: Checked, mode: str, *, n_files: int) -> Answered:
        """Make the edit in an editor that has unsaved text, which the host would not see, or refuse it. R-COMP-18."""
        edit, both, plan = checked.edit, checked.both, checked.plan
        assert isinstance(edit, EditRequest) and both is not None and both.editor is not None
        path, editor = edit.file_path, both.editor
        if plan is None or n_files > 1 or not self._carries_out(plan.snapshot, mode):
            shown = texts.number_whole(to_shown_text(both.present) or "") or "(too long to show: read the file)"
            return Answered(answer=refusal(texts.unsaved_refusal(path, editor, shown, self._tool_prefix())))
        self._know(path, plan.snapshot)
        result = await self._service.edit(edit)
        if result.error is not None:
            helps = texts_of_edit(result, path).texts()
            return Answered(answer=refusal("\n\n".join((result.output, *helps))))
        return Answered(
            answer=Answer(
                decision="deny",
                reason=texts.made_in_editor_text(path, editor, result.output),
                person=texts.made_in_editor_for_person(path, editor),
            )
        )

    def _carries_out(self, present: Snapshot, mode: str) -> bool:
        """Return whether the daemon may make an edit itself: the host would not ask its user, or we ask a person."""
        is_asked = self._service.policy(self.session_id).needs_decision(present)
        return is_asked or (mode in CARRIES_OUT and self._service.is_in_folders(present.path))

    async def _ask(self, checked: Checked, others: Sequence[str]) -> Answer:
        """Ask a person before the host writes. R-COMP-17."""
        edit, plan = checked.edit, checked.plan
        assert isinstance(edit, EditRequest) and plan is not None
        policy, editor, token = self._service.policy(self.session_id), self._service.edit_operation, CancelToken()
        proposal = await self._service.run_on_disk(lambda: editor.proposal_of(edit, plan, policy, token))
        with self._service.begin_asking(self.session_id) as asking:
            decision = await asking.decide(proposal.question)
            asking.settle(None)
        match decision:
            case Once() | Always():
                return Answer(decision="allow", reason=texts.ACCEPTED)
            case Modify() | SomeChanges():
                self._know(edit.file_path, plan.snapshot)
                written = await self._service.write_decided(edit, proposal, decision)
                output = texts.undecided_text(edit.file_path) if written is None else written.output
                return refusal(texts.decided_text(output, others))
            case Undecided() | NoConsent() | TimedOut():
                return Answer(decision="ask", reason=texts.undecided_text(edit.file_path))
            case Reject():
                return refusal(texts.rejected_text(decision.reason))
            case _:
                return refusal(texts.rejected_text(""))

    def _know(self, path: str, present: Snapshot) -> None:
        """Count an unread file as read, because the edit quotes its text, so that the daemon may make the edit."""
        proof = proof_of(self.session_id, path, present, is_whole=False)
        if proof is not None and not self._workspace.freshness.is_tracked(self.session_id, present.path):
            self._workspace.freshness.note_read(proof, checks_later=True)

    def _announce(self, edit: HostEdit, saved: Snapshot, call_id: str, *, is_kept: bool) -> None:
        for announced in self._announcer.announce(
            edit,
            saved,
            call_id=call_id,
            session_id=self.session_id,
            label=self._label(),
            is_kept=is_kept,
            read=self._files.read_saved,
        ):
            self._workspace.announced.announce(announced)

    # --- after -------------------------------------------------------------------------------------------------

    async def after(self, calls: Sequence[HostCall], call_id: str) -> Answered:
        """Answer a hook after calls of the host's own tools."""
        answered = [
            await self._after_read(call, call_id) if isinstance(call, ReadCall) else Answered(answer=NOTHING)
            for call in calls
        ]
        writes = self._workspace.announced.of_call(self.session_id, call_id)
        if any(not isinstance(call, ReadCall) for call in calls):
            told = {call.path: call for call in calls if isinstance(call, (EditCall, WriteCall, NotebookCall))}
            answered += [
                Answered(answer=await self._after_write(write, told.get(write.announced.given_path)))
                for write in writes
            ]
            notes = [note for path in told if (note := self._rewritten.pop(path, None)) is not None]
            answered.append(Answered(answer=Answer(contexts=(*notes, *await self._problems(writes)))))
        self._workspace.announced.end(writes)
        return _join(answered)

    async def _after_read(self, call: ReadCall, call_id: str) -> Answered:
        before = self._reads.take(call, call_id)
        look = partial(after_read, self._files, call, self.session_id, self._tool_prefix, before)
        answer, proof = await self._service.run_on_disk(look)
        return Answered(answer=answer, read_proofs=() if proof is None else (proof,))

    async def tell_of_unsaved(self, file_paths: Sequence[str]) -> tuple[str, ...]:
        """Show, once in a turn, the unsaved text of files that a shell command has named. R-COMP-12."""
        look = partial(tell_of_unsaved, self._files, file_paths, self._tool_prefix())
        found = await self._service.run_on_disk(look)
        new = fit_into_answer(text for text in found if text not in self._told)
        self._told.update(new)
        return new

    async def _after_write(self, write: AnnouncedWrite, told: EditCall | WriteCall | NotebookCall | None) -> Answer:
        """Args: told: the call with the texts that the host says it has replaced and written, if it does."""
        await self._until_found(write)
        if write.commit is None:
            await self._claim(write, told)
            return NOTHING
        await self._note(write)
        loss, path = write.loss, write.announced.given_path
        if loss is None:
            return NOTHING
        can_be_restored = loss.merged is not None
        return Answer(
            contexts=(
                texts.loss_text(path, loss.lines, loss.loss_id, self._tool_prefix(), can_be_restored=can_be_restored),
            ),
            person=texts.loss_for_person(
                path, len(loss.lines), self._label(), loss.loss_id, can_be_restored=can_be_restored
            ),
        )

    async def _until_found(self, write: AnnouncedWrite) -> None:
        """Wait briefly until the recorder has read what the host wrote. Without a recorder, look at the file."""
        recorder, path = self._workspace.recorder, write.announced.path
        is_recorded = recorder is not None and recorder.is_watched(path)
        for _ in range(LOOKS):
            if write.commit is not None:
                return
            if recorder is not None and is_recorded:
                await recorder.flush()
            found = await self._service.run_on_disk(partial(self._files.read_saved, path))
            content = None if found is None or not found.exists else found.data
            if found is not None and not is_recorded:
                commit = self._workspace.announced.match(
                    path, lambda known: known.seen[-1], content, found.stamp, may_store=False
                )
                if commit is not None and recorder is not None:
                    recorder.end_commit(commit)
            if write.commit is not None or (write.seen[-1] != write.seen[0] and write.seen[-1] == content):
                return
            await asyncio.sleep(LOOK_S)

    async def _claim(self, write: AnnouncedWrite, told: EditCall | WriteCall | NotebookCall | None) -> None:
        """Handle a host's write that is not what was announced, such as a formatted text. R-COMP-22."""
        recorder, announced = self._workspace.recorder, write.announced
        found = await self._service.run_on_disk(partial(self._files.read_saved, announced.path))
        if found is None or (found.data if found.exists else None) == write.seen[0]:
            return
        made = find_step_of_host(write.seen, found.data if found.exists else None, told)
        if recorder is not None and made.after is not None:
            by = BySession(session_id=self.session_id, label=self._label())
            recorder.claim(announced.path, by, content_digest(made.after), is_unsure=not made.is_sure)
        if not made.is_sure or made.after != found.data:
            return
        report = CommitReport(method="in_place", durability="not_synced", reason="written by the host's own tool")
        committed = Committed(snapshot=found, report=report)
        freshness = self._workspace.freshness

        def note() -> None:
            before = with_data(announced.before, data=made.before or b"")
            shown = None if announced.is_whole else freshness.find_shown(self.session_id, before)
            if shown is not None:  # lines of others that the session has not seen stay unseen
                shown = carry_to(shown, before.data, found.data) or shown
            freshness.note_write(
                self.session_id, announced.given_path, committed, is_known_whole=announced.is_whole, shown=shown
            )

        await self._service.run_on_disk(note)

    async def _problems(self, writes: Sequence[AnnouncedWrite]) -> tuple[str, ...]:
        """Return the problems that the writes introduced, if known soon; otherwise a later notice has them."""
        diagnosis, edit_ids = self._service.diagnosis, [write.commit.edit_id for write in writes if write.commit]
        report = None if diagnosis is None or not edit_ids else await diagnosis.report(edit_ids)
        if diagnosis is None or report is None or report.state == "pending":
            return ()
        return (problems_text(report),) if diagnosis.is_news(self.session_id, report) else ()

    async def _note(self, write: AnnouncedWrite) -> None:
        """Move the session's base, and tell everyone of the edit. R-COMP-23."""
        commit = write.commit
        assert commit is not None
        await self._service.run_on_disk(partial(self._note_written, write))
        service = self._service
        service.files.activity.note_edit(self.session_id, write.announced.given_path, self._workspace.now())
        service.begin_diagnosis(self.session_id)
        if self._workspace.diagnosis is not None and not commit.plan.cells:
            self._workspace.diagnosis.note_commits((commit,))
        service.publish(did_edit(commit))

    def _note_written(self, write: AnnouncedWrite) -> None:
        """Record the write for the trackers of all sessions. Blocks."""
        commit, announced, freshness = write.commit, write.announced, self._workspace.freshness
        assert commit is not None
        found = self._files.read_saved(announced.path)
        is_present = found is not None and found.exists and found.data == commit.after.data
        snapshot = found if is_present and found is not None else commit.after
        committed = Committed(snapshot=snapshot, report=commit.report)
        knows_all = announced.is_whole or not commit.before.exists
        if announced.is_made is not None:
            freshness.note_cells_written(
                self.session_id,
                announced.given_path,
                committed,
                commit.before,
                commit.plan.cells,
                shown=self._find_shown(write),
            )
        elif not knows_all and not freshness.is_tracked(self.session_id, announced.path):
            freshness.note_blind_write(self.session_id, committed)
        else:
            shown = None if knows_all else self._find_shown(write)
            freshness.note_write(
                self.session_id, announced.given_path, committed, is_known_whole=knows_all, shown=shown
            )
        freshness.note_writer(self.session_id, announced.path, commit.before.digest)

    def _find_shown(self, write: AnnouncedWrite) -> bytes | None:
        """Return what the session knows of the file now: its base with its own edit. Others' lines stay unseen."""
        commit = write.commit
        shown = None if commit is None else self._workspace.freshness.find_shown(self.session_id, commit.before)
        if commit is None or shown is None:
            return None
        made = next((result for result in write.announced.results_of(shown) if result is not None), None)
        return made if made is not None else carry_to(shown, commit.before.data, commit.after.data)

    # --- calls that end otherwise ------------------------------------------------------------------------------

    def end_failed(self, call_id: str) -> None:
        """End what was announced for a call that the host did not make."""
        self._workspace.announced.end(self._workspace.announced.of_call(self.session_id, call_id))

    def begin_turn(self) -> None:
        self._told.clear()
        self._rewritten.clear()

    def end_turn(self) -> None:
        self._workspace.announced.end_session(self.session_id)

    async def batch(self, calls: Sequence[CalledTool]) -> Answered:
        """Help after calls that the host has refused before it called a hook. R-COMP-25."""
        found: list[str] = []
        proofs: list[ReadProof] = []
        for called in calls:
            self.end_failed(called.call_id)
            if not called.is_refused:
                continue
            try:
                edits = edits_of(called.call, self.session_id)
            except FileOpsError:
                continue
            for edit in edits:
                if not isinstance(edit, EditRequest):
                    continue
                look = partial(self._guard.help_after_refusal, edit, self._tool_prefix())
                helps, proof = await self._service.run_on_disk(look)
                found += helps
                proofs += [] if proof is None else [proof]
        return Answered(answer=Answer(contexts=fit_into_answer(found)), read_proofs=tuple(proofs))


def _join(answered: Sequence[Answered]) -> Answered:
    proofs = tuple(proof for each in answered for proof in each.read_proofs)
    return Answered(answer=join([each.answer for each in answered]), read_proofs=proofs)
