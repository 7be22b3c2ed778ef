"""What a failed edit says beside the specified texts, so that the next call succeeds (R-ANS)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.mcp_client import McpClient, mcp_client, texts_of

NOT_READ = "File has not been read yet. Read it first before writing to it."
SOURCE = "def f(x):\n    if x:\n        return 1\n    return 2\n\n\ndef g(y):\n    return 1\n"
SEEN = (
    "These lines are in the file now. They count as read, so you can send the same call again if it is still right:\n"
)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[McpClient]:
    with mcp_client(tmp_path) as made:
        made.begin()
        yield made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text(SOURCE)
    return path


def edit(client: McpClient, path: Path, old: str, new: str, **more: Any) -> Any:
    return client.tool("Edit", file_path=str(path), old_string=old, new_string=new, **more)


def read(client: McpClient, path: Path) -> None:
    assert client.tool("Read", file_path=str(path))["isError"] is False


def test_text_in_other_indentation_is_offered_as_it_is_in_the_file(client: McpClient, file: Path) -> None:
    """R-ANS-1."""
    read(client, file)
    _, offer = texts_of(edit(client, file, "  if x:\n    return 1\n", "    return 3\n"))
    assert offer == (
        "Lines 2-3 are closest; they differ in indentation. Send this as old_string, with a newline at its end:\n"
        "```\n    if x:\n        return 1\n```"
    )
    assert edit(client, file, "    if x:\n        return 1\n", "    return 3\n")["isError"] is False


def test_edit_that_was_made_before_is_already_there(client: McpClient, file: Path) -> None:
    """R-ANS-2."""
    read(client, file)
    assert edit(client, file, "def g(y):\n    return 1", "def g(y):\n    return 3")["isError"] is False
    again = edit(client, file, "def g(y):\n    return 1", "def g(y):\n    return 3")
    assert again["isError"] is True
    (_, answer) = texts_of(again)
    assert answer.startswith("Lines 7-8 already have the new text, by your edit ")
    assert file.read_text().count("return 3") == 1


def test_ambiguous_text_is_answered_with_all_places_and_extensions(client: McpClient, file: Path) -> None:
    """R-ANS-3."""
    read(client, file)
    _, answer = texts_of(edit(client, file, "return 1", "return 3"))
    assert answer == (
        "It is at lines 3, 8.\n"
        "For the place at line 3. Repeat in new_string the lines that are added here. Send this as old_string:\n"
        "```\n        return 1\n```\n"
        "For the place at line 8. Repeat in new_string the lines that are added here. Send this as old_string:\n"
        "```\ndef g(y):\n    return 1\n```"
    )
    assert edit(client, file, "def g(y):\n    return 1", "def g(y):\n    return 3")["isError"] is False
    assert file.read_text() == SOURCE.replace("(y):\n    return 1", "(y):\n    return 3")


def test_every_failing_step_of_a_multi_edit_is_answered_at_once(client: McpClient, file: Path) -> None:
    """R-ANS-4."""
    read(client, file)
    steps = [("def f(z):", "def f(w):"), ("return 2", "return 9"), ("def f(w):\n", "def h(w):\n"), ("def g(u):", "G")]
    edits = [{"old_string": old, "new_string": new} for old, new in steps]
    output, first, third, fourth = texts_of(client.tool("MultiEdit", file_path=str(file), edits=edits))
    assert output == "<tool_use_error>String to replace not found in file.</tool_use_error>"
    assert first.startswith("Edit 1 of 4 fails: The text to replace was not found in the file.\nLine 1 is closest;")
    assert "fails only because edit 1 does; send it again unchanged." in third
    assert third.startswith("Edit 3 of 4 fails: ")
    assert "Line 7 is closest;" in fourth
    assert "Send this as old_string:\n```\ndef g(y):\n```\n" in fourth
    assert fourth.endswith("Nothing was written.")
    edits[0]["old_string"], edits[3]["old_string"] = "def f(x):", "def g(y):"
    assert client.tool("MultiEdit", file_path=str(file), edits=edits)["isError"] is False


def test_unread_place_is_shown_and_counts_as_read(client: McpClient, file: Path) -> None:
    """R-ANS-5."""
    output, seen = texts_of(edit(client, file, "return 2", "return 3"))
    assert output == NOT_READ
    assert seen == (
        SEEN + "     1→def f(x):\n     2→    if x:\n     3→        return 1\n     4→    return 2\n     5→\n     6→\n"
        "     7→def g(y):"
    )
    assert edit(client, file, "return 2", "return 3")["isError"] is False


def test_changed_place_is_shown_and_counts_as_read(client: McpClient, file: Path) -> None:
    """R-ANS-5."""
    read(client, file)
    file.write_text(SOURCE + "# formatted\n")
    _, seen, change = texts_of(edit(client, file, "return 2", "return 3"))
    assert seen.startswith(SEEN)
    assert change.endswith("+# formatted")
    assert edit(client, file, "return 2", "return 3")["isError"] is False


def test_change_after_the_lines_were_shown_is_refused_again(client: McpClient, file: Path) -> None:
    edit(client, file, "return 2", "return 3")
    file.write_text(SOURCE.replace("return 2", "return 2  # theirs"))
    again = edit(client, file, "return 2", "return 3")
    assert again["isError"] is True
    assert "theirs" in texts_of(again)[1]


def test_edit_sent_before_the_lines_were_shown_does_not_count_them(client: McpClient, file: Path) -> None:
    """R-SENT-3: what an answer shows is not known to an edit that was sent before it."""
    arguments = {"file_path": str(file), "old_string": "return 2", "new_string": "return 3"}
    params = {"name": "Edit", "arguments": arguments}
    requests = [{"jsonrpc": "2.0", "id": f"edit {n}", "method": "tools/call", "params": params} for n in range(2)]
    client.send_bytes(b"".join(json.dumps(request).encode() + b"\n" for request in requests))  # read together
    assert [client.answer(request["id"])["result"]["isError"] for request in requests] == [True, True]


@pytest.mark.parametrize(
    ("name", "content", "old"),
    [
        ("secret.pem", b"key = 1\n", "key = 1"),
        ("a.bin", b"key = 1\0\n", "key = 1"),
        ("long.txt", b"key = 1 " + b"x" * 5000 + b"\n", "key = 1"),
        ("many.txt", b"key = 1\n" * 10_000, "key = 1"),
        ("absent.txt", b"nothing of it\n", "zzz qqq = 7"),
        ("large.txt", b"other line\n" * 200_000 + b"key = 1\n", "key = 1"),
    ],
    ids=["unreadable", "binary", "long line", "many places", "absent", "large"],
)
def test_file_that_may_not_or_cannot_be_shown_is_not(
    client: McpClient, tmp_path: Path, name: str, content: bytes, old: str
) -> None:
    (tmp_path / ".agentsignore").write_text("*.pem\n")
    path = tmp_path / name
    path.write_bytes(content)
    for _ in range(2):
        texts = texts_of(edit(client, path, old, "key = 2", replace_all=True))
        assert "→" not in "".join(texts)
        assert SEEN not in "".join(texts)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("piece", "n"), [("x", 1_000_000), ("line\n", 100_000), ("\n", 1000), ("\udce9", 1), ("```", 1), ("{", 3000)]
)
def test_absurd_text_is_answered_within_the_bounds(client: McpClient, tmp_path: Path, piece: str, n: int) -> None:
    old = piece * n
    path = tmp_path / "a.min.js"
    path.write_text("function a(){return 1}" * 2000)
    read_part = client.tool("Read", file_path=str(path))
    assert read_part["isError"] is False
    answer = edit(client, path, old, "new text")
    assert answer["isError"] is True
    assert sum(map(len, texts_of(answer)[1:])) <= 6000


def test_ten_thousand_places_are_named_within_the_bounds(client: McpClient, tmp_path: Path) -> None:
    """R-ANS-8."""
    path = tmp_path / "a.txt"
    path.write_text("same\n" * 10_000)
    client.tool("Read", file_path=str(path), limit=10)
    _, answer = texts_of(edit(client, path, "same", "other"))
    lines = ", ".join(str(number) for number in range(1, 21))
    assert answer == f"It is at lines {lines} and 9980 more."


def test_answer_is_the_specified_text_alone_if_suggestions_are_off(tmp_path: Path, file: Path) -> None:
    """R-ANS-9."""
    with mcp_client(tmp_path, "--suggestions", "off") as client:
        client.begin()
        for _ in range(2):
            assert texts_of(edit(client, file, "return 2", "return 3")) == [NOT_READ]
        read(client, file)
        assert len(texts_of(edit(client, file, "def f(z):", "def f(w):"))) == 1
        assert len(texts_of(edit(client, file, "return 1", "return 3"))) == 1


def test_edit_of_a_file_that_is_too_large_to_read_names_the_part_to_read(client: McpClient, file: Path) -> None:
    """R-ANS-5."""
    file.write_text("".join(f"line {i} of many\n" for i in range(1, 70_000)))  # over 1 MB: no lines are shown
    (_, suggestion) = texts_of(edit(client, file, "line 60000 of many", "new"))
    assert suggestion == (
        "The file is too large to read whole. Use Read with offset 59997 and limit 7: the place of the edit is there."
    )
    assert client.tool("Read", file_path=str(file), offset=59997, limit=7)["isError"] is False
    assert edit(client, file, "line 60000 of many", "new")["isError"] is False


TO_READ = "The file is too large to read whole. Use Read with offset 59997 and limit 7: the place of the edit is there."


def test_read_of_a_file_that_is_too_large_names_the_part_that_a_refused_edit_is_about(
    client: McpClient, file: Path
) -> None:
    """R-ANS-5."""
    lines = [f"line {i} of many\n" for i in range(1, 70_000)]
    file.write_text("".join(lines))
    before = texts_of(client.tool("Read", file_path=str(file)))
    assert len(before) == 1
    edit(client, file, "line 60000 of many", "new")
    assert texts_of(client.tool("Read", file_path=str(file))) == [*before, TO_READ]
    file.write_text("".join(lines[30_000:]) + "".join(lines[:30_000]) + "another size\n")
    (_,) = texts_of(client.tool("Read", file_path=str(file)))  # the place may be elsewhere now


def test_read_names_the_part_also_where_lines_of_it_were_shown(client: McpClient, file: Path) -> None:
    """R-ANS-5."""
    file.write_text("".join(f"line {i} of many\n" for i in range(1, 30_000)))  # 500 kB
    (_, shown) = texts_of(edit(client, file, "line 20000 of many", "new"))
    assert shown.startswith(SEEN)
    (_, suggestion) = texts_of(client.tool("Read", file_path=str(file)))
    assert "offset 19997 and limit 7" in suggestion
