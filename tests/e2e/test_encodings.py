"""Files that are not UTF-8, with and without the option `encodings`, over LSP and MCP."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.mcp_client import mcp_client, texts_of
from support.rawclient import RawClient, raw_client

GBK = "\u524d\u4e57\r\n\\key\r\n\u4e57\u540e\r\n"  # 乗 ends in the byte of a backslash
CYRILLIC = "\u041f\u0440\u0438\u0432\u0435\u0442\n"


@contextmanager
def client_with(folder: Path, *rules: tuple[str, str], **options: object) -> Generator[RawClient]:
    encodings = [{"glob": glob, "encoding": encoding} for glob, encoding in rules]
    with raw_client() as made:
        made.initialize(
            rootUri=folder.as_uri(),
            initializationOptions={"encodings": encodings, **options} if encodings or options else None,
        )
        yield made


def edit(client: RawClient, path: Path, old: str, new: str, **more: object) -> Any:
    return client.result("fileops/edit", {"file_path": str(path), "old_string": old, "new_string": new, **more})


# R-ENC-1
def test_edit_that_would_mix_encodings_is_refused_with_a_remedy(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(GBK.encode("gbk"))
    with client_with(tmp_path) as client:
        client.read(path)
        for is_dry in (True, False):
            refused = edit(client, path, "key", "k\u00e9y", dry_run=is_dry)
            assert refused["error"]["code"] == "not_encodable"
            assert "`encodings`" in refused["output"]
        assert path.read_bytes() == GBK.encode("gbk")
        assert edit(client, path, "key", "lock")["status"] == "success"
    assert path.read_bytes() == GBK.replace("key", "lock").encode("gbk")


# R-ENC-2, R-SET-6
def test_set_and_its_undo_keep_the_encodings_of_its_files(tmp_path: Path) -> None:
    """Of one that a client has named, of one that the file's byte order mark shows, and of a new file."""
    named, marked, new = tmp_path / "old.txt", tmp_path / "marked", tmp_path / "new.txt"
    before = {named: GBK.encode("gbk"), marked: f"\ufeffa\r\n{CYRILLIC}".encode("utf-16-le")}
    for path, data in before.items():
        path.write_bytes(data)
    changes: list[dict[str, Any]] = [
        {"kind": "edit", "file_path": str(named), "edits": [{"old_string": "key", "new_string": "\u94a5"}]},
        {"kind": "edit", "file_path": str(marked), "edits": [{"old_string": "a\n", "new_string": "\u00e4\n"}]},
        {"kind": "create", "file_path": str(new), "content": "\u94a5\n"},
    ]
    with client_with(tmp_path, ("*.txt", "gbk"), approval_mode="yolo") as client:
        for path in before:
            client.read(path)
        applied = client.result("fileops/applyChanges", {"changes": changes})
        assert applied["status"] == "success", applied
        assert named.read_bytes() == GBK.replace("key", "\u94a5").encode("gbk")
        assert marked.read_bytes() == f"\ufeff\u00e4\r\n{CYRILLIC}".encode("utf-16-le")
        assert new.read_bytes() == "\u94a5\n".encode("gbk")
        undone = client.result("fileops/undo", {"set_id": applied["details"]["set_id"]})
        assert undone["status"] == "success", undone
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


# R-ENC-2, R-SET-3
def test_set_with_a_text_that_an_encoding_lacks_is_refused_whole(tmp_path: Path) -> None:
    named, plain = tmp_path / "old.txt", tmp_path / "plain"
    named.write_bytes(CYRILLIC.encode("cp1251"))
    plain.write_text("a\n")
    changes: list[dict[str, Any]] = [
        {"kind": "edit", "file_path": str(plain), "edits": [{"old_string": "a", "new_string": "b"}]},
        {"kind": "rename", "file_path": str(named), "new_path": f"{named}2",
         "edits": [{"old_string": "\u041f", "new_string": "\u94a5"}]},
    ]  # fmt: skip
    with client_with(tmp_path, ("*.txt", "cp1251"), approval_mode="yolo") as client:
        client.read(named)
        client.read(plain)
        refused = client.result("fileops/applyChanges", {"changes": changes})
    assert (refused["error"]["code"], refused["details"]["change_index"]) == ("not_encodable", 1)
    assert (named.read_bytes(), plain.read_text()) == (CYRILLIC.encode("cp1251"), "a\n")


# R-ENC-2, R-ENC-3
def test_named_encoding_holds_for_reads_matches_edits_and_undo(tmp_path: Path) -> None:
    path = tmp_path / "old" / "a.txt"
    path.parent.mkdir()
    path.write_bytes(GBK.encode("gbk"))
    with client_with(tmp_path, ("*.md", "latin-1"), ("old/**", "gbk")) as client:
        read = client.read(path)
        assert read["output"].startswith("     1\u2192\u524d\u4e57\n     2\u2192\\key\n")
        assert (read["details"]["encoding"], read["details"]["newline"]) == ("gbk", "\r\n")
        assert read["details"]["size_bytes"] == path.stat().st_size
        edited = edit(client, path, "\\key\n\u4e57", "\\\u94a5\n\u4e57")
        assert edited["details"]["match_lines"] == [2]
        after = GBK.replace("key", "\u94a5").encode("gbk")
        assert path.read_bytes() == after
        unheld = edit(client, path, "\u94a5", "\U0001f511", dry_run=True)
        assert (unheld["error"]["code"], path.read_bytes()) == ("not_encodable", after)
        again = edit(client, path, "\u540e", "\u672b")
        undone = client.result("fileops/undo", {"edit_id": edited["details"]["edit_id"]})
        assert undone["status"] == "success", undone
        assert path.read_bytes() == GBK.replace("\u540e", "\u672b").encode("gbk")
        assert again["ui_extra"]["exact"] is True
        written = client.result("fileops/write", {"file_path": str(path), "content": "\u5168\n"})
        assert written["status"] == "success", written
    assert path.read_bytes() == "\u5168\r\n".encode("gbk")


# R-ENC-2
def test_file_created_under_a_rule_is_in_its_encoding_and_removed_by_undo(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with client_with(tmp_path, ("*.txt", "koi8-r")) as client:
        made = edit(client, path, "", CYRILLIC)
        assert path.read_bytes() == CYRILLIC.encode("koi8-r")
        changed = edit(client, path, "\u0432", "\u0412")
        assert path.read_bytes() == CYRILLIC.replace("\u0432", "\u0412").encode("koi8-r")
        for edited in (changed, made):
            undone = client.result("fileops/undo", {"edit_id": edited["details"]["edit_id"]})
            assert undone["status"] == "success", undone
    assert not path.exists()


# R-ENC-4
def test_byte_order_mark_and_binary_content_win_over_a_rule(tmp_path: Path) -> None:
    marked, binary = tmp_path / "a.txt", tmp_path / "b.txt"
    marked.write_bytes(b"\xff\xfe" + "\u4e57\n".encode("utf-16-le"))
    binary.write_bytes(b"\x00\x01" * 20)
    with client_with(tmp_path, ("**", "gbk")) as client:
        read = client.read(marked)
        assert (read["details"]["encoding"], read["output"][7]) == ("utf-16-le", "\u4e57")
        assert client.read(binary)["error"]["code"] == "binary"


def test_large_file_in_a_named_encoding_is_read_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    lines = [f"{n} \u4e57\u540e" for n in range(1, 60_001)]
    path.write_bytes("".join(f"{line}\n" for line in lines).encode("gbk"))
    with client_with(tmp_path, ("*.txt", "gbk")) as client:
        for offset in (59_999, 30_000, 1):
            read = client.read(path, offset=offset, limit=2)
            assert read["output"].split("\n")[1] == f"{offset + 1:>6}\u2192{lines[offset]}"
        assert edit(client, path, "59999 \u4e57", "59999 \u4e58")["status"] == "success"
    lines[59_998] = "59999 \u4e58\u540e"
    assert path.read_bytes() == "".join(f"{line}\n" for line in lines).encode("gbk")


def test_external_change_in_a_named_encoding_is_shown_as_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(GBK.encode("gbk"))
    with client_with(tmp_path, ("*.txt", "gbk")) as client:
        client.read(path)
        path.write_bytes(GBK.replace("key", "\u4e2d").encode("gbk"))
        refused = edit(client, path, "\u540e", "x")
        assert refused["error"]["code"] == "modified_externally"
        assert "+\\\u4e2d" in refused["details"]["diff_since_read"]


# R-ENC-5
def test_open_document_is_read_as_text_in_any_encoding_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(GBK.encode("gbk"))
    with client_with(tmp_path, ("*.txt", "gbk")) as client:
        document = {"uri": path.as_uri(), "languageId": "plaintext", "version": 1}
        client.notify("textDocument/didOpen", {"textDocument": {**document, "text": GBK}})
        assert client.read(path)["details"]["source"] == "buffer"
        assert edit(client, path, "key", "\u94a5")["details"]["applied_to"] == "disk"
        assert path.read_bytes() == GBK.replace("key", "\u94a5").encode("gbk")


# R-ENC-2
@pytest.mark.parametrize(
    ("rule", "place"),
    [
        ({"glob": "*.txt", "encoding": "zip"}, ".encoding"),
        ({"glob": "*.txt", "encoding": "rot13"}, ".encoding"),
        ({"glob": "*.txt", "encoding": "nonsense"}, ".encoding"),
        ({"glob": "{a", "encoding": "gbk"}, ".glob"),
        ({"glob": "", "encoding": "gbk"}, ".glob"),
        ({"glob": "*.txt"}, ""),
    ],
)
def test_invalid_rule_fails_initialize_and_is_named(rule: dict[str, str], place: str) -> None:
    with raw_client() as client:
        options = {"encodings": [{"glob": "*.c", "encoding": "latin-1"}, rule]}
        params = {"processId": None, "rootUri": None, "capabilities": {}, "initializationOptions": options}
        error = client.error("initialize", params)
        assert error["code"] == -32602
        assert error["data"]["path"].startswith(f"$.initializationOptions.encodings[1]{place}")


def test_mcp_option_names_an_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(GBK.encode("gbk"))
    with mcp_client(tmp_path, "--encoding", "*.md=latin-1", "--encoding", "*.txt=gbk") as client:
        client.begin()
        assert "\u524d\u4e57" in texts_of(client.tool("Read", file_path=str(path)))[0]
        assert client.tool("Edit", file_path=str(path), old_string="key", new_string="\u94a5")["isError"] is False
    assert path.read_bytes() == GBK.replace("key", "\u94a5").encode("gbk")


# R-ENC-6
def test_text_that_would_make_a_binary_file_is_refused_before_it_is_written(tmp_path: Path) -> None:
    path, missing = tmp_path / "a.txt", tmp_path / "new" / "b.txt"
    path.write_text("one\ntwo\n")
    patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-two\n+t\0o\n*** End Patch\n"
    with client_with(tmp_path, approval_mode="yolo") as client:
        client.read(path)
        answers = [
            edit(client, path, "two", "t\0o"),
            client.result(
                "fileops/multiEdit",
                {
                    "file_path": str(path),
                    "edits": [
                        {"old_string": "one", "new_string": "1\n2"},
                        {"old_string": "two", "new_string": "t\0o"},
                    ],
                },
            ),
            client.result("fileops/write", {"file_path": str(path), "content": "one\nt\0o\n"}),
            client.result("fileops/applyPatch", {"patch": patch}),
            edit(client, missing, "", "one\nt\0o\n"),
            client.result("fileops/write", {"file_path": str(missing), "content": "one\nt\0o\n"}),
        ]
        assert [answer["error"]["code"] for answer in answers] == ["not_encodable"] * 6
        lines = [3 if index == 1 else 2 for index in range(6)]
        for answer, line in zip(answers, lines, strict=True):
            assert f"A NUL character in line {line}, column 2 would make the file binary." in answer["error"]["message"]
        assert answers[1]["details"]["edit_index"] == 1
        assert path.read_text() == "one\ntwo\n"
        assert not missing.parent.exists()


# R-ENC-6
def test_nul_is_written_to_a_text_that_stays_one(tmp_path: Path) -> None:
    marked = tmp_path / "a.txt"
    marked.write_bytes(b"\xff\xfe" + "one\n".encode("utf-16-le"))
    with client_with(tmp_path) as client:
        client.read(marked)
        made = edit(client, marked, "one", "o\0e")
        assert made["status"] == "success"
        assert client.result("fileops/undo", {"edit_id": made["details"]["edit_id"]})["status"] == "success"
    assert marked.read_bytes() == b"\xff\xfe" + "one\n".encode("utf-16-le")
