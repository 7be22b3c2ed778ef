"""What is known of how files changed: the splices of each change that was made through this daemon.

Between two contents of a file there is such a chain of changes if no other program wrote in between. An edit that was
made for the first can then be carried to the second, without a comparison of the two.
"""

import threading

from fileops.core import splices as splicing
from fileops.core.merge.relevance import line_splices
from fileops.model.bounded import LruDict
from fileops.model.digest import content_digest
from fileops.model.edits import Splice

MAX_BYTES = 4 << 20  # of all new texts
ENTRY_BYTES = 400  # of an entry besides its texts
MAX_STEPS = 64  # of a chain; a session that has missed more reads the file again, or its edit is compared

_State = tuple[str, bytes]  # canonical path and digest of the content
_Step = tuple[bytes, tuple[Splice, ...]]  # digest of the next content, and the splices to it


class KnownChanges:
    """Thread-safe. Each content of a file has its newest successor."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps: LruDict[_State, _Step] = LruDict(MAX_BYTES, _cost)

    def note(self, path: str, before: bytes, splices: tuple[Splice, ...], after: bytes) -> None:
        """Record that the splices made one content of another. Args: before, after: digests."""
        if before == after:
            return
        with self._lock:
            self._steps.put((path, before), (after, splices))

    def between(self, path: str, before: bytes, after: bytes) -> tuple[Splice, ...] | None:
        """Return splices of whole lines that lead from one content to another; None if that is not known."""
        steps = self._chain(path, content_digest(before), content_digest(after))
        if steps is None:
            return None
        content = before
        composed: tuple[Splice, ...] = ()
        for splices in steps:
            if splices and splices[-1].end > len(content):
                return None
            composed = splicing.compose(composed, line_splices(content, splices))
            content = splicing.apply(content, splices)
        return composed if content == after else None

    def _chain(self, path: str, before: bytes, after: bytes) -> list[tuple[Splice, ...]] | None:
        found: list[tuple[Splice, ...]] = []
        with self._lock:
            while before != after:
                step = self._steps.use((path, before))
                if step is None or len(found) == MAX_STEPS:
                    return None
                before, splices = step
                found.append(splices)
        return found


def _cost(step: _Step) -> int:
    return ENTRY_BYTES + sum(len(splice.new) for splice in step[1])
