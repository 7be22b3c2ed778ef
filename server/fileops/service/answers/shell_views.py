"""Finds out how much of which files the output of a host's shell command has shown. Runs in a worker thread."""

from collections.abc import Iterator, Sequence

from fileops.core import text
from fileops.core.roots import Roots
from fileops.core.windows.shell_view import view_of
from fileops.model.errors import FileOpsError
from fileops.model.files import ReadProof, Snapshot
from fileops.model.internal_errors import PathMoved
from fileops.model.sessions import SessionName
from fileops.ports import FileSystem
from fileops.service.paths import canonical_path

MAX_BYTES = 1 << 20  # of each file compared with an output


def read_proofs_in(
    fs: FileSystem, session: SessionName, file_paths: Sequence[str], output: str, roots: Roots | None
) -> list[ReadProof]:
    """Return what the output verifiably contains of the current files. fs: what the session may read; roots: where."""
    return list(_read_proofs(fs, session, file_paths, output, roots))


def _read_proofs(
    fs: FileSystem, session: SessionName, file_paths: Sequence[str], output: str, roots: Roots | None
) -> Iterator[ReadProof]:
    for file_path in file_paths:
        try:
            path = canonical_path(fs, file_path, roots)
            stamp = fs.stat(path)
            if stamp is None or stamp.size_bytes > MAX_BYTES:
                continue
            snapshot = fs.read(path)
        except (FileOpsError, PathMoved):
            continue
        view = _view(snapshot, output)
        if view is not None and snapshot.stamp is not None:
            yield ReadProof(
                session_id=session,
                given_path=file_path,
                path=path,
                stamp=snapshot.stamp,
                taken_ns=snapshot.taken_ns,
                digest=snapshot.digest,
                source=snapshot.source,
                version=snapshot.version,
                content=snapshot.data,
                is_whole=view == "whole",
            )


def _view(snapshot: Snapshot, output: str) -> str | None:
    fmt = text.detect_format(snapshot.data)
    if text.is_binary(snapshot.data, fmt):
        return None
    return view_of(text.decode(snapshot.data, fmt).removeprefix("\ufeff"), output)
