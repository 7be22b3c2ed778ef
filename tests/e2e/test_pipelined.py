"""Requests that are sent without waiting: each sees what those before it did, and every one is answered once."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from support.rawclient import Message, RawClient, raw_client


@pytest.fixture
def client(tmp_path: Path) -> Iterator[RawClient]:
    with raw_client() as client:
        client.initialize(workspaceFolders=[{"uri": tmp_path.as_uri(), "name": "w"}])
        yield client


# R-RPC-6
def test_reads_among_edits_of_one_file_see_all_earlier_edits(client: RawClient, tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_text("n = 0\n")
    client.result("fileops/read", {"file_path": str(path)})
    reads, edits = list[int](), list[int]()
    for number in range(30):
        edit = {"file_path": str(path), "old_string": f"n = {number}\n", "new_string": f"n = {number + 1}\n"}
        edits.append(client.request("fileops/edit", edit))
        reads.append(client.request("fileops/read", {"file_path": str(path)}))
    for msg_id in edits:
        assert client.answer(msg_id)["result"]["status"] == "success"
    for number, msg_id in enumerate(reads, 1):
        assert f"→n = {number}\n" in client.answer(msg_id)["result"]["output"]


def test_parallel_reads_are_answered_before_their_notifications(client: RawClient, tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.txt" for number in range(100)]
    for number, path in enumerate(paths):
        path.write_text(f"file {number}\n" * 500)
    for _ in range(3):  # the later ones from memory
        ids = [client.request("fileops/read", {"file_path": str(path)}) for path in paths]
        for number, (msg_id, path) in enumerate(zip(ids, paths, strict=True)):
            is_answer = partial(has, "id", msg_id)
            is_told = partial(has, "path", str(path))
            first = client.claim(lambda message, a=is_answer, b=is_told: a(message) or b(message))
            assert f"   500→file {number}\n" in first["result"]["output"]
            assert client.claim(is_told)["method"] == "fileops/didRead"


def test_file_read_right_after_forget_is_tracked(client: RawClient, tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_text("one\n")
    client.read(path)
    for _ in range(10):
        forgotten = client.request("fileops/forget", {"file_path": str(path)})
        client.read(path)
        assert client.answer(forgotten)["result"] == {"forgotten": True}
        assert len(client.result("fileops/tracked")["files"]) == 1


def has(what: str, value: object, message: Message) -> bool:
    return (message.get("id") if what == "id" else message.get("params", {}).get("file_path")) == value
