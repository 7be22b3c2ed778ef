"""What is exchanged with a client before its session, over a non-blocking socket: lines, and the bodies of requests."""

import asyncio
import select
import socket
from contextlib import suppress

from fileops.attach.handshake import LINE_S, MAX_LINE_BYTES

_CHUNK_BYTES = 1 << 18
LINGER_S = 2.0  # for a client to close its end after the daemon did


async def receive_line(connection: socket.socket) -> bytes | None:
    """Return the client's line; None if it is too long or the client is gone. What follows stays in the socket."""
    line = b""
    while not line.endswith(b"\n"):
        await _readable(connection)
        seen = connection.recv(MAX_LINE_BYTES, socket.MSG_PEEK)
        n_bytes = seen.find(b"\n") + 1 or len(seen)
        if not seen or len(line) + n_bytes > MAX_LINE_BYTES:
            return None
        line += connection.recv(n_bytes)
    return line


async def receive_body(connection: socket.socket, n_bytes: int) -> bytes | None:
    """Return the bytes that follow the line; None if the client is gone."""
    loop, body = asyncio.get_running_loop(), bytearray()
    while len(body) < n_bytes:
        chunk = await loop.sock_recv(connection, min(n_bytes - len(body), _CHUNK_BYTES))
        if not chunk:
            return None
        body += chunk
    return bytes(body)


def has_hung_up(connection: socket.socket) -> bool:
    """Return whether the client has closed both directions, and so does not even wait for an answer."""
    poll = select.poll()
    poll.register(connection, 0)  # POLLHUP is always reported
    return bool(poll.poll(0))


async def client_closed(connection: socket.socket) -> None:
    """Wait a moment for the client to close its end. What it still sends is dropped."""
    connection.setblocking(False)
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(LINGER_S):
            while await asyncio.get_running_loop().sock_recv(connection, MAX_LINE_BYTES):
                pass


async def _readable(connection: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    readable = loop.create_future()
    loop.add_reader(connection, lambda: readable.done() or readable.set_result(None))
    try:
        await readable
    finally:
        loop.remove_reader(connection)


async def send(connection: socket.socket, line: bytes) -> None:
    async with asyncio.timeout(LINE_S):
        await asyncio.get_running_loop().sock_sendall(connection, line)
