"""The first calls of a user who does not know the client: what is plausible works, and the rest names its mistake."""

import inspect
import os
import pathlib
import re
from typing import Any

import pytest

import fileops_client
from fileops_client import FileOpsClient, ResponseError, ServerMissing, SetupOptions, sync, uri_of


async def test_relative_root_is_a_folder_below_the_current_one(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.txt").write_text("one\n")
    monkeypatch.chdir(tmp_path)
    async with FileOpsClient.in_process(root="project", roots=["."]) as client:
        await client.read(tmp_path / "project" / "a.txt")
        assert (await client.edit(tmp_path / "project" / "a.txt", "one", "two")).ok


async def test_tilde_in_a_root_is_the_home_folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    async with FileOpsClient.in_process(root="~") as client:
        assert (await client.edit(tmp_path / "a.txt", "", "one")).ok
        assert (await client.edit("/tmp/fileops-outside.txt", "", "one")).code == "outside_roots"


@pytest.mark.parametrize("root", [".", "~", "project"])
async def test_relative_root_of_a_server_that_may_run_elsewhere_is_refused(root: str) -> None:
    with pytest.raises(ValueError, match=rf"root must be an absolute path, not '{re.escape(root)}'"):
        FileOpsClient.start(["ssh", "host", "fileops-server"], root=root)


def test_folder_in_place_of_the_command_is_refused_with_the_parameter_that_is_meant() -> None:
    wrong: Any = "/p"
    for opening in (FileOpsClient.start, sync.FileOpsClient.start):
        with pytest.raises(TypeError, match=r"command must be a list of words.*not '/p'.*root='/p'"):
            opening(wrong)
    with pytest.raises(TypeError, match="command must be a list of words"):
        FileOpsClient.attach(command="fileops-server")


async def test_socket_in_a_folder_of_all_users_is_refused_without_advice_to_remove_the_folder() -> None:
    with pytest.raises(ServerMissing) as caught:
        await FileOpsClient.attach(socket="/tmp/fileops.sock")
    assert "remove" not in str(caught.value)
    assert "folder /tmp is not a folder of this user alone" in str(caught.value)
    assert "mode 0700" in str(caught.value)


async def test_path_as_bytes_names_the_file_of_these_bytes(tmp_path: pathlib.Path) -> None:
    path: Any = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    pathlib.Path(os.fsdecode(path)).write_text("one\n")
    async with FileOpsClient.in_process(root=tmp_path) as client:
        assert (await client.read(path)).ok
        assert (await client.edit(path, "one", "two")).ok
        assert (await client.write(path, "three\n")).ok
        assert (await client.record_read(path)).recorded
        assert [entry.operation for entry in await client.history(file_path=path)] == ["modify", "modify"]
        assert (await client.undo(file_path=path)).ok
        assert await client.forget(path)
        assert uri_of(path).endswith("/caf%E9.txt")
        assert uri_of("/a//./../b c#%~é") == pathlib.Path("/a//./../b c#%~é").as_uri()


@pytest.mark.parametrize(
    ("edits", "problem"),
    [
        ([("a", "b", True)], r"edits\[0\] must be \(old, new\) or a mapping.*replace_all.*not a tuple of 3"),
        ([("a", "b"), ["a"]], r"edits\[1\] must be \(old, new\).*not a list of 1"),
        (["ab"], r"edits\[0\] must be \(old, new\).*not a str"),
        ([None], r"edits\[0\] must be \(old, new\).*not a NoneType"),
    ],
)
async def test_step_of_another_shape_is_refused_with_its_number(edits: Any, problem: str) -> None:
    async with FileOpsClient.in_process(roots="anywhere") as client:
        with pytest.raises(TypeError, match=problem):
            await client.multi_edit("/p/a", edits)


async def test_step_may_be_a_list_of_two(tmp_path: pathlib.Path) -> None:
    steps: Any = [["one", "two"], ("two", "three")]
    async with FileOpsClient.in_process(root=tmp_path) as client:
        await client.edit(tmp_path / "a", "", "one\n")
        assert (await client.multi_edit(tmp_path / "a", steps)).ok
    assert (tmp_path / "a").read_text() == "three\n"


@pytest.mark.parametrize("name", ["fileops/didEdt", "fileops/didedit", "fileops/"])
async def test_misspelt_event_is_refused_with_the_names_that_exist(tmp_path: pathlib.Path, name: str) -> None:
    async with FileOpsClient.in_process(root=tmp_path) as client:
        for subscribe in (
            lambda: client.on(name, print),
            lambda: client.events(name),
            lambda: client.session("s").on(name, print),
            lambda: client.session("s").events("fileops/didRead", name),
        ):
            with pytest.raises(ValueError, match=f"no event {name}; there are .*fileops/didEdit"):
                subscribe()


async def test_every_event_that_the_server_announces_can_be_subscribed(tmp_path: pathlib.Path) -> None:
    async with FileOpsClient.in_process(root=tmp_path) as client:
        announced = client.capabilities["experimental"]["fileops"]["notifications"]
        assert "fileops/didEdit" in announced
        for name in (*announced, "window/showMessage", "$/progress"):
            client.on(name, print)()
            client.events(name).close()


async def test_undo_without_arguments_is_that_of_the_default_session(tmp_path: pathlib.Path) -> None:
    file, other = tmp_path / "a", tmp_path / "b"
    async with FileOpsClient.in_process(root=tmp_path) as client:
        await client.edit(file, "", "one\n")
        await client.edit(other, "", "two\n")
        async with client.session("writer") as writer:
            await writer.edit(tmp_path / "c", "", "three\n")
            assert (await writer.undo()).details.get("undone") is not None
            assert (file.exists(), (tmp_path / "c").exists()) == (True, False)
        assert (await client.undo(file_path=file)).ok
        assert (file.exists(), other.exists()) == (False, True)
        assert (await client.undo()).ok
        assert not other.exists()


async def test_opening_is_entered_once(tmp_path: pathlib.Path) -> None:
    opening = FileOpsClient.in_process(root=tmp_path)
    async with opening as client:
        with pytest.raises(RuntimeError, match="entered already"):
            async with opening:
                pass
        with pytest.raises(RuntimeError, match="entered already"):
            await opening
        assert client.is_open
    assert not client.is_open


async def test_failed_opening_logs_no_second_failure(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    options: Any = {"freshness": "old"}
    with pytest.raises(ResponseError, match="freshness"):
        await FileOpsClient.in_process(root=tmp_path, initialization_options=options)
    assert [record.getMessage() for record in caplog.records] == []


@pytest.mark.parametrize("client", [FileOpsClient, sync.FileOpsClient])
@pytest.mark.parametrize("name", ["start", "attach", "in_process"])
def test_signature_names_every_parameter_and_the_help_explains_it(client: type, name: str) -> None:
    method = getattr(client, name)
    parameters = inspect.signature(method).parameters
    assert [parameter.name for parameter in parameters.values() if parameter.kind is parameter.VAR_KEYWORD] == []
    assert set(SetupOptions.__annotations__) <= set(parameters)
    assert (parameters["timeout_s"].default, parameters["roots"].default) == (60.0, ())
    assert all(key in (inspect.getdoc(method) or "") for key in SetupOptions.__annotations__)


@pytest.mark.parametrize("module", [fileops_client, sync])
def test_every_public_name_has_a_docstring(module: Any) -> None:
    """A TypedDict or a Literal has no docstring; a dataclass gets its signature if nothing is written."""
    names: dict[str, Any] = {name: getattr(module, name) for name in dir(module)}
    classes: dict[str, Any] = {
        name: value
        for name, value in names.items()
        if inspect.isclass(value) and name[0] != "_" and value.__module__.startswith("fileops_client")
    }
    assert {"FileOpsClient", "ToolResult", "Tool"} <= set(classes)
    bare: list[str] = [name for name, value in classes.items() if (value.__doc__ or name + "(").startswith(name + "(")]
    for name, value in classes.items():
        for attribute in dir(value):
            found = inspect.getattr_static(value, attribute)
            is_ours = (inspect.isfunction(found) or isinstance(found, (property, classmethod))) and attribute[0] != "_"
            if is_ours and not inspect.getdoc(getattr(value, attribute)):
                bare.append(f"{name}.{attribute}")
    assert bare == []


def test_types_of_options_and_callbacks_are_exported() -> None:
    for name in ("EncodingOptions", "ConfirmEdit", "CorrectEdit", "ConfirmCommand"):
        assert name in fileops_client.__all__


async def test_agent_tool_is_a_function_with_keywords_that_returns_the_text(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one\n")
    async with FileOpsClient.in_process(root=tmp_path) as client:
        tools = {tool.name: tool for tool in await client.toolbox(lenient=True)}
        functions = {name: tool.agent_tool().as_function() for name, tool in tools.items()}
        assert (await functions["Read"](file_path=str(file))).startswith("     1→one")
        assert "has been updated" in await functions["Edit"](file_path=str(file), old_string="one", new_string="two")
        assert "Invalid parameters" in await functions["Edit"](file_path=str(file))
        file.write_text("first line\nsecond line\n")
        await functions["Read"](file_path=str(file))
        failed = await functions["Edit"](file_path=str(file), old_string="first  line", new_string="x")
        assert "first line" in failed.partition("\n\n")[2]  # what to send instead
    read, edit = functions["Read"], functions["Edit"]
    assert (read.__name__, read.__doc__) == ("Read", tools["Read"].definition.description)
    parameters = inspect.signature(edit).parameters
    assert list(parameters) == ["file_path", "old_string", "new_string", "replace_all"]
    assert parameters["file_path"].default is inspect.Parameter.empty
    assert (parameters["replace_all"].default, parameters["replace_all"].annotation) == (False, bool)
