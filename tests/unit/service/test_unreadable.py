"""Rules about unreadable files, over files in memory: what the disk of a test cannot do."""

from collections.abc import Generator

import pytest

from fileops.core.ignore import FILE_NAME
from fileops.fs.memory import MemoryFileSystem
from fileops.fs.rule_files import RoutedRuleFiles, StatRuleFiles
from fileops.model.errors import NotPermitted
from fileops.model.files import Stamp
from fileops.model.internal_errors import PathMoved
from fileops.service.client.unreadable import RuleBook
from support.in_process import SystemClock, Workbench


@pytest.fixture
def bench() -> Generator[Workbench]:
    bench = Workbench()
    bench.disk.put("/w/a.txt", b"one\n")
    yield bench
    bench.close()


async def test_rules_that_may_not_be_read_close_everything_below(bench: Workbench) -> None:
    bench.disk.put(f"/w/{FILE_NAME}", b"b.txt\n")
    assert (await bench.read("/w/a.txt")).error is None
    bench.disk.chmod(f"/w/{FILE_NAME}", 0)

    result = await bench.read("/w/a.txt")

    assert isinstance(result.error, NotPermitted)
    assert "cannot be used. The operating system refused access" in result.output


async def test_rules_count_as_they_are_saved(bench: Workbench) -> None:
    """Half-typed rules neither open nor close anything."""
    bench.disk.put(f"/w/{FILE_NAME}", b"b.txt\n")
    bench.editor.set_text(bench.editor.open(f"/w/{FILE_NAME}"), "*\n")

    assert (await bench.read("/w/a.txt")).error is None


class Hands:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now_ns = 10_000_000_000_000

    def time_ns(self) -> int:
        return self.now_ns


def test_rules_of_a_mapped_folder_are_looked_up_every_five_seconds() -> None:
    clock = Hands()
    host, disk = MemoryFileSystem(clock.time_ns), MemoryFileSystem()
    host.put("/far/a.txt", b"x")
    mapped = StatRuleFiles(host, FILE_NAME, clock, kept_ns=5_000_000_000)
    finder = RoutedRuleFiles(
        StatRuleFiles(disk, FILE_NAME, SystemClock()), mapped, lambda path: path.startswith("/far"), FILE_NAME
    )
    book = RuleBook(host, finder)
    assert book.above("/far/a.txt") == ()
    host.put(f"/far/{FILE_NAME}", b"a.txt\n")
    assert book.above("/far/a.txt") == ()
    clock.now_ns += 5_000_000_000
    (rules,) = book.above("/far/a.txt")
    assert rules.refusal("/far/a.txt") is not None
    host.put(f"/far/{FILE_NAME}", b"")
    assert book.above("/far/a.txt") == (rules,)
    clock.now_ns += 5_000_000_000
    (rules,) = book.above("/far/a.txt")
    assert rules.refusal("/far/a.txt") is None
    assert not book.has_none_above("/far/a.txt")  # a host would have to be asked


class MovedHost(MemoryFileSystem):
    """A host on which another process exchanges a folder with a link while `is_moving`."""

    is_moving = False

    def stat(self, path: str) -> Stamp | None:
        if self.is_moving:
            raise PathMoved(path=path)
        return super().stat(path)


def test_folder_that_was_being_replaced_is_looked_up_again_at_once() -> None:
    clock = Hands()
    host = MovedHost(clock.time_ns)
    host.put("/far/a.txt", b"x")
    book = RuleBook(host, StatRuleFiles(host, FILE_NAME, clock, kept_ns=5_000_000_000))
    host.is_moving = True
    assert all(rules.fault for rules in book.above("/far/a.txt"))
    host.is_moving = False
    assert book.above("/far/a.txt") == ()
