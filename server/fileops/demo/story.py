"""`fileops-server demo`: the daemon as a child process, and a story of nine steps told while it happens.

Each step says what is asked, shows what came back, and checks that it is so: on the answer and on the disk. The
reader's own files are only read; the story is played on copies in a temporary folder.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from fileops import __version__
from fileops_client import (
    Answer,
    BecameStale,
    ConnectionLost,
    FileOpsClient,
    Question,
    ResponseError,
    ServerMissing,
    ToolResult,
)

EVENT_TIMEOUT_S = 10.0  # a loaded machine; the usual delay is some milliseconds and is printed
MAX_FILES = 100
N_LINES = 5  # that the story changes in one file
MAX_FILE_BYTES = 50_000  # well under what one read returns
MAX_LINES_SHOWN = 20
MAX_QUOTED = 48  # two of them and some words fit a line
MARK = " (edited by the demo)"
VISITOR = "A line that somebody else wrote."

TRIP = """\
# A day out: who brings what

bread = 2
cheese = 1
apples = 4

def portions(people):
    return {"bread": bread / people, "cheese": cheese / people}

print(portions(people=4))
"""
NOTES = "Notes for the day\r\n=================\r\n\r\nMeet at the station at nine.\r\nBring an umbrella."


class StepFailed(Exception):
    """args[0]: what did not happen as told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """The files of the story and what happens to them: `edits` to `second`, the others to `first`."""

    n_files: int
    first: str
    edit: tuple[str, str]
    late_edit: tuple[str, str]
    asked_edit: tuple[str, str]
    second: str
    edits: tuple[tuple[str, str], ...]


def run_demo(directory: str | None = None, *, command: Sequence[str] | None = None) -> int:
    """Play the story on a copy of the directory's text files, else on an example. The exit status.

    command: what starts the daemon, by default this installation.
    """
    with tempfile.TemporaryDirectory(prefix="fileops-demo-") as temporary:
        folder = os.path.realpath(temporary)
        # rich itself takes NO_COLOR for "no colours, but bold".
        stage = Stage(Console(highlight=False, color_system=None if os.environ.get("NO_COLOR") else "auto"), folder)
        cast = _example(folder) if directory is None else _copies(directory, folder)
        if cast is None:
            stage.say(f"{directory}: no text file is in there that has five different lines.")
            return 1
        what = "an example in a temporary folder" if directory is None else f"copies of {cast.n_files} files"
        stage.open(what)
        try:
            asyncio.run(_play(stage, folder, cast, command))
        except (StepFailed, ConnectionLost, ResponseError, ServerMissing, TimeoutError) as error:
            stage.fail(str(error) or "no answer in time")
            return 1
        stage.say("\nEach step did what it says.", style="bold")
    return 0


async def _play(stage: "Stage", folder: str, cast: Cast, command: Sequence[str] | None) -> None:
    first, second = os.path.join(folder, cast.first), os.path.join(folder, cast.second)
    person = Person([Answer(outcome="cancel"), Answer(outcome="proceed_once")])
    async with FileOpsClient.start(
        command, root=folder, confirm_edit=person.decide, initialization_options={"approval_mode": "yolo"}
    ) as agent:
        stage.step(f"The agent reads {cast.first}")
        reading = await agent.read(first)
        _require(reading.ok, reading.output)
        await stage.show(agent, "read", first, reading)

        stage.step("It edits one place")
        stage.asks("edit", cast.first, cast.edit)
        wanted = _replaced(first, cast.edit)
        edited = await agent.edit(first, *cast.edit)
        _require_written(first, wanted, edited)
        await stage.show(agent, "edit", first, edited)

        stage.step(f"It edits several places of {cast.second} at once: all of them or none")
        _require((await agent.read(second)).ok, "the second file could not be read")
        stage.asks("multi_edit", cast.second, *cast.edits)
        wanted = _replaced(second, *cast.edits)
        multi_edited = await agent.multi_edit(second, cast.edits)
        _require_written(second, wanted, multi_edited)
        await stage.show(agent, "multiEdit", second, multi_edited)

        stage.step(f"Somebody else changes {cast.first}, and the daemon tells of it unasked")
        with agent.events(BecameStale.METHOD) as stale:
            written_at = _write_behind_its_back(first)
            event: BecameStale = await stale.next(
                where=lambda event: event.file_path == first, timeout_s=EVENT_TIMEOUT_S
            )
            delay_ms = (time.perf_counter() - written_at) * 1000
        _require(event.source == "external", f"the change was laid to {event.source}")
        stage.answer(f"{BecameStale.METHOD}: {event.reason}, {delay_ms:.1f} ms after the change")

        stage.step("The agent has not seen that change, so its next edit is refused")
        stage.asks("edit", cast.first, cast.late_edit)
        before = _bytes_of(first)
        refused = await agent.edit(first, *cast.late_edit)
        _require(refused.code == "modified_externally", f"answered {refused.code or 'success'}")
        _require(_bytes_of(first) == before, "a refused edit changed the file")
        stage.answer(refused.output)

        stage.step("It reads again")
        _require((await agent.read(first)).ok, "the file could not be read again")
        (state,) = (file.state for file in await agent.tracked() if file.file_path == first)
        _require(state == "fresh", f"the file counts as {state} after a read")
        stage.answer("the file counts as fresh")

        stage.step("Now the same edit succeeds, and the other's line is still there")
        wanted = _replaced(first, cast.late_edit)
        late_edited = await agent.edit(first, *cast.late_edit)
        _require_written(first, wanted, late_edited)
        _require(VISITOR.encode() in _bytes_of(first), "the other's line was lost")
        await stage.show(agent, "edit", first, late_edited)

        stage.step("From now on a person is asked before a write: the first answer is no, the second yes")
        await agent.set_approval_mode("default")
        stage.asks("edit", cast.first, cast.asked_edit)
        before, wanted = _bytes_of(first), _replaced(first, cast.asked_edit)
        rejected = await agent.edit(first, *cast.asked_edit)
        _require(rejected.code == "rejected", f"answered {rejected.code or 'success'}")
        _require(_bytes_of(first) == before, "a rejected edit changed the file")
        stage.answer(rejected.output)
        accepted = await agent.edit(first, *cast.asked_edit)
        _require_written(first, wanted, accepted)
        _require(len(person.asked) == 2, f"the person was asked {len(person.asked)} times")
        await stage.show(agent, "edit", first, accepted)

        stage.step(f"All that the agent did to {cast.first} is taken back, and the other's line stays")
        await agent.set_approval_mode("yolo")
        edits = (cast.asked_edit, cast.late_edit, *(cast.edits[::-1] if first == second else ()), cast.edit)
        wanted = _replaced(first, *((new, old) for old, new in edits))
        undone = await agent.undo(session_id="default", file_path=first)
        _require_written(first, wanted, undone)
        _require(VISITOR.encode() in _bytes_of(first), "the other's line was lost")
        await stage.show(agent, "undo", first, undone)


class Person:
    """Gives the answers that were agreed, one per question."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self._answers = iter(answers)
        self.asked: list[Question] = []

    async def decide(self, question: Question) -> Answer:
        self.asked.append(question)
        return next(self._answers)


# --- the checks ---------------------------------------------------------------------------------------------


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise StepFailed(otherwise)


def _require_written(path: str, wanted: bytes, result: ToolResult) -> None:
    _require(result.ok, result.output)
    _require(_bytes_of(path) == wanted, "the file on disk is not what was asked for")


def _bytes_of(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _replaced(path: str, *edits: tuple[str, str]) -> bytes:
    content = _bytes_of(path)
    for old, new in edits:
        content = content.replace(old.encode(), new.encode(), 1)
    return content


def _write_behind_its_back(path: str) -> float:
    """When it was done, on the performance counter."""
    content = _bytes_of(path)
    line_end = b"\r\n" if b"\r\n" in content else b"\n"
    with open(path, "ab") as file:
        file.write((b"" if content.endswith(b"\n") else line_end) + VISITOR.encode() + line_end)
    return time.perf_counter()


# --- the files ----------------------------------------------------------------------------------------------


def _example(folder: str) -> Cast:
    for name, text in (("trip.py", TRIP), ("notes.txt", NOTES)):
        with open(os.path.join(folder, name), "w", encoding="utf-8", newline="") as file:
            file.write(text)
    return Cast(
        n_files=2,
        first="trip.py",
        edit=("cheese = 1", "cheese = 3"),
        late_edit=("people=4", "people=6"),
        asked_edit=("apples = 4", "apples = 6"),
        second="notes.txt",
        edits=(("at nine", "at half past nine"), ("an umbrella", "a hat")),
    )


def _copies(directory: str, folder: str) -> Cast | None:
    """Copy text files; None where no file is fit for the story."""
    lines_of: dict[str, list[str]] = {}
    n_files = 0
    for name, content in _text_files(directory):
        target = os.path.join(folder, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(content)
        n_files += 1
        lines_of[name] = _lines_of_its_own(content.decode())
        if n_files == MAX_FILES:
            break
    fit = [name for name, lines in lines_of.items() if len(lines) >= N_LINES]
    if not fit:
        return None
    first, second = fit[0], fit[-1]
    wishes = [(line, line + MARK) for line in lines_of[first][:N_LINES]]
    return Cast(
        n_files=n_files,
        first=first,
        edit=wishes[0],
        late_edit=wishes[3],
        asked_edit=wishes[4],
        second=second,
        edits=tuple(wishes[1:3]) if first == second else tuple((line, line + MARK) for line in lines_of[second][:2]),
    )


def _text_files(directory: str) -> Iterator[tuple[str, bytes]]:
    """(name below the directory, content); hidden files and folders and everything not plain UTF-8 is left out."""
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "node_modules")))
        for name in sorted(names):
            path = os.path.join(folder, name)
            if name.startswith(".") or name.endswith(".ipynb") or os.path.islink(path) or not os.path.isfile(path):
                continue
            try:
                if os.path.getsize(path) > MAX_FILE_BYTES:
                    continue
                content = _bytes_of(path)
                content.decode()
            except (OSError, UnicodeDecodeError):
                continue
            if content and b"\0" not in content:
                yield os.path.relpath(path, directory), content


def _lines_of_its_own(text: str) -> list[str]:
    """Lines that stand in the text once, of a length that reads well in a diff, not one within the other."""
    lines = (line.rstrip("\r") for line in text.split("\n"))
    return [line for line in lines if 8 <= len(line) <= 100 and line.strip() and text.count(line) == 1]


# --- the telling --------------------------------------------------------------------------------------------


class Stage:
    """Prints the story. Colours only where the terminal and NO_COLOR allow. The folder's path is left out."""

    def __init__(self, console: Console, folder: str) -> None:
        self._console = console
        self._n_steps = 0

    def say(self, text: str, style: str = "") -> None:
        self._console.print(Text(text, style=style), soft_wrap=not self._console.is_terminal)

    def open(self, what: str) -> None:
        self.say(f"fileops-server {__version__}: a demonstration", style="bold")
        self.say("The daemon runs as a child process. This program asks it for things as an AI agent would.")
        self.say(f"It works on {what}; nothing of yours is changed.")

    def step(self, title: str) -> None:
        self._n_steps += 1
        self.say(f"\n{self._n_steps}. {title}", style="bold")

    def fail(self, reason: str) -> None:
        what = f"Step {self._n_steps} failed" if self._n_steps else "The daemon could not be started"
        self.say(f"\n{what}: {reason}", style="bold red")

    def asks(self, tool: str, name: str, *edits: tuple[str, str]) -> None:
        for old, new in edits:
            self.say(f"   {tool} {name}: {_shortened(old)!r} becomes {_shortened(new)!r}", style="cyan")

    def answer(self, text: str) -> None:
        self.say(f"   {text}", style="yellow")

    async def show(self, agent: FileOpsClient, method: str, path: str, result: ToolResult) -> None:
        """As a pane would: a read's first lines, a change as a diff."""
        is_change = result.ui_extra is not None
        view = await agent.render(method, {"file_path": path}, result=result, expanded=is_change)
        if view.diff is None:
            self.say(f"   {view.call}", style="cyan")
            lines = [Text(f"{line.number or '':>6}→{line.text}") for line in view.lines]
            self._show_lines([*lines, *([Text(view.more)] if view.more else [])])
            return
        _require(bool(view.diff.rows), "the answer carries no diff")
        styles = {"hunk": "cyan", "+": "green", "-": "red", " ": ""}
        counts = f"{view.diff.title}: {view.diff.added} added, {view.diff.removed} removed"
        rows = [
            Text(("" if row.kind == "hunk" else row.kind) + row.text.rstrip("\r"), style=styles[row.kind])
            for row in view.diff.rows
        ]
        self._show_lines([Text(counts, style="bold"), *rows])

    def _show_lines(self, lines: list[Text]) -> None:
        for line in lines[:MAX_LINES_SHOWN]:
            if self._console.is_terminal:
                self._console.print(Text("   ") + line, no_wrap=True, overflow="ellipsis")
            else:
                self._console.print(Text("   ") + line, soft_wrap=True)
        if len(lines) > MAX_LINES_SHOWN:
            self.say(f"   ... ({len(lines) - MAX_LINES_SHOWN} more lines)")


def _shortened(text: str) -> str:
    """The end tells old and new apart, so it is what stays."""
    return text if len(text) <= MAX_QUOTED else f"...{text[-MAX_QUOTED:]}"
