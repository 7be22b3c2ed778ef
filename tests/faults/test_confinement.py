"""No name, link or race leads out of the workspace, and nothing of the outside comes in."""

import json
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from faults.injection import daemon
from faults.swapping import swapping
from support.rawclient import DAEMON, RawClient, raw_client

SECRET = "the-outside-secret"
CONTENT = f"first line\n{SECRET}\nlast line\n"
INSIDE = "first line\nnothing special\nlast line\n"
N_ROUNDS = 60

# {in} is the workspace folder, {out} the folder with the secret, {name} the workspace folder's own name.
OUTSIDE_NAMES = {
    "plain": "{out}/secret.txt",
    "dots": "{in}/../out/secret.txt",
    "dots through a file": "{in}/file.txt/../../out/secret.txt",
    "dots through nothing": "{in}/nothing/../../out/secret.txt",
    "dots through a link": "{in}/link-to-out/../out/secret.txt",
    "many dots": "{in}/sub/../../out/./secret.txt",
    "double slashes": "/{out}//secret.txt",
    "slash at the end": "{out}/secret.txt/",
    "prefix twin": "{in}-twin/secret.txt",
    "link to the file": "{in}/link-to-secret",
    "link to the folder": "{in}/link-to-out/secret.txt",
    "relative link": "{in}/relative-link",
    "chain of links": "{in}/chain3",
    "link in the middle": "{in}/sub/up/../out/secret.txt",
    "root of the process": "/proc/self/root{out}/secret.txt",
    "root of the daemon's parent": "/proc/{pid}/root{out}/secret.txt",
    "cwd of a process": "/proc/{pid}/cwd/secret.txt",
    "descriptor": "/proc/{pid}/fd/{fd}",
    "descriptor by its other name": "/dev/fd/{fd}",
    "case": "{IN}/../out/secret.txt",
    "other case of the workspace": "{IN}/file.txt",
    "device": "/dev/stdin",
    "kernel stream": "/proc/self/environ",
}
IMPOSSIBLE_NAMES = {
    "NUL": "{in}/file.txt\0.png",
    "NUL and outside": "{out}/secret.txt\0",
    "over-long name": "{in}/" + "n" * 300,
    "over-long path": "{in}/" + "d/" * 3000 + "f",
    "over-long dots": "{in}/" + "../" * 2000 + "etc/passwd",
    "relative": "file.txt",
    "empty": "",
    "surrogates": "{in}/\ud800",
    "home": "~/secret.txt",
    "uri": "file://{out}/secret.txt",
}


@dataclass(frozen=True, slots=True)
class ConfinementWorld:
    inside: str
    outside: str
    client: RawClient
    replies: list[str]

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        answer = self.client.call(method, params)
        self.replies.append(json.dumps(answer))
        return answer.get("result", {"status": "error", "error": answer.get("error"), "output": ""})

    def require_untold(self) -> None:
        told = "".join((*self.replies, *map(json.dumps, self.client.received), self.client.stderr))
        assert SECRET not in told

    def require_untouched(self) -> None:
        assert Path(f"{self.outside}/secret.txt").read_text() == CONTENT
        assert sorted(os.listdir(self.outside)) == ["secret.txt"]


@pytest.fixture
def world(tmp_path: Path) -> Generator[ConfinementWorld]:
    with world_in(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def common_world(tmp_path_factory: pytest.TempPathFactory) -> Generator[ConfinementWorld]:
    """For tests that leave it as it was."""
    with world_in(tmp_path_factory.mktemp("common")) as made:
        yield made


@contextmanager
def world_in(tmp_path: Path) -> Generator[ConfinementWorld]:
    folder = os.path.realpath(tmp_path / "work")
    os.mkdir(folder)
    outside, twin = tmp_path / "out", Path(f"{folder}-twin")
    for place in (outside, twin):
        place.mkdir()
        (place / "secret.txt").write_text(CONTENT)
    Path(f"{folder}/file.txt").write_text(INSIDE)
    os.mkdir(f"{folder}/sub")
    links = {
        "link-to-secret": f"{outside}/secret.txt", "link-to-out": str(outside), "relative-link": "../out/secret.txt",
        "chain1": "../out/secret.txt", "chain2": "chain1", "chain3": f"{folder}/chain2", "sub/up": "../..",
        "loop": "loop",
    }  # fmt: skip
    for name, target in links.items():
        os.symlink(target, f"{folder}/{name}")
    command = (*DAEMON, "--log-level", "debug")
    with raw_client(command, cwd=str(outside)) as client:
        folders = [{"uri": Path(folder).as_uri(), "name": "w"}]
        client.initialize(workspaceFolders=folders, initializationOptions={"confine": "all"})
        yield ConfinementWorld(folder, os.path.realpath(outside), client, [])


def named(pattern: str, world: ConfinementWorld) -> str:
    with open(f"{world.outside}/secret.txt", "rb") as file:
        return (
            pattern.replace("{in}", world.inside)
            .replace("{out}", world.outside)
            .replace("{IN}", world.inside.upper())
            .replace("{pid}", str(os.getpid()))
            .replace("{fd}", str(file.fileno()))
        )


def requests_for(path: str) -> list[tuple[str, dict[str, Any]]]:
    edit = {"old_string": SECRET, "new_string": "gone"}
    return [
        ("fileops/read", {"file_path": path}),
        ("fileops/read", {"file_path": path, "offset": 1, "limit": 1}),
        ("fileops/edit", {"file_path": path, **edit}),
        ("fileops/edit", {"file_path": path, **edit, "dry_run": True}),
        ("fileops/edit", {"file_path": path, "old_string": "", "new_string": "made\n"}),
        ("fileops/multiEdit", {"file_path": path, "edits": [{"old_string": "first", "new_string": "1st"}, edit]}),
        ("fileops/recordRead", {"file_path": path}),
        ("fileops/history", {"file_path": path}),
        ("fileops/undo", {"file_path": path}),
        ("fileops/forget", {"file_path": path}),
        ("fileops/describe", {"tool": "Edit", "arguments": {"file_path": path, **edit}}),
    ]


@pytest.mark.parametrize("name", [*OUTSIDE_NAMES, *IMPOSSIBLE_NAMES])
def test_no_name_leads_outside_the_roots(common_world: ConfinementWorld, name: str) -> None:
    world = common_world
    world.replies.clear()
    pattern = OUTSIDE_NAMES.get(name) or IMPOSSIBLE_NAMES.get(name, "")
    path = named(pattern, world)
    for method, params in requests_for(path):
        result = world.ask(method, params)
        if method in {"fileops/read", "fileops/edit", "fileops/multiEdit"}:
            assert result["status"] == "error", (method, result)
            if name in OUTSIDE_NAMES:
                assert result["error"]["code"] == "outside_roots", (method, result["error"])
    world.require_untold()
    world.require_untouched()
    assert not os.path.exists(world.inside.upper())
    assert world.ask("fileops/read", {"file_path": f"{world.inside}/file.txt"})["status"] == "success"


def test_files_outside_are_not_disclosed(world: ConfinementWorld) -> None:
    """The same words for a file, a folder, nothing at all and what may not be entered."""
    answers: set[str] = set()
    for place in ("out/secret.txt", "out", "out/nothing", "out/nothing/at/all", "out/secret.txt/below"):
        path = f"{world.outside}/../{place}"
        for method, params in requests_for(path)[:6]:
            result = world.ask(method, params)
            answers.add(f"{result['error']['code']} {result['output'].replace(path, 'P')} {result['ui_extra']}")
    assert len(answers) == 1, answers


def codes_of(world: ConfinementWorld, path: str, n_rounds: int = N_ROUNDS) -> set[str]:
    """Read, edit and create by this name, again and again; returns the codes."""
    codes: set[str] = set()
    for i in range(n_rounds):
        fresh = f"{os.path.dirname(path)}/new{i}/deeper/f"
        for method, params in (
            ("fileops/read", {"file_path": path}),
            ("fileops/edit", {"file_path": path, "old_string": "line", "new_string": "LINE", "replace_all": True}),
            ("fileops/edit", {"file_path": path, "old_string": "LINE", "new_string": "line", "replace_all": True}),
            ("fileops/edit", {"file_path": fresh, "old_string": "", "new_string": "made\n"}),
        ):
            result = world.ask(method, params)
            codes.add(f"{method}: {result['error']['code'] if result['error'] else 'ok'}")
    return codes


def test_repeatedly_swapped_link_never_leads_outside(world: ConfinementWorld) -> None:
    inner = f"{world.inside}/inner"
    os.mkdir(inner)
    Path(f"{inner}/secret.txt").write_text(INSIDE)
    link = f"{world.inside}/door"
    os.symlink(inner, link)
    with swapping(
        f"os.symlink({world.outside!r}, {link + '.a'!r}); os.rename({link + '.a'!r}, {link!r})",
        f"os.symlink({inner!r}, {link + '.a'!r}); os.rename({link + '.a'!r}, {link!r})",
    ):
        codes = codes_of(world, f"{link}/secret.txt")
    world.require_untold()
    world.require_untouched()
    assert "fileops/read: ok" in codes
    assert "fileops/read: outside_roots" in codes


def test_folder_exchanged_with_a_link_never_leads_outside(world: ConfinementWorld) -> None:
    """Renamed away during the call, with a link to the outside put in its place in the same step."""
    door, link = f"{world.inside}/door", f"{world.inside}/link"
    os.mkdir(door)
    Path(f"{door}/secret.txt").write_text(INSIDE)
    os.symlink(world.outside, link)
    with swapping(f"exchange({door!r}, {link!r})"):
        codes = codes_of(world, f"{door}/secret.txt")
    world.require_untold()
    world.require_untouched()
    assert "fileops/read: ok" in codes


def test_file_exchanged_with_a_link_is_never_written_through(world: ConfinementWorld) -> None:
    door, link = f"{world.inside}/door.txt", f"{world.inside}/link.txt"
    Path(door).write_text(INSIDE)
    os.symlink(f"{world.outside}/secret.txt", link)
    with swapping(f"exchange({door!r}, {link!r})"):
        codes_of(world, door)
    world.require_untold()
    world.require_untouched()


def test_renamed_workspace_folder_is_not_followed(world: ConfinementWorld, tmp_path: Path) -> None:
    """A link of its name leads to the outside now: the name was decided on at the start."""
    os.rename(world.inside, tmp_path / "moved")
    os.symlink(world.outside, world.inside)
    for method, params in requests_for(f"{world.inside}/secret.txt")[:6]:
        assert world.ask(method, params)["error"]["code"] == "outside_roots"
    world.require_untold()
    world.require_untouched()


def folders_change(client: RawClient, *, added: Sequence[str] = (), removed: Sequence[str] = ()) -> None:
    event = {
        side: [{"uri": Path(folder).as_uri(), "name": "w"} for folder in folders]
        for side, folders in (("added", added), ("removed", removed))
    }
    client.notify("workspace/didChangeWorkspaceFolders", {"event": event})


# R-INIT-3
@pytest.mark.parametrize("confine", ["edits", "all"])
def test_closing_the_last_folder_makes_every_path_outside(folder: str, tmp_path: Path, confine: str) -> None:
    """An editor that takes a folder out and puts it in again must not open a window in between."""
    inside, outside = f"{folder}/file.txt", str(tmp_path / "secret.txt")
    for path in (inside, outside):
        Path(path).write_text(CONTENT)
    with daemon(folder, confine=confine) as client:
        client.result("fileops/read", {"file_path": inside})
        client.result("fileops/read", {"file_path": outside})
        edit = {"old_string": "first", "new_string": "1st"}
        folders_change(client, removed=[folder])
        for path in (inside, outside):
            assert client.result("fileops/edit", {"file_path": path, **edit})["error"]["code"] == "outside_roots"
            assert Path(path).read_text() == CONTENT
        is_read = client.result("fileops/read", {"file_path": outside})["status"] == "success"
        assert is_read == (confine == "edits")
        folders_change(client, added=[folder])
        assert client.result("fileops/edit", {"file_path": inside, **edit})["status"] == "success"
        assert client.result("fileops/edit", {"file_path": outside, **edit})["error"]["code"] == "outside_roots"


# R-INIT-3
def test_closing_the_last_folder_keeps_the_roots(folder: str, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    with daemon(folder, roots=[str(root)]) as client:
        folders_change(client, removed=[folder])
        for place, code in ((root, None), (folder, "outside_roots")):
            made = client.result("fileops/edit", {"file_path": f"{place}/f", "old_string": "", "new_string": "x"})
            assert (made["error"] or {"code": None})["code"] == code


# R-INIT-3
def test_folder_added_to_an_unconfined_connection_confines_it(folder: str, tmp_path: Path) -> None:
    create = {"old_string": "", "new_string": "x"}
    with daemon() as client:
        assert client.result("fileops/edit", {"file_path": f"{tmp_path}/a", **create})["status"] == "success"
        folders_change(client, added=[folder])
        folders_change(client, removed=[folder])
        made = client.result("fileops/edit", {"file_path": f"{tmp_path}/b", **create})
        assert made["error"]["code"] == "outside_roots"


# R-INIT-3
def test_adding_a_folder_does_not_resolve_the_first_one_again(folder: str, tmp_path: Path) -> None:
    outside, other = tmp_path / "out", tmp_path / "other"
    for place in (outside, other):
        place.mkdir()
    with daemon(folder) as client:
        os.rename(folder, tmp_path / "moved")
        os.symlink(outside, folder)
        folders_change(client, added=[str(other)])
        made = client.result("fileops/edit", {"file_path": f"{folder}/f", "old_string": "", "new_string": "x"})
        assert made["error"]["code"] == "outside_roots"
    assert os.listdir(outside) == []


def test_hard_link_inside_is_inside(world: ConfinementWorld) -> None:
    """Documented: it is that file's own name, and no filesystem knows of another truth."""
    os.link(f"{world.outside}/secret.txt", f"{world.inside}/hard")
    assert SECRET in world.ask("fileops/read", {"file_path": f"{world.inside}/hard"})["output"]


def test_reads_outside_are_allowed_if_only_edits_are_confined(folder: str, tmp_path: Path) -> None:
    outside = tmp_path / "file"
    outside.write_text("text\n")
    with daemon(folder, confine="edits") as client:
        assert client.result("fileops/read", {"file_path": str(outside)})["status"] == "success"
        wish = {"file_path": str(outside), "old_string": "text", "new_string": "x"}
        assert client.result("fileops/edit", wish)["error"]["code"] == "outside_roots"
    assert outside.read_text() == "text\n"


@pytest.mark.parametrize(
    "name",
    [
        ".git/config", ".git/hooks/pre-commit", "deep/er/.git/config", ".vscode/tasks.json", ".idea/workspace.xml",
        ".github/workflows/ci.yml", ".bashrc", ".zshrc", ".env", ".env.local", "sub/.env.production",
        ".GIT/config", ".Env", "sub/../.git/config", "link-to-git/config",
    ],
)  # fmt: skip
def test_protected_path_requires_approval_under_any_name(folder: str, name: str) -> None:
    os.makedirs(f"{folder}/.git")
    os.symlink(".git", f"{folder}/link-to-git")
    os.mkdir(f"{folder}/sub")
    path = f"{folder}/{name}"
    with raw_client() as client:
        client.initialize(
            {"experimental": {"fileops": {"confirm_edit": True}}},
            workspaceFolders=[{"uri": Path(folder).as_uri(), "name": "w"}],
            initializationOptions={"approval_mode": "auto_edit"},
        )
        edit = client.request("fileops/edit", {"file_path": path, "old_string": "", "new_string": "made\n"})
        question = client.question("fileops/confirmEdit")
        client.reply(question["id"], {"outcome": "cancel"})
        assert client.answer(edit)["result"]["error"]["code"] == "rejected"
    assert not os.path.exists(path)


def test_protected_file_requires_approval_through_another_hard_link(folder: str, tmp_path: Path) -> None:
    """The protected name may be in any folder; an undo asks as well."""
    for protected, name in ((f"{folder}/.env", "inside"), (f"{tmp_path}/.bashrc", "outside")):
        Path(protected).write_text("old\n")
        os.link(protected, f"{folder}/{name}")
    Path(f"{folder}/plain").write_text("old\n")
    with raw_client() as client:
        client.initialize(
            {"experimental": {"fileops": {"confirm_edit": True}}},
            workspaceFolders=[{"uri": Path(folder).as_uri(), "name": "w"}],
            initializationOptions={"approval_mode": "auto_edit"},
        )
        for name in ("inside", "outside", "plain"):
            path = f"{folder}/{name}"
            client.result("fileops/read", {"file_path": path})
            edit = client.request("fileops/edit", {"file_path": path, "old_string": "old", "new_string": "new"})
            if name == "plain":
                assert client.answer(edit)["result"]["status"] == "success"
                continue
            client.reply(client.question("fileops/confirmEdit")["id"], {"outcome": "proceed_once"})
            assert client.answer(edit)["result"]["status"] == "success"
            undo = client.request("fileops/undo", {"session_id": "default", "file_path": path})
            client.reply(client.question("fileops/confirmEdit")["id"], {"outcome": "cancel"})
            assert client.answer(undo)["result"]["error"]["code"] == "rejected"
            assert Path(path).read_text() == "new\n"
