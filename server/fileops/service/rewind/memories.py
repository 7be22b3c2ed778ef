"""The files with long histories that were asked about last, and what is remembered of them (core/story/memory.py).

The record keeps it beside the answers (answers.py), so that a daemon that was started again need not tell a long story
anew. It is read when it is needed for the first time, and replaced when enough has been added.
"""

import logging
import threading
from collections.abc import Collection, Sequence

from fileops.core.story.memory import FileMemory, Part, Question
from fileops.model.record import Entry
from fileops.model.rewind import FileStep
from fileops.ports import RecordedChanges
from fileops.service.rewind.answers import AnswerKind, find_answer, keep_answer, key_of

log = logging.getLogger(__name__)

MIN_STEPS = 16  # of a file that is remembered: the story of a shorter one is told in about a millisecond
MIN_BLAMED_STEPS = 256  # for a blame, which compares a new content with 64 others: a shorter story costs 50 ms
MAX_FILES = 256
MAX_BYTES = 96 << 20  # of all files together, as each file counts its own

_KINDS: dict[Part, AnswerKind] = {"places": "story of places", "blame": "story of blame", "sides": "splices"}


class Memories:
    """The files that were asked about last, by path. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[str, FileMemory] = {}  # the one asked about last is the last

    def of(self, store: RecordedChanges, path: str, n_steps: int) -> FileMemory | None:
        """Return what is remembered of a file; None if its story is too short for that."""
        if n_steps < MIN_STEPS:
            return None
        with self._lock:
            memory = self._files.pop(path, None) or FileMemory(self._forget_oldest, _StoredParts(store, path))
            self._files[path] = memory
        self._forget_oldest()
        return memory

    def clear(self) -> None:
        with self._lock:
            self._files.clear()

    def _forget_oldest(self) -> None:
        """Forget the files asked about longest ago, as far as all together are beyond a limit."""
        with self._lock:
            n_bytes = sum(memory.n_bytes for memory in self._files.values())
            while self._files and (n_bytes > MAX_BYTES or len(self._files) > MAX_FILES):
                n_bytes -= self._files.pop(next(iter(self._files))).n_bytes


class _StoredParts:
    """What the record keeps of a file's memory."""

    def __init__(self, store: RecordedChanges, path: str) -> None:
        self._store, self._path = store, path

    def read(self, part: Part) -> bytes | None:
        return find_answer(self._store, self._path, _key_of(part), bytes)

    def note_damage(self, part: Part, damage: Exception) -> None:
        log.warning("%s: what was remembered (%s) is computed anew: %s", self._path, part, damage)


def store_memory(
    store: RecordedChanges,
    path: str,
    memory: FileMemory | None,
    question: Question,
    steps: Sequence[FileStep],
    own: Collection[str],
    entries: Sequence[Entry],
) -> None:
    """Keep what is remembered of a file in the record, if enough has been added.

    Args: steps, own: of the story that was told. entries: all of which it has text.
    """
    for part, packed in () if memory is None else memory.take_grown(question, steps, own):
        keep_answer(store, path, _KINDS[part], _key_of(part), packed, oldest=min(entry.time for entry in entries))


def _key_of(part: Part) -> bytes | None:
    return key_of("memory", part)
