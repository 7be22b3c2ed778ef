"""`fileops-server mcp` over the shared daemon: what the host notices of the pump, which should be nothing."""

import json
import os
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from fileops.attach import handshake
from fileops.attach.mcp_pump import LOST_TEXT
from support.daemon_process import Place, attached, suspend
from support.mcp_client import McpClient, mcp_client, modern_meta, texts_of
from support.patience import wait_until


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "f.txt"
    path.write_text("one\ntwo\n")
    return path


def lose_daemon(here: Place) -> None:
    os.kill(pid := here.daemons()[0], signal.SIGKILL)
    here.wait_for_end(pid)


def stop_daemon(here: Place) -> None:
    """A daemon that is stopped takes calls and answers none."""
    suspend(here.daemons()[0])


def test_agent_reads_and_edits_unsaved_text_of_an_editor(here: Place, file: Path) -> None:
    with attached(here) as editor, mcp_client(file.parent, env=here.env) as agent:
        capabilities = {"workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}}
        editor.initialize(capabilities, workspaceFolders=[{"uri": file.parent.as_uri(), "name": "p"}])
        document = {"uri": file.as_uri(), "languageId": "text", "version": 1, "text": "one\nunsaved\n"}
        editor.notify("textDocument/didOpen", {"textDocument": document})
        assert editor.read(file)["status"] == "success"  # so the document has been opened
        agent.begin()
        assert "unsaved" in texts_of(agent.tool("Read", file_path=str(file)))[0]
        assert here.status()["connections"][1]["roots"] == [str(file.parent)]


def test_agents_that_edit_one_file_at_once_are_told_of_each_other(here: Place, file: Path) -> None:
    text = "".join(f"line {n}\n" for n in range(1, 13))
    file.write_text(text)
    options = ("--freshness", "relevant")
    with (
        mcp_client(file.parent, *options, env=here.env) as first,
        mcp_client(file.parent, *options, env=here.env) as second,
    ):
        for agent in (first, second):
            agent.begin()
            agent.tool("Read", file_path=str(file))
        (told,) = texts_of(first.tool("Edit", file_path=str(file), old_string="line 2\n", new_string="first\n"))
        assert "Others" not in told
        (told,) = texts_of(second.tool("Edit", file_path=str(file), old_string="line 11\n", new_string="second\n"))
        assert "Others have changed line 2 since you read it; that is kept." in told
    assert file.read_text() == text.replace("line 2\n", "first\n").replace("line 11\n", "second\n")


def test_folder_of_an_agent_is_recorded_without_any_editor_in_it(here: Place, tmp_path: Path) -> None:
    (elsewhere := tmp_path / "elsewhere").mkdir()
    (project := tmp_path / "project").mkdir()
    with attached(here) as asking, mcp_client(project, env=here.env) as agent:
        asking.initialize(workspaceFolders=[{"uri": elsewhere.as_uri(), "name": "e"}])
        agent.begin()

        def recorded() -> set[str]:
            return {folder["root"] for folder in asking.call("fileops/recordStatus", {})["result"]["folders"]}

        wait_until(lambda: recorded() == {str(project), str(elsewhere)})


def test_options_reach_the_daemon(here: Place, file: Path) -> None:
    options = ("--tools", "+undo", "--session", "mine", "--root", str(file.parent), "--max-read-bytes", "3")
    with mcp_client(Path("/"), *options, env=here.env) as agent:
        agent.begin()
        assert "Undo" in {tool["name"] for tool in agent.result("tools/list")["tools"]}
        assert agent.tool("Read", file_path=str(file))["isError"]  # it is longer than three bytes


@pytest.mark.parametrize("meta", [None, modern_meta()], ids=["legacy", "modern"])
def test_lost_daemon_is_replaced_and_the_call_in_flight_is_answered(
    here: Place, file: Path, meta: dict[str, Any] | None
) -> None:
    with mcp_client(file.parent, env=here.env) as agent:
        if meta is None:
            agent.begin()
        agent.tool("Read", meta, file_path=str(file))
        first = here.daemons()
        stop_daemon(here)
        call = agent.start_tool("Edit", meta, file_path=str(file), old_string="two", new_string="2")
        listing = agent.request("tools/list", {} if meta is None else {"_meta": meta})
        os.kill(first[0], signal.SIGKILL)
        answer = agent.answer(call)["result"]
        assert (texts_of(answer), answer["isError"]) == ([LOST_TEXT], True)
        assert answer.get("resultType") == (None if meta is None else "complete")
        assert len(agent.answer(listing)["result"]["tools"]) == 3  # what changes nothing is asked again
        agent.tool("Read", meta, file_path=str(file))
        assert not agent.tool("Edit", meta, file_path=str(file), old_string="two", new_string="2").get("isError")
        assert here.daemons() != first
    assert file.read_text() == "one\n2\n"
    assert all(message.get("method") for message in agent.received)  # nothing was answered twice


def test_host_whose_daemon_is_lost_before_it_has_answered_the_greeting_is_answered(here: Place, file: Path) -> None:
    with mcp_client(file.parent, env=here.env) as agent:
        wait_until(lambda: here.daemons() and here.status().get("connections"))
        first = here.daemons()
        stop_daemon(here)
        greeting = agent.start_to_begin()
        os.kill(first[0], signal.SIGKILL)
        assert agent.answer(greeting)["result"]["serverInfo"]["name"] == "fileops-server"
        assert here.daemons() != first


def test_answer_to_a_question_of_a_lost_daemon_is_ignored(here: Place, file: Path) -> None:
    protected = file.parent / ".env"
    protected.write_text("A=1\n")
    with mcp_client(file.parent, env=here.env) as agent:
        agent.begin(capabilities={"elicitation": {}})
        agent.tool("Read", file_path=str(protected))
        agent.start_tool("Edit", file_path=str(protected), old_string="1", new_string="2")
        first = agent.question("elicitation/create")
        lose_daemon(here)
        withdrawn = agent.claim(lambda message: message.get("method") == "notifications/cancelled")
        assert withdrawn["params"]["requestId"] == first["id"]
        agent.tool("Read", file_path=str(protected))
        call = agent.start_tool("Edit", file_path=str(protected), old_string="1", new_string="3")
        second = agent.question("elicitation/create")
        assert second["id"] != first["id"]
        agent.reply(first["id"], {"action": "accept", "content": {"decision": "apply"}})  # late
        agent.reply(second["id"], {"action": "accept", "content": {"decision": "reject"}})
        assert agent.answer(call)["result"]["isError"]
    assert protected.read_text() == "A=1\n"


def test_pump_gives_up_after_losing_several_daemons(here: Place, tmp_path: Path) -> None:
    with mcp_client(tmp_path, env=here.env) as agent:
        agent.begin()
        for _ in range(3):
            lose_daemon(here)
            assert agent.result("ping") == {}
        lose_daemon(here)
        assert agent.wait() == 1
        assert "The shared daemon is gone." in agent.stderr


def test_pump_refused_by_the_next_daemon_reports_reason_and_remedy(here: Place, tmp_path: Path) -> None:
    with mcp_client(tmp_path, env=here.env) as agent:
        agent.begin()
        stop_daemon(here)
        (pid,) = here.daemons()
        here.socket.unlink()
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(here.socket))
            listening.listen()
            os.kill(pid, signal.SIGKILL)
            connection, _ = listening.accept()
            connection.makefile("rb").readline()
            connection.sendall(handshake.refusal_line("full", "64 clients are connected."))
            connection.close()
            assert agent.wait() == 1
    assert "64 clients are connected. This session began with another daemon" in agent.stderr
    assert "Start this server again from the agent's host" in agent.stderr


def test_encodings_other_than_the_first_clients_are_refused(here: Place, tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_bytes("你好\n".encode("gbk"))
    gbk, big5 = ("--encoding", "*.txt=gbk"), ("--encoding", "*.txt=big5")
    with mcp_client(tmp_path, *gbk, env=here.env) as first, mcp_client(tmp_path, *gbk, env=here.env) as same:
        for agent in (first, same):
            agent.begin()
            assert "你好" in texts_of(agent.tool("Read", file_path=str(tmp_path / "f.txt")))[0]
        assert not same.tool("Edit", file_path=str(tmp_path / "f.txt"), old_string="你", new_string="您")["isError"]
        with mcp_client(tmp_path, *big5, env=here.env) as other:
            assert other.wait() == 1
            assert "encodings differs from what the shared daemon began with" in other.stderr
            assert "fileops-server status --stop" in other.stderr
        with mcp_client(tmp_path, env=here.env) as without:  # takes what there is
            without.begin()
            assert "您好" in texts_of(without.tool("Read", file_path=str(tmp_path / "f.txt")))[0]
    assert (tmp_path / "f.txt").read_bytes() == "您好\n".encode("gbk")


def test_line_of_several_megabytes_passes_in_both_directions(here: Place, file: Path) -> None:
    new = "x" * 3_000_000
    with mcp_client(file.parent, env=here.env) as agent:
        agent.begin()
        agent.tool("Read", file_path=str(file))
        assert not agent.tool("Edit", file_path=str(file), old_string="two", new_string=new).get("isError")
        assert file.read_text() == f"one\n{new}\n"
        bad = {"jsonrpc": "2.0", "id": 7, "method": "x" * 2_000_000}
        agent.send(bad)
        assert agent.answer(7)["error"]["code"] == -32601


@pytest.mark.parametrize("id_comes_last", [False, True])
def test_long_call_in_flight_when_the_daemon_is_lost_is_answered(
    here: Place, file: Path, *, id_comes_last: bool
) -> None:
    params = {"name": "Edit", "arguments": {"file_path": str(file), "old_string": "two", "new_string": "y" * 2_000_000}}
    message: dict[str, object] = {"method": "tools/call", "params": params}
    head: dict[str, object] = {"jsonrpc": "2.0", "id": "long"}
    line = json.dumps({**message, **head} if id_comes_last else {**head, **message}).encode() + b"\n"
    with mcp_client(file.parent, env=here.env) as agent:
        agent.begin()
        agent.send_bytes(line[:1_000_000])
        lose_daemon(here)
        agent.send_bytes(line[1_000_000:])
        assert texts_of(agent.answer("long")["result"]) == [LOST_TEXT]
        assert agent.result("ping") == {}
    assert file.read_text() == "one\ntwo\n"


@pytest.mark.parametrize(("end", "status"), [(McpClient.close_stdin, 0), ("SIGTERM", 143)])
def test_end_of_input_or_sigterm_ends_the_pump_and_not_the_daemon(
    here: Place, tmp_path: Path, end: Any, status: int
) -> None:
    with mcp_client(tmp_path, env=here.env) as agent:
        agent.begin()
        if end == "SIGTERM":
            agent.process.terminate()
        else:
            end(agent)
        assert agent.wait() == status
    assert here.status()["connections"] == []


def test_private_mode_starts_no_daemon(here: Place, file: Path) -> None:
    with mcp_client(file.parent, "--private", env=here.env) as agent:
        agent.begin()
        assert not agent.tool("Read", file_path=str(file)).get("isError")
    assert here.daemons() == []
