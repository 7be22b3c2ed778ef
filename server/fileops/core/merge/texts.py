"""The contents of a file's steps, by digest, and their splices; looked up when needed. Pure."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fileops.core import splices as splicing
from fileops.core.diff.contents import splices_between
from fileops.core.text import detect_format
from fileops.model.digest import content_digest
from fileops.model.edits import Splice
from fileops.model.rewind import FileStep

if TYPE_CHECKING:
    from fileops.core.story.memory import FileMemory

ContentOf = Callable[[bytes], bytes | None]


class StepTexts:
    """For one file. content_of: returns the content with a digest, None if unknown. memory: of the file.

    Only the last content is kept here: those of 400 edits of a file of 1 MB would be 400 MB.
    """

    def __init__(self, content_of: ContentOf, memory: "FileMemory | None" = None) -> None:
        self._content_of, self.memory = content_of, memory
        self._last: tuple[bytes, bytes] | None = None
        self._reverses: dict[str, tuple[Splice, ...] | None] = {}  # by step, of those that had to be compared
        self._parts: dict[bytes, tuple[bytes, tuple[Splice, ...]]] = {}

    def content(self, digest: bytes) -> bytes | None:
        """Return the content with this digest; None if unknown."""
        if self._last is not None and self._last[0] == digest:
            return self._last[1]
        base, splices = self._parts.get(digest, (digest, ()))
        content = self._content_of(base)
        if content is None:
            return None
        content = splicing.apply(content, splices) if splices else content
        self._last = digest, content
        return content

    def after(self, step: FileStep) -> bytes | None:
        """Return the content after a step; None if unknown, or if there is no file."""
        return None if step.after is None else self.content(step.after)

    def before(self, step: FileStep) -> bytes | None:
        """Return the content before a step; None if unknown, or if there is no file."""
        if step.before is None:
            return None
        after = b"" if step.after is None else self.content(step.after)
        if step.reverse is None or after is None:
            return self.content(step.before)
        return splicing.apply(after, step.reverse)

    def forward(self, step: FileStep) -> tuple[Splice, ...] | None:
        """Return splices from the content before a step to that after it; None if a content is unknown."""
        after = b"" if step.after is None else self.content(step.after)
        reverse = self.reverse(step)
        if after is None or reverse is None:
            return None
        return (Splice(0, 0, after),) if step.before is None else splicing.invert(after, reverse)

    def reverse(self, step: FileStep) -> tuple[Splice, ...] | None:
        """Return splices from the content after a step to that before it; None if a content is unknown."""
        if step.reverse is not None:
            return step.reverse
        if step.step_id not in self._reverses:
            self._reverses[step.step_id] = self._compare(step)
        return self._reverses[step.step_id]

    def _compare(self, step: FileStep) -> tuple[Splice, ...] | None:
        if step.before is None:
            return ()
        after = b"" if step.after is None else self.content(step.after)
        before = self.content(step.before)
        if before is None or after is None:
            return None
        return (Splice(0, 0, before),) if step.after is None else splices_between(after, before, detect_format(after))

    def add_part(self, base: bytes, splices: tuple[Splice, ...]) -> bytes:
        """Add the content with these splices over that with the digest `base`. Return its digest. Raises: KeyError."""
        content = self.content(base)
        if content is None:
            raise KeyError(base)
        digest = content_digest(splicing.apply(content, splices))
        self._parts[digest] = base, splices
        return digest
