"""Real agent hosts with a scripted model, configured exactly as `mcp config` prints it: one conversation with each.

What they do is recorded as theirs: their hooks report turns and shell commands.
"""

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from fileops_client import RecordEntry, Turn
from fileops_client.sync import FileOpsClient
from hosts.hosts import (
    CONVERSATION_S,
    EDITS_NOTEBOOKS,
    HOSTS,
    LABELS,
    PROMPT,
    TELLING,
    Host,
    Place,
    Start,
    allowing_shell,
    in_shell,
)
from hosts.misspelling import MENDED, RUFF, misspelling
from hosts.scripted_model import Call, CallOfHost, Result, Say, ScriptedModel, Step, offered_name, serving
from support import daemon_process
from support.patience import PATIENCE_S, wait_until
from support.pictures import picture

pytestmark = pytest.mark.timeout(900)

REFUSED = "File has been modified externally. Either by user or a linter. Read it first before writing to it."
TOOLS = ("Read", "Edit", "MultiEdit")
N_CHARACTERS = 60_000
CODE = "".join(f"line {number}\n" for number in range(1, 13))


@dataclass(frozen=True)
class Recorded:
    """What the record has at the end: the turns, and the entry of each file that has one only."""

    turns: list[Turn]
    entries: dict[str, RecordEntry]


@dataclass(frozen=True)
class Story:
    """What the model was offered and got, what two files were at the end, and what the host wanted of the internet.

    text, trip: `a.txt` and `trip.py`. notebook: `study.ipynb`, "" where there is none.
    servers: those that it had when it was killed, before the model's last answer.
    """

    host: Host
    tools: list[str]
    results: dict[str, Result]
    text: str
    trip: str
    notebook: str
    wanted: set[str]
    servers: set[int]
    recorded: Recorded


@contextmanager
def running(host: Host, place: Place) -> Generator[tuple[subprocess.Popen[bytes], Path]]:
    with started(host.start(place, list(host.options)), place) as run:
        yield run


@contextmanager
def started(start: Start, place: Place) -> Generator[tuple[subprocess.Popen[bytes], Path]]:
    log = place.home / "host.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            start.arguments,
            cwd=place.project,
            env=start.environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            yield process, log
        finally:
            if process.poll() is None:
                servers = servers_of(process.pid)
                os.killpg(process.pid, signal.SIGKILL)
                wait_for_end(servers)
            process.wait()


@contextmanager
def placed(
    folder: Path,
    model: ScriptedModel,
    *,
    home: str = "home",
    socket: str = "",
    daemon: daemon_process.Place | None = None,
) -> Generator[Place]:
    with serving(model):
        place = Place(folder / home, folder / "project", model.port, socket, daemon)
        place.home.mkdir(exist_ok=True)
        place.project.mkdir(exist_ok=True)
        yield place


def steps(project: Path, host: Host) -> dict[str, Step]:
    hello = project / "a.txt"
    hello.write_text("hello x\n", encoding="utf-8")
    lines = "".join(f"line {n:054d}\n" for n in range(N_CHARACTERS // 60))
    assert len(lines) == N_CHARACTERS
    (project / "long.txt").write_text(lines, encoding="utf-8")
    (project / "picture.png").write_bytes(picture("PNG"))
    code = project / "b.txt"
    code.write_text(CODE, encoding="utf-8")
    unread = project / "c.txt"
    unread.write_text("alpha\nbeta\ngamma\n", encoding="utf-8")
    unread_edit = {"file_path": str(unread), "old_string": "beta", "new_string": "delta"}
    twice = project / "d.txt"
    twice.write_text("def f():\n    return 1\n\n\ndef g():\n    return 1\n", encoding="utf-8")
    first_f = {"file_path": str(twice), "old_string": "def f():", "new_string": "def first():"}
    missing_steps = [("def h():", "def third():"), ("return 9", "return 8"), ("def g():", "def second():")]
    path = str(hello)
    return {
        "read": Call("Read", {"file_path": path}),
        "edit": Call("Edit", {"file_path": path, "old_string": "hello x", "new_string": "hello y"}),
        "refused edit": Call(
            "Edit",
            {"file_path": path, "old_string": "hello y", "new_string": "hello z"},
            before=lambda: (hello.write_text("hello foreign\n", encoding="utf-8"), None)[1],
        ),
        "second read": Call("Read", {"file_path": path}),
        "second edit": Call("Edit", {"file_path": path, "old_string": "hello foreign", "new_string": "hello again"}),
        "read before the formatter": Call("Read", {"file_path": str(code)}),
        "edit beside the formatter": Call(
            "Edit",
            {"file_path": str(code), "old_string": "line 10", "new_string": "mine"},
            before=lambda: (code.write_text(CODE.replace("line 2\n", "line  2\n"), encoding="utf-8"), None)[1],
        ),
        "edit after the formatter": Call(
            "Edit", {"file_path": str(code), "old_string": "line 4\n", "new_string": "line four\n"}
        ),
        "read after the formatter": Call("Read", {"file_path": str(code)}),
        "misquoted edit": Call(
            "Edit", {"file_path": str(code), "old_string": "  line 11\n line 12", "new_string": "twelve"}
        ),
        "unread edit": Call("Edit", unread_edit),
        "the same edit again": Call("Edit", unread_edit),
        "read of functions": Call("Read", {"file_path": str(twice)}),
        "first edit": Call("Edit", first_f),
        "the first edit again": Call("Edit", first_f),
        "ambiguous edit": Call("Edit", {"file_path": str(twice), "old_string": "return 1", "new_string": "return 2"}),
        "edit in steps": Call(
            "MultiEdit",
            {
                "file_path": str(twice),
                "edits": [{"old_string": old, "new_string": new} for old, new in missing_steps],
            },
        ),
        "long read": Call("Read", {"file_path": str(project / "long.txt")}),
        "image": Call("Read", {"file_path": str(project / "picture.png")}),
        "own edit": host.own_edit(hello),
        **(steps_in_shell(project, host) if host in TELLING else {}),
        **(steps_in_notebook(project) if host.name in EDITS_NOTEBOOKS else {}),
    }


def steps_in_shell(project: Path, host: Host) -> dict[str, Step]:
    """A command writes a file, another one fails, then another program writes a file; and a command shows a file."""
    (project / "write.sh").write_text("echo written > out.txt\n", encoding="utf-8")
    edited, seen = project / "e.txt", project / "seen.txt"
    edited.write_text("hello x\n", encoding="utf-8")
    seen.write_text("alpha\nbeta\ngamma\ndelta\nepsilon\n", encoding="utf-8")

    def write_foreign() -> None:
        (project / "foreign.txt").write_text("foreign\n", encoding="utf-8")

    return {
        "command": in_shell(host, "cd . && sh ./write.sh"),
        "failing command": in_shell(host, "exit 3"),
        "read after a command": Call("Read", {"file_path": str(edited)}, before=write_foreign),
        "edit after a command": Call(
            "Edit", {"file_path": str(edited), "old_string": "hello x", "new_string": "hello y"}
        ),
        "view": in_shell(host, "cat seen.txt"),
        "second view": in_shell(host, "cat seen.txt"),  # on a busy machine the hook of one may give up
        "edit of what was seen": Call("Edit", {"file_path": str(seen), "old_string": "gamma", "new_string": "zeta"}),
    }


def steps_in_notebook(project: Path) -> dict[str, Step]:
    """Our tool refuses to edit the notebook as text, and the host's own edits a cell."""
    notebook = project / "study.ipynb"
    cell: dict[str, object] = {
        "cell_type": "code",
        "id": "c1",
        "source": "x = 1",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
    }
    content: dict[str, object] = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    notebook.write_text(json.dumps(content), encoding="utf-8")
    path = str(notebook)
    return {
        "read of a notebook": Call("Read", {"file_path": path}),
        "edit of a notebook": Call("Edit", {"file_path": path, "old_string": "x = 1", "new_string": "x = 2"}),
        "own read of a notebook": CallOfHost("Read", {"file_path": path}),
        "own edit of a notebook": CallOfHost(
            "NotebookEdit", {"notebook_path": path, "cell_id": "c1", "new_source": "x = 2"}
        ),
    }


def name_of(host: Host) -> str:
    return "".join((host.name, *host.options))


@pytest.fixture(
    scope="module",
    params=[pytest.param(host, marks=pytest.mark.xdist_group(f"story of {name_of(host)}")) for host in HOSTS],
    ids=[name_of(host) for host in HOSTS],
)
def story(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Story]:
    """One conversation with a host, from which each test reads its part: in one process, for it takes seconds."""
    host: Host = request.param
    folder = tmp_path_factory.mktemp("host").resolve()
    project = folder / "project"
    project.mkdir()
    reached, killed = threading.Event(), threading.Event()

    def hold() -> None:
        reached.set()
        killed.wait(CONVERSATION_S)

    script = steps(project, host)
    trip = project / "trip.py"
    model = ScriptedModel([*script.values(), *misspelling(trip, Say("ALL-DONE", before=hold), len(script))])
    # A shared daemon: only there does a hook know whether the session has our tools.
    with daemon_process.place() as daemon, placed(folder, model, daemon=daemon) as place, ExitStack() as stack:
        place.put({"~/.config/fileops/language-servers.json": json.dumps(RUFF)})
        daemon.start()
        observer = FileOpsClient.attach(socket=daemon.socket, role="editor", host="observer", root=project)
        editor = stack.enter_context(observer)
        wait_until(lambda: is_recorded(editor, project))
        process, log = stack.enter_context(running(allowing_shell(host) if host in TELLING else host, place))
        try:
            deadline = time.monotonic() + CONVERSATION_S
            while not reached.wait(0.05) and process.poll() is None:
                assert time.monotonic() < deadline, log.read_text(encoding="utf-8", errors="replace")[-3000:]
            output = log.read_text(encoding="utf-8", errors="replace")
            assert len(model.results) > len(script), f"the conversation ended early: {output[-3000:]}"
            family, servers = descendants(process.pid), servers_of(process.pid)
            for pid in {process.pid, *family} - servers:
                kill(pid)
            process.wait()
        finally:
            killed.set()
        results = dict(zip(script, model.results, strict=False))
        text = (place.project / "a.txt").read_text(encoding="utf-8")
        study = project / "study.ipynb"
        notebook = study.read_text(encoding="utf-8") if study.exists() else ""
        expected = {"out.txt", "foreign.txt", "e.txt"} if host in TELLING else set[str]()
        expected |= {"study.ipynb"} if host.name in EDITS_NOTEBOOKS else set()
        wait_until(lambda: expected <= {Path(entry.path).name for entry in editor.log(root=project).entries})
        entries = {Path(entry.path).name: entry for entry in editor.log(root=project).entries}
        recorded = Recorded(editor.turns(), entries)
        texts = (text, trip.read_text("utf-8"), notebook)
        yield Story(host, model.tools_at_first, results, *texts, model.wanted, servers, recorded)


def is_recorded(editor: FileOpsClient, folder: Path) -> bool:
    return any(
        status.root == str(folder) and status.state != "starting" and status.n_to_copy == 0
        for status in editor.record_status()
    )


def of_hosts(hosts: Sequence[Host]) -> pytest.MarkDecorator:
    """The stories of some hosts."""
    groups = [pytest.param(host, marks=pytest.mark.xdist_group(f"story of {name_of(host)}")) for host in hosts]
    return pytest.mark.parametrize("story", groups, ids=[name_of(host) for host in hosts], indirect=True)


of_telling = of_hosts(TELLING)  # the host's own shell may write


def test_host_offers_all_tools_immediately(story: Story) -> None:
    offered = [tool for tool in TOOLS if offered_name(story.tools, tool) is not None]
    assert offered == list(TOOLS), story.tools


def test_host_forwards_a_read_and_an_edit(story: Story) -> None:
    assert "1→hello x" in story.results["read"].text
    assert "has been updated" in story.results["edit"].text
    assert "The file has been updated: line 1." in story.results["edit"].text


def test_edit_after_foreign_change_is_refused_and_reports_the_change(story: Story) -> None:
    refusal = story.results["refused edit"].text
    assert REFUSED in refusal
    notice = refusal[refusal.index(REFUSED) + len(REFUSED) :]
    assert "1→hello foreign" in notice
    assert "Changed by another program or a command of yours." in notice


def test_agent_reads_again_and_edits_the_other_agents_text(story: Story) -> None:
    assert "1→hello foreign" in story.results["second read"].text
    assert "The file has been updated: line 1." in story.results["second edit"].text


def test_agent_with_a_formatter_needs_no_second_read(story: Story) -> None:
    beside = story.results["edit beside the formatter"].text
    assert "has been updated" in beside
    assert "Others have changed line 2 since you read it; that is kept." in beside
    assert "has been updated" in story.results["edit after the formatter"].text


def test_failed_edit_shows_the_model_what_to_send(story: Story) -> None:
    text = story.results["misquoted edit"].text
    assert "String to replace not found in file." in text
    assert "Send this as old_string:" in text
    assert "line 12" in text.partition("Send this as old_string:")[2]


def test_edit_of_an_unread_file_succeeds_at_the_second_call(story: Story) -> None:
    text = story.results["unread edit"].text
    assert "File has not been read yet." in text
    assert "2→beta" in text
    assert "has been updated" in story.results["the same edit again"].text


def test_edit_that_was_made_is_already_there(story: Story) -> None:
    assert "Line 1 already has the new text, by your edit " in story.results["the first edit again"].text


def test_ambiguous_edit_names_its_places_and_an_extension_of_each(story: Story) -> None:
    text = story.results["ambiguous edit"].text.replace("\\n", "\n")  # Gemini CLI encodes some answers once more
    assert "It is at lines 2, 6." in text
    assert "def first():" in text and "    return 1" in text
    assert "def g():\n    return 1" in text


def test_each_failing_step_of_a_multi_edit_reaches_the_model(story: Story) -> None:
    text = story.results["edit in steps"].text
    assert "Edit 1 of 3 fails: " in text
    assert "Edit 2 of 3 fails: " in text
    assert "Edit 3 of 3" not in text
    assert "Nothing was written." in text


def test_long_file_arrives_whole_or_is_refused(story: Story) -> None:
    text = story.results["long read"].text
    lines = [line for line in text.splitlines() if "→line 0" in line]
    if story.host.reads_whole:
        assert len(lines) == N_CHARACTERS // 60
    else:
        assert lines == []
        assert "exceeds maximum allowed" in text


def test_image_arrives_as_an_image(story: Story) -> None:
    assert story.results["image"].has_image


def test_own_edit_tool_of_host_changes_nothing(story: Story) -> None:
    assert story.text == "hello again\n"
    assert story.host.refusal in story.results["own edit"].text


def test_agent_mends_the_error_of_which_the_answer_told_it(story: Story) -> None:
    assert story.trip == MENDED


@of_telling
def test_prompt_begins_a_turn_with_its_title(story: Story) -> None:
    (turn,) = story.recorded.turns
    assert PROMPT in (turn.title or "")
    assert turn.label == LABELS.get(story.host.name, story.host.name)
    assert (turn.ended, turn.n_undone) == (None, 0)


@of_telling
def test_shell_command_that_writes_a_file_is_the_author_of_the_entry(story: Story) -> None:
    (turn,) = story.recorded.turns
    entry = story.recorded.entries["out.txt"]
    by = entry.by
    assert (by.kind, by.label, by.session_id) == ("command", f"{turn.label} · sh ./write.sh", turn.session_id)
    assert (entry.turn_id, entry.evidence) == (turn.turn_id, "command")


@of_telling
def test_failing_command_has_ended_when_another_program_writes(story: Story) -> None:
    (turn,) = story.recorded.turns
    entry = story.recorded.entries["foreign.txt"]
    assert entry.by.kind == "outside"
    assert entry.during == (turn.turn_id,)


@of_telling
def test_edit_by_a_tool_belongs_to_the_same_session_and_turn(story: Story) -> None:
    (turn,) = story.recorded.turns
    entry = story.recorded.entries["e.txt"]
    assert (entry.by.kind, entry.by.session_id) == ("session", turn.session_id)
    assert entry.turn_id == turn.turn_id


@of_telling
def test_file_that_a_shell_command_has_shown_counts_as_read(story: Story) -> None:
    text = story.results["edit of what was seen"].text
    assert "has been updated" in text, text


@of_hosts([host for host in TELLING if host.name in EDITS_NOTEBOOKS])
def test_notebook_is_edited_by_the_hosts_own_tool_and_recorded_as_its_work(story: Story) -> None:
    assert "Use NotebookEdit tool instead" in story.results["edit of a notebook"].text
    assert '"x = 2"' in story.notebook
    by, evidence = story.recorded.entries["study.ipynb"].by, story.recorded.entries["study.ipynb"].evidence
    assert (by.kind, by.label, evidence) == ("session", "Claude Code", "commit")


def test_host_wants_nothing_of_the_internet_but_what_is_known(story: Story) -> None:
    assert story.wanted <= story.host.wants


def test_server_ends_when_its_host_is_killed(story: Story) -> None:
    assert story.servers != set()
    wait_for_end(story.servers)


def descendants(pid: int) -> set[int]:
    parents = {int(entry): parent_of(int(entry)) for entry in os.listdir("/proc") if entry.isdigit()}
    found: set[int] = set()
    generation = {pid}
    while generation:
        generation = {child for child, parent in parents.items() if parent in generation}
        found |= generation
    return found


def servers_of(pid: int) -> set[int]:
    """The servers that a host has started; one that outlives it may start another daemon."""
    return {child for child in descendants(pid) if is_server(child)}


def parent_of(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return None


def is_server(pid: int) -> bool:
    try:
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return b"--freshness" in arguments and any(part.endswith(b"fileops-server") for part in arguments)


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it ended with another one
        os.kill(pid, signal.SIGKILL)


def wait_for_end(pids: set[int]) -> None:
    """Wait until none of the processes runs; a bound in place of the second that a quiet machine needs."""
    deadline = time.monotonic() + PATIENCE_S
    while alive := {pid for pid in pids if is_server(pid)}:
        assert time.monotonic() < deadline, f"orphans: {alive}"
        time.sleep(0.02)
