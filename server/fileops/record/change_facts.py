"""The facts that may identify the author of a change that was just found: documents, commands, times."""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from fileops.core.notebook.editor_cells import is_shown_as
from fileops.core.roots import is_inside
from fileops.core.text import decode, detect_format
from fileops.model.record import ByPerson, Known
from fileops.record.command_windows import CommandWindows, OpenCommands
from fileops.record.disk_thread import FolderDisks
from fileops.record.entries import Observed
from fileops.record.folder import FolderRecording
from fileops.record.touched_files import Touch


class TypedDocument(Struct, frozen=True, kw_only=True):
    """An open document. changed: on the steady clock. is_typed: its user changed it after it last matched the file."""

    person: ByPerson
    text: str
    changed: float
    is_typed: bool


class OpenDocuments(Protocol):
    """The open documents of all editors. Called in the recorder's thread, and must not wait for a disk."""

    def documents_at(self, path: str) -> Sequence[TypedDocument]: ...


class ChangeFacts:
    """See the module. Belongs to the recorder's thread."""

    def __init__(
        self,
        documents: OpenDocuments,
        windows: CommandWindows,
        disks: FolderDisks,
        now: Callable[[], float],
        wall: Callable[[], float],
    ) -> None:
        self._documents, self._windows, self._disks, self._now, self._wall = documents, windows, disks, now, wall

    def documents_at(self, path: str) -> Sequence[TypedDocument]:
        return self._documents.documents_at(path)

    def to_observed(
        self,
        folder: FolderRecording,
        path: str,
        touch: Touch,
        before: Known | None,
        after: Known | None,
        data: bytes | None,
        *,
        typed_by: ByPerson | None,
        names: Sequence[str] = (),
    ) -> Observed:
        """Return a change with these facts. Raises: FolderHangs. Args: data: the content after it."""
        others = tuple(name for name in names if name != path)
        documents = [document for name in (path, *others) for document in self.documents_at(name)]
        open_commands = self._open_since(folder, path, touch)
        is_of_them = open_commands.is_certain and (open_commands.names_git or not touch.is_beside_git)
        time = self._wall()
        if touch.is_beside_git:
            folder.carried.setdefault(path, time)
        # If commands run, a document may contain what one of them wrote before its event is read here.
        typed_before = touch.earliest if open_commands.commands else touch.began
        typist = typed_by or _typist_of(documents, data, typed_before)
        loader = None if typist is not None else _typist_of(documents, data, touch.began)
        return Observed(
            path=path,
            root=folder.root,
            before=before,
            after=after,
            before_data=None,
            after_data=data,
            began=touch.earliest or touch.began,
            read=self._now(),
            time=time,
            commands=open_commands.commands,
            is_certain=is_of_them,
            n_writes=touch.n_writes,
            typed_by=typist,
            loaded_by=loader,
            is_open=bool(documents),
            found=touch.found,
            gap=touch.gap,
            known_at=touch.known_at,
            names=others,
            is_beside_git=touch.is_beside_git,
        )

    def _open_since(self, folder: FolderRecording, path: str, touch: Touch) -> OpenCommands:
        until = self._windows.edge

        def open_between() -> OpenCommands:
            return self._windows.open_between(path, folder.root, touch.since, until)

        if all(is_inside(folder.root, root) for root in self._windows.roots):
            return open_between()
        return self._disks.ask(folder.root, open_between)  # git's folders decide about the folders above


def _typist_of(documents: Sequence[TypedDocument], data: bytes | None, before: float) -> ByPerson | None:
    """Return who typed this text into an unsaved document before a time.

    A document loaded from the file has the text later.
    """
    if data is None:
        return None
    text: str | None = None
    for document in documents:
        if document.is_typed and document.changed < before:
            if text is None:
                text = decode(data, detect_format(data))
            if is_shown_as(text, document.text):
                return document.person
    return None
