"""The plugin's mirror of the wire (`lua/fileops/protocol.lua`) against the server's own types."""

import dataclasses
import json
import subprocess
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from clients.neovim.world import PLUGIN, neovim
from fileops import model
from fileops.wire import types as wire

STRUCTS: dict[str, type[msgspec.Struct]] = {
    "HunkLine": wire.HunkLine,
    "Hunk": wire.Hunk,
    "Stats": wire.Stats,
    "UiExtra": wire.UiExtra,
    "ToolError": wire.ErrorInfo,
    "ToolResult": wire.ToolResult,
    "ReadParams": wire.ReadParams,
    "EditParams": wire.EditParams,
    "EditStep": wire.EditStep,
    "MultiEditParams": wire.MultiEditParams,
    "ToolDefinition": wire.ToolDefinition,
    "TrackedFile": wire.TrackedFile,
}
EVENTS: dict[str, type[Any]] = {
    "DidBecomeStale": model.BecameStale,
    "DidRead": model.DidRead,
    "DidEdit": model.DidEdit,
    "DidConflict": model.DidConflict,
    "WatcherHealth": model.WatcherHealth,
}


@pytest.fixture(scope="module")
def lua_fields(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    folder: Path = tmp_path_factory.mktemp("mirror")
    nvim = neovim("floor", folder)
    script = folder / "fields.lua"
    script.write_text(
        f"vim.opt.rtp:prepend({json.dumps(str(PLUGIN))})\n"
        "io.stdout:write(vim.json.encode(require('fileops.protocol').fields))\n"
    )
    done = subprocess.run(
        [nvim.program, "--clean", "--headless", "-l", str(script)],
        env=nvim.environment, capture_output=True, text=True, timeout=50, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def of_struct(struct: type[msgspec.Struct]) -> set[str]:
    fields = [field for field in msgspec.structs.fields(struct) if not field.encode_name.endswith("Token")]
    return {
        field.encode_name + ("" if field.required and NoneType not in get_args(field.type) else "?") for field in fields
    }


def of_event(event: type[Any]) -> set[str]:
    hints = get_type_hints(event)
    return {
        field.name + ("?" if NoneType in get_args(hints[field.name]) else "") for field in dataclasses.fields(event)
    }


@pytest.mark.parametrize("name", STRUCTS)
def test_messages_have_the_servers_fields(lua_fields: dict[str, list[str]], name: str) -> None:
    theirs, ours = of_struct(STRUCTS[name]), set(lua_fields[name])
    assert {field.rstrip("?") for field in ours} == {field.rstrip("?") for field in theirs}
    assert {field for field in theirs if field.endswith("?")} <= ours  # what may be null here may be null there


@pytest.mark.parametrize("name", EVENTS)
def test_notifications_have_the_servers_fields(lua_fields: dict[str, list[str]], name: str) -> None:
    assert set(lua_fields[name]) == of_event(EVENTS[name])
