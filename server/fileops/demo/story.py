"""`fileops-server demo`: thirteen steps with daemons as child processes.

Each step says what it requests, shows the result, and checks the result and the disk. The user's files are only read;
the steps work on copies in a temporary folder.
"""

import asyncio
import io
import os
import sys
import tempfile
import time
from collections.abc import Sequence

from rich.console import Console

from fileops.demo.checks import StepFailed, require, require_written
from fileops.demo.files import (
    FORMATTED,
    UNFORMATTED,
    VISITOR,
    Cast,
    bytes_of,
    copies,
    example,
    replace_pair,
    write,
    write_behind_its_back,
)
from fileops.demo.rewind import play_rewind
from fileops.demo.stage import Stage
from fileops_client import (
    Answer,
    BecameStale,
    ConnectionLost,
    FileOpsClient,
    Options,
    Question,
    ResponseError,
    ServerMissing,
)

EVENT_TIMEOUT_S = 10.0  # for a loaded machine; usually milliseconds


def run_demo(directory: str | None = None, *, command: Sequence[str] | None = None) -> int:
    """Run the steps on copies of the directory's text files, else on an example. Return the exit status.

    command: the command that starts the daemon, by default this installation's.
    """
    with tempfile.TemporaryDirectory(prefix="fileops-demo-") as temporary:
        folder = os.path.realpath(temporary)
        # With NO_COLOR, rich by itself still prints bold text.
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # a Latin-1 terminal has no arrows
        stage = Stage(Console(highlight=False, color_system=None if os.environ.get("NO_COLOR") else "auto"))
        cast = example(folder) if directory is None else copies(directory, folder)
        if cast is None:
            stage.say(f"{directory}: {_why_unfit(directory or folder)}.")
            return 1
        what = "an example in a temporary folder" if directory is None else f"copies of {cast.n_files} files"
        stage.open(what)
        try:
            asyncio.run(_play(stage, folder, cast, command))
            asyncio.run(_play_beside_a_formatter(stage, folder, command))
            if command is None:  # the record belongs to a shared daemon, which is always this installation's
                asyncio.run(play_rewind(stage, folder))
        except (StepFailed, ConnectionLost, ResponseError, ServerMissing, TimeoutError) as error:
            stage.fail(str(error) or "no answer in time")
            return 1
        stage.say("\nEach step did what it says.", style="bold")
    return 0


def _why_unfit(directory: str) -> str:
    if os.path.isdir(directory):
        return "it contains no text file with five different lines"
    return "that is not a folder" if os.path.lexists(directory) else "there is no such folder"


async def _play(stage: Stage, folder: str, cast: Cast, command: Sequence[str] | None) -> None:
    first, second = os.path.join(folder, cast.first), os.path.join(folder, cast.second)
    user = ScriptedUser([Answer(outcome="cancel"), Answer(outcome="proceed_once")])
    async with FileOpsClient.start(
        command, root=folder, confirm_edit=user.decide, initialization_options={"approval_mode": "yolo"}
    ) as agent:
        stage.step(f"The agent reads {cast.first}")
        reading = await agent.read(first)
        require(reading.ok, reading.output)
        await stage.show(agent, "read", first, reading)

        stage.step("It edits one place")
        stage.asks("edit", cast.first, cast.edit)
        wanted = replace_pair(first, cast.edit)
        edited = await agent.edit(first, *cast.edit)
        require_written(first, wanted, edited)
        await stage.show(agent, "edit", first, edited)

        stage.step(f"It edits several places of {cast.second} at once: all of them or none")
        require((await agent.read(second)).ok, "the second file could not be read")
        stage.asks("multi_edit", cast.second, *cast.edits)
        wanted = replace_pair(second, *cast.edits)
        multi_edited = await agent.multi_edit(second, cast.edits)
        require_written(second, wanted, multi_edited)
        await stage.show(agent, "multiEdit", second, multi_edited)

        stage.step(f"Another program changes {cast.first}, and the daemon sends a notification")
        with agent.events(BecameStale.METHOD) as stale:
            written_at = write_behind_its_back(first)
            event: BecameStale = await stale.next(
                where=lambda event: event.file_path == first, timeout_s=EVENT_TIMEOUT_S
            )
            delay_ms = (time.perf_counter() - written_at) * 1000
        require(event.source == "external", f"the change was attributed to {event.source}")
        stage.answer(f"{BecameStale.METHOD}: {event.reason}, {delay_ms:.1f} ms after the change")

        stage.step("The agent has not read that change, so its next edit is refused")
        stage.asks("edit", cast.first, cast.late_edit)
        before = bytes_of(first)
        refused = await agent.edit(first, *cast.late_edit)
        require(refused.code == "modified_externally", f"answered {refused.code or 'success'}")
        require(bytes_of(first) == before, "a refused edit changed the file")
        stage.answer(refused.output)

        stage.step("It reads again")
        require((await agent.read(first)).ok, "the file could not be read again")
        (state,) = (file.state for file in await agent.tracked() if file.file_path == first)
        require(state == "fresh", f"the file counts as {state} after a read")
        stage.answer("the file counts as fresh")

        stage.step("Now the same edit succeeds, and the other program's line is still there")
        wanted = replace_pair(first, cast.late_edit)
        late_edited = await agent.edit(first, *cast.late_edit)
        require_written(first, wanted, late_edited)
        require(VISITOR.encode() in bytes_of(first), "the other program's line was lost")
        await stage.show(agent, "edit", first, late_edited)

        stage.step("From now on the user is asked before a write: the first answer is no, the second yes")
        await agent.set_approval_mode("default")
        stage.asks("edit", cast.first, cast.asked_edit)
        before, wanted = bytes_of(first), replace_pair(first, cast.asked_edit)
        rejected = await agent.edit(first, *cast.asked_edit)
        require(rejected.code == "rejected", f"answered {rejected.code or 'success'}")
        require(bytes_of(first) == before, "a rejected edit changed the file")
        stage.answer(rejected.output)
        accepted = await agent.edit(first, *cast.asked_edit)
        require_written(first, wanted, accepted)
        require(len(user.asked) == 2, f"the user was asked {len(user.asked)} times")
        await stage.show(agent, "edit", first, accepted)

        stage.step(f"All edits of the agent in {cast.first} are undone, and the other program's line stays")
        await agent.set_approval_mode("yolo")
        edits = (cast.asked_edit, cast.late_edit, *(cast.edits[::-1] if first == second else ()), cast.edit)
        wanted = replace_pair(first, *((new, old) for old, new in edits))
        undone = await agent.undo(session_id="default", file_path=first)
        require_written(first, wanted, undone)
        require(VISITOR.encode() in bytes_of(first), "the other program's line was lost")
        await stage.show(agent, "undo", first, undone)


async def _play_beside_a_formatter(stage: Stage, folder: str, command: Sequence[str] | None) -> None:
    """Play the last step, with another daemon: a file that is formatted on save needs no second read."""
    path = os.path.join(tempfile.mkdtemp(dir=folder), "formatted.py")
    write(path, UNFORMATTED)
    options: Options = {"approval_mode": "yolo", "freshness": "relevant", "notices": "output"}
    async with FileOpsClient.start(command, root=folder, initialization_options=options) as agent:
        stage.step("A formatter rewrites other lines: with `freshness: relevant` the agent need not read again")
        require((await agent.read(path)).ok, "the file could not be read")
        write(path, FORMATTED)
        edit = ("return quotient", "return round(quotient, 2)")
        stage.asks("edit", "formatted.py", edit)
        wanted = replace_pair(path, edit)
        edited = await agent.edit(path, *edit)
        require_written(path, wanted, edited)
        require("your edit was applied to the file as it is now" in edited.output, "the result does not say so")
        stage.answer(edited.output.partition("\n\n")[2].replace(path, "formatted.py"))


class ScriptedUser:
    """Gives prepared answers, one per question."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self._answers = iter(answers)
        self.asked: list[Question] = []

    async def decide(self, question: Question) -> Answer:
        self.asked.append(question)
        return next(self._answers)
