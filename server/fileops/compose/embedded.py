"""Serves one client inside its own process, with parts of the program instead of the server's.

The client is connected through a socket pair, so that it receives exactly what a daemon's client would, byte for byte.
The session runs on its caller's event loop. It handles no signals, and does not tune the process.
"""

import socket
from collections.abc import Generator
from contextlib import contextmanager

from fileops.compose.client_connection import attachment_of_only_client
from fileops.compose.lsp_connection import LspConnection
from fileops.compose.own_parts import OwnParts
from fileops.compose.state import DaemonState
from fileops.core.matching import strategies
from fileops.core.matching.exact import BUILT_IN, STRATEGIES
from fileops.core.processing import PROCESSORS, Processor
from fileops.core.validation import VALIDATORS, Validator


async def serve(peer: socket.socket, own: OwnParts) -> None:
    """Serve the client at the other end of `peer`, and close it at the end. Raises: ValueError (a name is taken)."""
    with peer, _install(own):
        connection = LspConnection(DaemonState(own), attachment_of_only_client())
        await connection.serve(peer.fileno(), peer.fileno(), is_embedded=True).serve()


# --- functions of the program under a name ------------------------------------------------------------------------

_users: dict[str, list[object]] = {}  # name -> the functions that clients have installed, one for each client


@contextmanager
def _install(own: OwnParts) -> Generator[None]:
    wanted = {
        **{f"strategy {name}": function for name, function in own.strategies.items()},
        **{f"processor {name}": function for name, function in own.processors.items()},
        **{f"validator {name}": function for name, function in own.validators.items()},
    }
    taken = {f"strategy {name}" for name in (*BUILT_IN, *STRATEGIES)}
    taken |= {f"processor {name}" for name in PROCESSORS} | {f"validator {name}" for name in VALIDATORS}
    for name, function in wanted.items():
        if name in taken and function not in _users.get(name, ()):
            raise ValueError(f"the {name} exists already: choose another name")
    for name, function in wanted.items():
        _users.setdefault(name, []).append(function)
    for name, strategy in own.strategies.items():
        strategies.register(strategies.plugin_strategy(name, lambda strategy=strategy: strategy))
    for name, processor in own.processors.items():
        PROCESSORS[name] = Processor(name, lambda processor=processor: processor)
    for name, validator in own.validators.items():
        VALIDATORS[name] = Validator(name, lambda validator=validator: validator)
    try:
        yield
    finally:
        for name, function in wanted.items():
            _users[name].remove(function)
            if not _users[name]:
                del _users[name]
                kind, _, key = name.partition(" ")
                installed = {"strategy": STRATEGIES, "processor": PROCESSORS, "validator": VALIDATORS}[kind]
                installed.pop(key, None)
