"""Payloads of hosts' hooks: recorded with the real programs, or as their documentation describes them."""

import json
from pathlib import Path
from typing import Any

from msgspec import Struct, convert


class Payloads(Struct, frozen=True):
    """What one host sends. hook: the HOST of `mcp hook`. source: recorded with which version, or documented."""

    hook: str
    dialect: str
    session_host: str
    source: str
    events: list[dict[str, Any]]


def all_payloads() -> dict[str, Payloads]:
    """Return the payloads by the names of their files."""
    files = sorted(Path(__file__).parent.glob("*.json"))
    return {file.stem: convert(json.loads(file.read_text(encoding="utf-8")), Payloads) for file in files}
