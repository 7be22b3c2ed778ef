"""The record of a shared daemon, as the composition root puts it together: the store, the recorder, its sources.

Imports of the record are deferred: a private daemon needs them with `history: "persistent"` only.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from fileops.fs.spelling import real_path
from fileops.model.sessions import has_host_id

if TYPE_CHECKING:
    from fileops.fs.overlay.filesystem import OverlayFileSystem
    from fileops.model.record import ByPerson, Entry
    from fileops.ports import EventStream, FileSystem, TextOf
    from fileops.record.change_facts import TypedDocument
    from fileops.record.recorder import Recorder
    from fileops.record.store import RecordStore
    from fileops.service.fileops import FileOps
    from fileops.service.hub.record_feed import RecordFeed
    from fileops.service.hub.unkept_feed import UnkeptFeed
    from fileops.service.rewind.memories import Memories


def start_recorder(
    files: "OverlayFileSystem",
    person_of: "Callable[[str], ByPerson]",
    recorded: "RecordFeed",
    unkept: "UnkeptFeed",
    *,
    named_since: float,
    open_stream: "Callable[[Callable[[], None]], EventStream] | None",
    text_of: "TextOf",
) -> "Recorder":
    """Start the record, and notify editors of new entries.

    Args: person_of: the user of an editor, by its connection's name. named_since: see RecordStore. open_stream: see
    Recorder. text_of: see record.content.read_file.
    """
    from fileops.record.command_windows import CommandWindows
    from fileops.record.recorder import Recorder
    from fileops.record.turns import TurnRegistry

    windows, turns = CommandWindows(), TurnRegistry()

    def open_store() -> "RecordStore":
        store = open_record(recorded.warn)
        store.named_since = named_since
        unkept.resume(store.unkept_paths())
        turns.resume(counted.turn for counted in store.turns(limit=1000) if has_host_id(counted.turn.session_id))
        return store

    def publish(entries: "Sequence[Entry]") -> None:
        recorded.publish(entries)
        unkept.note_entries(entries)

    recorder = Recorder(
        open_store,
        windows,
        turns,
        _Documents(files, person_of),
        open_stream=open_stream,
        text_of=text_of,
        warn=recorded.warn,
        on_entries=publish,
    )
    recorder.listeners.on_turn = unkept.note_turn
    recorder.listeners.on_index = unkept.note_index
    recorder.start()
    files.on_saved = lambda editor, path, text: recorder.note_save(path, person_of(editor), text)
    files.on_left_unsaved = lambda editor, path: recorder.note_unsaved_text(path, person_of(editor))
    files.on_closed = lambda editor, path: recorder.note_close(path, person_of(editor))
    return recorder


def prepare_unkept(
    recorder: "Recorder", saved: "FileSystem", memories: "Memories", paths: Sequence[str]
) -> Iterator[None]:
    """See UnkeptPlaces.prepare. Args: saved: the files without the text of open documents."""
    from fileops.service.rewind.committed import CommittedFiles
    from fileops.service.rewind.unkept import UnkeptPlaces

    committed = CommittedFiles(recorder.text_of, recorder.store.staged_files)
    return UnkeptPlaces(recorder.store, saved, committed=committed, memories=memories).prepare(paths)


def record_folders(recorder: "Recorder", service: "FileOps", client: str) -> None:
    """Record a client's folders from now on, including those that it opens later."""

    def record(folders: Sequence[str], arrived: Sequence[Callable[[], None]]) -> None:
        try:
            for folder in dict.fromkeys(map(real_path, folders)):
                recorder.record(folder, client)
        finally:
            for note in arrived:
                note()

    def record_in_background() -> None:
        folders = service.folders
        arrived = [recorder.expect(folder) for folder in folders]
        threading.Thread(target=record, args=(folders, arrived), name="fileops-record-start", daemon=True).start()

    service.when_folders_change(record_in_background)
    record_in_background()


class _Documents:
    """See change_facts.OpenDocuments."""

    def __init__(self, files: "OverlayFileSystem", person_of: "Callable[[str], ByPerson]") -> None:
        self._files, self._person_of = files, person_of

    def documents_at(self, path: str) -> "list[TypedDocument]":
        from fileops.record.change_facts import TypedDocument

        return [
            TypedDocument(
                person=self._person_of(document.editor),
                text=document.text.text,
                changed=document.changed_ns / 1e9,
                is_typed=document.is_user_modified is not False,
            )
            for document in self._files.last_open_at(path)
        ]


def open_record(warn: Callable[[str], None]) -> "RecordStore":
    """Open the record. Blocks for the disk. If that cannot be done now, the record is in memory."""
    import sqlite3

    from fileops.record.store import NewerRecord, RecordStore, default_folder, put_aside

    folder = default_folder()
    try:
        try:
            return RecordStore(folder)
        except sqlite3.OperationalError:  # it cannot be opened now
            raise
        except sqlite3.DatabaseError as error:
            aside = put_aside(folder)
            warn(f"The record of changes is damaged: {error}. It is now {aside}, and a new one begins.")
            return RecordStore(folder)
    except (OSError, sqlite3.Error, NewerRecord) as error:
        warn(f"The record of changes in {folder} cannot be used: {error}. Changes are recorded in memory for now.")
        return RecordStore(None if isinstance(error, NewerRecord) else folder, is_usable=False)
