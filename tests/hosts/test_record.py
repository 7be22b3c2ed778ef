"""Real hosts in one project: what one of them did is undone, and nothing of the other."""

import time
from pathlib import Path

import pytest

from fileops_client.sync import FileOpsClient
from hosts.hosts import CONVERSATION_S, TELLING, Host, Place, allowing_shell, in_shell
from hosts.scripted_model import Call, Say, ScriptedModel, Step, serving
from hosts.test_hosts import is_recorded, running
from support import daemon_process
from support.patience import wait_until

pytestmark = pytest.mark.timeout(900)


def script_of(host: Host, project: Path, old: str) -> list[Step]:
    """The agent edits its line of a.txt by a tool, and by its shell changes its line of b.txt and makes a file."""
    line = f"cd . && sed -i 's/{old}/{host.name}/' b.txt && echo mine > {host.name}.txt"
    edit = {"file_path": str(project / "a.txt"), "old_string": old, "new_string": host.name}
    return [
        Call("Read", {"file_path": str(project / "a.txt")}),
        Call("Edit", edit),
        in_shell(host, line),
        Say("ALL-DONE"),
    ]


def test_user_undoes_what_codex_did_and_nothing_of_claude_code(tmp_path: Path) -> None:
    """With both in one project: the tools of Codex and its shell commands, exactly."""
    hosts = {host.name: host for host in TELLING}
    codex, claude = hosts["codex"], hosts["claude"]
    project = tmp_path.resolve() / "project"
    project.mkdir()
    text = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"
    for name in ("a.txt", "b.txt"):
        (project / name).write_text(text, encoding="utf-8")
    with daemon_process.place() as daemon:
        daemon.start()
        with FileOpsClient.attach(socket=daemon.socket, role="editor", host="observer", root=project) as editor:
            wait_until(lambda: is_recorded(editor, project))
            began = 0.0
            for host, old in ((claude, "two"), (codex, "eight")):
                began = time.time()
                home = tmp_path / f"home of {host.name}"
                home.mkdir()
                model = ScriptedModel(script_of(host, project, old))
                with serving(model):
                    place = Place(home, project, model.port, daemon=daemon)
                    with running(allowing_shell(host), place) as (process, log):
                        process.wait(CONVERSATION_S)
                        output = log.read_text(encoding="utf-8", errors="replace")
                assert len(model.results) == len(model.script) - 1, output[-3000:]
            changed = text.replace("two", "claude").replace("eight", "codex")
            assert {(project / name).read_text(encoding="utf-8") for name in ("a.txt", "b.txt")} == {changed}

            later = daemon.run("undo", "--agent", "codex", "--since", str(time.time()), "--yes", cwd=project)
            assert (later.returncode, b"No change by codex has been recorded since then" in later.stderr) == (1, True)
            done = daemon.run("undo", "--agent", "codex", "--since", str(began), "--yes", cwd=project)
            assert done.returncode == 0, done.stderr
            assert done.stdout.startswith(b"3 changes in 3 files were undone."), done.stdout
            for name in ("a.txt", "b.txt"):
                assert (project / name).read_text(encoding="utf-8") == text.replace("two", "claude")
            assert (project / "claude.txt").exists()
            assert not (project / "codex.txt").exists()
