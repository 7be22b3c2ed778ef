"""What a MultiEdit asks of the disk."""

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
