"""Agents in real hosts learn from the answer of an edit what it broke, and mend it in the next call."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hosts.hosts import CONVERSATION_S, HOSTS, PROGRAMS, Host
from hosts.scripted_model import Call, Result, Say, ScriptedModel, Step
from hosts.test_hosts import placed, running

pytestmark = pytest.mark.timeout(900)

TRIP = "def cost(days: int, price: int) -> int:\n    return days * 10\n"
BROKEN = "    return days * prize\n"
MENDED = TRIP.replace("10", "price")
RUFF: list[dict[str, object]] = [{"name": "ruff", "command": [str(PROGRAMS / "ruff"), "server"], "globs": ["*.py"]}]
N_LOOKS = 20  # the problems are known with the first answer, or a later one where the checker starts slowly


def mend_what_is_reported(path: Path) -> Callable[[Sequence[Result]], Step]:
    """Return a model that mends a name that a result called undefined, and ends once no problem is left to hear of."""

    def step(results: Sequence[Result]) -> Step:
        said = "\n".join(result.text for result in results)
        undefined = re.search(r"trip\.py:2:\d+: error F821: Undefined name `(\w+)`", said)
        if undefined is None and "is not known yet" in said:
            return Call("Read", {"file_path": str(path)})
        if undefined is None or "No new problems" in said:
            return Say("ALL-DONE")
        return Call("Edit", {"file_path": str(path), "old_string": undefined[1], "new_string": "price"})

    return step


def edited(host: Host, folder: Path, servers: Sequence[dict[str, object]]) -> str:
    """Let an agent misspell a name, with these servers named by the user; returns what the file is at the end."""
    path = folder / "project" / "trip.py"
    path.parent.mkdir()
    path.write_text(TRIP, encoding="utf-8")
    misspelt = {"file_path": str(path), "old_string": "    return days * 10\n", "new_string": BROKEN}
    first: list[Step] = [Call("Read", {"file_path": str(path)}), Call("Edit", misspelt)]
    model = ScriptedModel([*first, *[mend_what_is_reported(path)] * N_LOOKS, Say("ALL-DONE")])
    with placed(folder, model) as place:
        place.put({"~/.config/fileops/language-servers.json": json.dumps(servers)})
        with running(host, place) as (process, log):
            process.wait(CONVERSATION_S)
            assert len(model.results) >= len(first), log.read_text(encoding="utf-8", errors="replace")[-3000:]
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("host", [host for host in HOSTS if not host.options], ids=lambda host: host.name)
def test_agent_mends_the_error_of_which_the_answer_told_it(host: Host, tmp_path: Path) -> None:
    assert edited(host, tmp_path, RUFF) == MENDED


def test_agent_that_is_told_nothing_leaves_its_error(tmp_path: Path) -> None:
    host = next(host for host in HOSTS if host.name == "claude")
    assert edited(host, tmp_path, []) == TRIP.replace("    return days * 10\n", BROKEN)
