"""Keeps answers about files in the record, if they took long to compute. Runs in worker threads.

An answer is a pure function of entries, of contents and of what is asked. It is found again only under a digest of all
of these, so it is never out of date: if anything is different, it is computed anew. The record keeps the newest answer
of each kind for each file, and removes it with the text that it is about. So a list of many changes is computed once,
even if the daemon is started again.
"""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal, TypeVar

import msgspec
from msgspec import Struct

from fileops import __version__
from fileops.core import splices as splicing
from fileops.core.diff.contents import splices_between
from fileops.core.merge.rewind import PlaceLeft, Rewound, rewind_file, tell_ahead
from fileops.core.merge.texts import ContentOf
from fileops.core.story.memory import FileMemory
from fileops.core.text import detect_format
from fileops.model.digest import content_digest
from fileops.model.edits import Splice
from fileops.model.rewind import FileStep
from fileops.ports import RecordedChanges

log = logging.getLogger(__name__)

T = TypeVar("T")
AnswerKind = Literal["places", "rewind of places", "rewind", "blame", "story of places", "story of blame", "splices"]


def key_of(*asked: object) -> bytes | None:
    """Return the digest of what an answer is computed from, and by which version; None if it cannot be encoded."""
    try:
        return content_digest(msgspec.msgpack.encode((__version__, asked)))
    except UnicodeEncodeError:  # a name that is not UTF-8
        return None


def find_answer(store: RecordedChanges, path: str, key: bytes | None, of_type: type[T]) -> T | None:
    """Return the answer that was kept under this key; None if there is none."""
    kept = None if key is None else store.answer(path, key)
    if kept is None:
        return None
    try:
        return msgspec.msgpack.decode(kept, type=of_type)
    except msgspec.DecodeError as damage:
        log.debug("an answer is computed anew: %s", damage)
        return None


def keep_answer(
    store: RecordedChanges, path: str, kind: AnswerKind, key: bytes | None, answer: object, *, oldest: float
) -> None:
    """Args: oldest: the time of the oldest entry whose text it has."""
    try:
        encoded = b"" if key is None else msgspec.msgpack.encode(answer)
    except UnicodeEncodeError:  # as in key_of, or text that is not UTF-8
        return
    if key is not None:
        store.put_answer(path, kind, key, encoded, oldest=oldest)


class KnownContents:
    """Looks up contents, and notes whether one is not known: an answer without it may differ later."""

    def __init__(self, content_of: ContentOf) -> None:
        self._content_of = content_of
        self.are_complete = True

    def __call__(self, digest: bytes) -> bytes | None:
        content = self._content_of(digest)
        self.are_complete = self.are_complete and content is not None
        return content


class FileHistory(Struct, frozen=True, kw_only=True):
    """What a rewind of a file is computed from; see rewind_file. oldest: the time of its oldest entry."""

    path: str
    steps: Sequence[FileStep]
    cancelled: Collection[str]
    undoes: Mapping[str, Collection[str]]
    tool_edits: Collection[str]
    oldest: float
    memory: FileMemory | None = None

    def rewound(self, chosen: Collection[str], present: bytes | None, content_of: ContentOf) -> Rewound:
        """Return the rewind of the chosen steps."""
        return rewind_file(
            self.steps, chosen, present, content_of, self.cancelled, self.undoes, self.tool_edits, self.memory
        )

    def tell_ahead(self, chosen: Collection[str], present: bytes, content_of: ContentOf) -> Iterator[None]:
        """Tell the story of a long history in parts, so that little is left for a rewind."""
        if self.memory is not None:
            yield from tell_ahead(
                self.steps, chosen, present, content_of, self.cancelled, self.undoes, self.tool_edits, self.memory
            )


class _KeptRewind(Struct, frozen=True):
    """A Rewound without its conflict. splices: over the present content; None if one of the two is no file."""

    content: bytes | None
    splices: tuple[Splice, ...] | None
    undone: tuple[str, ...]
    left: tuple[PlaceLeft, ...]
    partly: frozenset[str]


def find_rewind(
    store: RecordedChanges,
    history: FileHistory,
    chosen: Collection[str],
    present: bytes | None,
    content_of: ContentOf,
    *,
    kind: AnswerKind = "rewind",
) -> Rewound:
    """Return the rewind of the chosen steps, with splices over the present content, without its conflict.

    Args: content_of: has only contents of the record, whose answers may have their text.
    """
    key = key_of(
        "rewind",
        history.steps,
        sorted(chosen),
        None if present is None else content_digest(present),
        sorted(history.cancelled),
        sorted(history.undoes.items()),
        sorted(history.tool_edits),
    )
    kept = find_answer(store, history.path, key, _KeptRewind)
    if kept is None:
        contents = KnownContents(content_of)
        kept = _to_kept_rewind(history.rewound(chosen, present, contents), present)
        if contents.are_complete:
            keep_answer(store, history.path, kind, key, kept, oldest=history.oldest)
    content = kept.content
    if present is not None and kept.splices is not None:
        content = splicing.apply(present, kept.splices)
    return Rewound(content=content, undone=kept.undone, left=kept.left, partly=kept.partly, splices=kept.splices)


def _to_kept_rewind(rewound: Rewound, present: bytes | None) -> _KeptRewind:
    content, splices = rewound.content, rewound.splices
    if present is None or content is None:
        splices = None
    elif splices is None or splicing.apply(present, splices) != content:
        splices = splices_between(present, content, detect_format(present))
    kept_content = content if splices is None else None
    return _KeptRewind(kept_content, splices, rewound.undone, rewound.left, rewound.partly)
