"""A daemon around the protocol seam alone, with requests that do what a test needs: echo, sleep, fail, ask."""

import asyncio
import os
import sys
from typing import Any, cast

from fileops.api.requests import Request
from fileops.lsp.server import ClientContext, LspServer
from fileops.lsp.stdio import LspSession
from fileops.model.events import WatcherHealth
from fileops.rpc.standard_io import serve_standard_io
from fileops.service.hub.names import SessionNames
from fileops.telemetry.calls import Calls
from fileops.wire import types as wire


class EchoParams(wire.Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    value: object = None


class SleepParams(wire.Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    seconds: float


class AskParams(wire.Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    method: str
    timeout_s: float | None = None
    delay_s: float | None = None


class Seam:
    """Takes the place of the service; knows the connection instead of files."""

    def __init__(self, wiring: ClientContext) -> None:
        self.wiring = wiring
        self.folders: list[str] = list(wiring.folders)
        self.n_saved = 0
        self.n_waiting_for_others = 0
        self.calls = Calls(())
        self.names = SessionNames()
        self.bash: None = None
        self.reviews: None = None

        @wiring.server.feature("textDocument/didSave")
        def did_save(_params: Any) -> None:
            self.n_saved += 1

    def set_folders(self, folders: Any) -> None:
        self.folders = list(folders)

    def shows(self, event: object) -> bool:
        del event
        return True

    def close(self) -> None:
        self.wiring.events.publish(WatcherHealth(state="ok", reason="closed"))


async def echo(_seam: Any, params: EchoParams) -> object:
    return params.value


async def sleep(_seam: Any, params: SleepParams) -> object:
    await asyncio.sleep(params.seconds)
    return "slept"


async def stubborn(_seam: Any, params: SleepParams) -> object:
    """Like a commit that has begun: a cancel changes nothing."""
    work = asyncio.ensure_future(asyncio.sleep(params.seconds))
    while not work.done():
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            continue
    return "done"


async def fail(_seam: Any, params: EchoParams) -> object:
    raise RuntimeError(f"secret: {params.value}")


async def unserialisable(_seam: Any, _params: EchoParams) -> object:
    return object()


async def ask(seam: Any, params: AskParams) -> object:
    await asyncio.sleep(params.delay_s or 0)
    try:
        return {"reply": await seam.wiring.client.ask(params.method, {"question": 1}, timeout_s=params.timeout_s)}
    except Exception as fault:  # noqa: BLE001 - the test wants to see any of them
        return {"raised": type(fault).__name__, "code": getattr(fault, "code", None)}


async def state(seam: Any, _params: EchoParams) -> object:
    server = cast("LspServer", SERVER[0])
    return {
        "folders": seam.folders, "n_saved": seam.n_saved, "n_in_flight": len(server.connection.in_flight()),
        "n_questions": len(server.connection.outgoing), "settings": repr(seam.wiring.settings),
    }  # fmt: skip


async def chatter(seam: Any, _params: EchoParams) -> object:
    for number in range(100):
        seam.wiring.events.publish(WatcherHealth(state="ok", reason=str(number)))
    return None


async def babble(_seam: Any, _params: EchoParams) -> object:
    """What careless code does: print, write to descriptor 1, start a child that does both and reads stdin."""
    print("to sys.stdout")  # noqa: T201
    os.write(1, b"to descriptor 1")
    child = await asyncio.create_subprocess_exec("sh", "-c", "echo from a child; cat")
    return await child.wait()


async def big(_seam: Any, params: SleepParams) -> object:
    return "x" * int(params.seconds * 1_000_000)


SERVER: list[object] = []


def main() -> int:
    server = LspServer(cast("Any", Seam))
    SERVER.append(server)
    requests: dict[str, tuple[type[wire.Params], Any]] = {
        "test/echo": (EchoParams, echo), "test/sleep": (SleepParams, sleep), "test/stubborn": (SleepParams, stubborn),
        "test/fail": (EchoParams, fail), "test/unserialisable": (EchoParams, unserialisable),
        "test/ask": (AskParams, ask), "test/state": (EchoParams, state), "test/chatter": (EchoParams, chatter),
        "test/babble": (EchoParams, babble), "test/big": (SleepParams, big),
    }  # fmt: skip
    for method, (params, handle) in requests.items():
        server.add_request(Request(method, params, handle))
    return serve_standard_io(lambda for_reading, for_writing: LspSession(server, for_reading, for_writing))


if __name__ == "__main__":
    sys.exit(main())
