"""Change sets of which some files have unsaved changes: the editor makes its part right before the disk (R-SET-5)."""

from collections.abc import Sequence
from contextlib import AbstractContextManager

import pytest

from fileops.core.uris import uri_of
from fileops.fs.memory import MemoryFileSystem
from fileops.model.changes import FilePlan
from fileops.model.edits import Splice
from fileops.model.errors import ApplyRefused, IoFailure, SetConflict
from fileops.model.files import Committed
from fileops.model.internal_errors import Stale
from fileops.ports import SetHooks
from support.fake_editor import FakeEditor

A, B, C, D = "/w/a", "/w/b", "/w/c", "/w/d"
OPEN = (A, C)  # with unsaved changes


class Hooks:
    """SetHooks that keep what was committed. log: of what happened, in order."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.committed: tuple[Committed, ...] = ()

    def prepare(self) -> None: ...

    def before(self) -> None:
        self.log.append("before")

    def on_cancel(self, withdraw: object) -> None: ...

    def after(self, committed: tuple[Committed, ...], /) -> None:
        self.log.append("after")
        self.committed = committed


class Disk(MemoryFileSystem):
    """failure: of the next set, after its last compare. locked: paths in the order in which they were locked."""

    def __init__(self) -> None:
        super().__init__()
        self.failure: Exception | None = None
        self.locked: list[str] = []

    def lock_path(self, path: str) -> AbstractContextManager[object]:
        self.locked.append(path)
        return super().lock_path(path)

    def replace_set(
        self, set_id: str, files: Sequence[FilePlan], hooks: SetHooks, *, is_strict: bool = True
    ) -> tuple[Committed, ...]:
        if self.failure is not None:
            hooks.before()
            raise self.failure
        return super().replace_set(set_id, files, hooks, is_strict=is_strict)


class Desk:
    def __init__(self) -> None:
        self.disk = Disk()
        self.disk.make_folder("/w")
        self.editor = FakeEditor(self.disk, self.disk.put)
        self.hooks = Hooks()
        for path in (A, B, C, D):
            self.disk.put(path, b"old\nend\n")
        for path in OPEN:
            self.editor.type(self.editor.open(path), "end", "typed")

    def apply(self, paths: Sequence[str] = (B, A, D, C)) -> tuple[Committed, ...]:
        fs = self.editor.buffers
        files = [FilePlan(snapshot=fs.read(path), splices=(Splice(0, 3, b"new"),)) for path in paths]
        return fs.replace_set("5e7", files, self.hooks)

    def texts(self) -> dict[str, str]:
        return {document.path: document.text for document in self.editor.documents.values()}

    def on_disk(self) -> dict[str, str]:
        return {path: self.disk.read(path).data.decode() for path in (A, B, C, D)}


@pytest.fixture
def desk() -> Desk:
    return Desk()


UNCHANGED = dict.fromkeys((A, B, C, D), "old\nend\n")
TYPED = dict.fromkeys(OPEN, "old\ntyped\n")


def refuse() -> None:
    raise ApplyRefused(reason="not now")


def test_set_asks_the_editor_once_for_all_of_its_documents(desk: Desk) -> None:
    committed = desk.apply()
    assert [[edit.uri for edit in request] for request in desk.editor.requests] == [[uri_of(A), uri_of(C)]]
    assert desk.texts() == dict.fromkeys(OPEN, "new\ntyped\n")
    assert desk.on_disk() == {A: "old\nend\n", B: "new\nend\n", C: "old\nend\n", D: "new\nend\n"}
    assert [outcome.snapshot.path for outcome in committed] == [B, A, D, C]
    assert [outcome.snapshot.source for outcome in committed] == ["disk", "buffer", "disk", "buffer"]
    assert (desk.hooks.log, desk.hooks.committed) == (["before", "after"], committed)
    assert desk.disk.locked == sorted([A, B, C, D])


def test_set_of_unsaved_documents_only_leaves_the_disk_alone(desk: Desk) -> None:
    assert [outcome.report.method for outcome in desk.apply(OPEN)] == ["buffer", "buffer"]
    assert desk.on_disk() == UNCHANGED
    assert desk.hooks.log == ["before", "after"]


def test_set_that_the_editor_refuses_changes_nothing(desk: Desk) -> None:
    desk.editor.before_apply = refuse
    with pytest.raises(ApplyRefused) as refusal:
        desk.apply()
    assert refusal.value.failed_path == A
    assert (desk.texts(), desk.on_disk()) == (TYPED, UNCHANGED)
    assert desk.hooks.log == ["before"]


def test_documents_that_the_editor_changed_before_it_refused_are_put_back(desk: Desk) -> None:
    def refuse_once() -> None:
        desk.editor.after_one = lambda: None
        refuse()

    desk.editor.after_one = refuse_once
    with pytest.raises(ApplyRefused) as refusal:
        desk.apply()
    assert refusal.value.failed_path == C
    assert (desk.texts(), desk.on_disk()) == (TYPED, UNCHANGED)
    assert [[edit.uri for edit in request] for request in desk.editor.requests] == [[uri_of(A), uri_of(C)], [uri_of(A)]]


@pytest.mark.parametrize("failure", [IoFailure(reason="no space left on device"), Stale(path=B)], ids=["full", "stale"])
def test_failure_of_the_disk_puts_the_documents_back(desk: Desk, failure: Exception) -> None:
    desk.disk.failure = failure
    with pytest.raises(type(failure)):
        desk.apply()
    assert (desk.texts(), desk.on_disk()) == (TYPED, UNCHANGED)
    assert len(desk.editor.requests) == 3


def test_document_that_cannot_be_put_back_is_named_and_keeps_no_other_from_it(desk: Desk) -> None:
    """The user types in one of the documents at the moment in which the disk fails."""
    desk.disk.failure = IoFailure(reason="no space left on device")

    def type_on() -> None:
        if desk.texts()[C].startswith("new"):
            desk.editor.after_one = lambda: None
            desk.editor.type(uri_of(C), "typed", "typed on")

    desk.editor.after_one = type_on
    with pytest.raises(SetConflict) as conflict:
        desk.apply()
    assert conflict.value.files == (C,)
    assert desk.texts() == {A: "old\ntyped\n", C: "new\ntyped on\n"}
    assert desk.on_disk() == UNCHANGED


@pytest.mark.parametrize("change", [{"removes": True}, {"new_path": "/w/moved"}], ids=["delete", "rename"])
def test_unsaved_document_is_neither_deleted_nor_renamed(desk: Desk, change: dict[str, object]) -> None:
    fs = desk.editor.buffers
    file = FilePlan(snapshot=fs.read(A), **change)  # pyrefly: ignore[bad-argument-type]
    with pytest.raises(ApplyRefused):
        fs.replace_set("5e7", [FilePlan(snapshot=fs.read(B), splices=(Splice(0, 3, b"new"),)), file], desk.hooks)
    assert (desk.texts(), desk.on_disk()) == (TYPED, UNCHANGED)


def test_document_that_is_changed_after_the_plan_makes_the_set_stale(desk: Desk) -> None:
    fs = desk.editor.buffers
    files = [FilePlan(snapshot=fs.read(path), splices=(Splice(0, 3, b"new"),)) for path in (A, B)]
    desk.editor.type(uri_of(A), "typed", "typed on")
    with pytest.raises(Stale):
        fs.replace_set("5e7", files, desk.hooks)
    assert desk.on_disk() == UNCHANGED
    assert desk.editor.requests == []
