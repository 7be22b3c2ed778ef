"""The real Codex with `--tools +patch`: its model sends patches to our ApplyPatch, which are applied whole or not."""

from dataclasses import replace
from pathlib import Path

import pytest

from hosts.hosts import CONVERSATION_S, Host, Place, Start, patch_of_codex, start_codex
from hosts.scripted_model import Call, Say, ScriptedModel, offered_name
from hosts.test_hosts import placed, running

pytestmark = pytest.mark.timeout(900)

BEFORE = {
    "prices.py": b"def net(price):\r\n    return price\r\n\r\n\r\ndef tax(price):\r\n    return price / 5\r\n",
    "old name.txt": b"one\ntwo\nthree",
    "unused.py": b"import os\n",
}
AFTER = {
    "prices.py": BEFORE["prices.py"].replace(b"price\r", b"round(price)\r").replace(b"price / 5", b"round(price / 5)"),
    "sub/new name.txt": b"one\n2\nthree",
    "sub/made.py": b"def gross(price):\n    return net(price) + tax(price)\n",
}
# Two places with lines that are there twice, a move with spaces in the name, a deletion, a file in a new folder.
PATCH = """\
*** Begin Patch
*** Update File: prices.py
@@ def net(price):
-    return price
+    return round(price)
@@ def tax(price):
-    return price / 5
+    return round(price / 5)
*** Update File: old name.txt
*** Move to: sub/new name.txt
@@
 one
-two
+2
*** Delete File: unused.py
*** Add File: sub/made.py
+def gross(price):
+    return net(price) + tax(price)
*** End Patch
"""
# The first file and the third one could be changed.
FAILING = """\
*** Begin Patch
*** Add File: sub/other.py
+import prices
*** Update File: prices.py
@@ def net(price):
-    return floor(price)
+    return ceil(price)
*** Delete File: sub/made.py
*** End Patch
"""


def start(place: Place, options: list[str]) -> Start:
    """As a person does who adds the tool to what `mcp config` has written."""
    started = start_codex(place, options)
    config = place.home / ".codex" / "config.toml"
    text = config.read_text(encoding="utf-8")
    arguments = '"fileops-server", "mcp", '
    assert text.count(arguments) == 1, text
    config.write_text(text.replace(arguments, f'{arguments}"--tools", "+patch", '), encoding="utf-8")
    return started


def test_patch_of_codex_is_applied_whole_or_not_at_all(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for name, data in BEFORE.items():
        (project / name).write_bytes(data)
    trees: list[dict[str, bytes]] = []
    reads = [Call("Read", {"file_path": str(project / name)}) for name in BEFORE]
    patches = [Call("ApplyPatch", {"patch": patch}) for patch in (PATCH, FAILING)]
    script = [*reads, *patches, Say("ALL-DONE")]
    script = [replace(step, before=lambda: trees.append(contents(project))) for step in script]
    model = ScriptedModel(script)
    with placed(tmp_path, model) as place, running(Host("codex", start, patch_of_codex), place) as (process, log):
        process.wait(CONVERSATION_S)
        output = log.read_text(encoding="utf-8", errors="replace")
    assert len(model.results) == len(script) - 1, f"the conversation ended early: {output[-3000:]}"
    assert all(offered_name(model.tools_at_first, tool) for tool in ("Write", "ApplyPatch"))
    applied, failed = (result.text for result in model.results[-2:])
    assert trees == [BEFORE] * 4 + [AFTER] * 2, (applied, failed)
    for line in ("Applied 4 changes together:", f"2. renamed {project}/old name.txt to {project}/sub/new name.txt"):
        assert line in applied
    assert f"It was change 2, {project}/prices.py. No file was changed." in failed
    assert "-    return floor(price)\n+    return round(price)" in failed


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_codex_starts_where_the_program_is_missing(tmp_path: Path) -> None:
    """With its own tools, as the hook that refuses them does nothing then."""
    (path := tmp_path / "project" / "a.txt").parent.mkdir()
    path.write_text("hello again\n", encoding="utf-8")
    model = ScriptedModel([patch_of_codex(path), Say("ALL-DONE")])

    def start_without(place: Place, _options: list[str]) -> Start:
        return start_codex(place, ["--command", "no-such-program"])

    with (
        placed(tmp_path, model) as place,
        running(Host("codex", start_without, patch_of_codex), place) as (process, log),
    ):
        process.wait(CONVERSATION_S)
        output = log.read_text(encoding="utf-8", errors="replace")
    assert "ALL-DONE" in output
    assert path.read_text(encoding="utf-8") == "built-in again\n"
