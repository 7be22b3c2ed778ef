"""A stock pygls server with one custom request that returns the answer it was given. The yardstick of S1 and S2."""

import json
from typing import Any

from pygls.lsp.server import LanguageServer

server = LanguageServer("stock", "1")
reply: Any = None


@server.feature("bench/set")
def set_reply(params: Any) -> None:
    global reply  # noqa: PLW0603
    reply = json.loads(params.reply)


@server.feature("bench/echo")
def echo(_params: Any) -> Any:
    return reply


if __name__ == "__main__":
    server.start_io()
