"""What reads and edits ask of the disk, by counts: times depend on the machine."""

from collections import Counter
from collections.abc import Callable
from functools import reduce
from itertools import count
from pathlib import Path

from faults.injection import Action, Shim, daemon
from support.rawclient import RawClient

LINES = "".join(f"line {n}\n" for n in range(10))


def calls_of(shim: Shim, client: RawClient, path: str, n_edits: int) -> list[str]:
    """The calls that one MultiEdit of a new file makes on its folder, those that only look at names apart."""
    Path(path).write_text(LINES)
    client.result("fileops/read", {"file_path": path})
    shim.arm(Action.COUNT)
    edits = [{"old_string": f"line {n}\n", "new_string": f"LINE {n}\n"} for n in range(n_edits)]
    result = client.result("fileops/multiEdit", {"file_path": path, "edits": edits})
    shim.disarm()
    assert result["status"] == "success", result
    return [
        name for name in shim.calls if name.startswith(("read", "pread", "write", "pwrite", "rename", "fsync", "link"))
    ]


def fewest_calls(shim: Shim, client: RawClient, stem: str, n_edits: int) -> list[str]:
    """Of many tries: the monitor adds its reads to nearly half of them, and takes none away.

    A file that is 2 s old when it is edited is replaced by other calls: such tries do not count.
    """
    tries = [calls_of(shim, client, f"{stem}{n}", n_edits) for n in range(30)]
    return min((calls for calls in tries if "renameat2" in calls), key=len)


def test_multi_edit_reads_and_writes_as_often_as_one_edit(shim: Shim, folder: str) -> None:
    with daemon(folder, env=shim.environment) as client:
        one, many = (fewest_calls(shim, client, f"{folder}/{n_edits}-", n_edits) for n_edits in (1, 9))
    assert one == many
    assert sum(name.startswith("rename") for name in many) == 1


# --- how many calls ---------------------------------------------------------------------------------------------

# At most so many on the file's folder and what is in it. Rule files are looked for in the folders above it as well.
OF_A_READ = Counter(openat2=2, fstat=4, flock=1, close=2, faccessat=1)
# By a worker; and the event loop stats the file, through an open that takes only what is in memory (RESOLVE_CACHED).
OF_A_READ_WITH_NOTICES = Counter(openat2=3, fstat=4, flock=2, close=3, faccessat=1, lstat=1, read=1)
# The rule files above are looked for twice: may the file be read, and is it itself one of them by another name.
OF_AN_EDIT = Counter(
    lstat=1, fstatat=2, fstat=9, openat2=4, openat=3, close=7, flock=5, faccessat=4, ioctl=5, flistxattr=2,
    read=1, pread=1, write=1, fchmod=1, fsync=2, renameat=1,
)  # fmt: skip


def fewest_by_kind(shim: Shim, request: Callable[[], object]) -> Counter[str]:
    """The fewest calls of each kind in many tries: other threads add calls to a try, or make one after the answer."""

    def counted() -> Counter[str]:
        shim.arm(Action.COUNT)
        request()
        shim.disarm()
        return Counter(shim.calls)

    return reduce(lambda fewest, each: fewest & each, (counted() for _ in range(15)))


def test_read_makes_few_calls(shim: Shim, folder: str) -> None:
    path = f"{folder}/f"
    Path(path).write_text(LINES)
    with daemon(folder, env=shim.environment) as client:
        client.result("fileops/read", {"file_path": path})
        calls = fewest_by_kind(shim, lambda: client.result("fileops/read", {"file_path": path}))
    assert calls <= OF_A_READ


def test_notices_with_an_answer_cost_one_stat_of_each_file(shim: Shim, folder: str) -> None:
    path = f"{folder}/f"
    Path(path).write_text(LINES)
    with daemon(folder, env=shim.environment, notices="output") as client:
        client.result("fileops/read", {"file_path": path})
        calls = fewest_by_kind(shim, lambda: client.result("fileops/read", {"file_path": path}))
    assert calls <= OF_A_READ_WITH_NOTICES


def test_small_edit_makes_few_calls(shim: Shim, folder: str) -> None:
    path, numbers = f"{folder}/f", count(9)
    with daemon(folder, env=shim.environment) as client:
        client.result("fileops/write", {"file_path": path, "content": LINES})

        def edit() -> None:
            number = next(numbers)
            edit = {"old_string": f"line {number}\n", "new_string": f"line {number + 1}\n"}
            result = client.result("fileops/edit", {"file_path": path, **edit})
            assert result["status"] == "success", result

        calls = fewest_by_kind(shim, edit)
    assert calls <= OF_AN_EDIT
