"""A host that uses its own tools, with our hooks in companion mode: as the hook's process does, but in this process.

The tools do what those of Claude Code do, with the payloads that it sends (tests/support/payloads).
"""

import json
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fileops.attach import companion
from fileops.attach.callers import Caller, caller_of
from fileops.attach.handshake import Hook
from fileops.attach.host_events import common_form
from fileops.compose.daemon import SharedDaemonState
from fileops.concurrency.delivery import Delivery


@dataclass
class Outcome:
    """What a call of the host's tool came to. reason: of a refusal. contexts: added for the model."""

    reason: str | None = None
    is_asked: bool = False
    context: str = ""
    person: str = ""
    shown: str | None = None


@dataclass
class HookedHost:
    """One session of Claude Code, or of another host by `host` and `common`."""

    state: SharedDaemonState
    cwd: Path
    session: str = "s1"
    host: str = "claude"
    mode: str = "default"
    more: dict[str, Any] = field(default_factory=dict[str, Any])
    n_calls: int = 0

    async def hook(self, name: str, **fields: Any) -> dict[str, Any]:
        """Return what the hook prints for an event; {} for nothing."""
        event = {
            "hook_event_name": name,
            "session_id": self.session,
            "transcript_path": "/t",
            "prompt_id": "p",
            "cwd": str(self.cwd),
            "permission_mode": self.mode,
            **self.more,
            **fields,
        }
        return await self.given(event)

    async def given(self, raw: dict[str, Any]) -> dict[str, Any]:
        caller = caller_of(self.host, raw)
        event = common_form(caller.dialect, raw)
        report = companion.report_of(caller, event)
        if report is None:
            return {}
        answer = await self._asked(caller, report)
        while "waiting" in answer:
            answer = await self._asked(caller, {"event": "decision", "waiting": answer["waiting"]})
        return companion.translate_answer(caller, raw, event, answer) or {} if answer else {}

    async def _asked(self, caller: Caller, report: dict[str, Any]) -> dict[str, Any]:
        with Delivery() as delivery:
            body = json.loads(json.dumps(report))
            hook = Hook(caller.session_host, caller.own_id, os.getpid())
            answer: dict[str, Any] = json.loads(json.dumps(await self.state.companion(hook, body)))
            delivery.settle(is_sent=True)
        return answer

    async def call(self, tool: str, given: dict[str, Any], work: Callable[[], dict[str, Any] | None]) -> Outcome:
        """Call one of the host's tools. Args: work: what it does between its hooks; None if it fails."""
        self.n_calls += 1
        about = {"tool_name": tool, "tool_input": given, "tool_use_id": f"toolu_{self.n_calls}"}
        before = await self.hook("PreToolUse", **about)
        said = before.get("hookSpecificOutput", {})
        outcome = Outcome(context=said.get("additionalContext", ""), person=before.get("systemMessage", ""))
        if said.get("permissionDecision") in {"deny", "ask"}:
            outcome.reason = said["permissionDecisionReason"]
            outcome.is_asked = said["permissionDecision"] == "ask"
            return outcome
        response = work()
        name = "PostToolUse" if response is not None else "PostToolUseFailure"
        after = await self.hook(name, **about, **({} if response is None else {"tool_response": response}))
        said = after.get("hookSpecificOutput", {})
        outcome.context += said.get("additionalContext", "")
        outcome.person += after.get("systemMessage", "")
        if "updatedToolOutput" in said:
            outcome.shown = said["updatedToolOutput"]["file"]["content"]
        return outcome

    async def read(self, path: Path, offset: int | None = None, limit: int | None = None) -> Outcome:
        def work() -> dict[str, Any]:
            lines = path.read_text().split("\n")
            first = offset or 1
            part = lines[first - 1 :] if limit is None else lines[first - 1 : first - 1 + limit]
            file = {
                "filePath": str(path),
                "content": "\n".join(part),
                "numLines": len(part),
                "startLine": first,
                "totalLines": len(lines),
            }
            return {"type": "text", "file": file}

        given = {"file_path": str(path), "offset": offset, "limit": limit}
        return await self.call("Read", {key: value for key, value in given.items() if value is not None}, work)

    async def edit(
        self, path: Path, old: str, new: str, *, meanwhile: Callable[[], None] = lambda: None, adds: str = ""
    ) -> Outcome:
        """Args: meanwhile: called between the hook and the write. adds: what the host's formatter adds at the end."""

        def work() -> dict[str, Any] | None:
            meanwhile()
            original = path.read_text()
            if original.count(old) != 1:
                return None
            path.write_text(original.replace(old, new) + adds)
            return {"filePath": str(path), "oldString": old, "newString": new, "originalFile": original}

        return await self.call("Edit", {"file_path": str(path), "old_string": old, "new_string": new}, work)

    async def write(self, path: Path, content: str, *, meanwhile: Callable[[], None] = lambda: None) -> Outcome:
        def work() -> dict[str, Any]:
            meanwhile()
            original = path.read_text() if path.exists() else None
            path.write_text(content)
            return {"type": "update", "filePath": str(path), "content": content, "originalFile": original}

        return await self.call("Write", {"file_path": str(path), "content": content}, work)

    async def edit_notebook(
        self,
        path: Path,
        given: dict[str, Any],
        *,
        meanwhile: Callable[[], Awaitable[object]] | None = None,
        work: Callable[[dict[str, Any]], dict[str, Any] | None] | None = None,
    ) -> None:
        """Args: meanwhile: between the hook and the write. work: makes the write, in place of Claude Code's tool."""
        self.n_calls += 1
        given = {"notebook_path": str(path), **given}
        about = {"tool_name": "NotebookEdit", "tool_input": given, "tool_use_id": f"toolu_{self.n_calls}"}
        assert await self.hook("PreToolUse", **about) == {}
        if meanwhile is not None:
            await meanwhile()
        response = (work or written_cell)(given)
        if response is None:
            await self.hook("PostToolUseFailure", **about, error="File has been modified since read")
        else:
            await self.hook("PostToolUse", **about, tool_response=response)


def written_cell(given: dict[str, Any]) -> dict[str, Any]:
    """Do what Claude Code's NotebookEdit does."""
    path, mode = Path(given["notebook_path"]), given.get("edit_mode", "replace")
    original = path.read_text(encoding="utf-8")
    content = json.loads(original)
    cells: list[dict[str, Any]] = content["cells"]
    index = next((n for n, cell in enumerate(cells) if cell.get("id") == given.get("cell_id")), -1)
    cell_id = given.get("cell_id")
    if mode == "delete":
        del cells[index]
    elif mode == "insert":
        cell_id = os.urandom(4).hex()
        new: dict[str, Any] = {
            "cell_type": given["cell_type"],
            "id": cell_id,
            "source": given["new_source"],
            "metadata": {},
        }
        if given["cell_type"] == "code":
            new |= {"execution_count": None, "outputs": []}
        cells.insert(index + 1, new)
    else:
        cells[index]["source"] = given["new_source"]
        if cells[index]["cell_type"] == "code":
            cells[index] |= {"execution_count": None, "outputs": []}
        cells[index]["cell_type"] = given.get("cell_type") or cells[index]["cell_type"]
    updated = json.dumps(content, indent=1, ensure_ascii=False) + ("\n" if original.endswith("\n") else "")
    path.write_text(updated, encoding="utf-8")
    return {
        "new_source": given["new_source"],
        "cell_type": given.get("cell_type", "code"),
        "language": "python",
        "edit_mode": mode,
        "cell_id": cell_id,
        "error": "",
        "notebook_path": str(path),
        "original_file": original,
        "updated_file": updated,
    }
