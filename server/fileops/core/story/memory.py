"""What is remembered of a file between two questions about it, so that the next one costs only what is new since.

A story that was told up to some step is told further from there, as long as all steps before are the same: their
contents, authors, undos and parents. So it is never out of date, and may be forgotten at any time.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from fileops.model.digest import content_digest
from fileops.model.edits import Splice
from fileops.model.rewind import FileStep

BEHIND = 64  # steps that the older one of two stories is behind, if the newest steps are undone
_SIDED_BYTES = 500  # about what the splices of a step take beside their text

Question = Literal["blame", "places"]


class ToldStep(Struct, frozen=True):
    """All that the story is told of a step; see story_of. parents: digests of their contents."""

    step: FileStep
    undone: tuple[str, ...] | None
    writes: bool
    is_own: bool
    parents: tuple[bytes, ...]


class _Told(Struct, frozen=True):
    """A story, and how many steps it has. digest: of these steps, which would take much of its memory."""

    n_steps: int
    digest: bytes
    story: object


class FileMemory:
    """For one file. Threads may share it. on_kept: called when it may have become larger."""

    def __init__(self, on_kept: Callable[[], None] = lambda: None) -> None:
        self._on_kept = on_kept
        self._told: dict[Question, list[_Told]] = {}
        self._n_bytes: dict[Question, int] = {"blame": 0, "places": 0}  # of the stories, which share most of it
        self._sided: dict[Hashable, object] = {}  # by what they were computed from
        self._n_sided_bytes = 0

    @property
    def n_bytes(self) -> int:
        """About how many bytes it takes."""
        return sum(self._n_bytes.values()) + self._n_sided_bytes

    @property
    def n_listed(self) -> int:
        """How many steps the story has from which the places were read last."""
        told = self._told.get("places")
        return told[-1].n_steps if told else 0

    def find(self, question: Question, steps: Sequence[ToldStep]) -> tuple[object, int]:
        """Return a story that was told, and how many of these steps it has. Only a copy of it may be told further."""
        for told in reversed(self._told.get(question, ())):
            if _begin(steps, told):
                return told.story, told.n_steps
        return None, 0

    def keep(self, question: Question, steps: Sequence[ToldStep], story: object, n_bytes: int) -> None:
        """Remember a story of n_bytes after these steps, which nobody tells further.

        Of the earlier ones, one is kept that is far enough behind it.
        """
        earlier = [
            told for told in self._told.get(question, ()) if told.n_steps <= len(steps) - BEHIND and _begin(steps, told)
        ]
        self._told[question] = [*earlier[-1:], _Told(len(steps), _digest_of(steps), story)]
        self._n_bytes[question] = n_bytes
        self._on_kept()

    def find_sided(self, key: Hashable) -> object:
        """Return the step that was noted under this key; None if there is none."""
        return self._sided.get(key)

    def note_sided(self, key: Hashable, step: object, splices: Sequence[Splice]) -> None:
        """Remember the splices of a step. Args: key: what they were computed from."""
        self._n_sided_bytes += _SIDED_BYTES + sum(len(splice.new) for splice in splices)
        self._sided[key] = step


def _begin(steps: Sequence[ToldStep], told: _Told) -> bool:
    """Return whether the steps begin with those that were told."""
    return told.n_steps <= len(steps) and _digest_of(steps[: told.n_steps]) == told.digest


def _digest_of(steps: Sequence[ToldStep]) -> bytes:
    return content_digest(msgspec.msgpack.encode(steps))
