"""What is remembered of a file between two questions about it, so that the next one costs only what is new since.

A story that was told up to some step is told further from there, as long as all steps before are the same: their
contents, authors, undos and parents. So it is never out of date, and may be forgotten at any time. All is remembered as
bytes, so that it can be stored as well.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Literal, Protocol, TypeVar

import msgspec
from msgspec import Struct

from fileops.core.merge.separation import SidedStep
from fileops.model.digest import content_digest
from fileops.model.edits import Splice
from fileops.model.rewind import FileStep

BEHIND = 64  # steps that the older one of two stories is behind, if the newest steps are undone
MIN_STORED = 128  # steps of a story that is stored; a shorter one is told in 20 ms
GROWTH = 32  # a story is stored again once it is longer by this part of it, and by BEHIND steps
_NOTE_BYTES = 200  # about what a note of a step takes beside its text

T = TypeVar("T")
Question = Literal["blame", "places"]
Part = Question | Literal["sides"]


class ToldStep(Struct, frozen=True, gc=False):
    """All that the story is told of a step; see story_of. parents: digests of their contents."""

    step: FileStep
    undone: tuple[str, ...] | None
    writes: bool
    is_own: bool
    parents: tuple[bytes, ...]


class _Told(Struct, frozen=True, array_like=True):
    """A packed story, and how many steps it has. digest: of these steps, which would take much of its memory."""

    n_steps: int
    digest: bytes
    story: bytes


_Place = tuple[int, int, bytes]  # a splice


class _Note(Struct, frozen=True, array_like=True, gc=False):
    """A SidedStep, whose side is in its key."""

    reverse: tuple[_Place, ...]
    forward: tuple[_Place, ...]
    is_compared: bool


_TOLD, _NOTE = msgspec.msgpack.Decoder(_Told), msgspec.msgpack.Decoder(_Note)
_NOTE_TABLE = msgspec.msgpack.Decoder(dict[bytes, bytes])


class StoredParts(Protocol):
    """What was stored of a file's memory."""

    def read(self, part: Part) -> bytes | None: ...

    def note_damage(self, part: Part, damage: Exception) -> None:
        """Note that what was read is not used."""
        ...


class FileMemory:
    """For one file. Threads may share it. on_kept: called when it may have become larger."""

    def __init__(self, on_kept: Callable[[], None] = lambda: None, stored: StoredParts | None = None) -> None:
        self._on_kept, self._stored = on_kept, stored
        self._told: dict[Question, tuple[_Told, ...]] = {}
        self._notes: dict[bytes, bytes] | None = None  # by key
        self._n_note_bytes = 0
        self._n_stored: dict[Part, int] = {}  # steps
        self._is_kept = set[Question]()  # since it was stored

    @property
    def n_bytes(self) -> int:
        """About how many bytes it takes."""
        return sum(len(told.story) for every in list(self._told.values()) for told in every) + self._n_note_bytes

    def n_told(self, question: Question) -> int:
        """Return how many steps the newest story of a question has."""
        told = self._told_of(question)
        return told[-1].n_steps if told else 0

    def find(self, question: Question, steps: Sequence[ToldStep]) -> tuple[bytes | None, int]:
        """Return a packed story that was told, and how many of these steps it has."""
        for told in reversed(self._told_of(question)):
            if _begin(steps, told):
                return told.story, told.n_steps
        return None, 0

    def keep(self, question: Question, steps: Sequence[ToldStep], story: bytes) -> None:
        """Remember a packed story after these steps. Of the earlier ones, one is kept that is far enough behind it."""
        earlier = [
            told for told in self._told_of(question) if told.n_steps <= len(steps) - BEHIND and _begin(steps, told)
        ]
        self._told[question] = (*earlier[-1:], _Told(len(steps), _digest_of(steps), story))
        self._is_kept.add(question)
        self._on_kept()

    def find_sided(self, step: FileStep, *, is_ours: bool) -> SidedStep | None:
        """Return the splices of a step; None if they were not noted."""
        packed = self._all_notes().get(_key_of(step, is_ours=is_ours))
        if packed is None:
            return None
        note = _NOTE.decode(packed)
        return SidedStep(is_ours, _to_splices(note.reverse), _to_splices(note.forward), note.is_compared)

    def note_sided(self, step: FileStep, sided: SidedStep) -> None:
        """Remember the splices of a step."""
        note = _Note(_to_places(sided.reverse), _to_places(sided.forward), sided.is_compared)
        packed = msgspec.msgpack.encode(note)
        self._n_note_bytes += _NOTE_BYTES + len(packed)
        self._all_notes()[_key_of(step, is_ours=sided.is_ours)] = packed

    # --- what is stored ------------------------------------------------------------------------------------------

    def take_grown(
        self, question: Question, steps: Sequence[FileStep], own: Collection[str]
    ) -> Iterator[tuple[Part, bytes]]:
        """Yield what is to be stored now, if a story was kept: the one that is behind, and what was noted of its steps.

        So nothing is stored of steps that are not known any more. Args: steps, own: see story_of.
        """
        if question not in self._is_kept:
            return
        self._is_kept.discard(question)
        oldest, n_stored = self._told[question][:1], self._n_stored.get(question, 0)
        if not oldest:  # another thread has found a damaged one, and dropped them
            return
        (told,) = oldest
        if told.n_steps < max(MIN_STORED, n_stored + BEHIND, n_stored + n_stored // GROWTH):
            return
        self._n_stored[question] = told.n_steps
        yield question, msgspec.msgpack.encode(told)
        if question == "places":
            notes, keys = self._all_notes(), [_key_of(step, is_ours=step.step_id in own) for step in steps]
            yield "sides", msgspec.msgpack.encode({key: notes[key] for key in keys if key in notes})

    def drop(self, question: Question, damage: Exception) -> None:
        """Forget the stories of a question: one that was stored is damaged."""
        self._told[question] = ()
        if self._stored is not None:
            self._stored.note_damage(question, damage)

    def _told_of(self, question: Question) -> tuple[_Told, ...]:
        if question not in self._told:
            told = self._read(question, _TOLD)
            self._n_stored[question] = 0 if told is None else told.n_steps
            self._told[question] = () if told is None else (told,)
        return self._told[question]

    def _all_notes(self) -> dict[bytes, bytes]:
        if self._notes is None:
            notes = self._read("sides", _NOTE_TABLE) or {}
            self._n_note_bytes = sum(map(len, notes.values())) + _NOTE_BYTES * len(notes)
            self._notes = notes
        return self._notes

    def _read(self, part: Part, decoder: msgspec.msgpack.Decoder[T]) -> T | None:
        packed = None if self._stored is None else self._stored.read(part)
        try:
            return None if packed is None else decoder.decode(packed)
        except msgspec.DecodeError as damage:
            if self._stored is not None:
                self._stored.note_damage(part, damage)
            return None


def _begin(steps: Sequence[ToldStep], told: _Told) -> bool:
    """Return whether the steps begin with those that were told."""
    return told.n_steps <= len(steps) and _digest_of(steps[: told.n_steps]) == told.digest


def _digest_of(steps: Sequence[ToldStep]) -> bytes:
    return content_digest(msgspec.msgpack.encode(steps))


def _key_of(step: FileStep, *, is_ours: bool) -> bytes:
    """Return the digest of what the splices of a step are computed from."""
    return content_digest(msgspec.msgpack.encode((step.before, step.after, step.reverse, is_ours)))


def _to_splices(places: Sequence[_Place]) -> tuple[Splice, ...]:
    return tuple([Splice(*place) for place in places])


def _to_places(splices: Sequence[Splice]) -> tuple[_Place, ...]:
    return tuple([(splice.start, splice.end, splice.new) for splice in splices])
