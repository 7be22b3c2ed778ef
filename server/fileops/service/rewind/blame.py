"""Finds out who wrote the lines of a file, by the record. Runs in worker threads."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

from msgspec.structs import replace

from fileops.core import text
from fileops.core.merge.authorship import OwnedLines, owners_of_lines
from fileops.core.merge.stored_contents import StoredContents
from fileops.core.merge.texts import ContentOf, StepTexts
from fileops.core.merge.undo import MAX_COMPARED_BYTES
from fileops.core.notebook.cell_page import lines_of_cells
from fileops.core.notebook.cells import Notebook, fault_of, is_notebook_path, parse
from fileops.core.notebook.sources import sources_in, sources_of, steps_of_sources
from fileops.core.story.memory import FileMemory
from fileops.core.story.story import tell_ahead
from fileops.model.digest import content_digest
from fileops.model.errors import BinaryFile, FileMissing, TooLarge
from fileops.model.files import Snapshot
from fileops.model.internal_errors import PathMoved
from fileops.model.record import Entry
from fileops.model.rewind import BlamedLines, FileStep
from fileops.ports import FileSystem, RecordedChanges
from fileops.record import git
from fileops.service.rewind.answers import KnownContents, find_answer, keep_answer, key_of
from fileops.service.rewind.files import are_all_kept, find_carried, find_undone, steps_with_renames, tool_edits_of
from fileops.service.rewind.lineage import Lineages, follows_all
from fileops.service.rewind.memories import MIN_BLAMED_STEPS, Memories, store_memory

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
    entries = _entries_of(store, path)
    known = {entry.entry_id: entry for entry in entries}
    if by_cells and is_notebook_path(path) and fault_of(snapshot.data) is None:
        cells = parse(snapshot.data)
        steps, contents = steps_of_sources(steps_with_renames(entries, store, all_undos=True), StoredContents(store))
        texts = _parents_of(entries, path)
        parents = {entry_id: list(filter(None, map(sources_in, each))) for entry_id, each in texts.items()}
        owned = _owners(entries, steps, sources_of(cells), contents, parents)
        return _by_cells([_to_blamed(lines, known) for lines in owned], cells)
    return [_to_blamed(lines, known) for lines in _owners_in(store, path, snapshot, entries, memories)]


def owners_in(store: RecordedChanges, path: str, snapshot: Snapshot, memories: Memories | None) -> list[OwnedLines]:
    """Return the entries that blame names for the lines of a text, top to bottom."""
    return _owners_in(store, path, snapshot, _entries_of(store, path), memories)


def prepare_blame(store: RecordedChanges, path: str, snapshot: Snapshot, memories: Memories) -> Iterator[None]:
    """Tell the story of a file in parts before its blame is asked for, if it has many changes that are not told yet.

    Yields after each part.
    """
    entries = _entries_of(store, path)
    steps = steps_with_renames(entries, store, all_undos=True)
    memory = memories.of(store, path, len(steps))
    if memory is None or len(steps) < memory.n_told("blame") + MIN_BLAMED_STEPS:
        return
    yield from tell_ahead(
        steps,
        snapshot.data,
        StepTexts(StoredContents(store)),
        find_undone(entries),
        memory=memory,
        tool_edits=tool_edits_of(entries),
        parents=_parents_of(entries, path),
    )
    _owners_in(store, path, snapshot, entries, memories)
    yield


def _entries_of(store: RecordedChanges, path: str) -> list[Entry]:
    return Lineages(store, follows_all).of(path, has_arrivals=True)


def _owners_in(
    store: RecordedChanges, path: str, snapshot: Snapshot, entries: Sequence[Entry], memories: Memories | None
) -> list[OwnedLines]:
    steps, parents = steps_with_renames(entries, store, all_undos=True), _parents_of(entries, path)
    key = None
    if snapshot.source == "disk" and are_all_kept(entries):
        merged = sorted((entry_id, list(map(content_digest, texts))) for entry_id, texts in parents.items())
        sets = sorted(find_undone(entries).items()), sorted(tool_edits_of(entries)), sorted(find_carried(entries))
        key = key_of("blame", steps, snapshot.digest, *sets, merged)
    owned = find_answer(store, path, key, list[OwnedLines])
    if owned is None:
        contents = KnownContents(StoredContents(store))
        is_remembered = memories is not None and len(steps) >= MIN_BLAMED_STEPS
        memory = memories.of(store, path, len(steps)) if memories is not None and is_remembered else None
        owned = _owners(entries, steps, snapshot.data, contents, parents, memory)
        store_memory(store, path, memory, "blame", steps, (), entries)
        if contents.are_complete:
            oldest = min((entry.time for entry in entries), default=0.0)
            keep_answer(store, path, "blame", key, owned, oldest=oldest)
    return owned


def _owners(
    entries: Sequence[Entry],
    steps: Sequence[FileStep],
    present: bytes,
    contents: ContentOf,
    parents: Mapping[str, Collection[bytes]],
    memory: FileMemory | None = None,
) -> list[OwnedLines]:
    undoes, tool_edits, carried = find_undone(entries), tool_edits_of(entries), find_carried(entries)
    return owners_of_lines(steps, present, contents, undoes, tool_edits, carried, parents, memory)


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
