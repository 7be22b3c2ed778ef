"""What each step of the story must hold to: on the answer and on the disk."""

from fileops.demo.files import bytes_of
from fileops_client import ToolResult


class StepFailed(Exception):
    """args[0]: what did not happen as told."""


def require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise StepFailed(otherwise)


def require_written(path: str, wanted: bytes, result: ToolResult) -> None:
    require(result.ok, result.output)
    require(bytes_of(path) == wanted, "the file on disk is not what was asked for")
