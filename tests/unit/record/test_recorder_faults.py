"""A fault ends the record of one folder; a recorder that waits delays no request."""

import asyncio
import threading
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import pytest

from fileops.model.record import Entry, LogQuery
from fileops.ports import EventStream
from fileops.record.change_facts import TypedDocument
from fileops.record.command_windows import CommandWindows
from fileops.record.recorder import Recorder
from fileops.record.store import RecordStore
from fileops.record.turns import TurnRegistry
from fileops.watch.factory import FolderStreams
from support.patience import PATIENCE_S, wait_until
from support.recorded_folder import end_commit

OPEN_STREAM = FolderStreams().events


class Documents:
    """Open documents whose look-up does something else first, in the recorder's thread."""

    def __init__(self, first: Callable[[str], object]) -> None:
        self._first = first
        self.is_asked = threading.Event()

    def documents_at(self, path: str) -> Sequence[TypedDocument]:
        self.is_asked.set()
        self._first(path)
        return ()


def recorder_of(folder: Path, documents: Documents, warn: Callable[[str], None]) -> Recorder:
    """A recorder, limited to memory, that has seen a file, so that it asks for the documents."""
    recorder = Recorder(
        lambda: RecordStore(None),
        CommandWindows(),
        TurnRegistry(),
        documents,
        open_stream=FolderStreams().events,
        warn=lambda sentence, _root: warn(sentence),
    )
    recorder.start()
    recorder.record(str(folder.resolve()), "editor")
    wait_until(lambda: [status.state for status in recorder.status()] == ["limited"])
    (folder / "a.py").write_text("1\n")
    assert documents.is_asked.wait(PATIENCE_S)
    return recorder


def _fail() -> None:
    raise RuntimeError("made by the test")


async def test_fault_ends_the_record_of_its_folder_until_it_is_tried_again(tmp_path: Path) -> None:
    folder, other, sentences = tmp_path.resolve() / "p", tmp_path.resolve() / "q", list[str]()
    for path in (folder, other):
        path.mkdir()
        (path / "first.py").write_text("1\n")
    is_faulty = threading.Event()
    is_faulty.set()
    documents = Documents(lambda path: _fail() if is_faulty.is_set() and path.startswith(f"{folder}/") else None)
    recorder = Recorder(
        lambda: RecordStore(None), CommandWindows(), TurnRegistry(), documents, open_stream=OPEN_STREAM,
        fault_pause_s=0.01, warn=lambda sentence, _root: sentences.append(sentence),
    )  # fmt: skip
    recorder.start()
    for path in (folder, other):
        await asyncio.to_thread(recorder.record, str(path), "editor")
    assert await recorder.until_watched([str(folder), str(other)])
    for name in ("a.py", "b.py"):  # at once: the second one is known to have changed when the first one has the fault
        (folder / name).write_text("1\n")
    wait_until(lambda: len(sentences) == 1)
    assert (str(folder) in sentences[0], str(other) in sentences[0]) == (True, False)
    (other / "b.py").write_text("1\n")
    wait_until(lambda: [entry.path for entry in recorder.store.entries(LogQuery())[0]] == [str(other / "b.py")])
    is_faulty.clear()
    wait_until(lambda: str(folder / "a.py") in [entry.path for entry in recorder.store.entries(LogQuery())[0]])
    recorder.close()


async def test_folder_whose_record_ended_by_a_fault_is_in_the_status(tmp_path: Path) -> None:
    calls = list[str]()
    recorder = await asyncio.to_thread(recorder_of, tmp_path, Documents(lambda _path: _fail()), lambda _sentence: None)
    wait_until(lambda: [(folder.state, folder.reason) for folder in recorder.status()] == [("off", "fault")])
    await recorder.drain(lambda: calls.append("drained"))
    await recorder.flush()
    assert calls == ["drained"]
    recorder.close()


async def test_command_does_not_wait_for_a_recorder_that_waits_for_a_disk(tmp_path: Path) -> None:
    answers, calls = threading.Event(), list[str]()
    recorder = await asyncio.to_thread(recorder_of, tmp_path, Documents(lambda _path: answers.wait()), calls.append)
    async with asyncio.timeout(PATIENCE_S):
        await recorder.drain(lambda: calls.append("drained"))
    assert calls == ["drained"]
    answers.set()
    await recorder.flush()
    assert calls == ["drained"]
    recorder.close()


class HangingStream:
    """The watches of folders, of which those below `hangs` are not made until `answers` is set."""

    def __init__(self, stream: EventStream, hangs: str, answers: threading.Event) -> None:
        self._stream, self._hangs, self._answers = stream, hangs, answers
        self.has_barrier, self.remove_below, self.read = stream.has_barrier, stream.remove_below, stream.read
        self.is_in_place = stream.is_in_place
        self.is_alive, self.close = stream.is_alive, stream.close
        self.n_unanswered = 0
        self.n_waiting = 0

    def add(self, folder: str) -> None:
        if f"{folder}/".startswith(f"{self._hangs}/"):
            self.n_unanswered += not self._answers.is_set()
            self.n_waiting += 1
            self._answers.wait()
        self._stream.add(folder)
        self.n_waiting = 0


class Hanging:
    """Two recorded folders. The disk of `far` answers as long as `answers` is set."""

    def __init__(self, folder: Path) -> None:
        self.far, self.near = folder / "far", folder / "near"
        for path in (self.far, self.near):
            path.mkdir()
            (path / "first.txt").write_text("1\n")
        self.sentences: list[str] = []
        self.entries: list[Entry] = []
        self.answers = threading.Event()
        self.answers.set()
        self.streams: list[HangingStream] = []
        self.recorder = Recorder(
            lambda: RecordStore(None), CommandWindows(), TurnRegistry(), Documents(lambda _path: None),
            open_stream=self._stream, fault_pause_s=0.01, answers_within_s=0.5,
            warn=lambda sentence, _root: self.sentences.append(sentence), on_entries=self.entries.extend,
        )  # fmt: skip
        self.recorder.start()
        for path in (self.far, self.near):
            self.recorder.record(str(path), "editor")
        wait_until(lambda: self.states() == {"far": ("limited", "store"), "near": ("limited", "store")})

    def _stream(self, on_event: Callable[[], None]) -> EventStream:
        self.streams.append(HangingStream(OPEN_STREAM(on_event), str(self.far), self.answers))
        return self.streams[-1]

    def states(self) -> dict[str, tuple[str, str | None]]:
        return {Path(status.root).name: (status.state, status.reason) for status in self.recorder.status()}

    def recorded(self) -> list[str]:
        return sorted({Path(entry.path).name for entry in self.entries})


@pytest.fixture
def hanging(tmp_path: Path) -> Generator[Hanging]:
    made = Hanging(tmp_path.resolve())
    yield made
    made.answers.set()
    wait_until(lambda: not any(stream.n_waiting for stream in made.streams))  # its thread needs the folder
    made.recorder.close()


def test_disk_that_does_not_answer_ends_the_record_of_its_folder_until_it_does(hanging: Hanging) -> None:
    hanging.answers.clear()
    (hanging.far / "inner").mkdir()
    wait_until(lambda: hanging.states() == {"far": ("off", "hangs"), "near": ("limited", "store")})
    (hanging.near / "a.txt").write_text("1\n")
    (hanging.far / "inner" / "b.txt").write_text("1\n")
    wait_until(lambda: hanging.recorded() == ["a.txt"])
    assert [str(hanging.far) in sentence for sentence in hanging.sentences] == [True]
    assert hanging.streams[-1].n_unanswered == 1  # it is not asked again, so no second thread waits for it
    hanging.answers.set()
    wait_until(lambda: hanging.recorded() == ["a.txt", "b.txt"])
    assert hanging.sentences[1:] == [f"Changes in {hanging.far} are recorded again."]
    (hanging.far / "inner" / "c.txt").write_text("1\n")
    wait_until(lambda: hanging.recorded() == ["a.txt", "b.txt", "c.txt"])


def test_recorder_whose_folder_hangs_ends(hanging: Hanging) -> None:
    hanging.answers.clear()
    (hanging.far / "inner").mkdir()
    wait_until(lambda: hanging.states()["far"] == ("off", "hangs"))
    (hanging.near / "a.txt").write_text("1\n")
    hanging.recorder.close()
    assert hanging.recorded() == ["a.txt"]


def test_edit_in_a_folder_that_hangs_is_recorded(hanging: Hanging) -> None:
    path = hanging.far / "edited.txt"
    path.write_text("1\n")
    wait_until(lambda: hanging.recorded() == ["edited.txt"])
    hanging.answers.clear()
    (hanging.far / "inner").mkdir()
    wait_until(lambda: hanging.states()["far"] == ("off", "hangs"))
    hanging.entries.clear()
    hanging.recorder.begin_commit(str(path))
    end_commit(hanging.recorder, str(path), "2\n")
    wait_until(lambda: hanging.recorded() == ["edited.txt"])


def test_folder_beyond_the_most_is_said_and_recorded_once_there_is_room(tmp_path: Path) -> None:
    folders = [tmp_path.resolve() / name for name in ("p", "q", "r")]
    sentences = list[str]()
    recorder = Recorder(
        lambda: RecordStore(None), CommandWindows(), TurnRegistry(), Documents(lambda _path: None),
        open_stream=OPEN_STREAM, max_folders=1, kept_s=0.0, warn=lambda sentence, _root: sentences.append(sentence),
    )  # fmt: skip
    recorder.start()
    for n, folder in enumerate(folders):
        folder.mkdir()
        for client in ("first", "second"):
            recorder.record(str(folder), f"{client} of {n}")
    states = {status.root: (status.state, status.reason) for status in recorder.status()}
    assert [states[str(folder)] for folder in folders[1:]] == [("off", "folders")] * 2
    assert [next(str(folder) for folder in folders if str(folder) in sentence) for sentence in sentences] == [
        str(folder) for folder in folders[1:]
    ]
    for client in ("first of 1", "second of 1"):  # nobody waits for this one any more
        recorder.leave(client)
    for client in ("first of 0", "second of 0"):
        recorder.leave(client)
    wait_until(lambda: [(status.root, status.state) for status in recorder.status()] == [(str(folders[2]), "limited")])
    assert sentences[2:] == [f"Changes in {folders[2]} are recorded from now on."]
    recorder.close()


def test_commit_while_the_record_fails_to_open_lets_its_thread_end(tmp_path: Path) -> None:
    is_noted, sentences = threading.Event(), list[str]()

    def open_store() -> RecordStore:
        is_noted.wait(PATIENCE_S)
        raise OSError("no space left on device")

    recorder = Recorder(
        open_store, CommandWindows(), TurnRegistry(), Documents(lambda _path: None), open_stream=OPEN_STREAM,
        warn=lambda sentence, _root: sentences.append(sentence),
    )  # fmt: skip
    recorder.start()
    end_commit(recorder, str(tmp_path / "file.py"), "1\n")
    asked = threading.Thread(target=recorder.settle)
    asked.start()
    is_noted.set()
    asked.join()
    recorder.close()
    assert sentences == ["Changes are not recorded: no space left on device. Everything else works."]
