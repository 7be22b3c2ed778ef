"""Finds out who wrote the lines of a file, by the record. Runs in worker threads."""

import os
from collections.abc import Sequence
from itertools import islice

from msgspec.structs import replace

from fileops.core import text
from fileops.core.merge.authorship import OwnedLines, owners_of_lines
from fileops.core.merge.stored_contents import StoredContents
from fileops.core.merge.texts import ContentOf
from fileops.core.merge.undo import MAX_COMPARED_BYTES
from fileops.core.notebook.cell_page import lines_of_cells
from fileops.core.notebook.cells import Notebook, fault_of, is_notebook_path, parse
from fileops.core.notebook.sources import sources_in, sources_of, steps_of_sources
from fileops.model.digest import content_digest
from fileops.model.errors import BinaryFile, FileMissing, TooLarge
from fileops.model.internal_errors import PathMoved
from fileops.model.record import Entry
from fileops.model.rewind import BlamedLines
from fileops.ports import FileSystem, RecordedChanges
from fileops.record import git
from fileops.service.rewind.answers import KnownContents, find_answer, keep_answer, key_of
from fileops.service.rewind.files import are_all_kept, find_carried, find_undone, steps_with_renames, tool_edits_of
from fileops.service.rewind.lineage import Lineages, follows_all
from fileops.service.rewind.memories import Memories

MAX_MERGES = 64  # of one file, whose parents are read from git, the newest


def blame(
    store: RecordedChanges, fs: FileSystem, file_path: str, *, by_cells: bool = False, memories: Memories | None = None
) -> list[BlamedLines]:
    """Return who last changed each line of the current content, top to bottom. Raises: the failures of reading.

    by_cells: of a notebook that has cells, the lines are those of their sources.
    """
    path = fs.resolve(file_path)
    try:
        snapshot = fs.read(path)
    except PathMoved:
        raise FileMissing from None
    if not snapshot.exists:
        raise FileMissing
    if text.is_binary(snapshot.data, text.detect_format(snapshot.data)):
        raise BinaryFile
    if len(snapshot.data) > MAX_COMPARED_BYTES:
        raise TooLarge(size_bytes=len(snapshot.data), max_kb=MAX_COMPARED_BYTES >> 10)
    entries = Lineages(store, follows_all).of(path, has_arrivals=True)
    known = {entry.entry_id: entry for entry in entries}
    steps = steps_with_renames(entries, store, all_undos=True)
    contents: ContentOf = StoredContents(store)
    parents = _parents_of(entries, path)
    present, cells, key = snapshot.data, None, None
    undoes, tool_edits, carried = find_undone(entries), tool_edits_of(entries), find_carried(entries)
    if by_cells and is_notebook_path(path) and fault_of(snapshot.data) is None:
        cells = parse(snapshot.data)
        steps, contents = steps_of_sources(steps, contents)
        present = sources_of(cells)
        parents = {entry_id: list(filter(None, map(sources_in, texts))) for entry_id, texts in parents.items()}
    elif snapshot.source == "disk" and are_all_kept(entries):
        merged = sorted((entry_id, list(map(content_digest, texts))) for entry_id, texts in parents.items())
        sets = sorted(undoes.items()), sorted(tool_edits), sorted(carried), merged
        key = key_of("blame", steps, snapshot.digest, *sets)
    owned = find_answer(store, path, key, list[OwnedLines])
    if owned is None:
        known_contents = KnownContents(contents)
        memory = None if memories is None or cells is not None else memories.of(path, len(steps))
        owned = owners_of_lines(steps, present, known_contents, undoes, tool_edits, carried, parents, memory)
        if known_contents.are_complete:
            oldest = min((entry.time for entry in entries), default=0.0)
            keep_answer(store, path, "blame", key, owned, oldest=oldest)
    blamed = [_to_blamed(lines, known) for lines in owned]
    return blamed if cells is None else _by_cells(blamed, cells)


def _parents_of(entries: Sequence[Entry], path: str) -> dict[str, list[bytes]]:
    """Return the contents that git may have merged in entries, as far as git still has them."""
    merges = list(islice((entry for entry in reversed(entries) if entry.is_carried and entry.parents), MAX_MERGES))
    root = git.top_of(os.path.dirname(path)) if merges else None
    repository = None if root is None else git.find_repository(root)
    if repository is None:
        return {}
    blobs = git.read_blobs(repository, {oid: size for entry in merges for oid, size in entry.parents})
    return {entry.entry_id: [blobs[oid] for oid, _ in entry.parents if oid in blobs] for entry in merges}


def _to_blamed(lines: OwnedLines, known: dict[str, Entry]) -> BlamedLines:
    entry = None if lines.entry_id is None else known[lines.entry_id]
    return BlamedLines(
        first_line=lines.first_line,
        n_lines=lines.n_lines,
        by=None if entry is None else entry.by,
        entry_id=lines.entry_id,
        time=None if entry is None else entry.time,
    )


def _by_cells(blamed: Sequence[BlamedLines], notebook: Notebook) -> list[BlamedLines]:
    """Return the lines with their cells, those of each cell apart."""
    found, at = list[BlamedLines](), 0
    for name, start, end in lines_of_cells(notebook):
        line = start
        while line <= end:
            while blamed[at].first_line + blamed[at].n_lines <= line:
                at += 1
            n_lines = min(end + 1, blamed[at].first_line + blamed[at].n_lines) - line
            found.append(replace(blamed[at], first_line=line, n_lines=n_lines, cell_id=name))
            line += n_lines
    return found
