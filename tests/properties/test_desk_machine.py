"""A person and agents at the same files, in any order, against a model of three strings per file.

What is asserted: buffer and disk hold exactly what the person, other programs and *acknowledged* edits made of them.
No keystroke is lost, nothing is written that was not acknowledged, and an undo reverts the agent's line alone.
"""

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from fileops.core.uris import uri_of
from fileops.model.approval import Decision, Modify, Once, Reject
from fileops.model.errors import (
    AlreadyExists,
    ApplyRefused,
    FileMissing,
    ModifiedExternally,
    NoMatch,
    NotRead,
    Rejected,
    UndoConflict,
)
from support.in_process import Workbench

T = TypeVar("T")
paths = st.sampled_from(["/w/f", "/w/g"])
sessions = st.sampled_from(["a", "b"])
places = st.integers(0, 30)
REFUSALS = (ModifiedExternally, NotRead, FileMissing, ApplyRefused, Rejected, NoMatch, AlreadyExists)


@dataclass
class Model:
    """disk: what the file holds. buffer: what the window shows, None where it is closed. base: what the window showed
    when it last agreed with the disk.
    """

    disk: str
    buffer: str | None = None
    base: str | None = None

    @property
    def is_dirty(self) -> bool:
        return self.buffer is not None and self.buffer not in {self.base, self.disk}

    @property
    def truth(self) -> str:
        return self.buffer if self.is_dirty and self.buffer is not None else self.disk

    @truth.setter
    def truth(self, text: str) -> None:
        if self.is_dirty:
            self.buffer = text
        else:
            self.disk = text

    def look(self) -> None:
        if self.buffer == self.disk:
            self.base = self.buffer


@dataclass(frozen=True)
class Applied:
    """One line that an agent put in the place of another, or (old: None) that was added at the end with approval."""

    path: str
    session: str
    old: str | None
    new: str

    def taken_back(self, text: str) -> str:
        lines = [self.old if line == self.new else line for line in text.split("\n")]
        return "\n".join(line for line in lines if line is not None)


def inserted(text: str, at: int, line: str) -> str:
    lines = text.splitlines(keepends=True)
    at %= len(lines) + 1
    return "".join([*lines[:at], line + "\n", *lines[at:]])


def removed(text: str, at: int) -> str:
    lines = text.splitlines(keepends=True)
    return "".join([*lines[: at % len(lines)], *lines[at % len(lines) + 1 :]]) if lines else text


class DeskMachine(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.runner = asyncio.Runner()
        self.bench = self.run(_new_desk())
        self.models = {path: Model(f"{path}\nmiddle\nend\n") for path in ("/w/f", "/w/g")}
        for path, model in self.models.items():
            self.bench.disk.put(path, model.disk.encode())
        self.n_lines = 0
        self.applied: dict[str, Applied] = {}
        for path in self.models:
            self.open_window(path)

    def teardown(self) -> None:
        self.bench.close()
        self.runner.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def line(self, who: str) -> str:
        self.n_lines += 1
        return f"{who}{self.n_lines}"

    # --- the person ----------------------------------------------------------------------------------------

    @rule(path=paths)
    def opens(self, path: str) -> None:
        self.open_window(path)

    def open_window(self, path: str) -> None:
        model = self.models[path]
        if model.buffer is None:
            self.bench.editor.open(path)
            model.buffer = model.base = model.disk

    @rule(path=paths, at=places)
    def types(self, path: str, at: int) -> None:
        self.type_line(path, at)

    @rule(path=paths, at=places, session=sessions, agent_at=places)
    def types_and_an_agent_edits(self, path: str, at: int, session: str, agent_at: int) -> None:
        self.type_line(path, at)
        self.edit(path, session, agent_at, reads_first=True)

    def type_line(self, path: str, at: int) -> None:
        model = self.models[path]
        if model.buffer is not None:
            model.buffer = inserted(model.buffer, at, self.line("key"))
            self.put_in_window(path, model.buffer)

    @rule(path=paths, at=places)
    def deletes_a_line(self, path: str, at: int) -> None:
        model = self.models[path]
        if model.buffer is not None:
            model.buffer = removed(model.buffer, at)
            self.put_in_window(path, model.buffer)

    def put_in_window(self, path: str, text: str) -> None:
        """Reported as the one change that it is."""
        uri = uri_of(path)
        old = self.bench.editor.documents[uri].text
        head = next((n for n, (a, b) in enumerate(zip(old, text, strict=False)) if a != b), min(len(old), len(text)))
        limit = min(len(old), len(text)) - head
        tail = next((n for n in range(limit) if old[-1 - n] != text[-1 - n]), limit)
        self.bench.editor.splice(uri, head, len(old) - tail, text[head : len(text) - tail])

    @rule(path=paths)
    def saves(self, path: str) -> None:
        model = self.models[path]
        if model.buffer is not None:
            model.disk = model.base = model.buffer
            self.bench.editor.save(uri_of(path))

    @rule(path=paths)
    def reverts(self, path: str) -> None:
        model = self.models[path]
        if model.buffer is not None:
            model.buffer = model.base = model.disk
            self.bench.editor.reload(uri_of(path))

    @rule(path=paths, at=places)
    def closes(self, path: str, at: int) -> None:
        model = self.models[path]
        if model.buffer is not None and at % 4 == 0:
            model.buffer = model.base = None
            self.bench.editor.close(uri_of(path))

    @rule(path=paths, at=places)
    def another_program_writes(self, path: str, at: int) -> None:
        model = self.models[path]
        model.disk = inserted(model.disk, at, self.line("tool"))
        self.bench.disk.put(path, model.disk.encode())

    # --- agents --------------------------------------------------------------------------------------------

    @rule(path=paths, session=sessions)
    def reads(self, path: str, session: str) -> None:
        outcome = self.run(self.bench.read(path, session))
        assert outcome.error is None
        for line in self.models[path].truth.splitlines():
            assert f"→{line}\n" in outcome.output + "\n"

    @rule(path=paths, session=sessions, at=places, reads_first=st.booleans())
    def edits(self, path: str, session: str, at: int, reads_first: bool) -> None:
        self.edit(path, session, at, reads_first=reads_first)

    @rule(path=paths, session=sessions, at=places, typed_at=places)
    def edits_while_the_editor_refuses_or_types(self, path: str, session: str, at: int, typed_at: int) -> None:
        def before_apply() -> None:
            if typed_at % 2:
                raise ApplyRefused(reason="not now")
            self.type_line(path, typed_at)

        self.bench.editor.before_apply = before_apply
        try:
            self.edit(path, session, at, reads_first=True)
        finally:
            self.bench.editor.before_apply = lambda: None

    @rule(path=paths, session=sessions, at=places, answer=st.sampled_from(["once", "reject", "modify"]))
    def edits_with_approval(self, path: str, session: str, at: int, answer: str) -> None:
        with_approval(self, answer, lambda: None, lambda: self.edit(path, session, at, reads_first=True))

    @rule(path=paths, session=sessions, at=places, typed_at=places)
    def edits_and_the_person_types_before_he_approves(self, path: str, session: str, at: int, typed_at: int) -> None:
        def types_once() -> None:
            # Each time that typing opens the review again, the user would type again, and so on without an end.
            self.bench.person.meanwhile = lambda: None
            self.type_line(path, typed_at)

        def work() -> None:
            self.edit(path, session, at, reads_first=True)

        with_approval(self, "once", types_once, work)

    def edit(self, path: str, session: str, at: int, *, reads_first: bool) -> None:
        model = self.models[path]
        lines = model.truth.splitlines()
        if not lines:
            return
        old, new = lines[at % len(lines)], self.line("agent")
        if reads_first:
            self.run(self.bench.read(path, session))
        outcome = self.run(self.bench.edit(path, f"{old}\n", f"{new}\n", session))
        if outcome.error is not None:
            assert isinstance(outcome.error, REFUSALS), outcome.error
            return
        assert outcome.edit_id is not None
        if outcome.modified_by_user:
            model.truth = f"{model.truth}{new} by hand\n"
            self.applied[outcome.edit_id] = Applied(path, session, None, f"{new} by hand")
        else:
            self.applied[outcome.edit_id] = Applied(path, session, old, new)
            assert f"{old}\n" in model.truth
            model.truth = "\n".join(new if line == old else line for line in model.truth.split("\n"))

    @rule(which=places)
    def undoes(self, which: int) -> None:
        if not self.applied:
            return
        edit_id = list(self.applied)[which % len(self.applied)]
        edit = self.applied[edit_id]
        model = self.models[edit.path]
        outcome = self.run(self.bench.undo(edit_id))
        if outcome.error is not None:
            assert isinstance(outcome.error, UndoConflict), outcome.error
            assert edit.new not in model.truth.split("\n")
            return
        if outcome.files[0].edit_id is not None:  # else the text in the window had nothing to undo, and is not saved
            del self.applied[edit_id]
        model.truth = edit.taken_back(model.truth)

    @rule(session=sessions, refused=st.integers(0, 2))
    def undoes_a_session(self, session: str, refused: int) -> None:
        """In all files or in none, if the editor refuses any of them."""
        n_asked = itertools.count(1)

        def before_apply() -> None:
            if next(n_asked) == refused:
                raise ApplyRefused(reason="not now")

        self.bench.editor.before_apply = before_apply
        try:
            outcome = self.run(self.bench.undo(session_id=session))
        finally:
            self.bench.editor.before_apply = lambda: None
        if outcome.error is not None:
            assert isinstance(outcome.error, (UndoConflict, ApplyRefused)), outcome.error
            assert outcome.files == ()
            return
        written = {file.file_path for file in outcome.files if file.edit_id is not None}
        for edit_id, edit in reversed(list(self.applied.items())):
            if edit.session == session and edit.path in written:
                del self.applied[edit_id]
                model = self.models[edit.path]
                model.truth = edit.taken_back(model.truth)

    # --- what holds ----------------------------------------------------------------------------------------

    @invariant()
    def nothing_is_lost_and_nothing_is_written_unasked(self) -> None:
        for path, model in self.models.items():
            assert self.bench.on_disk(path) == model.disk.encode()
            document = self.bench.editor.documents.get(uri_of(path))
            assert (document.text if document else None) == model.buffer
            model.look()
            assert self.bench.editor.buffers.read(path).data == model.truth.encode()


def with_approval(machine: DeskMachine, answer: str, meanwhile: Callable[[], None], work: Callable[[], None]) -> None:
    def decide(question: Any) -> Decision:
        if answer == "modify":
            return Modify(f"{question.original_text}agent{machine.n_lines} by hand\n")
        return Once() if answer == "once" else Reject()

    person = machine.bench.person
    person.can_ask = True
    person.answer = decide
    person.meanwhile = meanwhile
    try:
        work()
    finally:
        person.can_ask = False
        person.meanwhile = lambda: None


async def _new_desk() -> Workbench:
    return Workbench()


def test_user_and_agents_at_the_same_files_match_the_model() -> None:
    run_state_machine_as_test(
        DeskMachine,
        settings=settings(
            max_examples=60,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=(HealthCheck.too_slow, HealthCheck.filter_too_much),
        ),
    )
