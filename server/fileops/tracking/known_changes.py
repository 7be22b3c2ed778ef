"""What is known of how files changed: the splices of each change by a session, an undo, or a person in an editor.

Between two contents of a file there is a chain of such changes. Where another program wrote in between, the chain has a
gap, of which only the contents on both sides are known. An edit that was made for the first content can be carried over
the known changes without a comparison, and each gap is compared by itself.
"""

import threading
from collections.abc import Sequence

from msgspec import Struct

from fileops.core import splices as splicing
from fileops.core.merge.relevance import Leg, line_splices
from fileops.model.bounded import LruDict
from fileops.model.digest import content_digest
from fileops.model.edits import Splice
from fileops.model.files import Snapshot

MAX_BYTES = 4 << 20  # of all new texts, and of the contents after gaps
ENTRY_BYTES = 400  # of an entry besides its texts
MAX_FILES = 10_000  # whose newest content is known
MAX_CONTENT_BYTES = 1 << 18  # after a gap, so that a few large files do not displace everything else
MAX_WALKED_BYTES = 32 << 20  # of a chain: its steps × the size of the content; a longer one is compared as a whole
MAX_LEGS = 16  # of which each is compared; the same

_State = tuple[str, bytes]  # canonical path and digest of the content


class _Step(Struct, frozen=True):
    """A change to the next content. splices: None for a gap, whose content is kept."""

    after: bytes  # digest
    splices: tuple[Splice, ...] | None
    content: bytes = b""


class KnownChanges:
    """Thread-safe. Each content of a file has its newest successor."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps: LruDict[_State, _Step] = LruDict(MAX_BYTES, _cost)
        self._newest: LruDict[str, bytes] = LruDict(MAX_FILES)  # digest of the content that was seen last, by path

    def note_read(self, path: str, digest: bytes, content: bytes | None) -> None:
        """Record that the file was read with this content. None: it is not kept.

        It is reported after the answer was sent. If the content has a successor, a commit was faster.
        """
        with self._lock:
            if self._steps.get((path, digest)) is None:
                self._note_content(path, digest, content)

    def note_found(self, path: str, digest: bytes, content: bytes) -> None:
        """Record a content that another program, such as a shell command, has left in a file that a session knows."""
        with self._lock:
            if self._newest.get(path) is not None and self._steps.get((path, digest)) is None:
                self._note_content(path, digest, content)

    def note_commit(self, before: Snapshot, splices: tuple[Splice, ...], after: bytes) -> None:
        """Record a commit, while the file is locked. Args: after: digest."""
        with self._lock:
            self._note_content(before.path, before.digest, before.data)
            self._note(before.path, before.digest, splices, after)
            self._newest.put(before.path, after)

    def note_typed(self, path: str, before: bytes, splices: tuple[Splice, ...], after: bytes) -> None:
        """Record what a person typed, unless it is a commit that was made in the editor. before, after: contents.

        The content after it may have been read before this is reported: then this closes the gap between the two.
        """
        digest, new_digest = content_digest(before), content_digest(after)
        with self._lock:
            known = self._steps.get((path, digest))
            if known is not None and known.after == new_digest and known.splices is not None:
                return
            if self._newest.get(path) != new_digest:
                self._note_content(path, digest, before)
            self._note(path, digest, splices, new_digest)
            self._newest.put(path, new_digest)

    def note_unseen(self, path: str, shown: bytes, unseen: tuple[Splice, ...] | None, after: Snapshot) -> None:
        """Record what leads from the content that a session was shown to that after its edit.

        unseen: None if other programs made a part of it.
        """
        with self._lock:
            if unseen is not None:
                self._note(path, content_digest(shown), unseen, after.digest)
            elif len(after.data) <= MAX_CONTENT_BYTES:
                self._steps.put((path, content_digest(shown)), _Step(after.digest, None, after.data))

    def legs(self, path: str, before: bytes, after: bytes) -> tuple[Leg, ...]:
        """Return the changes that lead from one content to the other. The last one may be a gap."""
        target = content_digest(after)
        digest, content = content_digest(before), before
        found: list[Leg] = []
        known: tuple[Splice, ...] = ()
        passed: set[bytes] = set()
        n_most = MAX_WALKED_BYTES // (len(before) + 1)
        while digest != target:
            with self._lock:
                step = self._steps.use((path, digest))
            if step is None or digest in passed or len(passed) == n_most or not _fits(step, content):
                return (*_with(found, known, content), Leg(after=after))
            passed.add(digest)
            digest = step.after
            if step.splices is None:
                if len(found) + 2 > MAX_LEGS:
                    return (Leg(after=after),)
                found = [*_with(found, known, content), Leg(after=step.content)]
                known, content = (), step.content
            else:
                known = splicing.compose(known, line_splices(content, step.splices))
                content = splicing.apply(content, step.splices)
        return tuple(_with(found, known, content)) if content == after else (Leg(after=after),)

    # --- under the lock --------------------------------------------------------------------------------------------

    def _note_content(self, path: str, digest: bytes, content: bytes | None) -> None:
        before = self._newest.use(path)
        self._newest.put(path, digest)
        if before is not None and before != digest and content is not None and len(content) <= MAX_CONTENT_BYTES:
            self._steps.put((path, before), _Step(digest, None, content))

    def _note(self, path: str, before: bytes, splices: tuple[Splice, ...], after: bytes) -> None:
        if before != after:
            self._steps.put((path, before), _Step(after, splices))


def _with(found: Sequence[Leg], known: tuple[Splice, ...], content: bytes) -> list[Leg]:
    return [*found, Leg(after=content, known=known)] if known else [*found]


def _fits(step: _Step, content: bytes) -> bool:
    return not step.splices or step.splices[-1].end <= len(content)


def _cost(step: _Step) -> int:
    return ENTRY_BYTES + len(step.content) + sum(len(splice.new) for splice in step.splices or ())
