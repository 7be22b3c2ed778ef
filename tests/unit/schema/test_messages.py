"""The table of messages: nothing is served, asked or notified that is not in it."""

import asyncio
from typing import Any, get_args

import pytest

from fileops.api.requests import REQUESTS, Need, Request
from fileops.lsp.server import LspServer
from fileops.model.events import Event
from fileops.schema.messages import NEEDS, messages
from fileops.wire import types as wire
from fileops.wire.events import EVENT_METHODS

TABLE = {(message.sender, message.method): message for message in messages()}


def test_messages_in_the_table_are_unique() -> None:
    assert len(TABLE) == len(messages())


def test_every_request_that_the_server_registers_is_in_the_table() -> None:
    async def registered() -> set[str]:
        return set(LspServer(lambda _: pytest.fail("not built here")).requests)

    served = asyncio.run(registered())
    assert served == {request.method for request in REQUESTS if request.needs is None}
    assert {("client", method) for method in served} <= TABLE.keys()


def test_every_standard_message_that_pygls_serves_is_in_the_table() -> None:
    protocol = LspServer(lambda _: pytest.fail("not built here")).protocol
    by_pygls: dict[str, Any] = protocol._builtins
    assert {("client", method) for method in by_pygls} - TABLE.keys() == set()


def test_every_event_is_in_the_table() -> None:
    assert set(EVENT_METHODS) == set(get_args(Event))
    assert {("server", method) for method in EVENT_METHODS.values()} <= TABLE.keys()


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: request.method)
def test_request_names_the_types_of_its_result(request_: Request[Any]) -> None:
    message = TABLE["client", request_.method]
    assert message.result is not object
    assert (message.result is wire.ToolResult) == (message.details is not None)


def test_every_need_has_a_description() -> None:
    assert set(NEEDS) == {None, *get_args(Need)}
