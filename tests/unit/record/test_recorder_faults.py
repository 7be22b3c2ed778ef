"""A fault ends the record of one folder; a recorder that waits delays no request."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from fileops.model.record import LogQuery
from fileops.record.command_windows import CommandWindows
from fileops.record.recorder import Recorder, TypedDocument
from fileops.record.store import RecordStore
from fileops.record.turns import TurnRegistry
from fileops.watch.factory import FolderStreams
from support.patience import PATIENCE_S, wait_until

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
        warn=warn,
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
        fault_pause_s=0.01, warn=sentences.append,
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
