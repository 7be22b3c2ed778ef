"""A recorder whose thread has failed, or waits, delays no request."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from fileops.record.brackets import Brackets
from fileops.record.recorder import Recorder, TypedDocument
from fileops.record.store import RecordStore
from fileops.record.turns import TurnRegistry
from support.patience import PATIENCE_S, wait_until


class Documents:
    """Open documents whose look-up does something else first, in the recorder's thread."""

    def __init__(self, first: Callable[[], object]) -> None:
        self._first = first
        self.is_asked = threading.Event()

    def documents_at(self, path: str) -> Sequence[TypedDocument]:
        del path
        self.is_asked.set()
        self._first()
        return ()


def recorder_of(folder: Path, documents: Documents, warn: Callable[[str], None]) -> Recorder:
    """A recorder, limited to memory, that has seen a file, so that it asks for the documents."""
    recorder = Recorder(lambda: RecordStore(None), Brackets(), TurnRegistry(), documents, warn=warn)
    recorder.start()
    recorder.record(str(folder.resolve()), "editor")
    wait_until(lambda: [status.state for status in recorder.status()] == ["limited"])
    (folder / "a.py").write_text("1\n")
    assert documents.is_asked.wait(PATIENCE_S)
    return recorder


def _fail() -> None:
    raise RuntimeError("made by the test")


async def test_recorder_that_failed_is_reported_and_not_waited_for(tmp_path: Path) -> None:
    is_reported, sentences, calls = threading.Event(), list[str](), list[str]()

    def warn(sentence: str) -> None:
        sentences.append(sentence)
        is_reported.set()

    recorder = await asyncio.to_thread(recorder_of, tmp_path, Documents(_fail), warn)
    assert is_reported.wait(PATIENCE_S)
    await recorder.drain(lambda: calls.append("drained"))
    await recorder.flush()
    assert (calls, recorder.status(), len(sentences)) == (["drained"], [], 1)
    recorder.close()


async def test_command_does_not_wait_for_a_recorder_that_waits_for_a_disk(tmp_path: Path) -> None:
    answers, calls = threading.Event(), list[str]()
    recorder = await asyncio.to_thread(recorder_of, tmp_path, Documents(answers.wait), calls.append)
    async with asyncio.timeout(PATIENCE_S):
        await recorder.drain(lambda: calls.append("drained"))
    assert calls == ["drained"]
    answers.set()
    await recorder.flush()
    assert calls == ["drained"]
    recorder.close()
