"""Files that agents must not read, through every door, over `fileops/*` and MCP, private and shared."""

import os
import unicodedata
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fileops.attach.handshake import Hook
from support.mcp_client import mcp_client
from support.rawclient import Message, RawClient
from support.shared_daemon import LspClient, McpHost, Refused, code_of, shared_daemon, until_recorded

SECRET = "hunter2"
Call = Callable[[str, Message], Awaitable[Any]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one readable file, and a secret that its rules exclude."""
    project = tmp_path / "project"
    (project / "sub").mkdir(parents=True)
    (project / ".agentsignore").write_text("*.secret\n/private/\n")
    (project / "open.txt").write_text("one\ntwo\n")
    (project / "key.secret").write_text(f"{SECRET}\ntwo\n")
    return project


@asynccontextmanager
async def agent_of(kind: str, project: Path, **options: Any) -> AsyncGenerator[Call]:
    """An agent's requests. kind: of its daemon, "private" or "shared"."""
    if kind == "shared":
        async with shared_daemon() as daemon:
            yield (await daemon.agent(project, **options)).call
        return
    client = RawClient()
    try:
        client.initialize(workspaceFolders=[{"uri": project.as_uri(), "name": "p"}], initializationOptions=options)

        async def call(method: str, params: Message) -> Any:
            return client.result(method, params)

        yield call
    finally:
        client.close()


@pytest.fixture(params=["private", "shared"])
async def agent(request: pytest.FixtureRequest, project: Path) -> AsyncGenerator[Call]:
    async with agent_of(request.param, project, notices="output") as call:
        yield call


REFUSED_DOORS: dict[str, tuple[str, Message]] = {
    "read": ("fileops/read", {}),
    "a part": ("fileops/read", {"offset": 1, "limit": 1}),
    "raw": ("fileops/read", {"raw": True}),
    "edit": ("fileops/edit", {"old_string": "two", "new_string": "2"}),
    "edit of another text": ("fileops/edit", {"old_string": "hunter3", "new_string": "2"}),
    "rehearsed edit": ("fileops/edit", {"old_string": "two", "new_string": "2", "dry_run": True}),
    "edit with texts": (
        "fileops/edit",
        {"old_string": "two", "new_string": "2", "dry_run": True, "include_texts": True},
    ),
    "creation": ("fileops/edit", {"old_string": "", "new_string": "2"}),
    "block": ("fileops/edit", {"old_string": "two", "new_string": "2", "strategy": "block"}),
    "multi-edit": ("fileops/multiEdit", {"edits": [{"old_string": "two", "new_string": "2"}]}),
    "rehearsed multi-edit": (
        "fileops/multiEdit",
        {"edits": [{"old_string": "two", "new_string": "2"}], "dry_run": True},
    ),
    "write": ("fileops/write", {"content": "x\n"}),
    "rehearsed write": ("fileops/write", {"content": "x\n", "dry_run": True}),
    "undo": ("fileops/undo", {"session_id": "default"}),
    "rehearsed undo": ("fileops/undo", {"session_id": "default", "dry_run": True}),
}


@pytest.mark.parametrize("door", REFUSED_DOORS)
@pytest.mark.parametrize("name", ["key.secret", "missing.secret"])
async def test_unreadable_file_is_refused_at_every_door(agent: Call, project: Path, door: str, name: str) -> None:
    """R-UNREAD-1, R-UNREAD-2."""
    method, params = REFUSED_DOORS[door]
    path = project / name

    result = await agent(method, {"file_path": str(path), **params})

    assert code_of(result) == "not_permitted"
    assert SECRET not in str(result)
    assert str(project / ".agentsignore") in result["error"]["message"]
    assert not (project / "missing.secret").exists()
    assert (project / "key.secret").read_text() == f"{SECRET}\ntwo\n"


async def test_unreadable_file_does_not_count_as_read(agent: Call, project: Path) -> None:
    result = await agent("fileops/recordRead", {"file_path": str(project / "key.secret")})

    assert (result["recorded"], result["error"]["code"], result["size_bytes"]) == (False, "not_permitted", None)
    assert await agent("fileops/tracked", {}) == {"files": []}


async def test_views_leave_out_an_unreadable_file(agent: Call, project: Path) -> None:
    arguments = {"file_path": str(project / "key.secret"), "old_string": SECRET, "new_string": "x"}

    described = await agent("fileops/describe", {"method": "fileops/edit", "arguments": arguments})
    rendered = await agent("fileops/render", {"method": "fileops/read", "arguments": arguments})

    assert described["locations"] == [{"path": str(project / "key.secret"), "line": None}]
    assert rendered["lines"] == []


# --- a file that was read before ---------------------------------------------------------------------------------


async def test_file_that_becomes_unreadable_is_withheld_at_once(agent: Call, project: Path) -> None:
    """R-UNREAD-4. Reads, edits, undos, lists, conflicts, the history and the notices of a later change."""
    file, other = project / "later.txt", project / "open.txt"
    file.write_text("one\ntwo\n")
    for path in (file, other):
        assert code_of(await agent("fileops/read", {"file_path": str(path)})) is None
        edited = {"file_path": str(path), "old_string": "one", "new_string": "1"}
        assert code_of(await agent("fileops/edit", edited)) is None
    edits = (await agent("fileops/history", {}))["edits"]
    (project / ".agentsignore").write_text("later.*\n")
    file.write_text(f"{SECRET}\ntwo\n")
    other.write_text("1\ntwo\nthree\n")

    refused = [
        await agent("fileops/read", {"file_path": str(file)}),
        await agent("fileops/edit", {"file_path": str(file), "old_string": "two", "new_string": "2"}),
        await agent("fileops/write", {"file_path": str(file), "content": "x"}),
        await agent("fileops/undo", {"edit_id": edits[-1]["edit_id"]}),
        await agent("fileops/undo", {"edit_id": edits[-1]["edit_id"], "dry_run": True}),
        await agent("fileops/undo", {"session_id": "default", "file_path": str(file)}),
        await agent("fileops/undo", {"session_id": "default"}),
    ]
    lists = [
        await agent("fileops/tracked", {}),
        await agent("fileops/sessionFiles", {}),
        await agent("fileops/conflicts", {}),
        await agent("fileops/history", {}),
        await agent("fileops/history", {"limit": 1}),
    ]
    noticed = await agent("fileops/read", {"file_path": str(project / "sub" / "none.txt")})

    assert [code_of(result) for result in refused] == ["not_permitted"] * len(refused)
    assert [[Path(entry["file_path"]).name for entry in next(iter(listed.values()))] for listed in lists] == [
        ["open.txt"]
    ] * len(lists)
    assert str(file) not in str(noticed)
    assert (await agent("fileops/history", {"file_path": str(file)})) == {"edits": []}
    (project / ".agentsignore").write_text("")
    assert code_of(await agent("fileops/read", {"file_path": str(file)})) is None


async def test_notices_leave_out_what_became_unreadable(agent: Call, project: Path) -> None:
    files = [project / "later.txt", project / "open.txt"]
    for file in files:
        file.write_text("one\n")
        await agent("fileops/read", {"file_path": str(file)})
    (project / ".agentsignore").write_text("later.*\n")
    for file in files:
        file.write_text(f"{SECRET}\n")

    result = await agent("fileops/read", {"file_path": str(project / "none.txt")})

    assert [notice["file_path"] for notice in result["details"]["notices"]] == [str(files[1])]
    assert str(files[0]) not in result["output"]


async def test_statistics_still_count_edits_of_files_that_became_unreadable(agent: Call, project: Path) -> None:
    await agent("fileops/read", {"file_path": str(project / "open.txt")})
    await agent("fileops/edit", {"file_path": str(project / "open.txt"), "old_string": "one", "new_string": "1"})
    await agent("fileops/undo", {"session_id": "default"})
    (project / ".agentsignore").write_text("*")

    assert (await agent("fileops/stats", {}))["edits"]["undone"] == 1


# --- names -------------------------------------------------------------------------------------------------------


def make_names(project: Path) -> dict[str, Path]:
    """Names of `key.secret`, and of links that rules exclude, by what they are."""
    outside = project.parent / "outside"
    outside.mkdir()
    (project / "link.txt").symlink_to("key.secret")
    (project / "chain.txt").symlink_to("link.txt")
    (project / "sub" / "up.txt").symlink_to("../key.secret")
    (outside / "door").symlink_to(project)
    (project / "public.txt").write_text("public\n")
    (project / "named.secret").symlink_to("public.txt")
    (outside / "vault").mkdir()
    (outside / "vault" / "a.txt").write_text("a\n")
    (project / "private").symlink_to(outside / "vault")
    os.link(project / "key.secret", project / "hard.txt")
    os.link(project / "key.secret", outside / "hard.txt")
    return {
        "dots": Path(f"{project}/sub/../key.secret"),
        "slashes": Path(f"/{project}//sub//..//./key.secret"),
        "link": project / "link.txt",
        "chain of links": project / "chain.txt",
        "link from below": project / "sub" / "up.txt",
        "folder that is a link": outside / "door" / "key.secret",
        "link that a rule names": project / "named.secret",
        "file in a linked folder that a rule names": project / "private" / "a.txt",
        "hard link": project / "hard.txt",
        "hard link outside": outside / "hard.txt",
        "another case": project / "KEY.Secret",
        "process": Path(f"/proc/self/root{project}/key.secret"),
    }


@pytest.mark.parametrize(
    "kind",
    [
        "dots", "slashes", "link", "chain of links", "link from below", "folder that is a link",
        "link that a rule names", "file in a linked folder that a rule names", "another case", "process",
    ],
)  # fmt: skip
async def test_every_name_of_an_unreadable_file_is_refused(agent: Call, project: Path, kind: str) -> None:
    """R-UNREAD-3."""
    path = str(make_names(project)[kind])

    for method, params in (
        ("read", {}),
        ("edit", {"old_string": "two", "new_string": "2"}),
        ("write", {"content": ""}),
    ):
        result = await agent(f"fileops/{method}", {"file_path": path, **params})
        assert code_of(result) == "not_permitted"
        assert SECRET not in str(result)
    assert (await agent("fileops/recordRead", {"file_path": path}))["error"]["code"] == "not_permitted"


@pytest.mark.parametrize("kind", ["hard link", "hard link outside"])
async def test_hard_link_of_an_unreadable_file_is_not_read(agent: Call, project: Path, kind: str) -> None:
    path = str(make_names(project)[kind])

    assert code_of(await agent("fileops/read", {"file_path": path})) == "not_permitted"
    assert (await agent("fileops/recordRead", {"file_path": path}))["error"]["code"] == "not_permitted"


async def test_file_that_gets_an_unreadable_hard_link_is_neither_read_nor_edited(agent: Call, project: Path) -> None:
    """A hard link alone does no harm; one that the rules exclude does, at once."""
    path = str(project / "same.txt")
    edit = {"file_path": path, "old_string": "two", "new_string": "2"}
    os.link(project / "open.txt", path)
    assert code_of(await agent("fileops/read", {"file_path": path})) is None
    assert code_of(await agent("fileops/edit", {**edit, "dry_run": True})) is None
    os.link(project / "open.txt", project / "same.secret")

    assert code_of(await agent("fileops/read", {"file_path": path})) == "not_permitted"
    assert code_of(await agent("fileops/edit", edit)) == "not_permitted"


@pytest.mark.parametrize("form", ["NFC", "NFD"])
async def test_other_form_of_a_name_is_refused(agent: Call, project: Path, form: Any) -> None:
    (project / ".agentsignore").write_text(unicodedata.normalize(form, "schlüssel\n"))
    other = {"NFC": "NFD", "NFD": "NFC"}[form]
    path = project / unicodedata.normalize(other, "Schlüssel")  # pyrefly: ignore[bad-argument-type]
    path.write_text(SECRET)

    assert code_of(await agent("fileops/read", {"file_path": str(path)})) == "not_permitted"


# --- rules -------------------------------------------------------------------------------------------------------


async def test_all_rule_files_above_a_file_count(agent: Call, project: Path) -> None:
    """An inner one cannot take out what an outer one excludes."""
    (project / "sub" / ".agentsignore").write_text("!*.secret\n*.inner\n")
    for name in ("a.secret", "a.inner", "a.txt"):
        (project / "sub" / name).write_text("x\n")
    (project / "a.inner").write_text("x\n")

    codes = {
        name: code_of(await agent("fileops/read", {"file_path": str(project / name)}))
        for name in ("sub/a.secret", "sub/a.inner", "sub/a.txt", "a.inner")
    }

    assert codes == {
        "sub/a.secret": "not_permitted",
        "sub/a.inner": "not_permitted",
        "sub/a.txt": None,
        "a.inner": None,
    }


BAD_RULES: dict[str, tuple[Callable[[Path], object], str]] = {
    "unclosed bracket": (lambda rules: rules.write_text("*.log\nkey[\n"), "Line 2 matches nothing."),
    "nothing escaped": (lambda rules: rules.write_text("key\\\n"), "Line 1 is not a pattern."),
    "backward range": (lambda rules: rules.write_text("[z-a]\n"), "Line 1 is not a pattern."),
    "binary": (lambda rules: rules.write_bytes(b"key\0\n"), "It is not text."),
    "huge": (lambda rules: rules.write_bytes(b"#" * 1_000_001), "It has more than 1,000,000 bytes."),
    "folder": (lambda rules: rules.mkdir(), "The path is a directory."),
    "lost link": (lambda rules: rules.symlink_to("nowhere"), "It is a link that leads nowhere."),
}


@pytest.mark.parametrize("kind", BAD_RULES)
async def test_rules_that_cannot_be_used_close_everything_below(agent: Call, project: Path, kind: str) -> None:
    """R-UNREAD-5."""
    make, reason = BAD_RULES[kind]
    (project / ".agentsignore").unlink()
    assert code_of(await agent("fileops/read", {"file_path": str(project / "open.txt")})) is None
    make(project / ".agentsignore")

    result = await agent("fileops/read", {"file_path": str(project / "open.txt")})

    rules = project / ".agentsignore"
    assert result["error"] == {
        "code": "not_permitted",
        "message": f"Agents may not read or edit files here, because {rules} cannot be used. {reason}",
    }
    assert (
        result["output"] == f"<tool_use_error>{result['error']['message']} Ask the user to correct it.</tool_use_error>"
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
async def test_rules_are_read_in_every_encoding_with_a_byte_order_mark(
    agent: Call, project: Path, encoding: str, newline: str
) -> None:
    (project / ".agentsignore").write_bytes(f"x{newline}open.txt{newline}".encode(encoding))

    assert code_of(await agent("fileops/read", {"file_path": str(project / "open.txt")})) == "not_permitted"


async def test_rules_that_are_a_link_count(agent: Call, project: Path) -> None:
    (project / ".agentsignore").rename(project.parent / "rules")
    (project / ".agentsignore").symlink_to("../rules")

    assert code_of(await agent("fileops/read", {"file_path": str(project / "key.secret")})) == "not_permitted"


# --- the option --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["private", "shared"])
async def test_option_excludes_files_and_all_below_a_folder(project: Path, kind: str) -> None:
    """R-UNREAD-7."""
    (project / ".agentsignore").unlink()
    (project / "sub" / "deep").mkdir()
    (project / "sub" / "deep" / "a.txt").write_text("a\n")
    globs = ["*.SECRET", "sub/", str(project / "absolute.*")]
    (project / "absolute.txt").write_text("a\n")

    async with agent_of(kind, project, unreadable=globs) as agent:
        codes = {
            name: code_of(await agent("fileops/read", {"file_path": str(project / name)}))
            for name in ("key.secret", "sub/deep/a.txt", "absolute.txt", "open.txt")
        }
        refused = await agent("fileops/read", {"file_path": str(project / "key.secret")})

    assert codes == {
        "key.secret": "not_permitted", "sub/deep/a.txt": "not_permitted", "absolute.txt": "not_permitted",
        "open.txt": None,
    }  # fmt: skip
    assert refused["error"]["message"] == (
        "Agents may not read or edit this file: the option `unreadable` excludes it."
    )


@pytest.mark.parametrize(
    ("glob", "reason"),
    [
        ("", "must not be empty"),
        ("!a", "must not begin with `!`: it only adds files. Use an .agentsignore file to take some out"),
        ("{a", "has a { that is not closed or not opened, or is nested"),
    ],
)
async def test_malformed_glob_fails_the_initialization(project: Path, glob: str, reason: str) -> None:
    async with shared_daemon() as daemon:
        with pytest.raises(Refused) as refused:
            await daemon.agent(project, unreadable=["ok", glob])

    assert refused.value.args[2] == {"path": "$.initializationOptions.unreadable[1]", "reason": reason}


# --- people ------------------------------------------------------------------------------------------------------


async def test_editor_reads_and_edits_what_agents_must_not(project: Path) -> None:
    file = project / "key.secret"
    async with shared_daemon() as daemon:
        editor = await daemon.editor(project, unreadable=["*.secret"])
        assert SECRET in (await editor.read(file))["output"]
        assert code_of(await editor.edit(file, "two", "2")) is None
        assert [edit["file_path"] for edit in (await editor.call("fileops/history"))["edits"]] == [str(file)]
        agent = await daemon.agent(project)
        assert code_of(await agent.read(file)) == "not_permitted"


async def test_option_of_an_editor_counts_for_agents_in_its_folders(project: Path) -> None:
    (project / ".agentsignore").unlink()
    elsewhere = project.parent / "elsewhere.secret"
    elsewhere.write_text("x\n")
    async with shared_daemon() as daemon:
        editor = await daemon.editor(project, unreadable=["*.secret"])
        agent = await daemon.agent(project)
        assert code_of(await agent.read(project / "key.secret")) == "not_permitted"
        assert code_of(await agent.read(elsewhere)) is None
        await editor.close()
        assert code_of(await agent.read(project / "key.secret")) is None


async def test_unsaved_text_of_an_unreadable_file_is_withheld(project: Path) -> None:
    async with shared_daemon() as daemon:
        editor, agent = await daemon.editor(project), await daemon.agent(project)
        editor.open(project / "key.secret", "typed\n")
        await editor.call("fileops/tools")
        assert code_of(await agent.read(project / "key.secret")) == "not_permitted"


async def test_user_undoes_an_edit_of_a_file_that_became_unreadable(project: Path) -> None:
    """Over a private daemon the client says that its user asked for it."""
    async with agent_of("private", project) as agent:
        await agent("fileops/read", {"file_path": str(project / "open.txt")})
        edited = {"file_path": str(project / "open.txt"), "old_string": "one", "new_string": "1"}
        edit_id = (await agent("fileops/edit", edited))["details"]["edit_id"]
        (project / ".agentsignore").write_text("open.txt")
        as_agent = {"edit_id": edit_id, "session_id": "default", "approved": True}
        assert code_of(await agent("fileops/undo", as_agent)) == "not_permitted"
        assert code_of(await agent("fileops/undo", {"edit_id": edit_id, "approved": True})) is None

    assert (project / "open.txt").read_text() == "one\ntwo\n"


async def test_change_of_a_file_that_became_unreadable_is_not_notified(project: Path) -> None:
    later, other = project / "later.txt", project / "open.txt"
    later.write_text("one\n")
    async with shared_daemon() as daemon:
        agent = await daemon.agent(project)
        await agent.read(later)
        await agent.read(other)
        (project / ".agentsignore").write_text("later.txt")
        later.write_text("changed\n")
        other.write_text("changed\n")
        await agent.notification("fileops/didBecomeStale", lambda params: params["file_path"] == str(other))
        await agent.call("fileops/conflicts")  # after both have been checked

        assert [params["file_path"] for params in agent.notified("fileops/didBecomeStale")] == [str(other)]


# --- the rules themselves ----------------------------------------------------------------------------------------


async def _edit_of_rules(client: LspClient | McpHost, project: Path) -> Any:
    rules = str(project / ".agentsignore")
    if isinstance(client, McpHost):
        await client.tool("Read", file_path=rules)
        return await client.tool("Edit", file_path=rules, old_string="*.secret", new_string="")
    await client.read(Path(rules))
    return await client.edit(Path(rules), "*.secret", "")


@pytest.mark.parametrize("approve", ["person", "host", "ask", "never"])
async def test_rules_are_not_loosened_without_the_user(project: Path, approve: str) -> None:
    """R-UNREAD-6."""
    async with shared_daemon() as daemon:
        host = await daemon.host(project, approve=approve)
        assert code_of(await _edit_of_rules(host, project)) == "consent_unavailable"
        agent = await daemon.agent(project)
        assert code_of(await _edit_of_rules(agent, project)) == "consent_unavailable"

    assert (project / ".agentsignore").read_text() == "*.secret\n/private/\n"


async def test_user_is_asked_about_the_rules_in_every_mode(project: Path) -> None:
    async def reject(_params: object) -> Message:
        return {"outcome": "cancel"}

    async with shared_daemon() as daemon:
        editor = await daemon.editor(project, confirms=True, ask="never")
        editor.answers["fileops/confirmEdit"] = reject
        host = await daemon.host(project, approve="never")
        assert code_of(await _edit_of_rules(host, project)) == "rejected"
        assert len(editor.asked) == 1


@pytest.mark.parametrize("mode", ["default", "auto_edit", "yolo"])
@pytest.mark.parametrize("name", [".agentsignore", "sub/.AgentsIgnore"])
async def test_rules_are_not_edited_by_a_private_client_that_cannot_ask(project: Path, mode: str, name: str) -> None:
    (project / name).write_text("*.secret\n")
    async with agent_of("private", project, approval_mode=mode) as agent:
        await agent("fileops/read", {"file_path": str(project / name)})
        edited = {"file_path": str(project / name), "old_string": "*.secret", "new_string": "x"}
        result = await agent("fileops/edit", edited)

    assert code_of(result) == "not_permitted"
    assert (project / name).read_text() == "*.secret\n"


@pytest.mark.parametrize("mode", ["default", "yolo"])
@pytest.mark.parametrize("kind", ["hard link", "hard link of deeper rules", "what a link leads to", "link"])
async def test_rules_are_not_edited_by_another_name(project: Path, kind: str, mode: str) -> None:
    """The user would be asked about a file of which they do not know what it is, or not at all."""
    rules = project / "sub" / ".agentsignore" if "deeper" in kind else project / ".agentsignore"
    rules.write_text("*.secret\n")
    name = project / "rules.txt"
    if "hard" in kind:
        os.link(rules, name)
    else:
        rules.rename(name)
        rules.symlink_to(name)
    async with agent_of("shared", project, approval_mode=mode) as agent:
        path = str(rules if kind == "link" else name)
        await agent("fileops/read", {"file_path": path})
        result = await agent("fileops/edit", {"file_path": path, "old_string": "*.secret", "new_string": "x"})
        assert code_of(result) == "not_permitted"
        assert "another name of" in str(result)
        copied = {"file_path": str(project / "copy.txt"), "content": "*.secret\n"}
        assert code_of(await agent("fileops/write", copied)) is None  # which is no name of it

    assert rules.read_text() == "*.secret\n"


async def test_record_of_an_unreadable_file_is_withheld(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent's own shell command has changed the files, which it may; the record shows it one of them."""
    monkeypatch.setenv("XDG_STATE_HOME", str(project.parent / "state"))
    async with shared_daemon() as daemon:
        editor = await daemon.editor(project)
        await until_recorded(editor, project)
        agent = await daemon.agent(project)
        command_id = (await agent.call("fileops/beginCommand", {"label": "make"}))["command_id"]
        (project / "key.secret").write_text(f"{SECRET} changed\n")
        (project / "open.txt").rename(project / "renamed.secret")
        (project / "made.txt").write_text("made\n")
        await agent.call("fileops/endCommand", {"command_id": command_id})
        entries = {Path(entry["path"]).name: entry for entry in (await editor.call("fileops/log", {}))["entries"]}
        assert entries.keys() == {"key.secret", "open.txt", "renamed.secret", "made.txt"}
        shown = (await agent.call("fileops/log", {}))["entries"]
        assert [entry["path"] for entry in shown] == [str(project / "made.txt")]
        for query in ({"file_path": str(project / "key.secret")}, {"command_id": command_id}):
            assert SECRET not in str(await agent.call("fileops/log", query))
        assert (await agent.call("fileops/entry", {"entry_id": entries["made.txt"]["entry_id"]}))[
            "after_text"
        ] == "made\n"
        for name in ("key.secret", "open.txt", "renamed.secret"):
            with pytest.raises(Refused):
                await agent.call("fileops/entry", {"entry_id": entries[name]["entry_id"]})
        for target in ({"command_id": command_id}, {"entry_id": entries["key.secret"]["entry_id"]}):
            assert SECRET not in str(await agent.call("fileops/rewind", {**target, "dry_run": True}))


async def test_rules_larger_than_the_memory_close_everything_below_and_are_not_read(project: Path) -> None:
    os.truncate(project / ".agentsignore", 1 << 40)
    async with agent_of("private", project) as agent:
        result = await agent("fileops/read", {"file_path": str(project / "open.txt")})
    assert code_of(result) == "not_permitted"
    assert "has more than 1,000,000 bytes" in str(result)


# --- MCP ---------------------------------------------------------------------------------------------------------

MCP_DOORS: dict[str, Message] = {
    "Read": {},
    "Edit": {"old_string": "two", "new_string": "2"},
    "MultiEdit": {"edits": [{"old_string": "two", "new_string": "2"}]},
    "Write": {"content": "x"},
    "Undo": {},
}


@pytest.mark.parametrize("source", ["file", "option"])
@pytest.mark.parametrize("is_shared", [False, True])
async def test_unreadable_file_is_refused_by_every_tool(project: Path, source: str, *, is_shared: bool) -> None:
    if source == "option":
        (project / ".agentsignore").unlink()
    path = str(project / "key.secret")

    if is_shared:
        async with shared_daemon() as daemon:
            globs = {"unreadable": ["*.secret"]} if source == "option" else {}
            options: dict[str, Any] = {"further_tools": ["Write", "Undo"], **globs}
            host = await daemon.host(project, **options)
            results = {tool: await host.tool(tool, file_path=path, **more) for tool, more in MCP_DOORS.items()}
    else:
        arguments = ("--unreadable", "*.secret") if source == "option" else ()
        with mcp_client(project, "--tools", "+write,+undo", *arguments) as client:
            client.begin()
            results = {tool: client.tool(tool, file_path=path, **more) for tool, more in MCP_DOORS.items()}

    assert {tool: code_of(result) for tool, result in results.items()} == dict.fromkeys(MCP_DOORS, "not_permitted")
    assert SECRET not in str(results)


async def test_hooks_leave_out_what_became_unreadable(project: Path) -> None:
    """What others changed in files that a session has read, as its host's hooks take it."""
    later = project / "later.txt"
    later.write_text("one\n")
    async with shared_daemon() as daemon:
        host = await daemon.host(project, "claude-code", hints={"session": "s1"})
        for file in (later, project / "open.txt"):
            await host.tool("Read", file_path=str(file))
        (project / ".agentsignore").write_text("later.txt")
        for file in (later, project / "open.txt"):
            file.write_text(f"{SECRET}\n")
        told = await daemon.state.notices(Hook("claude", "s1", 0))

    assert len(told) == 1 and str(project / "open.txt") in told[0]


def test_malformed_glob_of_the_command_line_is_an_error(project: Path) -> None:
    with mcp_client(project, "--unreadable", "!a") as client:
        assert client.wait() == 2
        assert "--unreadable !a: the glob must not begin with `!`" in client.stderr
