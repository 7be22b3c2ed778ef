"""The VS Code extension in the real VS Code: its mocha suites and a driven workbench.

Everything is played on the newest version ("new"). On the oldest one that is supported ("floor") is played what an
older version could break: activation, reviews, open notebooks and what uses much of the API in the list; and by keys a
queue of reviews, the list, the peek and the diffs. The floor has all that the extension calls: `@types/vscode` is that
of the floor.

It takes minutes, so it runs where it is asked for: in CI, which sets `FILEOPS_REQUIRE_EDITORS`, and where
`FILEOPS_EDITORS` names the folder of the editors. Otherwise everything here is skipped, with the reason.
"""

import asyncio
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from clients.places import PREFIX, missing
from clients.protocol_types import TYPESCRIPT, typescript_types
from clients.test_counts import TEXTS, Surfaces, ten_states
from fileops.schema import json_schema
from fileops_client import FileOpsClient
from hosts.connected import CLAUDE, CODEX, Connected, claude_at
from hosts.hosts import Place, codex_at, program
from hosts.scripted_model import Call, Say, ScriptedModel, serving
from hosts.test_hosts import running, started
from releasing import bom, editors, source
from support import daemon_process
from support.distributions import ROOT
from support.once import alone, common_folder, made_once
from support.patience import PATIENCE_S
from support.release import built_once, file_of

HERE = Path(__file__).parent / "vscode"
EXTENSION = HERE.parents[2] / "clients" / "vscode"
GOLDEN = HERE.parents[1] / "golden"
EDITORS = PREFIX / "vscode"
NODE = EDITORS / "node-floor" / "bin" / "node"
PLATFORM = "linux-x64"
ENVIRONMENT = {**os.environ, "FILEOPS_PYTHON": sys.executable, "PYTHON": sys.executable}
OF_FLOOR = {
    "FILEOPS_SUITES": "review,changes,notebooks,keys",
    "FILEOPS_GREP": "^(a review|notebooks|the keys|a suite) |one page|buttons of the peek|arrow in the margin"
    "|hover and a lightbulb|diff of a file|renamed file is one row|of a created file",
    "FILEOPS_FAILING": "1",  # a runner that is never red is noticed
}
COVERED = {"mocha-new", "window-new"}  # the runs that count for the coverage
MIN_LINE_COVERAGE = 85.0  # per cent; measured 86.9 without the bundled wheels

pytestmark = pytest.mark.timeout(1800, func_only=True)
# A workbench has some ten processes, and where several are played, keys meet windows that lag behind. So there is one
# for keys at a time, and one beside it for the suites, which press none.
SUITES = pytest.mark.xdist_group("suites of vscode")
KEYS = pytest.mark.xdist_group("keys of vscode")


@pytest.fixture(scope="module", autouse=True, name="editors")
def are_installed() -> None:
    if not (os.environ.get("FILEOPS_EDITORS") or os.environ.get("FILEOPS_REQUIRE_EDITORS")):
        pytest.skip("VS Code runs in CI, and where FILEOPS_EDITORS names the folder of the editors")
    for folder in (EXTENSION / "node_modules" / "typescript", *(EDITORS / n / "code-server" for n in ("floor", "new"))):
        if not folder.is_dir():
            missing(f"VS Code ({folder.name})")


def node(*args: str | Path, env: dict[str, str] | None = None, cwd: Path = HERE) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [NODE, *args],
        cwd=cwd,
        env={**ENVIRONMENT, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each run leaves its logs, pictures and coverage: kept where FILEOPS_VSCODE_OUT names a folder."""
    kept = os.environ.get("FILEOPS_VSCODE_OUT")
    return Path(kept) if kept else made_once("vscode", Path.mkdir, tmp_path_factory)


@pytest.fixture(scope="module")
def vsix(editors: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a person installs, built from this tree with every wheel for this Python; and the mocha suites."""

    def build(folder: Path) -> None:
        only_this_python = {"PYTHONS": f"{sys.version_info.major}.{sys.version_info.minor}"}
        # The types are checked where the release is built, of the same sources.
        built = node("scripts/package.mjs", PLATFORM, "--unchecked", cwd=EXTENSION, env=only_this_python)
        assert built.returncode == 0, built.stdout + built.stderr
        tests = node("esbuild.mjs", "--production", "--test", cwd=EXTENSION)
        assert tests.returncode == 0, tests.stdout + tests.stderr
        folder.mkdir()
        for name in ("fileops.vsix", "fileops-slim.vsix"):
            shutil.copy(EXTENSION / name, folder)

    return made_once("vsix", build, tmp_path_factory) / "fileops.vsix"


@pytest.fixture
def covered(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], None]:
    """Called when a run has passed. The last one of `COVERED`, on whichever worker, is judged for all."""

    def judge(run: str) -> None:
        if run not in COVERED:
            return
        with alone("covered", tmp_path_factory):
            passed = common_folder(tmp_path_factory) / "covered"
            passed.mkdir(exist_ok=True)
            (passed / run).touch()
            if not {path.name for path in passed.iterdir()} >= COVERED:
                return
        done = node("coverage.mjs", *(runs / name for name in sorted(COVERED)))
        assert done.returncode == 0, done.stdout + done.stderr
        assert float(done.stdout.split()[-1]) >= MIN_LINE_COVERAGE, done.stdout

    return judge


def bare_python() -> str:
    """The interpreter beneath our virtual environment, which has no fileops-server."""
    return os.path.join(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")


@SUITES
@pytest.mark.parametrize("editor", ["new", "floor"])
def test_suites_pass_in_the_extension_host(editor: str, vsix: Path, runs: Path, covered: Callable[[str], None]) -> None:
    done = node("mocha.mjs", editor, runs / f"mocha-{editor}", vsix, env=OF_FLOOR if editor == "floor" else {})
    assert done.returncode == 0, done.stdout + done.stderr
    covered(f"mocha-{editor}")


@pytest.fixture(scope="module")
def released(vsix: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension of a release and its bill of materials, as tools/release.py makes them; and the server's wheel."""

    def build(dist: Path) -> None:
        path = os.pathsep.join([str(NODE.parent), os.environ["PATH"]])
        with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
            patch.setenv("PATH", path)
            sources = source.copy_of(ROOT, Path(folder), None, with_uncommitted=True)
            dist.mkdir()
            shutil.copy(file_of(built_once(tmp_path_factory), "fileops_server-*.whl"), dist)  # the bill reads it
            editors.build_vscode(sources, dist, ROOT)
            bom.write(sources, dist, f"fileops-{sources.version}.cdx.json")

    return file_of(made_once("release-with-vscode", build, tmp_path_factory), "*.vsix")


def played_with(act: Callable[[dict[str, str]], list[str]], *story: str | Path, **env: str) -> list[str]:
    """Play a story that is joined from outside. act: called with the places of its "READY"; its texts are returned."""
    said: list[str] = []
    read: list[str] = []
    command = [NODE, *story]
    with subprocess.Popen(command, cwd=HERE, env={**ENVIRONMENT, **env}, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        for line in process.stdout:
            said.append(line)
            if line.startswith("READY "):
                read = act(json.loads(line.removeprefix("READY ")))
    assert process.returncode == 0, "".join([*said, *read])
    return read


@KEYS
def test_package_works_without_any_setting(vsix: Path, runs: Path) -> None:
    """It sets up its own server. The person connects Claude Code from the menu, which then edits by its own tools."""

    def act(there: dict[str, str]) -> list[str]:
        return connected_claude_edits(Path(there["workspace"]), Path(there["home"]), there["socket"])

    played_with(act, "first.mjs", "new", runs / "first-new", vsix, FILEOPS_BARE_PYTHON=bare_python())


def connected_claude_edits(project: Path, home: Path, socket: str) -> list[str]:
    """Let a real Claude Code with a scripted model edit one.py as it was connected; returns what its model read."""
    path = project / "one.py"
    model = ScriptedModel([CLAUDE.read(path), CLAUDE.edit(path, "a = 1", "a = 2"), Say("ALL-DONE")])
    with serving(model):
        place = Place(home, project, model.port, socket=socket)
        with started(claude_at(place), place) as (process, log):
            assert process.wait(2 * PATIENCE_S) == 0, log.read_text("utf-8", "replace")
    return [result.text for result in model.results]


def test_released_package_is_small_and_has_what_another_build_has(released: Path, vsix: Path) -> None:
    assert released.stat().st_size < 1_000_000
    with zipfile.ZipFile(released) as release, zipfile.ZipFile(vsix.with_name("fileops-slim.vsix")) as other:
        names = release.namelist()
        assert sorted(names) == sorted(other.namelist())
        differing = {name for name in names if release.read(name) != other.read(name)}
        dates = {release.getinfo(name).date_time for name in names}
    assert differing == {"extension/readme.md"}  # whose links to files of the repository are left out
    assert len(dates) == 1


@pytest.mark.parametrize("editor", ["floor", "new"])
def test_editor_installs_the_released_package(editor: str, released: Path, tmp_path: Path) -> None:
    program = EDITORS / f"node-{editor}" / "bin" / "node"
    server = EDITORS / editor / "code-server" / "lib" / "vscode" / "out" / "server-main.js"
    places = ("--server-data-dir", tmp_path / "data", "--extensions-dir", tmp_path / "extensions")
    command = [program, server, *places, "--accept-server-license-terms", "--install-extension", released]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (installed,) = (tmp_path / "extensions").glob("fileops.fileops-*/dist/extension.js")
    with zipfile.ZipFile(released) as package:
        assert installed.read_bytes() == package.read("extension/dist/extension.js")


def test_each_package_has_the_licences_of_all_that_is_in_it(released: Path, vsix: Path) -> None:
    """The bill of materials reads the imports of the sources; the notices are of what the bundler took in."""
    bill = json.loads(file_of(released.parent, "*.cdx.json").read_text("utf-8"))
    (parts,) = (one["dependsOn"] for one in bill["dependencies"] if one["ref"] == released.name)
    bundled = {f"{one['name']} {one['version']}" for one in bill["components"] if one["bom-ref"] in parts}
    assert "vscode-languageclient" in {one.partition(" ")[0] for one in bundled}
    for package in (released, vsix):
        with zipfile.ZipFile(package) as archive:
            notices = archive.read("extension/ThirdPartyNotices.txt").decode()
            wheels = [archive.read(name) for name in archive.namelist() if name.endswith(".whl")]
        _, *sections = re.split(r"^-{80}\n(\S+ \S+) \(.+\)\n-{80}$", notices, flags=re.MULTILINE)
        licences = dict(zip(sections[::2], sections[1::2], strict=True))
        assert licences.keys() == bundled
        assert [name for name, text in licences.items() if "as is" not in text.lower()] == []  # as each licence says
        assert (len(wheels) > 5) is (package is vsix)
        for wheel in wheels:
            with zipfile.ZipFile(io.BytesIO(wheel)) as files:
                names = files.namelist()
            licence = re.compile(r"\.dist-info/(.*/)?(LICEN[CS]E|COPYING)", re.IGNORECASE)
            assert any(map(licence.search, names)), names


def pictures() -> list[Path]:
    """The last argument of a story that is to renew the pictures of docs/."""
    folder = os.environ.get("FILEOPS_IMAGES")
    return [Path(folder).resolve()] if folder else []


@KEYS
def test_user_decides_by_keyboard_on_the_oldest_version(vsix: Path, runs: Path) -> None:
    done = node("window.mjs", "floor", runs / "window-floor", vsix)
    assert done.returncode == 0, done.stdout + done.stderr


@dataclass(frozen=True)
class EditorsPlace(daemon_process.Place):
    """The daemon of a workbench. path: its socket. folder: for the state of programs beside it."""

    path: Path

    @property
    def socket(self) -> Path:
        return self.path


@KEYS
async def test_person_works_beside_agents_in_one_window(
    vsix: Path, runs: Path, covered: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R-KEEP-3: it counts as the terminal, and lists what is in its folders. R-COMP-18: Codex, which has its own tools,
    edits beside unsaved text; then it has ours, and is asked before each edit. Between these a day by keys. Only
    an act of the person decides. Without proposed API, as in VS Code: code-server opens the gate for every extension.
    """
    program("codex", "vendor/*/bin/codex")
    story = await asyncio.create_subprocess_exec(
        *[NODE, "window.mjs", "new", runs / "window-new", vsix, *pictures()],
        cwd=HERE,
        env={**ENVIRONMENT, "FILEOPS_FILES": json.dumps(TEXTS), "FILEOPS_GATED": "1"},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert story.stdin
    assert story.stdout
    said: list[str] = []

    async def answered(word: str) -> str:
        assert story.stdout
        while line := (await story.stdout.readline()).decode():
            said.append(line)
            if line.startswith(word):
                return line.removeprefix(word)
        raise AssertionError("".join(said))

    there = json.loads(await answered("READY "))
    folder, socket = Path(there["workspace"]), Path(there["socket"])
    monkeypatch.setenv("FILEOPS_SOCKET", str(socket))
    place = EditorsPlace(tmp_path, socket)

    async def vscode_says(n_changes: int, n_files: int) -> None:
        assert story.stdin
        story.stdin.write(f"{n_changes} {n_files}\n".encode())
        await answered("SAME")

    async with FileOpsClient.attach(root=folder, role="editor") as person:
        await ten_states(folder, person, Surfaces(place, folder, person, vscode_says).all_say)
    kept = await asyncio.to_thread(place.run, "keep", "--all", cwd=folder)
    assert kept.returncode == 0, kept.stderr
    story.stdin.close()

    path = Path(json.loads(await answered("READY "))["path"])
    model = await asyncio.to_thread(edited_by, CODEX, path, place)
    said += [f"{result.text}\n" for result in model.results]
    path = Path(json.loads(await answered("READY "))["path"])
    texts = await asyncio.to_thread(codex_edits, path, tmp_path / "home with our tools", str(socket))
    said += [*texts, (await story.stdout.read()).decode()]
    assert await story.wait() == 0, "".join(said)
    assert "+RATE = 0.95  # not saved yet" in json.dumps(model.requests[-1].body)
    assert [result.text.count("Done, although your host shows a refusal") for result in model.results] == [0, 1, 1]
    assert "RATE = 0.95  # not saved yet" in texts[0]
    assert "has been updated" in texts[1]
    covered("window-new")


def codex_edits(path: Path, home: Path, socket: str) -> list[str]:
    """Let a real Codex with a scripted model read the file and edit it by our tools; returns what its model read."""
    edit = {"file_path": str(path), "old_string": "total * 0.95", "new_string": "total * RATE"}
    model = ScriptedModel([Call("Read", {"file_path": str(path)}), Call("Edit", edit), Say("ALL-DONE")])
    home.mkdir()
    with serving(model), running(codex_at(socket), Place(home, path.parent, model.port)) as (process, log):
        assert process.wait(2 * PATIENCE_S) == 0, log.read_text("utf-8", "replace")
    return [result.text for result in model.results]


def edited_by(host: Connected, path: Path, daemon: EditorsPlace) -> ScriptedModel:
    """Let a real host with a scripted model edit the file twice, by its own tools."""
    edits = [
        ("        return total * 0.95\n", "        return total * RATE\n"),
        ('    return f"{total:.2f}"\n', '    return f"{total:.2f} EUR"\n'),
    ]
    model = ScriptedModel([host.read(path), *(host.edit(path, *edit) for edit in edits), Say("ALL-DONE")])
    home = daemon.folder / "home"
    home.mkdir()
    with serving(model):
        place = Place(home, path.parent, model.port, daemon=daemon)
        with started(host.connect(place), place) as (process, log):
            assert process.wait(2 * PATIENCE_S) == 0, log.read_text("utf-8", "replace")
    return model


def test_readme_names_the_packages_with_wheels_for_each_platform(vsix: Path) -> None:
    wheels = [path.name for path in (EXTENSION / "bundled" / "wheels").glob("*.whl")]
    of_platforms = {name.split("-")[0].replace("_", "-") for name in wheels if not name.endswith("-none-any.whl")}
    readme = (EXTENSION / "README.md").read_text("utf-8")
    sentence = re.search(r"^(.+?) have separate wheels for each platform", readme, re.MULTILINE)
    assert sentence
    assert set(re.findall(r"`([^`]+)`", sentence[1])) == of_platforms


def test_missing_server_is_reported_with_the_command_of_the_readme() -> None:
    assert "`pipx install '.[review]'` in this folder" in (EXTENSION.parents[1] / "README.md").read_text("utf-8")
    sources = (EXTENSION / "src" / "daemon" / "locate.ts").read_text("utf-8")
    assert "pipx install '/path/to/fileops-server[review]'" in sources


# --- one protocol ---------------------------------------------------------------------------------------------


def test_types_match_the_schema(editors: None) -> None:
    generated = typescript_types(json_schema.document(), str(NODE))
    assert TYPESCRIPT.read_text("utf-8") == generated, "run: python clients/scripts/protocol_types.py"


def golden_messages() -> list[dict[str, Any]]:
    """Each golden message with the type of protocol.ts that has to hold it."""
    messages: list[dict[str, Any]] = []
    by_prefix = {
        "read": "ToolResult<P.ReadDetails>",
        "tools": "ToolsResult",
        "tracked": "TrackedResult",
        "history": "HistoryResult",
        "confirm_edit": "ConfirmEditParams",
        "undo": "ToolResult<P.UndoDetails>",
    }
    for path in sorted(GOLDEN.glob("*.json")):
        message = json.loads(path.read_text("utf-8"))
        if path.stem == "notifications":
            messages += [{"name": m, "type": f"Notifications['{m}']", "message": p} for m, p in message]
            continue
        name = next((t for prefix, t in by_prefix.items() if path.stem.startswith(prefix)), None)
        messages.append({"name": path.stem, "type": name or "ToolResult<P.EditDetails>", "message": message})
    return messages


def test_types_accept_the_golden_messages_and_refuse_a_modified_one(editors: None, tmp_path: Path) -> None:
    messages = golden_messages()
    assert len(messages) > 10
    (edit,) = (one for one in messages if one["name"] == "edit")
    spoiled = {**edit, "name": "spoiled", "message": {**edit["message"], "unknown": 1}}
    (tmp_path / "golden.json").write_text(json.dumps([*messages, spoiled]), "utf-8")
    done = node("fields.mjs", tmp_path / "golden.json")
    assert done.returncode == 1
    (complaint,) = done.stdout.splitlines()
    assert complaint.startswith("spoiled: ")
    assert '"unknown"' in complaint
