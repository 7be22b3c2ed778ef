"""Two small edit tools, each in a process of its own: `python -m bench.reliability.small_tools NAME`, a JSON per line.

`str_replace` is the tool that many agents begin with (bench/str_replace.py). `unique` adds a rule that is often
proposed: a file that changed since it was read may be edited as long as the text is still there once.
"""

import json
import sys
from pathlib import Path
from typing import Any, Protocol

from bench.reliability.scenario import to_bytes, to_text
from bench.str_replace import str_replace, view


class SmallTool(Protocol):
    """Each method returns what the model is told. Raises: ValueError and OSError, whose texts the model is told."""

    def read(self, path: str, offset: int, limit: int) -> str: ...

    def edit(self, path: str, old: str, new: str, *, takes_all: bool) -> str: ...

    def write(self, path: str, text: str) -> str: ...


class StrReplaceTool:
    def read(self, path: str, offset: int, limit: int) -> str:
        return view(path, offset, offset + limit - 1)

    def edit(self, path: str, old: str, new: str, *, takes_all: bool) -> str:
        if not takes_all:
            return str_replace(path, old, new)
        file = Path(path)
        file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
        return f"The file {path} has been edited."

    def write(self, path: str, text: str) -> str:
        Path(path).write_text(text, encoding="utf-8")
        return f"The file {path} has been written."


class UniqueTextTool:
    """Keeps every byte beside the edit."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def read(self, path: str, offset: int, limit: int) -> str:
        self._seen[path] = text = to_text(Path(path).read_bytes())
        lines = text.splitlines()[offset - 1 : offset - 1 + limit]
        return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, offset))

    def edit(self, path: str, old: str, new: str, *, takes_all: bool) -> str:
        if path not in self._seen:
            raise ValueError("File has not been read yet. Read it first before writing to it.")
        text = to_text(Path(path).read_bytes())
        if "\r\n" in text:
            old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
        n = text.count(old) if old else 2
        if text != self._seen[path] and n != 1 and not (takes_all and n):
            raise ValueError("File has been modified since read. Read it again before attempting to write it.")
        if not n:
            raise ValueError(f"String to replace not found in file.\nString: {old}")
        if n > 1 and not takes_all:
            raise ValueError(f"Found {n} matches of the string to replace. Provide more context.\nString: {old}")
        if old == new:
            raise ValueError("No changes to make: old_string and new_string are exactly the same.")
        return self._written(path, text.replace(old, new))

    def write(self, path: str, text: str) -> str:
        if Path(path).exists() and self._seen.get(path) != to_text(Path(path).read_bytes()):
            raise ValueError("File has been modified since read. Read it again before attempting to write it.")
        return self._written(path, text)

    def _written(self, path: str, text: str) -> str:
        Path(path).write_bytes(to_bytes(text))
        self._seen[path] = text
        return f"The file {path} has been updated."


TOOLS: dict[str, type[SmallTool]] = {"str_replace": StrReplaceTool, "unique": UniqueTextTool}


def main() -> None:
    tool = TOOLS[sys.argv[1]]()
    for line in sys.stdin:
        message: dict[str, Any] = json.loads(line)
        answer: dict[str, object]
        try:
            answer = {"ok": True, "text": getattr(tool, message["tool"])(**message["arguments"])}
        except ValueError as error:
            answer = {"ok": False, "text": str(error)}
        except OSError as error:
            answer = {"ok": False, "text": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
