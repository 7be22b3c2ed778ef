"""What lists, keeps and previews of many changes cost: python tests/bench/unkept.py. See --help.

A record is written with many changes of an agent that nobody has kept: each entry changes another line of its file. A
person has changed every tenth line beside them. Prints the processor time of the log, of what a daemon computes once
the files are left alone, and the longest part of it, of the list after that (--not-ahead: without it), of it once
again, by this process and by one that knows the record only, of blame, of the same blame again, of both after one more
change of each file, by this process and by one that was just started (without --not-ahead: after the files were left
alone), of previews of an undo of all of it and of the newest change of each file, and of a keep. --one-place: all
changes are made in one place of their file, one over the other.

To compare with an earlier version, copy this file into its checkout and run it there.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fileops.model.record import LogQuery
from fileops.model.rewind import KeepRequest, RewindRequest, RewindTarget
from fileops.service.rewind.blame import blame
from fileops.service.rewind.memories import Memories
from fileops.service.rewind.unkept import UnkeptPlaces
from support.recording import AGENT, PERSON, Recording

EVERY_BY_PERSON = 10  # every so many lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what lists, keeps and previews of many changes cost.")
    parser.add_argument("--changes", type=int, default=50_000, help="of the agent, in all files (default 50000)")
    parser.add_argument("--files", type=int, default=200, help="which have them (default 200)")
    parser.add_argument("--lines", type=int, default=1_000, help="of each file (default 1000)")
    parser.add_argument("--one-place", action="store_true", help="all changes of a file are of its first line")
    parser.add_argument("--not-ahead", action="store_true", help="compute nothing before the first list")
    asyncio.run(_measure(parser.parse_args()))


async def _measure(arguments: argparse.Namespace) -> None:
    recording = Recording()
    paths = [f"/w/file-{n}.txt" for n in range(arguments.files)]
    with recording.store.transaction():
        for path in paths:
            contents = _contents(arguments.changes // arguments.files, arguments.lines, arguments.one_place)
            for n, content in enumerate(contents):
                recording.write(path, content, AGENT if n % EVERY_BY_PERSON else PERSON)
    store, fs = recording.store, recording.bench.disk
    memories = Memories()
    places = UnkeptPlaces(store, fs, memories=memories)
    _say("log", lambda: store.entries(LogQuery())[0])
    if not arguments.not_ahead:
        _compute_ahead(places, paths)
        places = UnkeptPlaces(store, fs, memories=memories)
    _say("list", places.find)
    _say("list again", places.find)
    _say("list after a restart", UnkeptPlaces(store, fs).find)
    _say("blame of one file", lambda: blame(store, fs, paths[0], memories=memories))
    _say("blame again", lambda: blame(store, fs, paths[0], memories=memories))
    for path in paths:
        recording.write(path, (recording.bench.on_disk(path) or b"") + b"one more\n", AGENT)
    _say("list after one more change of each", lambda: UnkeptPlaces(store, fs, memories=memories).find())
    _say("blame of one file after that", lambda: blame(store, fs, paths[0], memories=memories))
    for path in paths:
        recording.write(path, (recording.bench.on_disk(path) or b"") + b"one more again\n", AGENT)
    memories = Memories()
    if not arguments.not_ahead:
        _compute_ahead(UnkeptPlaces(store, fs, memories=memories), paths)
    _say("list after a restart and another one", lambda: UnkeptPlaces(store, fs, memories=memories).find())
    _say("blame of one file after that", lambda: blame(store, fs, paths[0], memories=memories))
    newest = [entry.entry_id for path in paths if (entry := store.newest(path)) is not None]
    for what, target in (
        ("preview of all", RewindTarget("session_id", ("agent",))),
        ("preview of the newest of each file", RewindTarget("entry_ids", tuple(newest))),
    ):
        start = time.process_time()
        result = await recording.bench.service.history.rewind(
            RewindRequest(target=target, is_approved=True, dry_run=True)
        )
        _print(what, start, f"{result.n_undone} undone, {result.n_left} left")
    _say("keep", lambda: places.keep(KeepRequest(session_id=AGENT.session_id)))


def _contents(n_changes: int, n_lines: int, is_one_place: bool) -> Iterator[bytes]:
    lines = [b"line %d\n" % n for n in range(n_lines)]
    yield b"".join(lines)
    for n in range(n_changes):
        lines[0 if is_one_place else n * 7 % n_lines] = b"line %d in change %d\n" % (n * 7 % n_lines, n)
        yield b"".join(lines)


def _compute_ahead(places: UnkeptPlaces, paths: list[str]) -> None:
    start = since = time.process_time()
    longest_s, n_parts = 0.0, 0
    for _ in places.prepare(paths):
        longest_s, n_parts = max(longest_s, time.process_time() - since), n_parts + 1
        since = time.process_time()
    _print("ahead, before anybody asks", start, f"{n_parts} parts, the longest {longest_s:.2f} s")


def _say(what: str, call: Callable[[], object]) -> None:
    start = time.process_time()
    result = call()
    n = getattr(result, "n_changes", None)
    _print(what, start, "" if n is None else f"{n:,} changes")


def _print(what: str, start: float, rest: str) -> None:
    sys.stdout.write(f"{what:36} {time.process_time() - start:8.2f} s  {rest}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
