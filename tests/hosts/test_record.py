"""What real hosts do is recorded as theirs: their hooks, as `mcp config` writes them, report turns and shell commands.

One story for each host: a prompt begins a turn, a shell command writes a file, another one fails, another program
writes a file, the agent edits by a tool, edits a file that it has seen by a shell command alone, and the turn ends.
"""

import time
from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from fileops_client import RecordEntry, Turn
from fileops_client.sync import FileOpsClient
from hosts.hosts import CONVERSATION_S, HOSTS, PROMPT, Host, Place, Start
from hosts.scripted_model import Call, CallOfHost, Say, ScriptedModel, Step, serving
from hosts.test_hosts import running
from support import daemon_process
from support.patience import wait_until

pytestmark = pytest.mark.timeout(900)

WRITE, FAIL, VIEW = "cd . && sh ./write.sh", "exit 3", "cat seen.txt"
SHELLS = {
    "claude": ("Bash", "command"),
    "claude-plugin": ("Bash", "command"),
    "codex": ("exec_command", "cmd"),
    "gemini": ("run_shell_command", "command"),
    "opencode": ("bash", "command"),
}
LABELS = {"claude": "Claude Code", "claude-plugin": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI"}
# A person allows the shell once: the stories have none who could.
ALLOWED = {"claude": ["--allowedTools", "Bash"], "claude-plugin": ["--allowedTools", "Bash"], "gemini": ["--yolo"]}
TELLING = [host for host in HOSTS if not host.options]


@dataclass(frozen=True)
class Story:
    """What the record has at the end. command, foreign, edit: the entries of the three files.

    edit_of_seen: what the model read of its edit of the file that a command has shown. wanted: of the internet.
    """

    host: Host
    turns: list[Turn]
    command: RecordEntry
    foreign: RecordEntry
    edit: RecordEntry
    edit_of_seen: str
    wanted: set[str]


@pytest.fixture(
    scope="module",
    params=[pytest.param(host, marks=pytest.mark.xdist_group(f"record of {host.name}")) for host in TELLING],
    ids=[host.name for host in TELLING],
)
def story(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Story]:
    host: Host = request.param
    folder = tmp_path_factory.mktemp("record").resolve()
    home, project = folder / "home", folder / "project"
    home.mkdir()
    project.mkdir()
    (project / "write.sh").write_text("echo written > out.txt\n", encoding="utf-8")
    edited = project / "a.txt"
    edited.write_text("hello x\n", encoding="utf-8")
    seen = project / "seen.txt"
    seen.write_text("alpha\nbeta\ngamma\ndelta\nepsilon\n", encoding="utf-8")
    tool, key = SHELLS[host.name]
    script = [
        CallOfHost(tool, {key: WRITE, "description": "write"}),
        CallOfHost(tool, {key: FAIL, "description": "fail"}),
        Call(
            "Read",
            {"file_path": str(edited)},
            before=lambda: ((project / "foreign.txt").write_text("foreign\n", encoding="utf-8"), None)[1],
        ),
        Call("Edit", {"file_path": str(edited), "old_string": "hello x", "new_string": "hello y"}),
        # Twice: on a busy machine the hook of one may give up.
        *[CallOfHost(tool, {key: VIEW, "description": "view"})] * 2,
        Call("Edit", {"file_path": str(seen), "old_string": "gamma", "new_string": "zeta"}),
        Say("ALL-DONE"),
    ]
    with daemon_process.place() as daemon, serving(model := ScriptedModel(script)):
        place = Place(home, project, model.port, daemon=daemon)
        daemon.start()
        with FileOpsClient.attach(socket=daemon.socket, role="editor", host="observer", root=project) as editor:
            wait_until(lambda: is_recorded(editor, project))
            with running(allowing_shell(host), place) as (process, log):
                process.wait(CONVERSATION_S)
                output = log.read_text(encoding="utf-8", errors="replace")
            assert len(model.results) == len(script) - 1, f"the conversation ended early: {output[-3000:]}"
            wait_until(lambda: all(turn.ended is not None for turn in editor.turns()))
            turns, log_ = editor.turns(), editor.log(root=project)
            entries = {Path(entry.path).name: entry for entry in log_.entries}
            assert {"out.txt", "foreign.txt", "a.txt"} <= set(entries), (entries, output[-3000:])
            command, foreign, edit = entries["out.txt"], entries["foreign.txt"], entries["a.txt"]
            yield Story(host, turns, command, foreign, edit, model.results[-1].text, model.wanted)


def allowing_shell(host: Host) -> Host:
    def start(place: Place, options: list[str]) -> Start:
        started = host.start(place, options)
        return replace(started, arguments=[*started.arguments, *ALLOWED.get(host.name, [])])

    return replace(host, start=start)


def is_recorded(editor: FileOpsClient, folder: Path) -> bool:
    return any(
        status.root == str(folder) and status.state != "starting" and status.n_to_copy == 0
        for status in editor.record_status()
    )


def test_prompt_begins_a_turn_with_its_title_and_the_turn_ends(story: Story) -> None:
    (turn,) = story.turns
    assert PROMPT in (turn.title or "")
    assert turn.label == LABELS.get(story.host.name, story.host.name)
    assert turn.ended is not None
    assert (turn.n_entries, turn.n_files, turn.n_undone) == (3, 3, 0)


def test_shell_command_that_writes_a_file_is_the_author_of_the_entry(story: Story) -> None:
    (turn,) = story.turns
    by = story.command.by
    assert (by.kind, by.label, by.session_id) == ("command", f"{turn.label} · sh ./write.sh", turn.session_id)
    assert (story.command.turn_id, story.command.evidence) == (turn.turn_id, "command")


def test_failing_command_has_ended_when_another_program_writes(story: Story) -> None:
    (turn,) = story.turns
    assert story.foreign.by.kind == "outside"
    assert story.foreign.during == (turn.turn_id,)


def test_edit_by_a_tool_belongs_to_the_same_session_and_turn(story: Story) -> None:
    (turn,) = story.turns
    assert (story.edit.by.kind, story.edit.by.session_id) == ("session", turn.session_id)
    assert story.edit.turn_id == turn.turn_id


def test_file_that_a_shell_command_has_shown_counts_as_read(story: Story) -> None:
    assert "has been updated" in story.edit_of_seen, story.edit_of_seen


def test_host_that_has_ended_wanted_nothing_of_the_internet_but_what_is_known(story: Story) -> None:
    assert story.wanted <= story.host.wants


def script_of(host: Host, project: Path, old: str) -> list[Step]:
    """The agent edits its line of a.txt by a tool, and by its shell changes its line of b.txt and makes a file."""
    tool, key = SHELLS[host.name]
    line = f"cd . && sed -i 's/{old}/{host.name}/' b.txt && echo mine > {host.name}.txt"
    edit = {"file_path": str(project / "a.txt"), "old_string": old, "new_string": host.name}
    return [
        Call("Read", {"file_path": str(project / "a.txt")}),
        Call("Edit", edit),
        CallOfHost(tool, {key: line, "description": "change"}),
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
