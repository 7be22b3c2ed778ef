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


def fewest_calls_of(shim: Shim, folder: str, n_edits: int) -> list[str]:
    """Of several times: the daemon's monitor may look at the file during the edit, which only adds calls."""
    return min((calls_of(shim, folder, n_edits) for _ in range(4)), key=len)


def test_multi_edit_reads_and_writes_as_often_as_one_edit(shim: Shim, folder: str) -> None:
    one, many = fewest_calls_of(shim, folder, 1), fewest_calls_of(shim, folder, 9)
    assert one == many
    assert sum(name.startswith("rename") for name in many) == 1
