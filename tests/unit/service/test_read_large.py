"""Reads in a large file begin near their line once the way there is known, and say the same as without."""

import os
import pathlib
import random
import time
import tracemalloc
from collections.abc import Iterator

import pytest

from fileops.concurrency.cancellation import CancelToken
from fileops.core.stamps import is_racy
from fileops.fs.local.filesystem import LocalFileSystem
from fileops.model.events import Event
from fileops.model.requests import ReadRequest
from fileops.model.results import ReadResult
from fileops.model.settings import Settings
from fileops.service.reading import read as reading
from fileops.service.reading.read import ReadOperation
from fileops.tracking.freshness import Freshness

CHUNK = 64
CHUNK_BYTES = reading.CHUNK_BYTES  # before a test makes it small


class Clock:
    def time_ns(self) -> int:
        return time.time_ns()


class NoEvents:
    def publish(self, event: Event) -> None:
        del event


class CountingFileSystem(LocalFileSystem):
    """Counts the bytes that streams read."""

    n_bytes = 0

    def open(self, path: str):
        stream = super().open(path)
        read = stream.read

        def counted(max_bytes: int) -> bytes:
            data = read(max_bytes)
            self.n_bytes += len(data)
            return data

        stream.read = counted  # pyrefly: ignore[method-assign]
        return stream


@pytest.fixture
def fs(monkeypatch: pytest.MonkeyPatch) -> CountingFileSystem:
    monkeypatch.setattr(reading, "CHUNK_BYTES", CHUNK)
    return CountingFileSystem()


@pytest.fixture
def reader(fs: CountingFileSystem) -> Iterator[ReadOperation]:
    freshness = Freshness(fs, NoEvents(), Clock(), sweep_s=3600)
    yield ReadOperation(fs, freshness, Settings())
    freshness.close()


def settled(path: pathlib.Path, data: bytes) -> str:
    """A file old enough that its stamp identifies its content."""
    path.write_bytes(data)
    fs = LocalFileSystem()
    for _ in range(200):
        stamp = fs.stat(str(path))
        assert stamp is not None
        if not is_racy(stamp, time.time_ns()):
            break
        time.sleep(0.005)
    return str(path)


def read(reader: ReadOperation, path: str, offset: int, limit: int | None) -> ReadResult:
    return reader.read(ReadRequest(file_path=path, offset=offset, limit=limit), None, CancelToken())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-32-be"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_every_window_is_independent_of_earlier_reads(
    reader: ReadOperation, fs: CountingFileSystem, tmp_path: pathlib.Path, encoding: str, newline: str
) -> None:
    chance = random.Random(encoding + newline)
    lines = ["é\u0a0a" * chance.randrange(12) + str(n) for n in range(200)]
    text = newline.join(lines) + chance.choice(["", newline])
    bom = "" if encoding == "utf-8" else "\ufeff"
    path = settled(tmp_path / "f", (bom + text).encode(encoding))
    for _ in range(120):
        offset, limit = chance.randrange(1, 210), chance.choice([1, 3, 20, None])
        known = read(reader, path, offset, limit)
        fresh = read(ReadOperation(fs, reader.freshness, Settings()), path, offset, limit)
        assert known.output == fresh.output
        assert known.window is not None
        assert fresh.window is not None
        assert known.window.next_offset == fresh.window.next_offset
        assert known.window.total_lines in {fresh.window.total_lines, len(lines)}


def test_second_read_near_the_end_reads_a_chunk_or_two(
    reader: ReadOperation, fs: CountingFileSystem, tmp_path: pathlib.Path
) -> None:
    path = settled(tmp_path / "f", b"".join(b"line %06d\n" % n for n in range(10_000)))
    read(reader, path, 9_990, 5)
    assert fs.n_bytes > 9_000 * 12
    fs.n_bytes = 0
    outcome = read(reader, path, 9_000, 2)
    assert outcome.output.startswith("  9000→line 008999\n  9001→line 009000\n")
    assert fs.n_bytes <= 3 * CHUNK


def test_lines_in_the_middle_of_a_large_file_take_no_more_memory_than_a_few_chunks(tmp_path: pathlib.Path) -> None:
    path, n_lines = str(tmp_path / "f"), 1_000_000
    pathlib.Path(path).write_bytes(b"".join(b"line %09d and some more text\n" % n for n in range(n_lines)))
    fs = LocalFileSystem()
    freshness = Freshness(fs, NoEvents(), Clock(), sweep_s=3600)
    reader = ReadOperation(fs, freshness, Settings())
    read(reader, path, 1, 1)  # what is loaded at a first read is not counted
    tracemalloc.start()
    try:
        for offset in (n_lines // 2, n_lines - 5):
            assert read(reader, path, offset, 3).output.startswith(f"{offset:6}→line {offset - 1:09}")
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        freshness.close()
    assert os.path.getsize(path) > 30_000_000
    assert peak_bytes < 16 * CHUNK_BYTES


def test_number_of_lines_is_returned_once_it_is_known(reader: ReadOperation, tmp_path: pathlib.Path) -> None:
    path = settled(tmp_path / "f", b"x\n" * 500)
    first = read(reader, path, 1, 1)
    assert first.window is not None
    assert first.window.total_lines is None
    read(reader, path, 490, None)
    again = read(reader, path, 1, 1)
    assert again.window is not None
    assert again.window.total_lines == 500


def test_changed_content_gets_a_new_index(reader: ReadOperation, tmp_path: pathlib.Path) -> None:
    path = settled(tmp_path / "f", b"short\n" * 100)
    read(reader, path, 99, 1)
    settled(pathlib.Path(path), b"a much longer line\n" * 100)
    assert read(reader, path, 50, 1).output.startswith("    50→a much longer line\n")
    stat = os.stat(path)
    path_again = settled(pathlib.Path(path), b"other lines, equal size" + b"\n" * (stat.st_size - 23))
    os.utime(path_again, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert read(reader, path_again, 1, 1).output.startswith("     1→other lines, equal size\n")
    assert read(reader, path_again, 60, 1).output.startswith("    60→\n")
