"""Changes behind the daemon's back on the real disk, reported by watcher and sweep. An absent report is proven by
a later one.
"""

import mmap
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fileops.fs.local.filesystem import LocalFileSystem
from fileops.tracking.freshness import Freshness
from fileops.watch import stat_scan
from fileops.watch.factory import FolderStreams
from support.events import EventRecorder
from support.session import AgentSession, WallClock


@dataclass
class WatchWorld:
    root: Path
    has_watcher: bool

    def __post_init__(self) -> None:
        self.fs = LocalFileSystem(state_folder=str(self.root / "state"))
        self.notices = EventRecorder()
        self.freshness = Freshness(
            self.fs,
            self.notices,
            WallClock(),
            sweep_s=3600.0 if self.has_watcher else 0.05,
            changed_paths=stat_scan.find_changed_paths,
            open_watch=FolderStreams().watch if self.has_watcher else None,
        )
        self.a, self.b = (AgentSession(self.freshness, self.fs, name) for name in "ab")
        self.folder = self.root / "w"
        self.folder.mkdir()
        (self.root / "other").mkdir()
        self.file = self.folder / "f"
        self.file.write_text("one\n", encoding="utf-8")

    def wait_for_stale(self, n: int) -> list[tuple[str, str, str, str]]:
        self.notices.wait_for(lambda: len(self.notices.stale()) >= n)
        return self.notices.stale()

    def prove_nothing_else_is_told(self) -> None:
        """A later change in the same folder is reported, and it is the only one."""
        n_before = len(self.notices.stale())
        marker = self.folder / "marker"
        marker.write_text("old", encoding="utf-8")
        self.a.read(str(marker))
        marker.write_text("new and longer", encoding="utf-8")
        told = self.wait_for_stale(n_before + 1)
        assert [path for _, path, _, _ in told[n_before:]] == [str(marker)]
        assert n_before == len(told) - 1


@pytest.fixture(params=["watcher", "sweep"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[WatchWorld]:
    world = WatchWorld(tmp_path, has_watcher=request.param == "watcher")
    yield world
    world.freshness.close()


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[WatchWorld]:
    world = WatchWorld(tmp_path, has_watcher=True)
    yield world
    world.freshness.close()


@pytest.fixture
def sweeping(tmp_path: Path) -> Iterator[WatchWorld]:
    world = WatchWorld(tmp_path, has_watcher=False)
    yield world
    world.freshness.close()


def append(world: WatchWorld) -> None:
    with world.file.open("a", encoding="utf-8") as file:
        file.write("two\n")


def rewrite(world: WatchWorld) -> None:
    world.file.write_text("1\n", encoding="utf-8")


def swap(world: WatchWorld) -> None:
    world.file.with_name("f.tmp").write_text("new\n", encoding="utf-8")
    world.file.with_name("f.tmp").replace(world.file)


def swap_from_elsewhere(world: WatchWorld) -> None:
    (world.root / "other" / "f.tmp").write_text("new\n", encoding="utf-8")
    (world.root / "other" / "f.tmp").replace(world.file)


def save_like_vim(world: WatchWorld) -> None:
    world.file.rename(world.file.with_name("f~"))
    world.file.write_text("new\n", encoding="utf-8")
    world.file.with_name("f~").unlink()


def unlink(world: WatchWorld) -> None:
    world.file.unlink()


def move_away(world: WatchWorld) -> None:
    world.file.rename(world.root / "other" / "f")


def truncate(world: WatchWorld) -> None:
    os.truncate(world.file, 1)


def same_size_and_time(world: WatchWorld) -> None:
    status = world.file.stat()
    world.file.write_text("ONE\n", encoding="utf-8")
    os.utime(world.file, ns=(status.st_atime_ns, status.st_mtime_ns))


def touch(world: WatchWorld) -> None:
    os.utime(world.file, (1, 1))


def map_and_store(world: WatchWorld) -> None:
    with world.file.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[0] = ord("O")


def remove_folder(world: WatchWorld) -> None:
    shutil.rmtree(world.folder)


def move_folder(world: WatchWorld) -> None:
    world.folder.rename(world.root / "moved")


def swap_folder(world: WatchWorld) -> None:
    move_folder(world)
    world.folder.mkdir()
    world.file.write_text("other\n", encoding="utf-8")


CHANGES: list[tuple[Callable[[WatchWorld], None], set[str]]] = [
    (append, {"modified"}),
    (rewrite, {"modified"}),
    (swap, {"replaced"}),
    (swap_from_elsewhere, {"replaced"}),
    (save_like_vim, {"replaced", "deleted"}),
    (unlink, {"deleted"}),
    (move_away, {"deleted"}),
    (truncate, {"modified"}),
    (same_size_and_time, {"modified"}),
    (touch, {"modified"}),
    (map_and_store, {"modified"}),
    (remove_folder, {"deleted"}),
    (move_folder, {"deleted"}),
    (swap_folder, {"replaced", "deleted", "modified"}),
]


@pytest.mark.parametrize(("change", "reasons"), CHANGES)
def test_change_is_notified_once(world: WatchWorld, change: Callable[[WatchWorld], None], reasons: set[str]) -> None:
    world.a.read(str(world.file))
    change(world)
    ((session, path, reason, source),) = world.wait_for_stale(1)
    assert (session, path, source) == ("a", str(world.file), "external")
    assert reason in reasons
    world.folder.mkdir(exist_ok=True)
    world.prove_nothing_else_is_told()


def chmod(world: WatchWorld) -> None:
    world.file.chmod(0o600)


def look_inside(world: WatchWorld) -> None:
    assert world.file.read_text(encoding="utf-8")


def add_name(world: WatchWorld) -> None:
    (world.root / "other" / "hard").hardlink_to(world.file)


def write_beside(world: WatchWorld) -> None:
    (world.folder / "beside").write_text("x", encoding="utf-8")


@pytest.mark.parametrize("act", [chmod, look_inside, add_name, write_beside])
def test_touch_without_a_change_of_content_is_not_notified(
    world: WatchWorld, act: Callable[[WatchWorld], None]
) -> None:
    world.a.read(str(world.file))
    act(world)
    world.prove_nothing_else_is_told()
    world.a.require_fresh(str(world.file))


def test_own_writes_are_not_notified(world: WatchWorld) -> None:
    world.a.read(str(world.file))
    for i in range(20):
        world.a.write(str(world.file), b"x" * (i + 1))
    world.prove_nothing_else_is_told()


def test_file_moved_in_right_after_an_own_write_is_notified(watching: WatchWorld) -> None:
    """The kernel makes one event of two moves onto the same name before it reports the first."""
    for n in range(1, 11):
        watching.file = watching.folder / f"f{n}"
        for data in (b"one\n", b"two\n"):
            watching.a.write(str(watching.file), data)
        swap_from_elsewhere(watching)
        assert watching.wait_for_stale(n)[-1] == ("a", str(watching.file), "replaced", "external")


@pytest.mark.parametrize(
    ("change", "reason"), [(append, "modified"), (rewrite, "modified"), (swap, "replaced"), (unlink, "deleted")]
)
def test_change_right_after_an_own_write_is_notified(
    watching: WatchWorld, change: Callable[[WatchWorld], None], reason: str
) -> None:
    for n in range(1, 6):
        watching.file = watching.folder / f"f{n}"
        for data in (b"one\n", b"two\n"):
            watching.a.write(str(watching.file), data)
        change(watching)
        assert watching.wait_for_stale(n)[-1] == ("a", str(watching.file), reason, "external")


def test_write_of_another_session_is_notified_once_and_attributed_to_it(world: WatchWorld) -> None:
    world.a.read(str(world.file))
    world.b.read(str(world.file))
    world.b.write(str(world.file), b"two\n")
    assert world.wait_for_stale(1) == [("a", str(world.file), "modified", "session:b")]
    world.prove_nothing_else_is_told()


def test_stale_file_that_is_read_again_can_become_stale_again(world: WatchWorld) -> None:
    for n in range(1, 4):
        world.a.read(str(world.file))
        append(world)
        world.wait_for_stale(n)
    world.prove_nothing_else_is_told()


def test_file_in_a_folder_created_again_is_watched_again(world: WatchWorld) -> None:
    world.a.read(str(world.file))
    remove_folder(world)
    world.wait_for_stale(1)
    world.folder.mkdir()
    rewrite(world)
    world.a.read(str(world.file))
    append(world)
    assert [reason for _, _, reason, _ in world.wait_for_stale(2)] == ["deleted", "modified"]


def test_write_through_a_hard_link_in_another_folder_is_notified(sweeping: WatchWorld) -> None:
    add_name(sweeping)
    sweeping.a.read(str(sweeping.file))
    (sweeping.root / "other" / "hard").write_text("two\n", encoding="utf-8")
    assert sweeping.wait_for_stale(1) == [("a", str(sweeping.file), "modified", "external")]


def test_own_write_through_a_hard_link_makes_only_others_stale(world: WatchWorld) -> None:
    add_name(world)
    hard = world.root / "other" / "hard"
    for session in (world.a, world.b):
        session.read(str(world.file))
        session.read(str(hard))
    world.a.write(str(hard), b"two\n")
    told = world.wait_for_stale(2)
    assert sorted(told) == sorted(("b", str(path), "modified", "session:a") for path in (world.file, hard))
    world.a.require_fresh(str(world.file))
    world.prove_nothing_else_is_told()


def test_retargeted_link_is_notified(sweeping: WatchWorld) -> None:
    link = sweeping.folder / "l"
    link.symlink_to("f")
    sweeping.a.read(str(link))
    link.with_name("l2").symlink_to("../other")
    link.with_name("l2").replace(link)
    assert sweeping.wait_for_stale(1) == [("a", str(link), "deleted", "external")]


def test_target_of_a_link_is_watched_in_its_own_folder(watching: WatchWorld) -> None:
    link = watching.root / "other" / "l"
    link.symlink_to("../w/f")
    watching.a.read(str(link))
    append(watching)
    assert watching.wait_for_stale(1) == [("a", str(link), "modified", "external")]
