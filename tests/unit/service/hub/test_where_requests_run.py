"""The table of docs/internals/ARCHITECTURE.md: the thread on which each request runs."""

import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from architecture.imports import ROOT
from fileops.concurrency.workers import WorkerPool
from fileops.schema import json_schema
from support.page_tables import rows
from support.shared_daemon import SharedDaemon, until_recorded

PAGE = ROOT / "docs" / "internals" / "ARCHITECTURE.md"
LOOP, COMMAND = "the event loop", "fileops-command"


def described() -> dict[str, str]:
    """The thread of each request, by its method."""
    return {name: thread for names, thread in table() for name in names}


def table() -> list[tuple[list[str], str]]:
    """The requests of each row, and their thread."""
    return [
        ([f"fileops/{name}" for name in re.findall(r"\w+", requests)], thread)
        for requests, thread in rows(PAGE, "A test sends each of them:")
    ]


def test_each_request_is_in_the_table_once() -> None:
    requests = [
        message["method"]
        for message in json_schema.document()["messages"]
        if (message["sender"], message["kind"]) == ("client", "request")
    ]
    own = [method for method in requests if method.startswith("fileops/")]
    assert sorted(name for names, _ in table() for name in names) == sorted(own)


async def test_requests_run_where_the_table_says(
    daemon: SharedDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: set[str] = set()
    run = WorkerPool.run

    async def observed(pool: WorkerPool, *arguments: Any) -> Any:
        used.add(pool.name)
        return await run(pool, *arguments)

    monkeypatch.setattr(WorkerPool, "run", observed)
    file, book = tmp_path / "a.txt", tmp_path / "b.ipynb"
    file.write_text("one\ntwo\nthree\nfour\n")
    cell: dict[str, Any] = {"cell_type": "markdown", "id": "c", "metadata": {}, "source": "x"}
    book.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    editor = await daemon.editor(tmp_path, bash=True)
    await until_recorded(editor, tmp_path)
    await editor.call("fileops/beginTurn", {"turn_id": "first"})  # the folders are resolved now, which uses a worker
    found: dict[str, set[str]] = {}
    newest: str | None = None
    for method, params in steps(file, book):
        used.clear()
        answer = await editor.call(method, params if method != "fileops/entry" else {"entry_id": newest})
        if method == "fileops/log":
            newest = answer["entries"][0]["entry_id"]
        if method == "fileops/bash":
            used |= {COMMAND for thread in threading.enumerate() if thread.name.startswith(COMMAND)}
        found[method] = set(used) or {LOOP}
    assert found == {method: {thread} for method, thread in described().items()}
    await editor.call("fileops/read", {"file_path": str(file)})
    used.clear()
    await editor.call("fileops/read", {"file_path": str(file)})
    assert used == set()


def steps(file: Path, book: Path) -> list[tuple[str, dict[str, Any]]]:
    """Each request once, in an order in which each of them finds something to do."""
    path = {"file_path": str(file)}
    edits = [{"old_string": "two", "new_string": "2"}]
    change = {"kind": "edit", **path, "edits": [{"old_string": "three", "new_string": "3"}]}
    patch = f"*** Begin Patch\n*** Update File: {file}\n@@\n-four\n+4\n*** End Patch\n"
    step = {"kind": "edit", "cell_id": "c", "old_string": "x", "new_string": "y"}
    return [
        ("fileops/beginTurn", {"turn_id": "first"}),
        ("fileops/read", path),
        ("fileops/read", {"file_path": str(book)}),
        ("fileops/edit", {**path, "old_string": "one", "new_string": "1"}),
        ("fileops/multiEdit", {**path, "edits": edits}),
        ("fileops/applyChanges", {"changes": [change]}),
        ("fileops/applyPatch", {"patch": patch}),
        ("fileops/editNotebook", {"file_path": str(book), "cells": [step]}),
        ("fileops/write", {**path, "content": "whole\n"}),
        ("fileops/tools", {}),
        ("fileops/tracked", {}),
        ("fileops/conflicts", {}),
        ("fileops/sessionFiles", {}),
        ("fileops/stats", {}),
        ("fileops/describe", {"method": "fileops/read", "arguments": path}),
        ("fileops/render", {"method": "fileops/read", "arguments": path}),
        ("fileops/cellTexts", {**path, "before": "", "after": book.read_text()}),
        ("fileops/history", {}),
        ("fileops/undo", {"session_id": "default"}),
        ("fileops/rewind", {"session_id": "default"}),
        ("fileops/recordItem", {"id": "t-"}),
        ("fileops/blame", path),
        ("fileops/unkept", {}),
        ("fileops/keep", {"all": True}),
        ("fileops/undoKeep", {}),
        ("fileops/log", {}),
        ("fileops/entry", {}),  # the newest of the log
        ("fileops/turns", {}),
        ("fileops/recordStatus", {}),
        ("fileops/beginCommand", {"command_id": "c1"}),
        ("fileops/endCommand", {"command_id": "c1"}),
        ("fileops/bash", {"command": "true"}),
        ("fileops/recordRead", path),
        ("fileops/forget", path),
        ("fileops/approvalMode", {}),
        ("fileops/setApprovalMode", {"mode": "default"}),
        ("fileops/reviews", {}),
        ("fileops/decideReview", {"review_id": "r-none", "outcome": "reject"}),
        ("fileops/decideReviews", {"outcome": "reject"}),
        ("fileops/sessions", {}),
        ("fileops/ask", {}),
        ("fileops/setAsk", {"ask": "protected"}),
        ("fileops/resetSession", {}),
        ("fileops/closeSession", {"session_id": "default"}),
        ("fileops/forgetRecord", {"all": True}),
    ]
