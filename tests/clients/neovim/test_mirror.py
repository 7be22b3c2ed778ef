"""The plugin's mirror of the wire (`lua/fileops/client/protocol.lua`) against the server's own types."""

import json
import subprocess
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from clients.neovim.world import PLUGIN, neovim
from fileops.model import events
from fileops.wire import commands, correction, sessions
from fileops.wire import types as wire

STRUCTS: dict[str, type[msgspec.Struct]] = {
    "HunkLine": wire.HunkLine,
    "Hunk": wire.Hunk,
    "Stats": wire.Stats,
    "UiExtra": wire.UiExtra,
    "ToolError": wire.ErrorInfo,
    "ToolResult": wire.ToolResult,
    "Attachment": wire.Attachment,
    "ConfirmEditParams": wire.ConfirmEditParams,
    "BashParams": commands.BashParams,
    "ConfirmCommandParams": commands.ConfirmCommandParams,
    "CorrectEditParams": correction.CorrectEditParams,
    "HistoryEntry": wire.HistoryEntry,
    "ApprovalMode": wire.ApprovalModeResult,
    "ReadParams": wire.ReadParams,
    "EditParams": wire.EditParams,
    "EditStep": wire.EditStep,
    "MultiEditParams": wire.MultiEditParams,
    "WriteParams": wire.WriteParams,
    "ToolDefinition": wire.ToolDefinition,
    "TrackedFile": wire.TrackedFile,
    "AskingSession": wire.AskingSession,
    "SessionInfo": sessions.Session,
}
EVENTS: dict[str, type[Any]] = {
    "DidBecomeStale": events.BecameStale,
    "DidRead": events.DidRead,
    "DidEdit": events.DidEdit,
    "DidConflict": events.DidConflict,
    "WatcherHealth": events.WatcherHealth,
}


def evaluate(expression: str, folder: Path) -> Any:
    """What a Lua expression comes to in Neovim."""
    nvim = neovim("floor", folder)
    script = folder / "script.lua"
    script.write_text(
        f"vim.opt.rtp:prepend({json.dumps(str(PLUGIN))})\nio.stdout:write(vim.json.encode({expression}))\n"
    )
    done = subprocess.run(
        [nvim.program, "--clean", "--headless", "-l", str(script)],
        env=nvim.environment, capture_output=True, text=True, timeout=50, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def lua_fields(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    return evaluate("require('fileops.client.protocol').fields", tmp_path_factory.mktemp("mirror"))


@pytest.fixture
def lua_options(tmp_path: Path) -> set[str]:
    return set(evaluate("vim.tbl_keys(require('fileops.config').server_types)", tmp_path))


def of_struct(struct: type[msgspec.Struct]) -> set[str]:
    """Names of the fields, with `?` where one may be absent or null."""
    config = struct.__struct_config__
    may_lack_defaults = config.omit_defaults or config.forbid_unknown_fields  # of params, clients give what they like

    def may_lack(field: msgspec.structs.FieldInfo) -> bool:
        has_nothing = {NoneType, msgspec.UnsetType} & set(get_args(field.type))
        return bool(has_nothing) or (may_lack_defaults and not field.required)

    fields = [field for field in msgspec.structs.fields(struct) if not field.encode_name.endswith("Token")]
    return {field.encode_name + "?" * may_lack(field) for field in fields}


def of_event(event: type[Any]) -> set[str]:
    hints = get_type_hints(event)
    return {
        field.name + ("?" if NoneType in get_args(hints[field.name]) else "") for field in msgspec.structs.fields(event)
    }


@pytest.mark.parametrize("name", STRUCTS)
def test_messages_have_the_servers_fields(lua_fields: dict[str, list[str]], name: str) -> None:
    assert set(lua_fields[name]) == of_struct(STRUCTS[name])


def test_settings_for_the_daemon_are_the_servers_options(lua_options: set[str]) -> None:
    theirs = {field.encode_name for field in msgspec.structs.fields(wire.Options)}
    assert lua_options == theirs - {"approval_fallback"}  # for clients that cannot be asked by confirmEdit


@pytest.mark.parametrize("name", EVENTS)
def test_notifications_have_the_servers_fields(lua_fields: dict[str, list[str]], name: str) -> None:
    assert set(lua_fields[name]) == of_event(EVENTS[name])
