"""Which answers deliver: the connection settles the delivery of each request once, by what it could send."""

import asyncio
import json
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from fileops.concurrency.delivery import when_delivered
from fileops.lsp.protocol import withdrawal
from fileops.rpc import errors
from fileops.rpc.connection import Connection, Handler
from fileops.rpc.errors import MessageId, RequestRefused


class Dialect:
    """One handler for every request."""

    def __init__(self, handle: Handler) -> None:
        self.connection = Connection(self, withdrawal)
        self._handle = handle

    def handle_request(self, msg_id: MessageId, method: str, params: object) -> None:
        del method
        self.connection.serve(msg_id, self._handle, params)

    def handle_notification(self, method: str, params: object) -> None: ...

    def is_cancellation(self, fault: BaseException) -> bool:
        del fault
        return False


class Sink:
    n_pending_bytes = 0

    def __init__(self, *, is_open: bool) -> None:
        self.is_open = is_open

    def write(self, body: bytes) -> bool:
        del body
        return self.is_open

    @contextmanager
    def batch(self) -> Generator[None]:
        yield


def request(method: str) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method}).encode()


async def outcomes(result: object, *, is_open: bool = True, at_once: bool = False, cancels: str = "") -> list[str]:
    """What a request's delivery was settled as. result: of its handler, or what it raises."""
    found: list[str] = []

    def work(_params: object) -> object:
        when_delivered(lambda: found.append("sent"), lambda: found.append("dropped"))
        if isinstance(result, Exception):
            raise result
        return result

    async def handle(params: object) -> object:
        worked = work(params)
        if cancels:
            await asyncio.Event().wait()
        return worked

    connection = Dialect(work if at_once else handle).connection
    connection.sink = Sink(is_open=is_open)
    connection.receive(request("work"))
    await asyncio.sleep(0)
    if cancels:
        assert connection.cancel(1, is_answered=cancels == "answered")
    while in_flight := connection.in_flight():
        await asyncio.wait(in_flight)
    await asyncio.sleep(0)
    return found


REFUSED = RequestRefused(errors.method_not_found("work"))


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(
    ("result", "is_open", "outcome"),
    [
        ({"a": 1}, True, "sent"),
        ({"a": 1}, False, "dropped"),
        ({"a": object()}, True, "dropped"),  # no JSON: an error is sent in its place
        (REFUSED, True, "dropped"),
        (RuntimeError(), True, "dropped"),
    ],
    ids=["result", "lost", "not-encoded", "refused", "fault"],
)
async def test_delivery_is_sent_if_the_result_is(result: object, outcome: str, *, is_open: bool, at_once: bool) -> None:
    assert await outcomes(result, is_open=is_open, at_once=at_once) == [outcome]


@pytest.mark.parametrize("cancels", ["answered", "unanswered"])
async def test_cancelled_request_delivers_nothing(cancels: str) -> None:
    assert await outcomes({}, cancels=cancels) == ["dropped"]


async def test_request_before_the_transport_is_open_delivers_nothing() -> None:
    found: list[str] = []

    async def handle(_params: object) -> object:
        when_delivered(lambda: found.append("sent"), lambda: found.append("dropped"))
        return {}

    connection = Dialect(handle).connection
    connection.receive(request("work"))
    await asyncio.wait(connection.in_flight())
    await asyncio.sleep(0)
    assert found == ["dropped"]


async def test_result_outside_of_a_request_is_delivered_already() -> None:
    found: list[str] = []
    when_delivered(lambda: found.append("sent"), lambda: found.append("dropped"))
    assert found == ["sent"]


async def test_answer_is_sent_in_the_last_step_of_its_handler() -> None:
    """A turn of the loop later, another request with the same id would be refused although the first was served."""
    found: list[str] = []
    may_end = asyncio.get_running_loop().create_future()

    async def handle(_params: object) -> object:
        when_delivered(lambda: found.append("sent"))
        await may_end
        return {}

    connection = Dialect(handle).connection
    connection.sink = Sink(is_open=True)
    connection.receive(request("work"))
    await asyncio.sleep(0)  # its first step
    may_end.set_result(None)
    assert connection.in_flight() != []
    await asyncio.sleep(0)  # its last one
    assert found == ["sent"]
    assert connection.in_flight() == []
