"""The connection interface of the typed methods, and helpers for params."""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from fileops_client.tool_result import ToolResult

FilePath = str | os.PathLike[str]


class Sender(ABC):
    @abstractmethod
    async def request(self, method: str, params: Any = None, *, timeout_s: float | None = None) -> Any: ...

    @abstractmethod
    def notify(self, method: str, params: Any = None) -> None: ...

    async def _tool(self, method: str, params: dict[str, Any], timeout_s: float | None) -> ToolResult:
        answer = await self.request(method, params, timeout_s=timeout_s)
        result = msgspec.convert({**answer, "details": {}}, ToolResult)
        return replace(result, details=answer.get("details") or {})  # unchanged, including unknown keys


def drop_none(**params: Any) -> dict[str, Any]:
    """Return the params that are not None."""
    return {key: value for key, value in params.items() if value is not None}


def path_of(file_path: FilePath) -> str:
    """Return the path in the form of the protocol: bytes that are not UTF-8 are lone surrogates. Raises: TypeError."""
    return os.fsdecode(file_path)


def path_or_none(file_path: FilePath | None) -> str | None:
    return None if file_path is None else path_of(file_path)


def method_of(name: str) -> str:
    """Return the method of a short name: `fileops/edit` for `edit`. Full names and tool names stay as they are."""
    return name if "/" in name or not name[:1].islower() else f"fileops/{name}"


Arguments = Mapping[str, Any]
