"""Packages of a release in the real hosts: validated by the host, installed from the built file, and used once."""

import json
import os
import shutil
import subprocess
import tarfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from uv import find_uv_bin

from hosts.hosts import (
    CODEX_TABLES,
    CODEX_TOP,
    CONVERSATION_S,
    PROGRAMS,
    STARTS_ONCE,
    Place,
    Start,
    claude_code,
    claude_environment,
    claude_print,
    codex_exec,
    gemini_with,
    node_program,
    patch_of_codex,
    program,
)
from hosts.scripted_model import Call, CallOfHost, Say, ScriptedModel, Step
from hosts.test_companion import person_at
from hosts.test_hosts import placed, started
from support import daemon_process
from support.patience import PATIENCE_S
from support.release import built_once, file_of
from support.uv_like_pip import uv_environment

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_once(tmp_path_factory)


def run(place: Place, *command: str, environment: dict[str, str]) -> str:
    """What a command of a host prints; it must succeed, and has no input."""
    done = subprocess.run(
        command,
        cwd=place.home,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def unpack(archive: Path, folder: Path) -> None:
    if archive.suffix == ".gz":
        with tarfile.open(archive) as tar:
            tar.extraction_filter = getattr(tarfile, "data_filter", None)  # not in the first 3.11
            tar.extractall(folder)
    else:
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(folder)


def install_in_claude(dist: Path, place: Place) -> Start:
    claude, environment = claude_code(), claude_environment(place)
    unpack(file_of(dist, "fileops-claude-*.zip"), place.home)
    for folder in ("fileops-claude", "fileops-claude/fileops"):
        run(place, claude, "plugin", "validate", "--strict", folder, environment=environment)
    run(place, claude, "plugin", "marketplace", "add", "./fileops-claude", environment=environment)
    run(place, claude, "plugin", "install", "fileops@fileops", environment=environment)
    # A person allows its own edits here; else it asks, and nobody is there.
    return claude_print(place, "--allowedTools", "mcp__plugin_fileops_fileops,Edit")


def install_in_codex(dist: Path, place: Place) -> Start:
    unpack(file_of(dist, "fileops-codex-*.zip"), place.home)
    return start_codex_with_plugin(place, "./fileops-codex")


def start_codex_with_plugin(place: Place, marketplace: str) -> Start:
    codex = program("codex", "vendor/*/bin/codex")
    # A person chooses these once; a plugin cannot.
    shown = '[features.code_mode]\nenabled = false\ndirect_only_tool_namespaces = ["mcp__fileops"]\n'
    settings = f'{CODEX_TOP}sandbox_mode = "workspace-write"\n{shown}{CODEX_TABLES.format(url=place.url)}'
    place.put({"~/.codex/config.toml": settings})
    start = codex_exec(codex, place, "--dangerously-bypass-hook-trust", with_plugins=True)  # trusted once, too
    run(place, codex, "plugin", "marketplace", "add", marketplace, environment=start.environment)
    run(place, codex, "plugin", "add", "fileops@fileops", environment=start.environment)
    return start


ALLOWED = '[[rule]]\nmcpName = "fileops"\ntoolName = "*"\ndecision = "allow"\npriority = 900\n'


def install_in_gemini(dist: Path, place: Place) -> Start:
    # A person allows the tools; an extension must not.
    start = gemini_with(
        place,
        {"~/.gemini/policies/mine.toml": ALLOWED},
        *("--allowed-tools", "replace", "--output-format", "stream-json", "-p", "Edit"),
        starts_itself_again=True,
    )
    gemini = start.arguments[:2]
    unpack(file_of(dist, "linux.fileops-gemini-*.tar.gz"), place.home / "extension")
    once = start.environment | STARTS_ONCE
    run(place, *gemini, "extensions", "validate", "extension", environment=once)
    run(place, *gemini, "extensions", "install", "./extension", "--consent", "--skip-settings", environment=once)
    return start


def edit_of_claude(path: Path) -> Step:
    return CallOfHost("Edit", {"file_path": str(path), "old_string": "hello again", "new_string": "built-in again"})


def edit_of_gemini(path: Path) -> Step:
    values = {
        "file_path": str(path),
        "instruction": "change",
        "old_string": "hello again",
        "new_string": "built-in again",
    }
    return CallOfHost("replace", values)


@pytest.mark.parametrize(
    ("install", "own_edit", "session"),
    [
        pytest.param(install_in_claude, edit_of_claude, "claude-code", id="claude"),
        pytest.param(install_in_codex, patch_of_codex, "codex", id="codex"),
        pytest.param(install_in_gemini, edit_of_gemini, "gemini", id="gemini"),
    ],
)
def test_installed_package_records_what_the_hosts_own_tools_write(
    install: Callable[[Path, Place], Start],
    own_edit: Callable[[Path], Step],
    session: str,
    dist: Path,
    tmp_path: Path,
) -> None:
    """R-COMP-2"""
    path = tmp_path / "project" / "a.txt"
    path.parent.mkdir()
    path.write_text("hello x\nhello again\n", encoding="utf-8")
    model = ScriptedModel([own_edit(path), Say("ALL-DONE")])
    with daemon_process.place() as daemon:
        daemon.start()
        with (
            person_at(daemon, path.parent) as editor,
            placed(tmp_path, model, daemon=daemon) as place,
            started(install(dist, place), place) as (process, log),
        ):
            process.wait(CONVERSATION_S)
            output = log.read_text(encoding="utf-8", errors="replace")
            assert path.read_text(encoding="utf-8") == "hello x\nbuilt-in again\n", output[-3000:]
            (entry,) = editor.log(file_path=path).entries
            assert entry.evidence == "commit"
            assert (entry.by.session_id or "").startswith(session)


def portable_marketplace(dist: Path, folder: Path) -> Path:
    """The marketplace of Codex with the portable plugin in the place of the other."""
    unpack(file_of(dist, "fileops-codex-*.zip"), folder)
    shutil.rmtree(folder / "fileops-codex" / "fileops")
    unpack(file_of(dist, "fileops-agent-plugin-*.zip"), folder / "fileops-codex")
    return folder / "fileops-codex"


def test_portable_plugin_reads_in_codex_which_names_it_no_folder(dist: Path, tmp_path: Path) -> None:
    """A portable plugin runs in its own folder, and Codex has no roots, so no edit of the project is allowed."""
    path = tmp_path / "project" / "a.txt"
    path.parent.mkdir()
    path.write_text("hello x\n", encoding="utf-8")
    edit = {"file_path": str(path), "old_string": "hello x", "new_string": "hello y"}
    model = ScriptedModel([Call("Read", {"file_path": str(path)}), Call("Edit", edit), Say("ALL-DONE")])
    with placed(tmp_path, model) as place:
        portable_marketplace(dist, place.home)
        start = start_codex_with_plugin(place, "./fileops-codex")
        with (place.home / ".codex" / "config.toml").open("a", encoding="utf-8") as config:
            config.write('[plugins."fileops@fileops".mcp_servers.fileops]\ndefault_tools_approval_mode = "approve"\n')
        output = ""
        until = time.monotonic() + CONVERSATION_S  # Codex waits ten seconds for servers, and begins without later ones
        while not model.results and time.monotonic() < until:
            with started(start, place) as (process, log):
                process.wait(CONVERSATION_S)
                output = log.read_text(encoding="utf-8", errors="replace")
    texts = [result.text for result in model.results]
    assert len(texts) == 2, output[-3000:]
    assert "hello x" in texts[0]
    assert "must be within the root directory" in texts[1]
    assert path.read_text(encoding="utf-8") == "hello x\n"


async def test_portable_plugin_edits_where_the_host_names_the_folder(dist: Path, tmp_path: Path) -> None:
    """Started as the specification of Agent Plugins says: in the folder of the plugin."""
    unpack(file_of(dist, "fileops-agent-plugin-*.zip"), tmp_path)
    plugin = tmp_path / "fileops"
    entry = json.loads((plugin / "mcp.json").read_text("utf-8"))["mcpServers"]["fileops"]
    environment = {**os.environ, "PLUGIN_ROOT": str(plugin), "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}
    command = [entry["command"], *entry["args"], "--private"]
    assert await edited_over(command, environment, cwd=plugin, folder=tmp_path) == "hello y\n"


def test_bundle_passes_its_own_tool(dist: Path, tmp_path: Path) -> None:
    unpack(file_of(dist, "*.mcpb"), tmp_path)
    mcpb = program("tools", "node_modules/@anthropic-ai/mcpb/dist/cli/cli.js")
    command = [node_program(), mcpb, "validate", str(tmp_path / "manifest.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Manifest schema validation passes" in done.stdout


async def test_bundle_is_run_by_uv_alone(dist: Path, tmp_path: Path) -> None:
    """As a host of bundles does: from the file, with the folder that its user has chosen."""
    bundle = tmp_path / "bundle"
    unpack(file_of(dist, "*.mcpb"), bundle)
    configuration = json.loads((bundle / "manifest.json").read_text("utf-8"))["server"]["mcp_config"]
    values = {"${__dirname}": str(bundle), "${user_config.folder}": str(tmp_path / "project")}
    arguments: list[str] = configuration["args"]
    for name, value in values.items():
        arguments = [argument.replace(name, value) for argument in arguments]
    command = [find_uv_bin(), *arguments, "--private"]
    assert await edited_over(command, uv_environment(), cwd=tmp_path, folder=tmp_path) == "hello y\n"


async def edited_over(command: list[str], environment: dict[str, str], *, cwd: Path, folder: Path) -> str:
    """Edit a file of the folder `project`, which is the only root, and return its text."""
    # Not imported by every process of tests: it takes as long as all modules of `e2e`.
    from mcp import ClientSession, StdioServerParameters, stdio_client
    from mcp_types import ListRootsResult, Root
    from pydantic import FileUrl

    path = folder / "project" / "a.txt"
    path.parent.mkdir()
    path.write_text("hello x\n", encoding="utf-8")

    async def roots(context: object) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl(path.parent.as_uri()))])

    server = StdioServerParameters(command=command[0], args=command[1:], env=environment, cwd=cwd)
    async with stdio_client(server) as streams, ClientSession(*streams, list_roots_callback=roots) as session:
        await session.initialize()
        await session.call_tool("Read", {"file_path": str(path)})
        edit = {"file_path": str(path), "old_string": "hello x", "new_string": "hello y"}
        await session.call_tool("Edit", edit)
    return path.read_text(encoding="utf-8")
