"""R-UNDO-10: the lenses of an editor are never older than the agents' edits."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.rawclient import Message, RawClient, raw_client

REFRESH = "workspace/codeLens/refresh"
REFRESHES: Message = {"workspace": {"codeLens": {"refreshSupport": True}}}


@pytest.fixture
def client() -> Iterator[RawClient]:
    with raw_client() as one:
        yield one


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "f.txt"
    path.write_text("one\ntwo\nthree\n")
    return path


def start(client: RawClient, capabilities: Message, *, code_lens: bool = True) -> None:
    client.initialize(capabilities, initializationOptions={"code_lens": code_lens})


def edit(client: RawClient, path: Path, old: str, new: str, **more: object) -> Any:
    client.result("fileops/read", {"file_path": str(path)})
    params = {"file_path": str(path), "old_string": old, "new_string": new, **more}
    result = client.result("fileops/edit", params)
    assert result["status"] == "success", result
    return result["details"]["edit_id"]


def lenses(client: RawClient, path: Path) -> list[int]:
    """The first lines of the lenses."""
    found = client.result("textDocument/codeLens", {"textDocument": {"uri": path.as_uri()}})
    return [lens["range"]["start"]["line"] for lens in found]


def asked_so_far(client: RawClient) -> int:
    """Once everything that was due has come: what is asked goes out before a later answer does."""
    client.result("fileops/tools")
    client.result("fileops/tools")
    return sum(message.get("method") == REFRESH for message in client.received)


def test_lenses_are_refreshed_after_an_edit_and_after_its_undo(client: RawClient, file: Path) -> None:
    start(client, REFRESHES)
    assert lenses(client, file) == []
    edit_id = edit(client, file, "two", "TWO")
    question = client.question(REFRESH)
    assert "params" not in question
    assert lenses(client, file) == [1]
    client.reply(question["id"], None)
    client.result("fileops/undo", {"edit_id": edit_id})
    question = client.question(REFRESH)
    assert lenses(client, file) == []
    client.reply(question["id"], None)
    assert client.shut_down() == 0


def test_undo_by_the_editors_own_command_refreshes_the_lenses(client: RawClient, file: Path) -> None:
    start(client, REFRESHES)
    edit_id = edit(client, file, "two", "TWO")
    client.reply(client.question(REFRESH)["id"], None)
    client.result("workspace/executeCommand", {"command": "fileops.undo", "arguments": [{"edit_id": edit_id}]})
    client.reply(client.question(REFRESH)["id"], None)
    assert lenses(client, file) == []


def test_edits_during_a_refresh_lead_to_one_more_refresh(client: RawClient, file: Path) -> None:
    start(client, REFRESHES)
    edit(client, file, "one", "ONE")
    first = client.question(REFRESH)
    edit(client, file, "two", "TWO")
    edit(client, file, "three", "THREE")
    assert asked_so_far(client) == 0
    client.reply(first["id"], None)
    client.reply(client.question(REFRESH)["id"], None)
    assert asked_so_far(client) == 0


def test_adjacent_changes_share_one_lens(client: RawClient, file: Path) -> None:
    """An edit may have changed several words of a line, and the next line."""
    file.write_text("is 1 > 0\ntwo\n\nfour\nfive\n")
    start(client, {})
    edit(client, file, "is 1 > 0\ntwo\n\nfour\nfive", "is 2 > 1\nTWO\n\nfour\nFIVE")
    assert lenses(client, file) == [0, 4]


def test_editor_that_refuses_is_asked_again_next_time(client: RawClient, file: Path) -> None:
    start(client, REFRESHES)
    edit(client, file, "one", "ONE")
    question = client.question(REFRESH)
    client.send({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -32601, "message": "no such method"}})
    edit(client, file, "two", "TWO")
    client.reply(client.question(REFRESH)["id"], None)


@pytest.mark.parametrize(
    ("capabilities", "code_lens", "more"),
    [
        pytest.param({}, True, {}, id="an editor that cannot"),
        pytest.param(REFRESHES, False, {}, id="no lenses"),
        pytest.param(REFRESHES, True, {"dry_run": True}, id="nothing was written"),
    ],
)
def test_editor_is_not_asked_without_need(
    client: RawClient, file: Path, capabilities: Message, code_lens: bool, more: Message
) -> None:
    start(client, capabilities, code_lens=code_lens)
    edit(client, file, "two", "TWO", **more)
    assert asked_so_far(client) == 0


def test_open_question_does_not_delay_the_shutdown(client: RawClient, file: Path) -> None:
    start(client, REFRESHES)
    edit(client, file, "two", "TWO")
    client.question(REFRESH)
    assert client.shut_down() == 0
    assert client.stderr == ""
