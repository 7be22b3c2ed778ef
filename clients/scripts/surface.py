"""Count what a person has to learn of each client and of the terminal, against what is allowed.

`python clients/scripts/surface.py [CLIENT]` prints the table; its status is 1 if there is more than there may be.
"""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fileops.arguments import FOR_PROGRAMS, commands_for_people

CLIENTS = Path(__file__).parents[1]


@dataclass(frozen=True, kw_only=True)
class Count:
    """of: a client, or the terminal, and a kind of thing. names: what there is. most: how many there may be."""

    of: str
    names: tuple[str, ...]
    most: int


def _lua_keys(text: str, table: str, indent: int = 2) -> tuple[str, ...]:
    """The keys of a table of a Lua module, as the formatter writes it."""
    body = text.partition(f"{table} = {{\n")[2].partition("\n" + " " * (indent - 2) + "}")[0]
    return tuple(re.findall(rf"^ {{{indent}}}(\w+) = ", body, re.MULTILINE))


def neovim() -> Iterator[Count]:
    plugin = CLIENTS / "neovim" / "lua" / "fileops"
    config = (plugin / "config.lua").read_text(encoding="utf-8")
    commands = (plugin / "commands.lua").read_text(encoding="utf-8")
    yield Count(of="Neovim subcommands", names=_lua_keys(commands, "\nM.subcommands"), most=18)
    yield Count(of="Neovim keys", names=_lua_keys(config, "  keys", indent=4), most=6)
    yield Count(of="Neovim settings", names=_lua_keys(config, "\nM.defaults"), most=12)


def vscode() -> Iterator[Count]:
    contributes: dict[str, Any] = json.loads((CLIENTS / "vscode" / "package.json").read_text(encoding="utf-8"))[
        "contributes"
    ]
    commands = tuple(command["command"] for command in contributes["commands"])
    keys = tuple(binding["key"] for binding in contributes.get("keybindings", []))
    settings = tuple(contributes["configuration"]["properties"])
    views = tuple(view["id"] for group in contributes.get("views", {}).values() for view in group)
    yield Count(of="VS Code commands", names=commands, most=24)
    yield Count(of="VS Code keys", names=tuple(dict.fromkeys(keys)), most=6)
    yield Count(of="VS Code settings", names=settings, most=10)
    yield Count(of="VS Code views", names=views, most=0)


def terminal() -> Iterator[Count]:
    """`mcp hook`, which hosts run, is a part of `mcp`; the daemon itself and `--shared` have no command."""
    yield Count(of="Terminal commands", names=tuple(commands_for_people()), most=12)
    yield Count(of="Terminal, for programs", names=FOR_PROGRAMS, most=2)


def main() -> int:
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    counts = [count for count in (*neovim(), *vscode(), *terminal()) if count.of.startswith(wanted)]
    for count in counts:
        print(f"{count.of:22} {len(count.names):3} of at most {count.most}")  # noqa: T201 (a report)
    return int(any(len(count.names) > count.most for count in counts))


if __name__ == "__main__":
    sys.exit(main())
