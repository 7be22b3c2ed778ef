"""Prints what all agents and editors of a shared daemon do in a folder, as it happens.

    python listener.py FOLDER

It takes part as an editor without documents: it is notified of each edit in its folder, of each file that changed
after an agent had read it, and of agents that begin and end. It decides on nothing.
"""

import asyncio
import contextlib
import os
import sys

from fileops_client import BecameStale, DidConflict, DidEdit, FileOpsClient


def line_for(event: object) -> str | None:
    """Return the line for an event; None for an event that is not printed."""
    match event:
        case DidEdit():
            return f"edited     {event.file_path}  by {event.session_id}"
        case BecameStale():
            return f"stale      {event.file_path}  for {event.session_id}: {event.reason}, {event.source}"
        case DidConflict():
            return f"conflict   {event.file_path}  for {event.session_id}"
        case _:
            return None


async def listen(folder: str) -> None:
    """Print until the daemon ends the connection."""
    async with FileOpsClient.attach(root=folder, role="editor", host="listener") as client:
        with client.events() as events:
            print(f"listening  {folder}", flush=True)
            async for event in events:
                if (line := line_for(event)) is not None:
                    print(line, flush=True)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(listen(os.path.abspath(sys.argv[1])))
