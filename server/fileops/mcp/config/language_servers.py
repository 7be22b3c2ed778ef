"""The installed language servers, as settings that the user may let the daemon use.

The list has those that the tests drive. If several check the same types, the first installed one is taken.
"""

import json

from msgspec import Struct

from fileops.platform.programs import find_program

_PYTHON = ("*.py", "*.pyi")
_TYPESCRIPT = ("*.ts", "*.tsx", "*.mts", "*.cts", "*.js", "*.jsx", "*.mjs", "*.cjs")


class _Known(Struct, frozen=True):
    """A program that speaks LSP with these arguments. stands_for: what it checks; each such thing is checked once."""

    name: str
    program: str
    arguments: tuple[str, ...]
    globs: tuple[str, ...]
    stands_for: str


_KNOWN = (
    _Known("ruff", "ruff", ("server",), _PYTHON, "lint"),
    _Known("basedpyright", "basedpyright-langserver", ("--stdio",), _PYTHON, "types"),
    _Known("pyright", "pyright-langserver", ("--stdio",), _PYTHON, "types"),
    _Known("pylsp", "pylsp", (), _PYTHON, "types"),
    _Known("typescript", "typescript-language-server", ("--stdio",), _TYPESCRIPT, "typescript"),
)


def find_installed(project: str) -> list[dict[str, object]]:
    """Return the settings of the language servers that are found outside the project (R-DIAG-17)."""
    found: dict[str, dict[str, object]] = {}
    for known in _KNOWN:
        program = find_program(known.program, outside=[project])
        if program is not None and known.stands_for not in found:
            command = [program, *known.arguments]
            found[known.stands_for] = {"name": known.name, "command": command, "globs": list(known.globs)}
    return list(found.values())


def to_text(settings: list[dict[str, object]]) -> str:
    """Return the file, with a setting on each line."""
    return "[\n" + ",\n".join(f"  {json.dumps(setting)}" for setting in settings) + "\n]\n"
