"""What an agent can make the daemon burn: the memory of a large edit is given back, and costly edits are refused."""

from pathlib import Path

import pytest

from support.patience import wait_until
from support.rawclient import RawClient, raw_client

N_LINES = 500_000
MAX_KEPT_BYTES = 90 << 20  # the history keeps both texts, 30 MB; without giving back it was 140 MB


def anonymous_bytes(client: RawClient) -> int:
    lines = Path(f"/proc/{client.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) << 10


def test_memory_of_a_rewrite_of_many_lines_is_given_back(tmp_path: Path) -> None:
    file = tmp_path / "f.txt"
    file.write_text("".join(f"line {n} {'x' * 16}\n" for n in range(N_LINES)))
    content = "".join(f"{'line' if n % 2 else 'LINE'} {n} {'x' * 16}\n" for n in range(N_LINES))
    with raw_client() as client:
        client.initialize(rootUri=tmp_path.as_uri(), initializationOptions={"approval_mode": "yolo"})
        client.result("fileops/recordRead", {"file_path": str(file)})
        written = client.result("fileops/write", {"file_path": str(file), "content": content})
        assert written["status"] == "success"
        wait_until(lambda: anonymous_bytes(client) < MAX_KEPT_BYTES)
    assert file.read_text() == content


@pytest.mark.parametrize(
    ("strategy", "old", "new", "reason"),
    [
        ("regex", "a", "b", "it finds 100,000 places or more"),
        ("regex", "(?s)(.+)", r"\1" * 100, "the file would grow by more than 64 MiB"),
        ("exact", "a", "b" * 500, "the file would grow by more than 64 MiB"),
    ],
)
def test_edit_that_would_cost_too_much_is_refused(
    tmp_path: Path, strategy: str, old: str, new: str, reason: str
) -> None:
    """R-STRAT-4"""
    file = tmp_path / "f.txt"
    file.write_text("ab\n" * 300_000)
    with raw_client() as client:
        client.initialize(rootUri=tmp_path.as_uri(), initializationOptions={"approval_mode": "yolo"})
        client.result("fileops/recordRead", {"file_path": str(file)})
        params = {"file_path": str(file), "old_string": old, "new_string": new, "strategy": strategy}
        refused = client.result("fileops/edit", {**params, "replace_all": True})
        assert refused["error"]["code"] == "strategy_failed"
        assert f"The strategy {strategy} failed: {reason}." in refused["output"]
    assert file.read_text() == "ab\n" * 300_000
