"""Checks of each step of the demonstration, on the result and on the disk.

A separate module, because the story and its stage use it, and the story imports the stage.
"""

from fileops.demo.files import bytes_of
from fileops_client import ToolResult


class StepFailed(Exception):
    """A step failed. `args[0]` says what did not happen as described."""


def require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise StepFailed(otherwise)


def require_written(path: str, wanted: bytes, result: ToolResult) -> None:
    require(result.ok, result.output)
    require(bytes_of(path) == wanted, "the file on disk does not have the requested content")
