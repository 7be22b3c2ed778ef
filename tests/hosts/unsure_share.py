"""How much of the record is unsure with real hosts: python tests/hosts/unsure_share.py --seconds 600.

Claude Code and Codex work in one project at the same time, each with a scripted model, conversation after conversation:
edits by tools, and shell commands that write the same files and others (`sed -i`, Python, a temporary file and a
rename, `git checkout` of another content, a slow command). Every line that is written names its host, so the truth is
known. Prints the number of entries by their author, the share of those that are unsure, and how many name a host that
did not write them. The status is 1 if there are any of these.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

sys.path.remove(str(Path(__file__).parent))  # `hosts` is a module there, and a package of tests
sys.path.insert(0, str(Path(__file__).parents[1]))

from fileops_client import RecordEntry
from fileops_client.sync import FileOpsClient
from hosts.hosts import CONVERSATION_S, HOSTS, SHELLS, Host, Place, allowing_shell
from hosts.scripted_model import Call, CallOfHost, Say, ScriptedModel, Step, serving
from hosts.test_hosts import is_recorded, running
from support import daemon_process
from support.patience import wait_until

NAMES = ("claude", "codex")
GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
PAGE = 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds after a conversation, as a person thinks")
    given = parser.parse_args()
    ends_at = time.monotonic() + given.seconds
    hosts = {host.name: host for host in HOSTS if not host.options}
    with tempfile.TemporaryDirectory() as folder, daemon_process.place() as daemon:
        project = _project(Path(folder).resolve() / "project")
        daemon.start()
        with FileOpsClient.attach(socket=daemon.socket, role="editor", host="observer", root=project) as editor:
            wait_until(lambda: is_recorded(editor, project))
            workers = [
                threading.Thread(target=_work, args=(hosts[name], Path(folder), project, daemon, ends_at, given.pause))
                for name in NAMES
            ]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            return _report(editor, _entries(editor, project))


def _project(project: Path) -> Path:
    """A repository in which each host has a line in each file, and a branch with other contents of one file."""
    project.mkdir()
    for name in ("shared.txt", "tools.txt", "restored.txt"):
        lines = [f"{host} begin\n" + "other\n" * 5 for host in NAMES]
        (project / name).write_text("".join(lines), encoding="utf-8")
    for line in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "one")):
        subprocess.run([*GIT, *line], cwd=project, check=True)
    return project


def _work(
    host: Host, folder: Path, project: Path, daemon: daemon_process.Place, ends_at: float, pause_s: float
) -> None:
    """Hold one conversation after the other until the time is over."""
    number = 0
    while time.monotonic() < ends_at:
        number += 1
        home = folder / f"home of {host.name} {number}"
        home.mkdir()
        with serving(model := ScriptedModel(_script(host.name, project, number))):
            place = Place(home, project, model.port, daemon=daemon)
            with running(allowing_shell(host), place) as (process, _log):
                process.wait(CONVERSATION_S)
        sys.stdout.write(f"{host.name}: {len(model.results)} of {len(model.script) - 1} calls\n")
        sys.stdout.flush()
        time.sleep(pause_s)


def _script(host: str, project: Path, number: int) -> list[Step]:
    tool, key = SHELLS[host]
    lines = [
        f"sed -i 's/^{host} .*/{host} {number}-sed/' shared.txt",
        f"""python3 -c "open('{host}.txt', 'a').write('{host} {number}-python\\n')" """.strip(),
        f"sed 's/^{host} .*/{host} {number}-renamed/' shared.txt > .{host}.tmp && mv .{host}.tmp shared.txt",
        f"sleep 1; for n in 1 2 3; do echo {host} {number}-slow > {host}-$n.txt; done",
        f"echo {host} {number}-note >> restored-{host}.txt",
        f"git checkout -q -- restored.txt; sed -i 's/^{host} .*/{host} {number}-restored/' restored.txt",
    ]
    file = str(project / "tools.txt")
    before = "begin" if number == 1 else f"{number - 1}-edit"
    edit = {"file_path": file, "old_string": f"{host} {before}", "new_string": f"{host} {number}-edit"}
    steps: list[Step] = [CallOfHost(tool, {key: line, "description": "change"}) for line in lines]
    return [*steps[:3], Call("Read", {"file_path": file}), Call("Edit", edit), *steps[3:], Say("ALL-DONE")]


def _entries(editor: FileOpsClient, project: Path) -> list[RecordEntry]:
    found: list[RecordEntry] = []
    while True:
        page = editor.log(root=project, limit=PAGE, before=found[-1].entry_id if found else None)
        found += page.entries
        if not page.more:
            return found


def _report(editor: FileOpsClient, entries: list[RecordEntry]) -> int:
    kinds = Counter(entry.by.kind for entry in entries)
    n_wrong = 0
    for entry in entries:
        shown = editor.entry(entry.entry_id)
        writers = set(re.findall(rf"^\+({'|'.join(NAMES)}) \d", shown.diff, re.MULTILINE))
        named = {name for name in NAMES if (entry.by.session_id or "").startswith(name)}
        if writers and named and writers != named:
            n_wrong += 1
            sys.stdout.write(f"{entry.by.label} is named, and {sorted(writers)} wrote {entry.path}:\n{shown.diff}\n")
        elif writers and entry.by.kind == "outside":
            sys.stdout.write(f"outside, during {list(entry.during)}: {sorted(writers)} wrote {entry.path}\n")
    unsure = kinds["unsure"]
    sys.stdout.write(
        f"{len(entries)} entries: {', '.join(f'{n} {kind}' for kind, n in sorted(kinds.items()))}; "
        f"{100 * unsure / max(1, len(entries)):.1f} % unsure; {n_wrong} name another host than the one that wrote\n"
    )
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
