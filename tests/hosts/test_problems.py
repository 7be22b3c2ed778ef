"""An agent in a real host that is told of no error leaves it. That it mends one is in the story of each host."""

from pathlib import Path

import pytest

from hosts.hosts import CONVERSATION_S, HOSTS
from hosts.misspelling import BROKEN, RIGHT, TRIP, misspelling
from hosts.scripted_model import Say, ScriptedModel
from hosts.test_hosts import placed, running

pytestmark = pytest.mark.timeout(900)


def test_agent_that_is_told_nothing_leaves_its_error(tmp_path: Path) -> None:
    host = next(host for host in HOSTS if host.name == "claude")
    path = tmp_path / "project" / "trip.py"
    path.parent.mkdir()
    model = ScriptedModel(misspelling(path, Say("ALL-DONE")))
    with placed(tmp_path, model) as place, running(host, place) as (process, log):
        process.wait(CONVERSATION_S)
        assert len(model.results) >= 2, log.read_text(encoding="utf-8", errors="replace")[-3000:]
    assert path.read_text(encoding="utf-8") == TRIP.replace(RIGHT, BROKEN)
