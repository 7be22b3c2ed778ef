"""A client that is about to be opened: awaited, or entered as a `with` block that closes it."""

from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar


class Closable(Protocol):
    async def close(self) -> int | None: ...


C = TypeVar("C", bound=Closable)


class Opening(AbstractAsyncContextManager[C], Awaitable[C], Generic[C]):
    """`async with FileOpsClient.start(...) as client`, or `client = await FileOpsClient.start(...)` without a block.

    Opening raises ServerMissing, ResponseError (a bad initialization option), ConnectionLost or RequestTimeout. An
    opening is used once: a second client needs a second call. Raises: RuntimeError, for a second use.
    """

    def __init__(self, begin: Callable[[], Coroutine[Any, Any, C]]) -> None:
        self._begin = begin
        self._is_used = False
        self._client: C | None = None

    def __await__(self) -> Generator[Any, None, C]:
        return self._open().__await__()

    async def __aenter__(self) -> C:
        self._client = await self._open()
        return self._client

    async def _open(self) -> C:
        if self._is_used:
            raise RuntimeError("this opening was awaited or entered already: call start, attach or in_process again")
        self._is_used = True
        return await self._begin()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            await self._client.close()
