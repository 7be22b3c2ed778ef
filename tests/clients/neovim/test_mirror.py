"""What the plugin knows of the wire, against the server's schema."""

import json
import subprocess
from pathlib import Path
from typing import Any

from clients.neovim.world import PLUGIN, neovim
from clients.protocol_types import LUA, lua_types
from support.patience import PATIENCE_S
from support.wire_schema import SCHEMA


def evaluate(expression: str, folder: Path) -> Any:
    """What a Lua expression comes to in Neovim."""
    nvim = neovim("floor", folder)
    script = folder / "script.lua"
    script.write_text(
        f"vim.opt.rtp:prepend({json.dumps(str(PLUGIN))})\nio.stdout:write(vim.json.encode({expression}))\n"
    )
    done = subprocess.run(
        [nvim.program, "--clean", "--headless", "-l", str(script)],
        env=nvim.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    return json.loads(done.stdout)


def test_annotations_match_the_schema() -> None:
    assert LUA.read_text("utf-8") == lua_types(SCHEMA), "run: python clients/scripts/protocol_types.py"


def test_methods_match_the_schema(tmp_path: Path) -> None:
    table = {(message["kind"], message["method"]) for message in SCHEMA["messages"]}
    requests = evaluate("vim.tbl_values(require('fileops.client.protocol').methods)", tmp_path)
    assert {("request", method) for method in requests} <= table
    told = evaluate("vim.tbl_keys(require('fileops.client.protocol').notifications)", tmp_path)
    own = {method for kind, method in table if kind == "notification" and method.startswith("fileops/")}
    assert set(told) == own
