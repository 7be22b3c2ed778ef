"""The tool that many agents begin with, in 40 lines: `view` and `str_replace`, as JSON-RPC with a message per line."""

import json
import sys
from pathlib import Path
from typing import Any


def view(path: str, start: int = 1, end: int = 2000) -> str:
    """Return numbered lines."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines[start - 1 : end], start))


def str_replace(path: str, old: str, new: str) -> str:
    """Replace the only occurrence. Raises: ValueError."""
    file = Path(path)
    text = file.read_text(encoding="utf-8")
    count = text.count(old)
    if count == 0:
        raise ValueError(f"No match found for replacement in {path}.")
    if count > 1:
        raise ValueError(f"Found {count} matches for replacement text in {path}. Please provide more context.")
    file.write_text(text.replace(old, new), encoding="utf-8")
    return f"The file {path} has been edited."


TOOLS = {"view": view, "str_replace": str_replace}


def main() -> None:
    for line in sys.stdin:
        message: Any = json.loads(line)
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            answer["result"] = TOOLS[message["method"]](**message["params"])
        except Exception as error:  # noqa: BLE001 - the model reads every failure
            answer["error"] = {"code": 1, "message": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
