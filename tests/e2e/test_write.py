"""Whole texts over the wire: `fileops/write`, raw reads, the MCP tool Write and the Python client's methods."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fileops_client import FileOpsClient
from support.mcp_client import mcp_client, texts_of
from support.rawclient import RawClient, raw_client


@pytest.fixture
def client(tmp_path: Path) -> Iterator[RawClient]:
    with raw_client() as made:
        made.initialize(rootUri=tmp_path.as_uri())
        yield made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n")
    return path


def write(client: RawClient, path: Path, content: str, **more: object) -> Any:
    return client.result("fileops/write", {"file_path": str(path), "content": content, **more})


# R-READ-3, R-WRITE-1, R-WRITE-2
def test_write_after_a_read_keeps_bom_and_line_endings(client: RawClient, file: Path) -> None:
    read = client.read(file, raw=True)
    assert (read["output"], read["details"]["text"]) == ("", "one\r\ntwo\r\nthree\r\n")
    preview = write(client, file, "one\n2\nthree\n", dry_run=True)
    assert (preview["status"], preview["ui_extra"]["stats"]) == ("success", {"added": 1, "removed": 1})
    result = write(client, file, "one\n2\nthree\n")
    assert result["output"] == f"The file {file} has been updated."
    assert file.read_bytes() == b"\xef\xbb\xbfone\r\n2\r\nthree\r\n"
    again = write(client, file, "one\n2\nthree\n")
    assert again["output"] == f"The file {file} has this content already."
    assert again["details"]["edit_id"] is None
    undone = client.result("fileops/undo", {"edit_id": result["details"]["edit_id"]})
    assert undone["status"] == "success"
    assert file.read_bytes() == b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n"


# R-WRITE-1
def test_write_after_a_change_since_the_read_is_refused(client: RawClient, file: Path) -> None:
    client.read(file, raw=True)
    file.write_bytes(b"of another program\n")
    result = write(client, file, "mine\n")
    assert (result["error"]["code"], result["details"]["changed_by"]) == ("modified_externally", "external")
    assert file.read_bytes() == b"of another program\n"


# R-WRITE-1
def test_write_to_a_file_deleted_since_the_read_is_refused_once(client: RawClient, file: Path) -> None:
    client.read(file, raw=True)
    file.unlink()
    assert write(client, file, "mine\n")["error"]["code"] == "not_found"
    assert not file.exists()
    assert write(client, file, "mine\n")["details"]["created"] is True
    assert file.read_bytes() == b"mine\n"


PARTIAL = "Only a part of the file has been read. Read the whole file before writing to it, or use Edit."
UNREAD = "File has not been read yet. Read it first before writing to it."
Read = dict[str, object]
WAYS_TO_READ: list[tuple[list[Read], str | None]] = [
    ([], UNREAD),
    ([{"limit": 2}], PARTIAL),
    ([{"offset": 2}], PARTIAL),
    ([{"limit": 2, "raw": True}], PARTIAL),
    ([{}], None),
    ([{"raw": True}], None),
    ([{"limit": 3}], None),
    ([{}, {"limit": 1}], None),
]


# R-WRITE-3
@pytest.mark.parametrize(
    ("reads", "sentence"),
    WAYS_TO_READ,
)
def test_write_without_a_read_of_the_whole_file_is_refused(
    client: RawClient, file: Path, reads: list[Read], sentence: str | None
) -> None:
    before = file.read_bytes()
    for read in reads:
        assert client.read(file, **read)["status"] == "success"
    result = write(client, file, "new\n")
    if sentence is None:
        assert file.read_bytes() == b"\xef\xbb\xbfnew\r\n"
    else:
        assert (result["error"]["code"], result["output"]) == ("not_read", sentence)
        assert file.read_bytes() == before


# R-WRITE-3
def test_write_after_a_read_with_a_cut_line_is_refused(client: RawClient, tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("x" * 2001 + "\n")
    client.read(path)
    assert write(client, path, "y\n")["output"] == PARTIAL
    client.read(path, raw=True)
    assert write(client, path, "y\n")["status"] == "success"


# R-WRITE-3
def test_write_by_the_session_that_created_or_edited_the_whole_file_is_accepted(
    client: RawClient, tmp_path: Path
) -> None:
    path = tmp_path / "new" / "b.txt"
    assert write(client, path, "a\r\nb")["output"] == f"File created successfully at: {path}"
    assert path.read_bytes() == b"a\r\nb"
    edited = client.result("fileops/edit", {"file_path": str(path), "old_string": "a", "new_string": "c"})
    assert edited["status"] == "success"
    assert write(client, path, "c\nd")["status"] == "success"
    assert path.read_bytes() == b"c\r\nd"
    assert write(client, path, "e", session_id="other")["error"]["code"] == "not_read"


# R-READ-3
def test_raw_read_is_limited_by_file_size_and_not_by_lines(client: RawClient, tmp_path: Path) -> None:
    path = tmp_path / "many.txt"
    text = ("x" * 99 + "\n") * 2500
    path.write_text(text)
    assert client.read(path)["error"]["code"] == "too_many_chars"
    assert client.read(path, raw=True)["details"]["text"] == text
    path.write_text(text * 2)
    assert client.read(path, raw=True)["error"]["code"] == "too_large"
    assert client.read(path, raw=True, offset=1, limit=5000)["error"]["code"] == "too_large"
    assert client.read(path, raw=True, offset=4999)["details"]["text"] == text[:200]


def test_unsaved_text_is_read_raw_and_never_overwritten_unseen(client: RawClient, file: Path) -> None:
    opened = {"uri": file.as_uri(), "languageId": "plaintext", "version": 1, "text": "one\ntwo\nunsaved\n"}
    client.notify("textDocument/didOpen", {"textDocument": opened})
    read = client.read(file, raw=True)
    assert read["details"]["source"] == "buffer"
    assert read["details"]["text"].replace("\r\n", "\n") == "one\ntwo\nunsaved\n"
    typed = [{"text": "one\ntwo\ntyped\n"}]
    client.notify(
        "textDocument/didChange",
        {"textDocument": {"uri": file.as_uri(), "version": 2}, "contentChanges": typed},
    )
    result = write(client, file, "mine\n")
    assert (result["error"]["code"], result["details"]["changed_by"]) == ("modified_externally", "buffer")


# R-WRITE-4
def test_write_is_approved_like_an_edit(file: Path, tmp_path: Path) -> None:
    with raw_client() as asked:
        asked.initialize({"experimental": {"fileops": {"confirm_edit": True}}}, rootUri=tmp_path.as_uri())
        asked.read(file)
        msg_id = asked.request("fileops/write", {"file_path": str(file), "content": "one\n2\nthree\nfour\n"})
        question = asked.question("fileops/confirmEdit")
        assert question["params"]["description"].endswith(": the whole text written, 2 lines added, 1 removed")
        assert len(question["params"]["hunks"]) == 1
        asked.reply(question["id"], {"outcome": "modify", "text": "one\n2\nthree\n"})
        result = asked.answer(msg_id)["result"]
    assert result["details"]["modified_by_user"] is True
    assert file.read_bytes() == b"\xef\xbb\xbfone\r\n2\r\nthree\r\n"


def test_python_client_writes_what_it_read(tmp_path: Path, file: Path) -> None:

    async def story() -> None:
        async with FileOpsClient.start(root=tmp_path) as client:
            read = await client.read(file, raw=True)
            result = await client.write(file, read.details.get("text", "").replace("two", "2"))
            assert result.ok, result.output

    asyncio.run(story())
    assert file.read_bytes() == b"\xef\xbb\xbfone\r\n2\r\nthree\r\n"


def test_mcp_tool_write_is_listed_on_request_and_refuses_to_clobber(tmp_path: Path, file: Path) -> None:
    with mcp_client(tmp_path, "--tools", "+undo,+write") as client:
        client.begin()
        tools = client.call("tools/list", {})["result"]["tools"]
        assert [tool["name"] for tool in tools] == ["Read", "Edit", "MultiEdit", "Write", "Undo"]
        assert tools[3]["annotations"]["destructiveHint"] is True
        unread = client.tool("Write", file_path=str(file), content="mine\n")
        assert (unread["isError"], texts_of(unread)[0]) == (True, UNREAD)
        client.tool("Read", file_path=str(file))
        file.write_bytes(b"\xef\xbb\xbfof another program\r\n")
        refused = client.tool("Write", file_path=str(file), content="mine\n")
        assert refused["isError"] is True
        assert "of another program\r" in texts_of(refused)[1]
        client.tool("Read", file_path=str(file))
        assert client.tool("Write", file_path=str(file), content="mine\n")["isError"] is False
        assert file.read_bytes() == b"\xef\xbb\xbfmine\r\n"
        assert client.tool("Write", file_path=str(tmp_path / "new.txt"), content="new\n")["isError"] is False


def test_mcp_tool_write_is_not_listed_by_default(tmp_path: Path) -> None:
    with mcp_client(tmp_path) as client:
        client.begin()
        names = [tool["name"] for tool in client.call("tools/list", {})["result"]["tools"]]
        assert names == ["Read", "Edit", "MultiEdit"]
