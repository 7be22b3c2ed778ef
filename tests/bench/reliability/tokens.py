"""Counts what texts cost a model: with o200k if a tokenizer is installed, else characters / 4."""

import importlib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

SHOWN_FOLDER = "/home/you/project"  # in place of the folder of a run, so that all runs count alike


def counter() -> tuple[str, Callable[[str], int]]:
    """Return the unit's name, and the function that counts."""
    if find_spec("bpe_openai") is None:
        return "characters / 4", lambda text: -(-len(text) // 4)
    encoding = importlib.import_module("bpe_openai").get_encoding("o200k_base")
    return "o200k tokens", lambda text: len(encoding.encode(text.encode("utf-8", "replace").decode()))


UNIT, count = counter()


def count_shown(text: str, folder: Path) -> int:
    return count(text.replace(str(folder), SHOWN_FOLDER))
