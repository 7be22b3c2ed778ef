"""Contents before a change of which the record has no copy, because git has them: those of clean files."""

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from fileops.model.digest import content_digest
from fileops.ports import TextOf
from fileops.record.content import kind_of_content
from fileops.record.entries import Observed
from fileops.record.folder import FolderRecording
from fileops.record.git import Repository
from fileops.record.known_files import is_unchanged

Changed = tuple[FolderRecording, Observed]
ReadBlobs = Callable[[str, Repository, dict[bytes, int]], dict[bytes, bytes]]
_BYTES_AT_ONCE = 16 << 20  # besides those of the current batch


class GitContents:
    """Belongs to the recorder's thread.

    read_blobs: given a folder's root, its repository and sizes by object id, reads the blobs that it can. text_of: see
    content.read_file.
    """

    def __init__(self, read_blobs: ReadBlobs, text_of: TextOf) -> None:
        self._read_blobs, self._text_of = read_blobs, text_of
        self._blobs: dict[bytes, bytes] = {}  # by object id: those of the batch read last, and of some that follow

    def read(self, batch: Sequence[Changed], others: Iterable[Changed] = ()) -> None:
        """Have the blobs that the batch replaced, and some of those that the others replaced, by one process of git.

        A checkout changes thousands of files, and starting git costs as much as writing ten entries.
        """
        oids = {change.before.oid for _, change in batch if change.before is not None}
        if oids - {None} <= self._blobs.keys():
            return
        self._blobs = {}
        for root, (repository, sizes) in _blobs_wanted(batch, others).items():
            self._blobs |= self._read_blobs(root, repository, sizes)

    def with_content(self, change: Observed) -> Observed | None:
        """Add the content before the change, if git has it. None if that equals the content after it."""
        before = change.before
        if before is None or before.oid is None:
            return change
        data = self._blobs.get(before.oid)
        is_whole = data is not None and len(data) == before.size_bytes
        data = self._text_of(change.path, data) if data is not None and is_whole else None
        if data is None or kind_of_content(data) != "kept":
            return replace(change, before=replace(before, oid=None))  # R-REC-5: the blob is not what the file contained
        known = replace(before, oid=None, digest=content_digest(data))
        if change.after is not None and is_unchanged(known, change.after):
            return None
        return replace(change, before=known, before_data=data)


def _blobs_wanted(
    batch: Sequence[Changed], others: Iterable[Changed]
) -> dict[str, tuple[Repository, dict[bytes, int]]]:
    """The blobs that the changes replaced, and some of those that the others did: for each root, sizes by object id."""
    wanted: dict[str, tuple[Repository, dict[bytes, int]]] = {}
    n_bytes = 0
    for is_needed, changes in ((True, batch), (False, others)):
        for folder, change in changes:
            before, repository = change.before, folder.repository
            if repository is None or before is None or before.oid is None:
                continue
            n_bytes += before.size_bytes
            if is_needed or n_bytes <= _BYTES_AT_ONCE:
                wanted.setdefault(folder.root, (repository, {}))[1][before.oid] = before.size_bytes
    return wanted
