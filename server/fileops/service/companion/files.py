"""The files that hosts' own tools read and write, with and without the unsaved text of editors."""

from collections.abc import Callable

from msgspec import Struct

from fileops.core import text
from fileops.model.errors import FileOpsError
from fileops.model.files import ReadProof, Snapshot
from fileops.model.internal_errors import PathMoved
from fileops.model.sessions import SessionName
from fileops.ports import FileSystem


class BothTexts(Struct, frozen=True, kw_only=True):
    """A file as the daemon reads it, and as the host's own tool does. editor: the one with unsaved text, if any."""

    present: Snapshot
    saved: Snapshot
    editor: str | None = None


class HostFiles(Struct, frozen=True, kw_only=True):
    """Reads files in worker threads.

    fs: refuses files that agents must not read. saved: the files without open documents. editor_at: returns the name
    for people of the editor that has a canonical path open; None if there is none.
    """

    fs: FileSystem
    saved: FileSystem
    editor_at: Callable[[str], str | None]

    def look(self, path: str) -> BothTexts:
        """Raises: FileOpsError, PathMoved."""
        canonical = self.fs.resolve(path)
        present, saved = self.fs.read(canonical), self.saved.read(canonical)
        if not present.exists or present.source != "buffer" or to_shown_text(present) == to_shown_text(saved):
            return BothTexts(present=present, saved=saved)
        return BothTexts(present=present, saved=saved, editor=self.editor_at(canonical) or "an editor")

    def read_saved(self, canonical: str) -> Snapshot | None:
        """Return the file without unsaved text; None if it cannot be read."""
        try:
            return self.saved.read(canonical)
        except (FileOpsError, PathMoved):
            return None


def to_shown_text(snapshot: Snapshot) -> str | None:
    """Return the text as hosts show it, with line feeds and without a BOM; None if it is binary."""
    return text_of(snapshot.data) if snapshot.exists else ""


def text_of(data: bytes) -> str | None:
    """Return the text of a content as hosts show it; None if it is binary."""
    fmt = text.detect_format(data)
    if text.is_binary(data, fmt):
        return None
    return text.to_lf(text.decode(data, fmt).removeprefix("\ufeff"))


def proof_of(session_id: SessionName, path: str, snapshot: Snapshot, *, is_whole: bool) -> ReadProof | None:
    """Return what counts as read if this content was shown; None if there is no file."""
    if snapshot.stamp is None:
        return None
    return ReadProof(
        session_id=session_id,
        given_path=path,
        path=snapshot.path,
        stamp=snapshot.stamp,
        taken_ns=snapshot.taken_ns,
        digest=snapshot.digest,
        source=snapshot.source,
        version=snapshot.version,
        content=snapshot.data,
        is_whole=is_whole,
    )
