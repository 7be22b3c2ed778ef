"""Counts what the VS Code extension adds to the editor: commands, settings, keys, views, and its lines of code.

python tests/clients/surface.py
"""

import json
import sys
from pathlib import Path
from typing import Any

EXTENSION = Path(__file__).parents[2] / "clients" / "vscode"


def contributions() -> dict[str, Any]:
    """What package.json adds to the editor."""
    return json.loads((EXTENSION / "package.json").read_text("utf-8"))["contributes"]


def surface() -> dict[str, int]:
    """How many of each there are. A key that does one thing in a review and another outside of it is one key."""
    added = contributions()
    written = [path for path in (EXTENSION / "src").rglob("*.ts") if path.parent.name != "protocol"]
    return {
        "commands": len(added["commands"]),
        "settings": len(added["configuration"]["properties"]),
        "keys": len({binding["key"] for binding in added["keybindings"]}),
        "views": sum(map(len, added.get("views", {}).values())),
        "lines": sum(len(path.read_text("utf-8").splitlines()) for path in written),
    }


if __name__ == "__main__":
    sys.stdout.writelines(f"{name:10}{count}\n" for name, count in surface().items())
