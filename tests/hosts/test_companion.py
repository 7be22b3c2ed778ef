"""Real hosts in the mode companion: they keep their own tools, beside a person's editor with unsaved text.

R-COMP-2: configured exactly as `mcp config` prints it by default; those that format, with that option more.
"""

import json
import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from fileops_client.sync import FileOpsClient
from hosts.hosts import CONVERSATION_S, COPILOT, COPILOT_WITH_PATCHES, HOSTS, PROGRAMS, Host, Place, Start
from hosts.scripted_model import CallOfHost, Patch, Result, Say, ScriptedModel, Step
from hosts.test_hosts import placed, started
from support import daemon_process
from support.patience import wait_until

pytestmark = pytest.mark.timeout(900)

TEXT = "".join(f"line {n}\n" for n in range(1, 21))
COMPANION = ["--mode", "companion"]
# Text that can only mean one place lands at the first call in hosts that take other arguments from a hook.
WITH_LINE_NUMBERS = ("    12\tline 12", "    12\tmine 12")
CORRECTED = {"opencode", "gemini"}
N_EDITS = 40  # the formatter may start or answer slowly, and then an edit is written as it is


@dataclass(frozen=True)
class OwnTools:
    """The host's own read and edit. session: the prefix of its sessions' names."""

    host: Host
    session: str
    read: Callable[[Path], Step]
    edit: Callable[[Path, str, str, Callable[[], None]], Step]


def _nothing() -> None: ...


def _reads(tool: str, path_key: str) -> Callable[[Path], Step]:
    return lambda path: CallOfHost(tool, {path_key: str(path)})


def _edits(tool: str, names: tuple[str, str, str], **more: str) -> Callable[[Path, str, str, Callable[[], None]], Step]:
    def edit(path: Path, old: str, new: str, before: Callable[[], None]) -> Step:
        return CallOfHost(tool, {**dict(zip(names, (str(path), old, new), strict=True)), **more}, before=before)

    return edit


def _patch(path: Path, old: str, new: str, before: Callable[[], None]) -> Step:
    lines = f"-{old.rstrip()}\n+{new.rstrip()}\n"
    return Patch(f"*** Begin Patch\n*** Update File: {path}\n@@\n{lines}*** End Patch\n", before=before)


BY_NAME = {host.name: host for host in HOSTS if not host.options}
SNAKE, CAMEL = ("file_path", "old_string", "new_string"), ("filePath", "oldString", "newString")
OWN_TOOLS = [
    OwnTools(BY_NAME["claude"], "claude-code", _reads("Read", "file_path"), _edits("Edit", SNAKE)),
    OwnTools(BY_NAME["claude-plugin"], "claude-code", _reads("Read", "file_path"), _edits("Edit", SNAKE)),
    OwnTools(BY_NAME["codex"], "codex", lambda path: CallOfHost("exec_command", {"cmd": f"cat {path}"}), _patch),
    OwnTools(BY_NAME["opencode"], "opencode", _reads("read", "filePath"), _edits("edit", CAMEL)),
    OwnTools(
        BY_NAME["gemini"], "gemini", _reads("read_file", "file_path"), _edits("replace", SNAKE, instruction="change")
    ),
    OwnTools(COPILOT, "copilot-cli", _reads("view", "path"), _edits("edit", ("path", "old_str", "new_str"))),
    OwnTools(COPILOT_WITH_PATCHES, "copilot-cli", _reads("view", "path"), _patch),
]


@dataclass(frozen=True)
class OwnWrite:
    """The host's own tool for whole texts."""

    tool: str
    path: str
    content: str


WRITES = {
    "claude": OwnWrite("Write", "file_path", "content"),
    "copilot": OwnWrite("create", "path", "file_text"),
    "gemini": OwnWrite("write_file", "file_path", "content"),
    "opencode": OwnWrite("write", "filePath", "content"),
}


@contextmanager
def person_at(daemon: daemon_process.Place, project: Path) -> Generator[FileOpsClient]:
    """A person's editor in the project, whose record has begun."""
    with FileOpsClient.attach(socket=daemon.socket, role="editor", host="nvim", root=project) as editor:
        wait_until(lambda: any(folder.root == str(project) for folder in editor.record_status()))
        yield editor


def converse(
    own: OwnTools, place: Place, model: ScriptedModel, n_results: int, *, formats: bool = False
) -> list[Result]:
    """formats: the changed lines, as the user asks by the option of our server."""
    start = own.host.start(place, COMPANION)
    if formats:
        format_changed_lines(place)
    if own.session == "claude-code":  # it asks before its own edits, and nobody is there
        start = Start([*start.arguments, "--permission-mode", "acceptEdits"], start.environment)
    if formats and own.session == "gemini":  # the same, for new files
        start = Start([*start.arguments, "--yolo"], start.environment)
    with started(start, place) as (process, log):
        process.wait(CONVERSATION_S)
        output = log.read_text(encoding="utf-8", errors="replace")
    assert len(model.results) >= n_results, f"the conversation ended early: {output[-3000:]}"
    return model.results


def format_changed_lines(place: Place) -> None:
    """Set the option in the configuration that was written for the host, with a formatter for Python."""
    files = [*place.home.rglob("*.json"), *place.project.rglob("*.json")]
    found = [file for file in files if '"--notices", "on"' in file.read_text(encoding="utf-8")]
    assert len(found) == 1, files
    text = found[0].read_text(encoding="utf-8")
    found[0].write_text(text.replace('"--notices", "on"', '"--notices", "on", "--format", "changed"'), encoding="utf-8")
    server = {"name": "ruff", "command": [str(PROGRAMS / "ruff"), "server"], "globs": ["*.py"]}
    place.put({"~/.config/fileops/language-servers.json": json.dumps([server])})


def steps_until_formatted(own: OwnTools, write: OwnWrite, project: Path) -> list[Callable[[Sequence[Result]], Step]]:
    """Edits of a.py until one was formatted and edited on, then new files until one was."""
    path = project / "a.py"
    path.write_text("kept  =  0\nv0  =  1\n", encoding="utf-8")

    def step(n: int) -> Callable[[Sequence[Result]], Step]:
        def edit(_: Sequence[Result]) -> Step:
            if n == 0:
                return own.read(path)
            text = path.read_text(encoding="utf-8")
            if "done" in text:
                if any(new.read_text(encoding="utf-8") == "new = 1\n" for new in project.glob("new*.py")):
                    return Say("ALL-DONE")
                fresh = project / f"new{n}.py"
                return CallOfHost(write.tool, {write.path: str(fresh), write.content: "new  =  1\n"})
            if (formatted := re.search(r"^v\d+ = 1$", text, re.MULTILINE)) is None:
                return own.edit(path, f"v{n - 1}", f"v{n}", _nothing)
            return own.edit(path, formatted[0], "done = 1", _nothing)

        return edit

    return [step(n) for n in range(N_EDITS)]


def require_formatted(project: Path, editor: FileOpsClient, model: ScriptedModel) -> None:
    """R-COMP-34: changed lines are formatted before the host writes them, and its next own calls go through."""
    assert (project / "a.py").read_text(encoding="utf-8") == "kept  =  0\ndone = 1\n", model.results
    texts = {new.name: new.read_text(encoding="utf-8") for new in project.glob("new*.py")}
    assert "new = 1\n" in texts.values(), model.results
    assert "ruff format changed the lines of your edit" in json.dumps(model.requests[-1].body)
    entries = [entry for name in ("a.py", *texts) for entry in editor.log(file_path=project / name).entries]
    assert {(entry.by.kind, entry.evidence) for entry in entries} == {("session", "commit")}, entries


@dataclass(frozen=True)
class Besides:
    """What one host alone plays in the same conversation, and what holds afterwards."""

    steps: list[Step]
    require: Callable[[FileOpsClient, Sequence[Result]], None]
    prepare: Callable[[FileOpsClient], None] = lambda _: None


def edits_a_cell(own: OwnTools, project: Path) -> Besides:
    """R-COMP-21, R-COMP-22: a cell that the host writes by its own tool is recorded, and undone."""
    path = project / "study.ipynb"
    cell: dict[str, object] = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    cells = [{**cell, "id": "c1", "source": "x = 1"}, {**cell, "id": "c2", "source": "y = 1"}]
    content: dict[str, object] = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")

    def source(n: int) -> str:
        return json.loads(path.read_text(encoding="utf-8"))["cells"][n]["source"]

    def change_other_cell() -> None:
        path.write_text(path.read_text(encoding="utf-8").replace("y = 1", "y = 2"), encoding="utf-8")

    def edit_of(source: str, before: Callable[[], None] = _nothing) -> Step:
        given = {"notebook_path": str(path), "cell_id": "c1", "new_source": source}
        return CallOfHost("NotebookEdit", given, before=before)

    def require(editor: FileOpsClient, results: Sequence[Result]) -> None:
        assert (source(0), source(1)) == ("x = 2", "y = 2"), results
        assert "modified since" in results[2].text  # the host's own check
        by_agent = [entry for entry in editor.log(file_path=path).entries if entry.by.kind == "session"]
        assert [(entry.by.label, entry.evidence) for entry in by_agent] == [("Claude Code", "commit")]
        assert by_agent[0].edit_id is not None
        editor.undo(edit_id=by_agent[0].edit_id)
        assert (source(0), source(1)) == ("x = 1", "y = 2")

    return Besides([own.read(path), edit_of("x = 2"), edit_of("x = 3", change_other_cell)], require)


def meets_unsaved_text(own: OwnTools, project: Path) -> Besides:
    """R-COMP-12, R-COMP-13, R-COMP-18: the host is shown unsaved text, and its shell commands are recorded."""
    path = project / "open.txt"
    path.write_text(TEXT, encoding="utf-8")
    unsaved = TEXT.replace("line 3\n", "typed 3\n")
    steps: list[Step] = [
        own.read(path),
        CallOfHost("view", {"path": str(path), "view_range": [3, 4]}),
        own.edit(path, "line 9\n", "mine 9\n", _nothing),
        CallOfHost("bash", {"command": "echo written > out.txt", "description": "write"}),
    ]

    def require(editor: FileOpsClient, results: Sequence[Result]) -> None:
        assert results[0].text.startswith(unsaved.removesuffix("\n")), results
        assert results[1].text.startswith("typed 3\nline 4"), results
        assert "has unsaved text of" in results[0].text
        assert "which this tool would not see. Nothing was written." in results[2].text  # it asks its user
        assert path.read_text() == TEXT
        written = project / "out.txt"
        wait_until(lambda: any(entry.by.kind == "command" for entry in editor.log(file_path=written).entries))
        (entry,) = editor.log(file_path=written).entries
        assert entry.evidence == "command"
        assert (entry.by.session_id or "").startswith("copilot-cli:")

    return Besides(steps, require, prepare=lambda editor: editor.did_open(path, unsaved))


BESIDES = {"claude": edits_a_cell, "copilot": meets_unsaved_text}


@pytest.mark.parametrize("own", OWN_TOOLS, ids=[own.host.name for own in OWN_TOOLS])
def test_host_edits_by_its_own_tools_and_is_guarded_and_recorded(own: OwnTools, tmp_path: Path) -> None:
    """R-COMP-2, R-COMP-15, R-COMP-21, R-COMP-34; and what `BESIDES` says"""
    project = tmp_path / "project"
    project.mkdir()
    path = project / "a.txt"
    path.write_text(TEXT, encoding="utf-8")

    def change_beside() -> None:
        path.write_text(path.read_text().replace("line 7\n", "other 7\n"), encoding="utf-8")

    script: list[Step] = [
        own.read(path),
        own.edit(path, "line 3\n", "mine 3\n", _nothing),
        own.edit(path, "line 6\n", "mine 6\n", change_beside),
        own.edit(path, "line 6\n", "mine 6\n", _nothing),
        *([own.edit(path, *WITH_LINE_NUMBERS, _nothing)] if own.host.name in CORRECTED else []),
    ]
    besides = BESIDES[own.host.name](own, project) if own.host.name in BESIDES else Besides([], lambda *_: None)
    script += besides.steps
    write = WRITES.get(own.host.name)
    more = [] if write is None else steps_until_formatted(own, write, project)
    model = ScriptedModel([*script, *more, Say("ALL-DONE")])
    with daemon_process.place() as daemon:
        daemon.start()
        with person_at(daemon, project) as editor, placed(tmp_path, model, daemon=daemon) as place:
            besides.prepare(editor)
            results = converse(own, place, model, len(script), formats=write is not None)
            wait_until(lambda: [turn.ended is not None for turn in editor.turns()] == [True])
            if own.host.name in CORRECTED:
                assert "mine 12\nline 13\n" in path.read_text(), results
                assert "after removing line numbers" in results[4].text
            assert "changed since you read it" in results[2].text or "other 7" in results[2].text, results
            assert "mine 6\nother 7\n" in path.read_text()
            if write is not None:
                require_formatted(project, editor, model)
            entries = editor.log(file_path=path).entries
            agents = [entry for entry in entries if (entry.by.session_id or "").startswith(own.session)]
            assert len(agents) >= 1, entries
            assert {(entry.evidence, entry.turn_id) for entry in agents} == {("commit", editor.turns()[0].turn_id)}
            for entry in agents:
                assert entry.edit_id is not None
                editor.undo(edit_id=entry.edit_id)
            assert path.read_text() == TEXT.replace("line 7\n", "other 7\n")
            besides.require(editor, results[len(script) - len(besides.steps) : len(script)])
