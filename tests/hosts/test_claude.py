"""What Claude Code alone has: plugins."""

import subprocess
from pathlib import Path

import pytest

from hosts.hosts import claude_code, claude_environment, printed_config
from hosts.scripted_model import Say, ScriptedModel
from hosts.test_hosts import placed
from support.patience import PATIENCE_S

pytestmark = pytest.mark.timeout(2 * PATIENCE_S)


def test_plugin_is_valid_in_the_eyes_of_claude_code(tmp_path: Path) -> None:
    with placed(tmp_path, ScriptedModel([Say("")])) as place:
        place.put(printed_config("claude-plugin"))
        done = subprocess.run(
            [claude_code(), "plugin", "validate", "--strict", str(place.project)],
            env=claude_environment(place),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
