"""`fileops-server mcp` as a host runs it: lines over a real process."""

import itertools
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fileops.rpc.line_framing import MAX_LINE_BYTES
from support.mcp_client import McpClient, mcp_client, modern_meta, texts_of
from support.pictures import picture
from support.rawclient import Message

STALE = "File has been modified externally. Either by user or a linter. Read it first before writing to it."
FORMS: Message = {"elicitation": {}}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[McpClient]:
    with mcp_client(tmp_path) as made:
        yield made


def code_of(result: Any) -> Any:
    return result["_meta"]["fileops/result"]["code"]


def three_lines(folder: Path, name: str = "a.txt") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("one\ntwo\nthree\n")
    return path


def modern_call(client: McpClient, name: str, arguments: Message, capabilities: object = None, **more: object) -> Any:
    answer = client.call(
        "tools/call", {"name": name, "arguments": arguments, "_meta": modern_meta(capabilities), **more}
    )
    assert "result" in answer, answer
    return answer["result"]


# --- the story ---------------------------------------------------------------------------------------------------


def test_agent_and_another_program_edit_one_file(tmp_path: Path) -> None:
    path = three_lines(tmp_path)
    with mcp_client(tmp_path, "--tools", "+undo") as client:
        client.begin()
        assert texts_of(client.tool("Read", file_path=str(path)))[0].startswith("     1→one\n     2→two\n")
        edited = client.tool("Edit", file_path=str(path), old_string="two", new_string="2")
        assert edited["isError"] is False
        path.write_text("one\n2\nthree, by another program\n")

        refused = client.tool("Edit", file_path=str(path), old_string="one", new_string="1")
        assert refused["isError"] is True
        assert code_of(refused) == "modified_externally"
        sentence, seen, change = texts_of(refused)
        assert sentence == STALE
        assert seen.endswith("right:\n     1→one\n     2→2\n     3→three, by another program")
        assert change == "Changed by another program or a command of yours."  # its line is among those that are shown
        assert len(texts_of(client.tool("Read", file_path=str(path)))) == 1
        assert client.tool("Edit", file_path=str(path), old_string="one", new_string="1")["isError"] is False
        assert path.read_text() == "1\n2\nthree, by another program\n"

        assert client.tool("Undo", file_path=str(path))["isError"] is False
        assert path.read_text() == "one\n2\nthree, by another program\n"
        assert client.tool("Undo")["isError"] is False
        assert path.read_text() == "one\ntwo\nthree, by another program\n"
        assert code_of(client.tool("Undo", file_path=str(path))) == "undo_conflict"
        client.close_stdin()
        assert client.wait() == 0


def test_change_of_a_read_file_is_reported_once_with_the_next_result(client: McpClient, tmp_path: Path) -> None:
    first, second = three_lines(tmp_path), three_lines(tmp_path, "b.txt")
    client.begin()
    for path in (first, second):
        client.tool("Read", file_path=str(path))
    second.write_text("one\nTWO\nthree\n")
    output, notice = texts_of(client.tool("Read", file_path=str(first)))
    assert output.startswith("     1→one")
    by = "another program or a command of yours"
    assert notice.startswith(f"{second} changed on disk since you last read it (by {by}).")
    assert notice.endswith("-two\n+TWO\n three")
    assert len(texts_of(client.tool("Read", file_path=str(first)))) == 1  # once per content
    second.unlink()
    assert texts_of(client.tool("Read", file_path=str(first)))[1:] == [f"{second} is gone since you last read it."]


def test_own_edit_makes_no_notice_but_another_threads_edit_does(client: McpClient, tmp_path: Path) -> None:
    path, other = three_lines(tmp_path), three_lines(tmp_path, "b.txt")
    client.begin(host="codex-mcp-client")
    for thread in ("t1", "t2"):
        client.tool("Read", {"threadId": thread}, file_path=str(path))
    edited = client.tool("Edit", {"threadId": "t1"}, file_path=str(path), old_string="two", new_string="2")
    assert texts_of(edited) == ["The file has been updated: line 2."]  # and no notice
    assert len(texts_of(client.tool("Read", {"threadId": "t1"}, file_path=str(other)))) == 1
    notice = texts_of(client.tool("Read", {"threadId": "t2"}, file_path=str(other)))[1]
    assert notice.startswith(f"{path} was edited by another agent (codex-mcp-client:t1) since you last read it.")


def test_full_answers_are_the_specified_texts(tmp_path: Path) -> None:
    path = three_lines(tmp_path)
    with mcp_client(tmp_path, "--answers", "full") as client:
        client.begin()
        client.tool("Read", file_path=str(path))
        output, change = texts_of(client.tool("Edit", file_path=str(path), old_string="two", new_string="2"))
        assert output == (
            f"The file {path} has been updated. Here's the result of running `cat -n` on a snippet of the edited file:"
            "\n     1→one\n     2→2\n     3→three"
        )
        assert change == "@@ line 2\n-two\n+2\na.txt +1 −1"
        missing = texts_of(client.tool("Edit", file_path=str(path), old_string="four", new_string="4"))[0]
        assert missing == "<tool_use_error>String to replace not found in file.\nString: four</tool_use_error>"


def test_edit_says_last_what_file_it_changed_and_by_how_many_lines(tmp_path: Path) -> None:
    """Codex shows a person the last three lines of an answer."""
    (tmp_path / "src").mkdir()
    path, other = three_lines(tmp_path / "src"), three_lines(tmp_path, "b.txt")
    with mcp_client(tmp_path, "--tools", "+changes", "--show-diff", "on") as client:
        client.begin()
        for each in (path, other):
            client.tool("Read", file_path=str(each))
        new = "".join(f"line {n}\n" for n in range(30))
        edited = client.tool("Edit", file_path=str(path), old_string="two\n", new_string=new)
        assert texts_of(edited)[1].split("\n")[:3] == ["@@ line 2", "-two", "+line 0"]
        assert texts_of(edited)[1].split("\n")[9:] == ["… 23 more", "src/a.txt +30 −1"]
        changes = [
            {"kind": "edit", "file_path": str(each), "edits": [{"old_string": "three", "new_string": "3"}]}
            for each in (path, other)
        ]
        both = client.tool("ApplyChanges", changes=changes)
        assert texts_of(both)[1].split("\n")[-2:] == ["src/a.txt +1 −1", "b.txt +1 −1"]


@pytest.mark.parametrize(("host", "has_tool"), [("claude-code", True), ("codex-mcp-client", False)])
def test_refusal_of_a_notebook_names_a_tool_that_the_host_has(tmp_path: Path, host: str, has_tool: bool) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text("{}\n", encoding="utf-8")
    with mcp_client(tmp_path) as client:
        client.begin(host=host)
        client.tool("Read", file_path=str(path))
        output, *more = texts_of(client.tool("Edit", file_path=str(path), old_string="{}", new_string="[]"))
    assert "Use NotebookEdit tool instead." in output
    assert [text.partition(".")[0] for text in more] == ([] if has_tool else ["This host has no NotebookEdit"])


@pytest.mark.parametrize("has_undo", [False, True])
def test_instructions_say_whether_changes_by_commands_can_be_undone(tmp_path: Path, has_undo: bool) -> None:
    with mcp_client(tmp_path, *(["--tools", "+undo"] if has_undo else [])) as client:
        told = client.begin()["instructions"]
    assert ("cannot be undone from here" in told, "Undo with `turn` reverts it" in told) == (not has_undo, has_undo)


def test_disabled_notices_do_not_affect_the_refusal(tmp_path: Path) -> None:
    path, other = three_lines(tmp_path), three_lines(tmp_path, "b.txt")
    with mcp_client(tmp_path, "--notices", "off") as client:
        client.begin()
        client.tool("Read", file_path=str(path))
        path.write_text("else\n")
        assert len(texts_of(client.tool("Read", file_path=str(other)))) == 1
        assert texts_of(client.tool("Edit", file_path=str(path), old_string="one", new_string="1")) == [STALE]


def test_text_that_can_only_mean_one_place_is_corrected(client: McpClient, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("def area(width, height):\n\treturn width * height\n")
    client.begin()
    client.tool("Read", file_path=str(path))
    edited = client.tool(
        "Edit", file_path=str(path), old_string="    return width * height\n", new_string="    return width\n"
    )
    assert edited["isError"] is False
    assert "uniform change of indentation; new_string was indented alike." in texts_of(edited)[0]
    assert path.read_text() == "def area(width, height):\n\treturn width\n"


def test_text_is_not_corrected_where_another_place_is_like_it(client: McpClient, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("if a:\n\tGo()\nelse:\n\t\tgo()\n")
    client.begin()
    client.tool("Read", file_path=str(path))
    refused = client.tool("Edit", file_path=str(path), old_string="    Go()\n", new_string="    stop()\n")
    assert code_of(refused) == "no_match"
    assert path.read_text() == "if a:\n\tGo()\nelse:\n\t\tgo()\n"


def test_missing_text_is_reported_with_a_suggestion(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("def area(width, height):\n\treturn width * height\n")
    with mcp_client(tmp_path, "--correction", "off") as client:
        client.begin()
        client.tool("Read", file_path=str(path))
        output, suggestion = texts_of(
            client.tool("Edit", file_path=str(path), old_string="    return width * height\n", new_string="    pass\n")
        )
    assert output.startswith("<tool_use_error>String to replace not found in file.")
    assert suggestion == (
        "Line 2 is closest; it differs in tabs and spaces. Send this as old_string, with a newline at its end:\n"
        "```\n\treturn width * height\n```"
    )


# --- what is read ------------------------------------------------------------------------------------------------


def test_image_is_a_separate_content_item(client: McpClient, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(picture("PNG"))
    client.begin()
    text, image = client.tool("Read", file_path=str(path))["content"]
    assert text == {"type": "text", "text": "Read image file [image/png]"}
    assert (image["type"], image["mimeType"]) == ("image", "image/png")


@pytest.mark.parametrize(
    ("host", "options", "is_whole"),
    [
        ("codex-mcp-client", (), False),
        ("claude-code", (), True),
        ("codex-mcp-client", ("--max-read-bytes", "100000"), True),
        ("claude-code", ("--max-read-bytes", "1000"), False),
    ],
)
def test_read_that_the_host_would_cut_is_refused_and_not_recorded(
    tmp_path: Path, host: str, options: tuple[str, ...], is_whole: bool
) -> None:
    path = tmp_path / "long.txt"
    path.write_text("".join(f"line {number} with some words\n" for number in range(1500)))
    with mcp_client(tmp_path, *options) as client:
        client.begin(host=host)
        result = client.tool("Read", file_path=str(path))
        edited = client.tool("Edit", file_path=str(path), old_string="line 7 ", new_string="line seven ")
        if is_whole:
            assert (code_of(result), code_of(edited)) == (None, None)
            return
        limit = 1000 if options else 40000
        assert code_of(result) == "too_many_chars"
        assert f"exceeds maximum allowed tokens ({limit})." in texts_of(result)[0]
        assert code_of(edited) == "not_read"
        part = client.tool("Read", file_path=str(path), offset=1, limit=10)
        assert code_of(part) is None


# --- roots -------------------------------------------------------------------------------------------------------


def test_working_folder_is_the_root_of_edits(client: McpClient, tmp_path: Path, tmp_path_factory: Any) -> None:
    outside = three_lines(tmp_path_factory.mktemp("outside"))
    client.begin()
    assert client.tool("Read", file_path=str(outside))["isError"] is False
    refused = client.tool("Edit", file_path=str(outside), old_string="two", new_string="2")
    assert code_of(refused) == "outside_roots"
    assert texts_of(refused)[1] == (
        f"Open for edits: {tmp_path}. To open another folder, the user starts the server with `--root DIR`."
    )
    created = client.tool("Edit", file_path=str(tmp_path / "new.txt"), old_string="", new_string="text\n")
    assert code_of(created) is None


def test_roots_are_requested_at_start_and_after_each_change(client: McpClient, tmp_path: Path) -> None:
    path, other = three_lines(tmp_path, "p/a.txt"), three_lines(tmp_path, "q/a.txt")
    client.begin(capabilities={"roots": {"listChanged": True}})
    question = client.question("roots/list")
    edit = client.start_tool("Edit", file_path=str(path.parent / "new"), old_string="", new_string="text")
    client.reply(question["id"], {"roots": [{"uri": path.parent.as_uri(), "name": "p"}]})
    assert code_of(client.answer(edit)["result"]) is None  # it has waited for the roots
    refused = client.tool("Edit", file_path=str(other.parent / "new"), old_string="", new_string="text")
    assert code_of(refused) == "outside_roots"
    client.notify("notifications/roots/list_changed")
    question = client.question("roots/list")
    client.reply(question["id"], {"roots": [{"uri": other.parent.as_uri()}]})
    applied = client.tool("Edit", file_path=str(other.parent / "new"), old_string="", new_string="text")
    assert code_of(applied) is None


@pytest.mark.parametrize(
    ("roots", "code"),
    [
        ([], "outside_roots"),
        ([{"uri": "https://host/p"}], "outside_roots"),
        ([{"uri": 3}], None),  # it cannot be read, so the roots are unchanged
    ],
)
def test_root_that_the_client_has_closed_takes_no_further_edit(
    client: McpClient, tmp_path: Path, roots: object, code: str | None
) -> None:
    path = three_lines(tmp_path, "p/a.txt")
    client.begin(capabilities={"roots": {"listChanged": True}})
    client.reply(client.question("roots/list")["id"], {"roots": [{"uri": path.parent.as_uri()}]})
    client.tool("Read", file_path=str(path))
    client.notify("notifications/roots/list_changed")
    client.reply(client.question("roots/list")["id"], {"roots": roots})
    edit = client.tool("Edit", file_path=str(path), old_string="two", new_string="2")
    assert code_of(edit) == code
    assert path.read_text() == ("one\n2\nthree\n" if code is None else "one\ntwo\nthree\n")
    client.notify("notifications/roots/list_changed")
    client.reply(client.question("roots/list")["id"], {"roots": [{"uri": path.parent.as_uri()}]})
    opened = client.tool("Edit", file_path=str(path), old_string="three", new_string="3")
    assert code_of(opened) is None


def test_edit_that_waits_for_its_decision_is_refused_if_its_root_is_closed(tmp_path: Path) -> None:
    path = three_lines(tmp_path, "p/a.txt")
    with mcp_client(tmp_path, "--approve", "ask") as client:
        client.begin(capabilities={**FORMS, "roots": {"listChanged": True}})
        client.reply(client.question("roots/list")["id"], {"roots": [{"uri": path.parent.as_uri()}]})
        client.tool("Read", file_path=str(path))
        edit = client.start_tool("Edit", file_path=str(path), old_string="two", new_string="2")
        question = client.question("elicitation/create")
        client.notify("notifications/roots/list_changed")
        client.reply(client.question("roots/list")["id"], {"roots": []})
        client.tool("Edit", file_path=str(path), old_string="one", new_string="1")  # the roots are closed now
        client.reply(question["id"], {"action": "accept", "content": {"decision": "apply"}})
        assert code_of(client.answer(edit)["result"]) == "outside_roots"
        assert path.read_text() == "one\ntwo\nthree\n"


def test_working_folder_stays_the_root_if_the_client_still_names_none(client: McpClient, tmp_path: Path) -> None:
    client.begin(capabilities={"roots": {"listChanged": True}})
    client.reply(client.question("roots/list")["id"], {"roots": []})
    client.notify("notifications/roots/list_changed")
    client.reply(client.question("roots/list")["id"], {"roots": []})
    created = client.tool("Edit", file_path=str(tmp_path / "new"), old_string="", new_string="text")
    assert code_of(created) is None


@pytest.mark.parametrize("answer", ["error", "empty", "none at all"])
def test_working_folder_is_the_root_if_the_client_names_none(client: McpClient, tmp_path: Path, answer: str) -> None:
    client.begin(capabilities={"roots": {}})
    question = client.question("roots/list")
    if answer == "empty":
        client.reply(question["id"], {"roots": []})
    elif answer == "error":
        client.send({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -32601, "message": "no"}})
    created = client.tool("Edit", file_path=str(tmp_path / "new"), old_string="", new_string="text")
    assert code_of(created) is None


def test_project_named_by_claude_is_the_root(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    with mcp_client(tmp_path, env={"CLAUDE_PROJECT_DIR": str(project)}) as client:
        client.begin(capabilities={"roots": {}})
        edits = [
            client.tool("Edit", file_path=str(folder / "new"), old_string="", new_string="text")
            for folder in (project, tmp_path)
        ]
        assert [code_of(edit) for edit in edits] == [None, "outside_roots"]


@pytest.mark.parametrize("home", [".", "below"])
def test_home_folder_and_its_parents_are_no_roots(tmp_path: Path, home: str) -> None:
    with mcp_client(tmp_path, env={"HOME": str(tmp_path / home)}) as client:
        client.begin()
        refused = client.tool("Edit", file_path=str(tmp_path / "new"), old_string="", new_string="text")
        assert code_of(refused) == "outside_roots"
        assert "`--root DIR`" in texts_of(refused)[1]
        assert not (tmp_path / "new").exists()


def test_home_folder_given_as_root_ends_the_command(tmp_path: Path) -> None:
    with mcp_client(tmp_path, "--root", str(tmp_path), env={"HOME": str(tmp_path)}) as client:
        assert client.wait() == 2
        assert "--root" in client.stderr


def test_confined_read_outside_is_refused(tmp_path: Path, tmp_path_factory: Any) -> None:
    outside = three_lines(tmp_path_factory.mktemp("outside"))
    with mcp_client(tmp_path, "--confine", "all") as client:
        client.begin()
        assert code_of(client.tool("Read", file_path=str(outside))) == "outside_roots"


# --- cancelling and ends -----------------------------------------------------------------------------------------


def test_cancelled_call_is_not_answered_and_writes_nothing(tmp_path: Path) -> None:
    path = three_lines(tmp_path)
    with mcp_client(tmp_path, "--approve", "ask") as client:
        client.begin(capabilities=FORMS)
        client.tool("Read", file_path=str(path))
        edit = client.start_tool("Edit", file_path=str(path), old_string="two", new_string="2")
        question = client.question("elicitation/create")
        client.notify("notifications/cancelled", {"requestId": edit})
        assert client.notification("notifications/cancelled")["requestId"] == question["id"]
        client.notify("notifications/cancelled", {"requestId": 4711})  # not in flight: nothing
        assert client.result("ping") == {}
        client.close_stdin()
        assert client.wait() == 0
        assert path.read_text() == "one\ntwo\nthree\n"
        assert [message for message in client.received if message.get("id") == edit] == []


def test_cancel_of_an_answered_call_is_ignored(client: McpClient, tmp_path: Path) -> None:
    path = three_lines(tmp_path)
    client.begin(host="opencode")
    read = client.start_tool("Read", file_path=str(path))
    client.answer(read)
    client.notify("notifications/cancelled", {"requestId": read})
    assert client.tool("Read", file_path=str(path))["isError"] is False


def test_sigterm_ends_with_143(client: McpClient) -> None:
    client.begin()
    os.kill(client.process.pid, signal.SIGTERM)
    assert client.wait() == 143


def test_input_without_a_last_newline_is_still_answered(client: McpClient) -> None:
    client.send_bytes(b'\n \n{"jsonrpc":"2.0","id":1,"method":"ping"}')
    client.close_stdin()
    assert client.answer(1)["result"] == {}
    assert client.wait() == 0


def test_line_over_the_limit_is_skipped(client: McpClient) -> None:
    client.send_bytes(b"x" * (MAX_LINE_BYTES + 1) + b"\n")
    error = client.claim(lambda message: "error" in message)
    assert (error["id"], error["error"]["code"]) == (None, -32700)
    assert client.result("ping") == {}


def test_pipelined_calls_of_one_file_keep_their_order(client: McpClient, tmp_path: Path) -> None:
    path = three_lines(tmp_path)
    client.begin()
    ids = [client.start_tool("Read", file_path=str(path))]
    words = ["two", *(f"word{number}" for number in range(20))]
    for old, new in itertools.pairwise(words):
        ids.append(client.start_tool("Edit", file_path=str(path), old_string=old, new_string=new))
    assert [code_of(client.answer(msg_id)["result"]) for msg_id in ids] == [None] * len(ids)
    assert path.read_text() == "one\nword19\nthree\n"


# --- consent -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"action": "accept", "content": {"decision": "apply"}}, None),
        ({"action": "accept", "content": {"decision": "reject"}}, "rejected"),
        ({"action": "accept", "content": {"decision": "APPLY"}}, "undecided"),
        ({"action": "accept", "content": {"decision": "reject", "apply": True}}, "undecided"),
        ({"action": "accept", "content": {"decision": "apply", "apply": False}}, "undecided"),
        ({"action": "accept", "content": {"decision": "apply", "apply": True}}, "undecided"),
        ({"action": "accept", "content": {"decision": "apply", "note": "no, wait"}}, "undecided"),
        ({"action": "accept", "content": {"decision": ["apply"]}}, "undecided"),
        ({"action": "accept", "content": {"apply": True}}, "undecided"),
        ({"action": "accept", "content": {}}, "undecided"),
        ({"action": "accept"}, "undecided"),
        ({"action": "decline"}, "rejected"),
        ({"action": "cancel", "content": {"decision": "apply"}}, "undecided"),
        ([], "undecided"),
    ],
)
def test_user_is_asked_by_a_form(tmp_path: Path, answer: object, code: str | None) -> None:
    path = three_lines(tmp_path)
    with mcp_client(tmp_path, "--approve", "ask") as client:
        client.begin(capabilities=FORMS)
        client.tool("Read", file_path=str(path))
        edit = client.start_tool("Edit", {"progressToken": "p"}, file_path=str(path), old_string="two", new_string="2")
        question = client.question("elicitation/create")
        form = question["params"]["requestedSchema"]
        assert list(form["properties"]) == form["required"] == ["decision"]
        assert form["properties"]["decision"]["enum"] == ["apply", "apply and stop asking", "reject"]
        assert question["params"]["message"] == f"Confirm Edit: {path.name}\n@@ line 2\n-two\n+2"
        progress = client.notification("notifications/progress")
        assert (progress["progressToken"], progress["message"]) == ("p", "Waiting for your decision")
        client.reply(question["id"], answer)
        result = client.answer(edit)["result"]
        assert code_of(result) == code
        assert ("the question was closed without an answer" in texts_of(result)[0]) == (code == "undecided")
        assert path.read_text() == ("one\n2\nthree\n" if code is None else "one\ntwo\nthree\n")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ({"apply": True}, None),
        ({"apply": False}, "rejected"),
        ({"apply": 1}, "undecided"),
        ({"apply": "true"}, "undecided"),
        ({"apply": True, "decision": "reject"}, "undecided"),
        ({"decision": "apply"}, "undecided"),
    ],
)
def test_form_for_opencode_has_one_switch(tmp_path: Path, content: object, code: str | None) -> None:
    path = three_lines(tmp_path)
    with mcp_client(tmp_path, "--approve", "ask") as client:
        client.begin(capabilities=FORMS, host="opencode")
        client.tool("Read", file_path=str(path))
        edit = client.start_tool("Edit", file_path=str(path), old_string="two", new_string="2")
        question = client.question("elicitation/create")
        schema = {"type": "object", "properties": {"apply": {"type": "boolean"}}, "required": ["apply"]}
        assert question["params"]["requestedSchema"] == schema
        client.reply(question["id"], {"action": "accept", "content": content})
        assert code_of(client.answer(edit)["result"]) == code


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"action": "accept", "content": {}}, None),
        ({"action": "accept"}, None),
        ({"action": "accept", "content": {"decision": "reject"}}, "undecided"),
        ({"action": "accept", "content": {"stop_asking": True}}, "undecided"),
        ({"action": "accept", "content": None}, "undecided"),
        ({"action": "accept", "content": []}, "undecided"),
        ({"action": "decline"}, "rejected"),
        ({"action": "cancel", "content": {}}, "undecided"),
        ({"content": {}}, "undecided"),
    ],
)
def test_form_for_claude_code_about_a_protected_file_has_only_buttons(
    tmp_path: Path, answer: object, code: str | None
) -> None:
    path = three_lines(tmp_path, ".env")
    with mcp_client(tmp_path) as client:
        client.begin(capabilities=FORMS, host="claude-code")
        client.tool("Read", file_path=str(path))
        edit = client.start_tool("Edit", file_path=str(path), old_string="two", new_string="2")
        question = client.question("elicitation/create")
        assert question["params"]["requestedSchema"] == {"type": "object", "properties": {}}
        assert question["params"]["message"] == f"Confirm Edit: {path.name}\n@@ line 2\n-two\n+2"
        client.reply(question["id"], answer)
        assert code_of(client.answer(edit)["result"]) == code
        assert path.read_text() == ("one\n2\nthree\n" if code is None else "one\ntwo\nthree\n")


@pytest.mark.parametrize(
    ("content", "code", "asks_again"),
    [
        ({}, None, True),
        ({"stop_asking": False}, None, True),
        ({"stop_asking": True}, None, False),
        ({"stop_asking": "true"}, "undecided", True),
        ({"stop_asking": 1}, "undecided", True),
        ({"stop_asking": True, "decision": "reject"}, "undecided", True),
    ],
)
def test_form_for_claude_code_has_one_switch_that_may_be_left_alone(
    tmp_path: Path, content: object, code: str | None, *, asks_again: bool
) -> None:
    path = three_lines(tmp_path)
    with mcp_client(tmp_path, "--approve", "ask") as client:
        client.begin(capabilities=FORMS, host="claude-code")
        client.tool("Read", file_path=str(path))
        edit = client.start_tool("Edit", file_path=str(path), old_string="two", new_string="2")
        question = client.question("elicitation/create")
        schema = question["params"]["requestedSchema"]
        assert "required" not in schema
        assert {name: field["type"] for name, field in schema["properties"].items()} == {"stop_asking": "boolean"}
        client.reply(question["id"], {"action": "accept", "content": content})
        assert code_of(client.answer(edit)["result"]) == code
        edit = client.start_tool("Edit", file_path=str(path), old_string="one", new_string="1")
        if asks_again:
            client.reply(client.question("elicitation/create")["id"], {"action": "decline"})
        assert code_of(client.answer(edit)["result"]) == ("rejected" if asks_again else None)


def test_approval_of_an_edit_that_a_change_made_impossible_is_no_rejection(tmp_path: Path) -> None:
    path = three_lines(tmp_path)
    with mcp_client(tmp_path, "--approve", "ask") as client:
        client.begin(capabilities=FORMS)
        client.tool("Read", file_path=str(path))
        edit = client.start_tool("Edit", file_path=str(path), old_string="two", new_string="2")
        first = client.question("elicitation/create")
        path.write_text("one\nthree\n")
        client.reply(first["id"], {"action": "accept", "content": {"decision": "apply"}})
        again = client.question("elicitation/create")
        gone = "The file changed, and nothing of this edit is left to apply."
        assert again["params"]["message"] == f"Confirm Edit: {path.name}\n{gone}"
        client.reply(again["id"], {"action": "accept", "content": {"decision": "apply"}})
        result = client.answer(edit)["result"]
    assert code_of(result) == "modified_externally"
    assert "Do not retry" not in texts_of(result)[0]
    assert path.read_text() == "one\nthree\n"


def test_root_of_an_agent_lifts_no_protection(tmp_path: Path) -> None:
    folder = tmp_path / ".git"
    folder.mkdir()
    path = three_lines(folder, "config")
    with mcp_client(folder) as client:
        client.begin()
        client.tool("Read", file_path=str(path))
        refused = client.tool("Edit", file_path=str(path), old_string="two", new_string="2")
    assert code_of(refused) == "consent_unavailable"
    assert "two" in path.read_text()


def test_user_who_chose_always_is_asked_about_protected_files_only(tmp_path: Path) -> None:
    path, protected = three_lines(tmp_path), three_lines(tmp_path, ".env")
    with mcp_client(tmp_path, "--approve", "ask") as client:
        client.begin(capabilities=FORMS)
        for file in (path, protected):
            client.tool("Read", file_path=str(file))
        edit = client.start_tool("Edit", file_path=str(path), old_string="two", new_string="2")
        always = {"action": "accept", "content": {"decision": "apply and stop asking"}}
        client.reply(client.question("elicitation/create")["id"], always)
        assert code_of(client.answer(edit)["result"]) is None
        assert code_of(client.tool("Edit", file_path=str(path), old_string="one", new_string="1")) is None
        edit = client.start_tool("Edit", file_path=str(protected), old_string="two", new_string="2")
        client.reply(client.question("elicitation/create")["id"], {"action": "decline"})
        assert code_of(client.answer(edit)["result"]) == "rejected"


# --approve, --protected, whether the client shows forms -> what becomes of a plain and of a protected file's edit
ROUTES = [
    ("person", "ask", True, "applied", "asked"),
    ("person", "ask", False, "applied", "refused"),
    ("person", "allow", False, "applied", "applied"),
    ("ask", "ask", True, "asked", "asked"),
    ("ask", "ask", False, "refused", "refused"),
    ("host", "ask", True, "applied", "asked"),
    ("host", "ask", False, "applied", "refused"),
    ("never", "ask", True, "applied", "applied"),
    ("never", "ask", False, "applied", "applied"),
]


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize(("approve", "protected", "shows_forms", "plain_outcome", "protected_outcome"), ROUTES)
def test_consent_is_requested_as_the_options_specify(
    tmp_path: Path,
    era: str,
    approve: str,
    protected: str,
    shows_forms: bool,
    plain_outcome: str,
    protected_outcome: str,
) -> None:
    capabilities = FORMS if shows_forms else {}
    with mcp_client(tmp_path, "--approve", approve, "--protected", protected) as client:
        if era == "legacy":
            client.begin(capabilities=capabilities)
        for name, outcome in (("new.txt", plain_outcome), (".env", protected_outcome)):
            path = tmp_path / name
            arguments = {"file_path": str(path), "old_string": "", "new_string": "text\n"}
            params: Message = {"name": "Edit", "arguments": arguments}
            if era == "modern":
                params["_meta"] = modern_meta(capabilities)
            edit = client.request("tools/call", params)
            if outcome == "asked" and era == "legacy":
                client.reply(client.question("elicitation/create")["id"], {"action": "decline"})
                assert code_of(client.answer(edit)["result"]) == "rejected"
            elif outcome == "asked":
                assert client.answer(edit)["result"]["resultType"] == "input_required"
            elif outcome == "refused":
                [text] = texts_of(result := client.answer(edit)["result"])
                consent = "This edit needs a person's consent, and this host cannot ask for it. Nothing was written. "
                assert text.startswith(f"<tool_use_error>{consent}")
                assert code_of(result) == "consent_unavailable"
            else:
                assert code_of(client.answer(edit)["result"]) is None
            assert path.exists() == (outcome == "applied")


# --- the modern era ----------------------------------------------------------------------------------------------


def test_modern_calls_need_no_handshake(client: McpClient, tmp_path: Path) -> None:
    path = three_lines(tmp_path)
    read = modern_call(client, "Read", {"file_path": str(path)})
    assert read["resultType"] == "complete"
    edited = modern_call(client, "Edit", {"file_path": str(path), "old_string": "two", "new_string": "2"})
    assert (edited["resultType"], edited["isError"]) == ("complete", False)
    assert path.read_text() == "one\n2\nthree\n"


def asked_edit(client: McpClient, path: Path) -> tuple[Message, Any]:
    """A protected file's edit, and the question that it is answered with."""
    modern_call(client, "Read", {"file_path": str(path)})
    arguments = {"file_path": str(path), "old_string": "two", "new_string": "2"}
    return arguments, modern_call(client, "Edit", arguments, FORMS)


def accepted(decision: str = "apply") -> Message:
    return {"approve": {"action": "accept", "content": {"decision": decision}}}


def test_modern_question_is_answered_by_a_repeated_call_once(client: McpClient, tmp_path: Path) -> None:
    path = three_lines(tmp_path, ".env")
    arguments, asked = asked_edit(client, path)
    assert asked["resultType"] == "input_required"
    assert list(asked["inputRequests"]) == ["approve"]
    assert asked["inputRequests"]["approve"]["method"] == "elicitation/create"
    assert path.read_text() == "one\ntwo\nthree\n"
    again = {"requestState": asked["requestState"], "inputResponses": accepted()}
    assert code_of(modern_call(client, "Edit", arguments, FORMS, **again)) is None
    assert path.read_text() == "one\n2\nthree\n"

    path.write_text("one\ntwo\nthree\n")
    modern_call(client, "Read", {"file_path": str(path)})
    replayed = modern_call(client, "Edit", arguments, FORMS, **again)
    assert code_of(replayed) == "undecided"
    assert path.read_text() == "one\ntwo\nthree\n"


@pytest.mark.parametrize("how", ["altered", "forged", "other arguments", "other tool", "no answer", "declined"])
def test_modern_state_that_does_not_match_decides_nothing(client: McpClient, tmp_path: Path, how: str) -> None:
    path = three_lines(tmp_path, ".env")
    arguments, asked = asked_edit(client, path)
    tool, state, responses = "Edit", asked["requestState"], accepted()
    match how:
        case "altered":
            state = state[:-1] + ("0" if state[-1] != "0" else "1")
        case "forged":
            state = "v1.e30.00"
        case "other arguments":
            arguments = {**arguments, "new_string": "something else"}
        case "other tool":
            step = {"old_string": "two", "new_string": "2"}
            tool, arguments = "MultiEdit", {"file_path": str(path), "edits": [step]}
        case "no answer":
            responses = {}
        case _:
            responses = {"approve": {"action": "decline"}}
    result = modern_call(client, tool, arguments, FORMS, requestState=state, inputResponses=responses)
    assert code_of(result) == ("rejected" if how == "declined" else "undecided")
    assert path.read_text() == "one\ntwo\nthree\n"


def test_modern_decision_about_a_file_that_changed_is_refused(client: McpClient, tmp_path: Path) -> None:
    path = three_lines(tmp_path, ".env")
    arguments, asked = asked_edit(client, path)
    path.write_text("one\ntwo\nthree\nfour\n")
    modern_call(client, "Read", {"file_path": str(path)})  # so that the file counts as read as it is now
    again = {"requestState": asked["requestState"], "inputResponses": accepted()}
    result = modern_call(client, "Edit", arguments, FORMS, **again)
    assert (code_of(result), texts_of(result)[0]) == ("modified_externally", STALE)
    assert path.read_text() == "one\ntwo\nthree\nfour\n"


def test_undo_of_several_files_asks_for_each_in_turn(tmp_path: Path) -> None:
    paths = [three_lines(tmp_path, "p/.env"), three_lines(tmp_path, "q/.env")]
    with mcp_client(tmp_path, "--tools", "+undo") as client:
        for path in paths:
            arguments, asked = asked_edit(client, path)
            again = {"requestState": asked["requestState"], "inputResponses": accepted()}
            assert code_of(modern_call(client, "Edit", arguments, FORMS, **again)) is None
        result = modern_call(client, "Undo", {}, FORMS)
        n_questions = 0
        while result["resultType"] == "input_required":
            n_questions += 1
            again = {"requestState": result["requestState"], "inputResponses": accepted()}
            result = modern_call(client, "Undo", {}, FORMS, **again)
        assert (n_questions, code_of(result)) == (2, None)
        assert [path.read_text() for path in paths] == ["one\ntwo\nthree\n"] * 2


# --- what is never sent ------------------------------------------------------------------------------------------


def test_results_have_no_structured_content_and_small_metadata(client: McpClient, tmp_path: Path) -> None:
    path = three_lines(tmp_path)
    client.begin()
    results = [
        client.tool("Read", file_path=str(path)),
        client.tool("Edit", file_path=str(path), old_string="two", new_string="2" * 10_000),
        client.tool("Edit", file_path=str(path), old_string="nowhere", new_string="x"),
        client.tool("Read", file_path="/" + "x" * 10_000),
        client.tool("Read", file_path=3),
    ]
    for result in results:
        assert set(result) == {"content", "isError", "_meta"}
        assert len(json.dumps(result["_meta"])) <= 4096
        assert "2222" not in json.dumps(result["_meta"])


def test_second_read_of_what_the_session_has_is_one_sentence_and_the_third_shows_it(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a line of text\n" * 60)
    with mcp_client(tmp_path, "--repeated-reads", "short", "--read-reminder", "off") as client:
        client.begin()
        (whole,) = texts_of(client.tool("Read", file_path=str(path)))
        assert whole.count("a line of text") == 60
        assert "<system-reminder>" not in whole
        (short,) = texts_of(client.tool("Read", file_path=str(path)))
        assert short.startswith(f"{path} is unchanged since you read these lines.")
        assert texts_of(client.tool("Read", file_path=str(path))) == [whole]
        assert texts_of(client.tool("Read", file_path=str(path), offset=2, limit=50))[0].count("a line of text") == 50
        path.write_text("another line of text\n" * 60)
        assert texts_of(client.tool("Read", file_path=str(path)))[0].count("another line of text") == 60
