"""The last steps of the demo: a shared daemon records who changed what, and undoes one agent's part or single changes.

The daemon has its own socket and its own record in the temporary folder, so that the user's own are left alone.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile

from fileops.demo.checks import require
from fileops.demo.files import bytes_of, write
from fileops.demo.stage import Stage
from fileops_client import FileOpsClient, RecordEntry

BEFORE = b"def total(items):\n    return sum(items)\n\n\nRATE = 0.19\n"
BY_PERSON = (b"RATE = 0.19", b"RATE = 0.20")
BY_AGENT = (b"sum(items)", b"round(sum(items), 2)")
OVER_PERSON = (b"RATE = 0.20", b"RATE = 0.25")
STARTS_WITHIN_S = 30.0


async def play_rewind(stage: Stage, folder: str) -> None:
    """Play the steps. Raises: StepFailed, ConnectionLost, ResponseError, TimeoutError."""
    place = tempfile.mkdtemp(prefix="fo-")  # the path of a socket must be short
    project, socket = os.path.join(folder, "project"), os.path.join(place, "s")
    os.mkdir(project)
    path, made = os.path.join(project, "cart.py"), os.path.join(project, "cents.py")
    write(path, BEFORE)
    command = ["env", f"XDG_STATE_HOME={place}", sys.executable, "-P", "-m", "fileops"]
    try:
        async with FileOpsClient.attach(
            socket=socket, role="editor", host="demo", command=command, root=project
        ) as user:
            await _wait_until_recorded(user, project)
            stage.step("An agent edits a file and runs a program that writes another; you change the first one, too")
            async with FileOpsClient.attach(socket=socket, host="agent", command=command, root=project) as agent:
                turn_id = await agent.begin_turn(title="round the prices")
                require((await agent.read(path)).ok, "the file could not be read")
                edited = await agent.edit(path, *(text.decode() for text in BY_AGENT))
                require(edited.ok, edited.output)
                command_id = await agent.begin_command("python fix.py")
                write(made, b"CENTS = 2\n")
                await agent.end_command(command_id)
            write(path, bytes_of(path).replace(*BY_PERSON))
            entries = (await _wait_for_entries(user, 3))[::-1]
            for entry in entries:
                stage.answer(f"{entry.by.label}: {os.path.basename(entry.path)} +{entry.added} -{entry.removed}")
            require([entry.by.kind for entry in entries] == ["session", "command", "outside"], "an author is wrong")

            stage.step("The agent's turn is undone in all files, and your line stays")
            undone = await user.rewind(turn_id=turn_id, approved=True)
            require(undone.error is None and undone.n_undone == 2, undone.output)
            require(bytes_of(path) == BEFORE.replace(*BY_PERSON), "the file is not as you alone would have left it")
            require(os.listdir(project) == ["cart.py"], "the file that the program made is still there")
            for line in undone.output.replace(f"{project}/", "").splitlines():
                stage.answer(line)

            stage.step("Another agent tries, and changes your line, too: you keep one change and undo the other")
            async with FileOpsClient.attach(socket=socket, host="agent", command=command, root=project) as agent:
                await agent.begin_turn(title="round the prices, please")
                require((await agent.read(path)).ok, "the file could not be read")
                edits = [(old.decode(), new.decode()) for old, new in (BY_AGENT, OVER_PERSON)]
                edited = await agent.multi_edit(path, edits)
                require(edited.ok, edited.output)
            (file,) = (file for file in (await user.unkept()).files if file.changes)
            for change in file.changes:
                stage.answer(f"{change.label}: cart.py, line {change.start_line}, not kept yet")
            require([change.start_line for change in file.changes] == [2, 5], "a change is missing")
            rounded, rate = (change.change_id for change in file.changes)
            await user.keep(change_ids=[rounded])
            undone = await user.rewind(change_ids=[rate], approved=True)
            require(undone.error is None, undone.output)
            require(bytes_of(path) == BEFORE.replace(*BY_PERSON).replace(*BY_AGENT), "the file is not as you chose")
            require((await user.unkept()).n_changes == 0, "a change is not decided yet")
            stage.answer("Line 2 is kept, and line 5 is yours again.")
            stage.answer("In your own folder: fileops-server log, undo and keep")
    finally:
        await asyncio.to_thread(_end, command, socket, place)


async def _wait_until_recorded(client: FileOpsClient, folder: str) -> None:
    """Wait until the contents before are known. Raises: TimeoutError."""
    async with asyncio.timeout(STARTS_WITHIN_S):
        while True:
            if any(known.state != "starting" for known in await client.record_status(folder)):
                return
            await asyncio.sleep(0.05)


async def _wait_for_entries(client: FileOpsClient, n_entries: int) -> tuple[RecordEntry, ...]:
    """Return the newest entries, once there are so many with certain authors. Raises: TimeoutError."""
    async with asyncio.timeout(STARTS_WITHIN_S):
        while True:
            entries = (await client.log()).entries
            if len(entries) >= n_entries and all(entry.settled for entry in entries):
                return entries[:n_entries]
            await asyncio.sleep(0.05)


def _end(command: list[str], socket: str, place: str) -> None:
    """End the daemon of the demo, and remove its place."""
    subprocess.run([*command, "status", "--stop", "--now", "--socket", socket], capture_output=True, check=False)
    shutil.rmtree(place, ignore_errors=True)
