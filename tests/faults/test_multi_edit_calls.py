"""What a MultiEdit asks of the disk."""

from pathlib import Path

from faults.injection import Action, Shim, daemon

LINES = "".join(f"line {n}\n" for n in range(10))


def calls_of(shim: Shim, folder: str, n_edits: int) -> list[str]:
    """The calls that one MultiEdit makes on the folder, those that only look at names apart."""
    path = f"{folder}/f"
    Path(path).write_text(LINES)
    with daemon(folder, env=shim.environment) as client:
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
    """In one of several tries: the monitor may read the file meanwhile, and an old file is replaced by other calls."""
    tries: list[tuple[list[str], list[str]]] = []
    while not tries or (tries[-1][0] != tries[-1][1] and len(tries) < 5):
        tries.append((calls_of(shim, folder, 1), calls_of(shim, folder, 9)))
    one, many = tries[-1]
    assert one == many, tries
    assert sum(name.startswith("rename") for name in many) == 1
