"""A release: which files it has, that they fit their formats, and that two builds are the same bytes."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from jsonschema import FormatChecker
from jsonschema.validators import validator_for

import fileops
import release
from releasing import source
from support.distributions import ROOT, BareEnvironment, metadata_of
from support.release import HOME, build_release, built_once, file_of

pytestmark = [pytest.mark.xdist_group("release"), pytest.mark.timeout(900)]  # one process builds each release once

VERSION = fileops.__version__
FILES = {
    "SHA256SUMS",
    f"darwin.fileops-gemini-{VERSION}.tar.gz",
    f"linux.fileops-gemini-{VERSION}.tar.gz",
    f"fileops-{VERSION}.cdx.json",
    f"fileops-{VERSION}.mcpb",
    f"fileops-agent-plugin-{VERSION}.zip",
    f"fileops-claude-{VERSION}.zip",
    f"fileops-codex-{VERSION}.zip",
    f"fileops.nvim-{VERSION}.zip",
    f"fileops.nvim-{VERSION}-1.rockspec",
    f"fileops_client-{VERSION}-py3-none-any.whl",
    f"fileops_client-{VERSION}.tar.gz",
    f"fileops_server-{VERSION}-py3-none-any.whl",
    f"fileops_server-{VERSION}.tar.gz",
}


@pytest.fixture(scope="module")
def unpublished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release without a home. The extension of VS Code is tested elsewhere, as it needs its programs."""
    return built_once(tmp_path_factory)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    dist = tmp_path_factory.mktemp("published")
    built = build_release(dist, "--without", "vscode", "--home", HOME)
    assert built.returncode == 0, built.stderr
    return dist


def contents_of(path: Path) -> dict[str, bytes]:
    """The files in an archive, or the file itself."""
    if path.suffix in {".zip", ".whl", ".mcpb", ".vsix"}:
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path) as archive:
            members = [(entry.name, archive.extractfile(entry)) for entry in archive]
            return {name: content.read() for name, content in members if content is not None}
    return {path.name: path.read_bytes()}


def json_in(path: Path, name: str) -> Any:
    return json.loads(contents_of(path)[name])


def schema(name: str) -> Any:
    return json.loads((ROOT / "tools" / "schemas" / name).read_text("utf-8"))


def complaints(document: Any, name: str) -> list[str]:
    checker = validator_for(schema(name))(schema(name), format_checker=FormatChecker())
    return [error.message for error in checker.iter_errors(document)]


def test_release_has_each_file_and_its_checksum(unpublished: Path, published: Path) -> None:
    assert {path.name for path in unpublished.iterdir()} == FILES
    assert {path.name for path in published.iterdir()} == FILES | {"server.json"}
    for dist in (unpublished, published):
        sums = dict(line.split("  ")[::-1] for line in (dist / "SHA256SUMS").read_text().splitlines())
        files = {path for path in dist.iterdir() if path.name != "SHA256SUMS"}
        assert sums == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_two_builds_are_the_same_bytes(unpublished: Path, tmp_path: Path) -> None:
    """Elsewhere, under another umask, in another zone of time."""
    command = ["sh", "-c", 'umask 077 && exec "$@"', "sh", sys.executable, str(ROOT / "tools" / "release.py")]
    options = ["--uncommitted", "--without", "vscode", "--dist", str(tmp_path / "dist")]
    environment = {**os.environ, "TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "7"}
    subprocess.run([*command, *options], env=environment, cwd=tmp_path, check=True, capture_output=True, timeout=280)
    assert (tmp_path / "dist" / "SHA256SUMS").read_text() == (unpublished / "SHA256SUMS").read_text()


def test_release_without_a_home_has_no_address_of_the_project(unpublished: Path) -> None:
    """What has one: the sdist, in which tools/ says how the address of a home is made."""
    found = [
        (path.name, name)
        for path in sorted(unpublished.iterdir())
        if path.name != f"fileops_server-{VERSION}.tar.gz"
        for name, content in contents_of(path).items()
        if not name.endswith((".whl", ".png")) and re.search(rb"https://github\.com/[\w-]+/fileops|OWNER/NAME", content)
    ]
    assert found == []
    for wheel in unpublished.glob("*.whl"):
        assert metadata_of(wheel).get_all("Project-URL") is None


def test_home_is_in_all_that_names_one(published: Path) -> None:
    url = f"https://github.com/{HOME}"
    wheel = metadata_of(file_of(published, "fileops_server-*.whl"))
    page = str(wheel.get_payload())
    server = json.loads((published / "server.json").read_text("utf-8"))
    assert f"Source, {url}" in (wheel.get_all("Project-URL") or [])
    assert f"<!-- mcp-name: {server['name']} -->" in page
    links = re.findall(r"\]\(([^)#][^)]*)\)", page)
    assert links
    assert [link for link in links if not link.startswith(("http://", "https://"))] == []
    paths = [link.partition(f"/v{VERSION}/")[2].partition("#")[0] for link in links if link.startswith(url)]
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_distributions_pass_the_check_of_the_index(unpublished: Path, published: Path) -> None:
    files = [str(path) for dist in (unpublished, published) for path in dist.glob("fileops_*")]
    assert len(files) == 8
    command = [sys.executable, "-m", "twine", "check", "--strict", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stdout


def test_released_wheels_work_where_nothing_else_is_installed(published: Path, tmp_path: Path) -> None:
    for name, program in (
        ("fileops_server", "import fileops; print(fileops.__version__)"),
        ("fileops_client", "import fileops_client; print(fileops_client.__version__)"),
    ):
        environment = BareEnvironment(tmp_path / name)
        environment.install(file_of(published, f"{name}-*.whl"))
        done = environment.run("-c", program)
        assert (done.stdout, done.stderr) == (f"{VERSION}\n", "")


def test_sdist_builds_the_wheel_of_the_release(unpublished: Path, tmp_path: Path) -> None:
    with tarfile.open(file_of(unpublished, "fileops_server-*.tar.gz")) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # not in the first 3.11
        archive.extractall(tmp_path)
    sources = tmp_path / f"fileops_server-{VERSION}"
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")]
    subprocess.run(command, cwd=sources, check=True, capture_output=True, timeout=100)
    wheel = file_of(tmp_path / "dist", "*.whl")
    released = contents_of(file_of(unpublished, "fileops_server-*.whl"))
    assert {name: content for name, content in contents_of(wheel).items() if name.startswith("fileops")} == released


def test_server_json_fits_the_schema_of_the_registry(published: Path) -> None:
    server = json.loads((published / "server.json").read_text("utf-8"))
    assert complaints(server, "mcp-registry-server-2025-12-11.json") == []
    assert server["$schema"] == schema("mcp-registry-server-2025-12-11.json")["$id"]
    bundle = file_of(published, "*.mcpb")
    assert server["packages"][1]["fileSha256"] == hashlib.sha256(bundle.read_bytes()).hexdigest()
    assert server["packages"][1]["identifier"].endswith(f"/{bundle.name}")


def test_agent_plugin_fits_the_schemas(published: Path, unpublished: Path) -> None:
    for dist in (published, unpublished):
        for document in ("plugin", "mcp"):
            content = json_in(file_of(dist, "fileops-agent-plugin-*.zip"), f"fileops/{document}.json")
            assert complaints(content, f"agent-plugins-{document}-1.0.0.json") == []


def test_bundle_fits_the_schema_and_has_the_wheel(published: Path, unpublished: Path) -> None:
    for dist in (published, unpublished):
        files = contents_of(file_of(dist, "*.mcpb"))
        manifest = json.loads(files["manifest.json"])
        assert complaints(manifest, "mcpb-manifest-0.4.json") == []
        assert manifest["server"]["type"] == "uv"
        assert manifest["server"]["entry_point"] in files
        wheel = file_of(dist, "fileops_server-*.whl")
        assert files[wheel.name] == wheel.read_bytes()
        assert f'path = "{wheel.name}"' in files["pyproject.toml"].decode()


def test_rockspec_passes_its_tool_and_installs_the_archive(unpublished: Path, tmp_path: Path) -> None:
    luarocks = shutil.which("luarocks")
    if luarocks is None:
        pytest.skip("luarocks is not installed")
    folder = tmp_path / "release"  # in which it unpacks
    folder.mkdir()
    for pattern in ("*.rockspec", "*.nvim-*.zip"):
        shutil.copy(file_of(unpublished, pattern), folder)
    rockspec = file_of(folder, "*.rockspec").name
    for arguments in (["lint", rockspec], ["--tree", str(tmp_path), "install", rockspec]):
        done = subprocess.run([luarocks, *arguments], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    archive = contents_of(file_of(unpublished, "*.nvim-*.zip"))
    (module,) = tmp_path.glob("share/lua/*/fileops/init.lua")
    (page,) = tmp_path.glob("lib/luarocks/*/fileops.nvim/*/doc/tags")
    assert module.read_bytes() == archive["fileops.nvim/lua/fileops/init.lua"]
    assert page.read_bytes() == archive["fileops.nvim/doc/tags"]


def test_bill_of_materials_fits_its_schema_and_names_each_file(published: Path) -> None:
    text = file_of(published, "*.cdx.json").read_text("utf-8")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    components = {one["name"]: one for one in json.loads(text)["components"]}
    files = [path for path in published.iterdir() if path.suffix != ".json" and path.name != "SHA256SUMS"]
    assert {path.name for path in files} <= components.keys()
    assert components["msgspec"]["scope"] == "required"
    assert components["textual"]["scope"] == "optional"
    assert components["vscode-languageclient"]["version"]


def test_plugins_have_the_version_of_the_release(unpublished: Path) -> None:
    places = {
        "fileops-claude-*.zip": "fileops-claude/fileops/.claude-plugin/plugin.json",
        "fileops-codex-*.zip": "fileops-codex/fileops/.codex-plugin/plugin.json",
        "fileops-agent-plugin-*.zip": "fileops/plugin.json",
        "linux.fileops-gemini-*.tar.gz": "gemini-extension.json",
        "*.mcpb": "manifest.json",
    }
    versions = {name: json_in(file_of(unpublished, name), place)["version"] for name, place in places.items()}
    assert versions == dict.fromkeys(places, VERSION)


def test_release_is_refused_where_the_versions_differ(tmp_path: Path) -> None:
    tree = repository(tmp_path, ("clients/vscode/package.json", f'"version": "{VERSION}"', '"version": "9.9.9"'))
    with pytest.raises(source.Unfit, match=r"clients/vscode/package\.json has 9\.9\.9"):
        source.copy_of(tree, tmp_path / "copy", None, with_uncommitted=False)


def test_release_of_uncommitted_changes_is_refused(tmp_path: Path) -> None:
    tree = repository(tmp_path, is_committed=False)
    with pytest.raises(source.Unfit, match="uncommitted changes"):
        source.copy_of(tree, tmp_path / "copy", None, with_uncommitted=False)


@pytest.mark.parametrize("home", ["owner/", "https://github.com/owner/name", "owner/name/more"])
def test_home_that_is_no_repository_is_refused(home: str, tmp_path: Path) -> None:
    with pytest.raises(source.Unfit, match="is no OWNER/NAME"):
        source.copy_of(ROOT, tmp_path / "tree", home, with_uncommitted=True)


def test_refusal_is_printed_and_is_the_status(tmp_path: Path) -> None:
    done = build_release(tmp_path / "dist", "--home", "name")
    assert (done.returncode, done.stderr) == (1, "release.py: --home name is no OWNER/NAME.\n")


def test_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("kept")
    with pytest.raises(source.Unfit, match="is not empty"):
        release.build(tmp_path, None)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def repository(folder: Path, *changes: tuple[str, str, str], is_committed: bool = True) -> Path:
    """Make a small one, of the files that carry a version."""
    tree = folder / "tree"
    for name in source.VERSIONS:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes((ROOT / name).read_bytes())
    for name, old, new in changes:
        text = (tree / name).read_text("utf-8")
        assert old in text
        (tree / name).write_text(text.replace(old, new), "utf-8")
    git = ["git", "-C", str(tree), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    if is_committed:
        subprocess.run([*git, "commit", "-q", "-m", "all"], check=True)
    return tree
