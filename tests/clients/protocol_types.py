"""The generator of the clients' types, which is a program and not one of our modules."""

import importlib.util
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).parents[2] / "clients" / "scripts" / "protocol_types.py"


def _loaded() -> Any:
    spec = importlib.util.spec_from_file_location("generate_protocol_types", PROGRAM)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_PROGRAM = _loaded()
LUA: Path = _PROGRAM.LUA
TYPESCRIPT: Path = _PROGRAM.TYPESCRIPT


PYTHON: Path = _PROGRAM.PYTHON


def python_modules(schema: dict[str, Any]) -> dict[str, str]:
    return _PROGRAM.python_modules(schema)


def lua_types(schema: dict[str, Any]) -> str:
    return _PROGRAM.lua_types(schema)


def typescript_types(schema: dict[str, Any], node: str) -> str:
    return _PROGRAM.typescript_types(schema, node)
