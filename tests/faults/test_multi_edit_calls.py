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


def test_multi_edit_reads_and_writes_as_often_as_one_edit(shim: Shim, folder: str) -> None:
    """In one of several tries, because the monitor may read a file meanwhile.

    The daemon runs before the files are written: a file that has stood for 2 s is replaced by other calls.
    """
    tries: list[tuple[list[str], list[str]]] = []
    with daemon(folder, env=shim.environment) as client:
        for n in range(5):
            tries.append((calls_of(shim, client, f"{folder}/{n}a", 1), calls_of(shim, client, f"{folder}/{n}b", 9)))
            if tries[-1][0] == tries[-1][1]:
                break
    one, many = tries[-1]
    assert one == many, tries
    assert sum(name.startswith("rename") for name in many) == 1
