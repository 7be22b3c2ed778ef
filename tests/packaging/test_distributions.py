"""The two distributions: what their wheels contain and need, and that each works where nothing else is installed."""

import importlib.util
import json
import re
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from packaging.requirements import Requirement

import fileops
import fileops_client
from support.distributions import ROOT, BareEnvironment, metadata_of, requirements_of
from support.release import built_once, file_of

pytestmark = pytest.mark.xdist_group("distributions")  # one process installs each wheel once

spec = importlib.util.spec_from_file_location("package_page", ROOT / "server" / "package_page.py")
assert spec is not None
assert spec.loader is not None
hook = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hook)
page_of = cast("Callable[[str, str | None, str], str]", hook.page_of)

SERVER = f"{sys.executable} -P -m fileops".split()
TALK = """
import asyncio, json, sys
from fileops_client import FileOpsClient, ServerMissing

async def main(path, command):
    try:
        async with FileOpsClient.start(command or None, root=path.rsplit("/", 1)[0]) as client:
            await client.read(path)
            return (await client.edit(path, "two", "2")).status
    except ServerMissing as missing:
        return str(missing)

print(json.dumps([asyncio.run(main(sys.argv[1], sys.argv[2:])), "fileops" in sys.modules]))
"""
ASK_FOR_REGEX = """
import asyncio, json, sys
from fileops_client import FileOpsClient, ResponseError

async def main(path):
    async with FileOpsClient.start(root=path.rsplit("/", 1)[0]) as client:
        await client.read(path)
        try:
            await client.edit(path, "t.o", "2", strategy="regex")
        except ResponseError as refused:
            return client.strategies, str(refused)

print(json.dumps(asyncio.run(main(sys.argv[1]))))
"""

SHOW_REVIEWS = """
import os, pty, sys
_, terminal = pty.openpty()
os.dup2(terminal, 0)
sys.stdin = open(0)
sys.stderr.isatty = lambda: True
from fileops.cli import main
print(main(["review"]))
"""
TAKE_THE_NAME = """
import asyncio
from fileops_client import FileOpsClient

async def main():
    async with FileOpsClient.in_process(roots="anywhere", strategies={"regex": lambda text, old, new: []}):
        pass

try:
    asyncio.run(main())
except ValueError as refused:
    print(refused)
"""


@pytest.fixture(scope="module")
def server_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return file_of(built_once(tmp_path_factory), "fileops_server-*.whl")


@pytest.fixture(scope="module")
def client_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return file_of(built_once(tmp_path_factory), "fileops_client-*.whl")


@pytest.fixture(scope="module")
def bare_client(client_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> BareEnvironment:
    environment = BareEnvironment(tmp_path_factory.mktemp("venv"))
    environment.install(client_wheel)
    return environment


@pytest.fixture(scope="module")
def bare_server(server_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> BareEnvironment:
    environment = BareEnvironment(tmp_path_factory.mktemp("venv"))
    environment.install(server_wheel)
    return environment


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")
    return path


def packages_in(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}


def test_server_wheel_has_both_packages_and_client_wheel_the_same_client(
    server_wheel: Path, client_wheel: Path
) -> None:
    server, client = packages_in(server_wheel), packages_in(client_wheel)
    assert {name.split("/")[0] for name in server} == {"fileops", "fileops_client"}
    assert {name.split("/")[0] for name in client} == {"fileops_client"}
    assert client == {name: data for name, data in server.items() if name.startswith("fileops_client/")}
    assert "fileops_client/py.typed" in client
    assert "fileops/py.typed" in server


def test_client_requires_msgspec_only(client_wheel: Path) -> None:
    assert [Requirement(one).name for one in requirements_of(client_wheel)] == ["msgspec"]


def test_both_distributions_have_one_version_and_one_licence(server_wheel: Path, client_wheel: Path) -> None:
    versions = {metadata_of(wheel)["Version"] for wheel in (server_wheel, client_wheel)}
    assert versions == {fileops.__version__} == {fileops_client.__version__}
    assert (ROOT / "LICENSE").read_bytes() == (ROOT / "clients" / "python" / "LICENSE").read_bytes()


def test_page_of_a_package_index_has_no_link_to_a_file(server_wheel: Path, client_wheel: Path) -> None:
    for wheel in (server_wheel, client_wheel):
        page = str(metadata_of(wheel).get_payload())
        assert page.startswith("# fileops-")
        assert [link for link in re.findall(r"\]\(([^)]+)\)", page) if not re.match(r"https?://|#", link)] == []


def test_page_of_a_package_index_links_to_the_sources_when_they_have_an_address() -> None:
    text = "[docs/](docs/README.md#here) [`x`](docs/x) ![p](docs/p.png) [web](https://e.example/) [here](#below)"
    source = "https://s.example/me/it"
    assert page_of(text, source, "v1") == (
        f"[docs/]({source}/blob/v1/docs/README.md#here) [`x`]({source}/blob/v1/docs/x) "
        f"![p]({source}/raw/v1/docs/p.png) [web](https://e.example/) [here](#below)"
    )
    assert page_of("![p](docs/p.png)\nSee [the guide](docs/x.md) and [docs/y.md](docs/y.md).", None, "v1") == (
        "See the guide (docs/x.md) and docs/y.md."
    )


def test_client_alone_edits_over_a_server_of_another_environment(bare_client: BareEnvironment, file: Path) -> None:
    done = bare_client.run("-c", TALK, str(file), *SERVER)
    assert done.stderr == ""
    assert json.loads(done.stdout) == ["success", False]
    assert file.read_text() == "one\n2\n"


def test_client_alone_starts_the_program_on_the_path(bare_client: BareEnvironment, file: Path) -> None:
    done = bare_client.run("-c", TALK, str(file), env={"PATH": str(Path(sys.executable).parent)})
    assert json.loads(done.stdout) == ["success", False]


def test_client_alone_without_a_server_names_the_command_to_install_one(
    bare_client: BareEnvironment, file: Path
) -> None:
    done = bare_client.run("-c", TALK, str(file), env={"PATH": str(file.parent)})
    sentence, _ = json.loads(done.stdout)
    assert sentence.endswith(
        "cannot start fileops-server: No such file or directory. "
        "Install the server (docs/guide/installing.md in its sources says how), or name its program with `command`"
    )


def test_full_screen_without_textual_is_refused_with_the_command_that_installs_it(bare_server: BareEnvironment) -> None:
    done = bare_server.run("-c", SHOW_REVIEWS)
    assert done.stdout == "1\n"
    assert "pip install '.[review]'" in done.stderr


def test_server_without_re2_lists_no_regex_and_names_the_extra(bare_server: BareEnvironment, file: Path) -> None:
    assert bare_server.run("-c", "import re2").returncode == 1
    done = bare_server.run("-c", ASK_FOR_REGEX, str(file))
    assert done.stderr == ""
    strategies, refusal = json.loads(done.stdout)
    assert strategies == ["exact", "block"]
    assert "the extra [regex] of fileops-server" in refusal
    assert file.read_text() == "one\ntwo\n"


def test_name_regex_remains_reserved_without_re2(bare_server: BareEnvironment) -> None:
    done = bare_server.run("-c", TAKE_THE_NAME)
    assert (done.stdout, done.stderr) == ("the strategy regex exists already: choose another name\n", "")


def test_demo_passes_with_the_wheels_requirements(bare_server: BareEnvironment) -> None:
    done = bare_server.run("-m", "fileops", "demo")
    assert (done.returncode, done.stderr) == (0, "")
