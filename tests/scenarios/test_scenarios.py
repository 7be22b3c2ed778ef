"""Every story of the *.txt files beside this file, in this process and on the daemon."""

import asyncio
import dataclasses
import json
import pathlib
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any, cast

import pytest
import pytest_asyncio

from fileops.api.requests import REQUESTS
from fileops.fs.local.filesystem import LocalFileSystem
from fileops.model.events import Event
from fileops.rpc.decode import InvalidParams, decode
from fileops.rpc.json import dumps
from fileops.wire.events import notification_of
from fileops.wire.options import decode_options
from fileops_client import FileOpsClient, Notification, Options, ResponseError
from scenarios.stage import Door, Refused, Stage
from scenarios.story import Story, filled, stories_of
from support.in_process import Person, asker_of, service_over

FOLDER = pathlib.Path(__file__).parent
STORIES = [story for path in sorted(FOLDER.glob("*.txt")) for story in stories_of(path)]


class MessageReader:
    """Events as they came in, until a story takes them out."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._events: list[tuple[str, Mapping[str, Any]]] = []
        self._arrived = asyncio.Event()

    def put(self, method: str, params: Mapping[str, Any]) -> None:
        self._events.append((method, params))
        self._arrived.set()

    async def take(self, name: str, where: Callable[[Mapping[str, Any]], bool], timeout_s: float) -> Mapping[str, Any]:
        async with asyncio.timeout(timeout_s):
            while True:
                for index, (method, params) in enumerate(self._events):
                    if method == f"fileops/{name}" and where(params):
                        del self._events[index]
                        return params
                self._arrived.clear()
                await self._arrived.wait()


class ServiceDoor:
    """The service in this process, behind the wire's own decoding and encoding."""

    def __init__(self, settings: Mapping[str, Any], folders: tuple[str, ...]) -> None:
        self._inbox = MessageReader()
        self._loop = asyncio.get_running_loop()
        self._requests = {request.method: request for request in REQUESTS}
        settings_of_client = decode_options(dict(settings)).settings
        self.service = service_over(LocalFileSystem(), self, asker_of(Person()), settings_of_client, folders)

    def publish(self, event: Event) -> None:
        """See ports.Events."""
        method, params = notification_of(event)
        self._loop.call_soon_threadsafe(self._inbox.put, method, json.loads(dumps(params)))

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        request = self._requests[method]
        try:
            decoded = decode(params, request.params)
        except InvalidParams as error:
            return Refused({"code": -32602, "data": {"path": error.path, "reason": error.reason}})
        return json.loads(dumps(await request.handle(self.service, decoded)))

    async def event(self, name: str, where: Callable[[Mapping[str, Any]], bool], timeout_s: float) -> Mapping[str, Any]:
        return await self._inbox.take(name, where, timeout_s)


class DaemonDoor:
    """The daemon, through the Python client."""

    def __init__(self, client: FileOpsClient) -> None:
        self._client = client
        self._inbox = MessageReader()
        for name in ("didBecomeStale", "didRead", "didEdit", "didConflict", "watcherHealth"):
            client.on(f"fileops/{name}", lambda event, name=name: self._heard(f"fileops/{name}", event))

    def _heard(self, method: str, event: Any) -> None:
        assert not isinstance(event, Notification)
        self._inbox.put(method, dataclasses.asdict(event))

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        try:
            return await self._client.request(method, params)
        except ResponseError as error:
            return Refused({"code": error.code, "message": error.message, "data": error.data})

    async def event(self, name: str, where: Callable[[Mapping[str, Any]], bool], timeout_s: float) -> Mapping[str, Any]:
        return await self._inbox.take(name, where, timeout_s)


class Doors:
    """One service and one daemon per set of settings, shared by all stories that use it."""

    def __init__(self, base: pathlib.Path) -> None:
        self.workspace = base / "workspace"
        self.outside = base / "outside"
        self.workspace.mkdir()
        self.outside.mkdir()
        self._doors: dict[tuple[str, str], Door] = {}
        self._open = AsyncExitStack()

    async def get(self, kind: str, settings: Mapping[str, Any]) -> Door:
        key = (kind, json.dumps(settings, sort_keys=True))
        if key not in self._doors:
            self._doors[key] = await self._make(kind, settings)
        return self._doors[key]

    async def _make(self, kind: str, settings: Mapping[str, Any]) -> Door:
        if kind == "service":
            door = ServiceDoor(settings, (str(self.workspace),))
            self._open.callback(door.service.close)
            return door
        client = await self._open.enter_async_context(
            FileOpsClient.start(root=self.workspace, initialization_options=cast("Options", settings))
        )
        return DaemonDoor(client)

    async def close(self) -> None:
        await self._open.aclose()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def doors(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Doors]:
    doors = Doors(tmp_path_factory.mktemp("stories").resolve())
    yield doors
    await doors.close()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.xdist_group("stories")  # one process starts each daemon once
@pytest.mark.parametrize("kind", ["service", "daemon"])
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
async def test_story_passes(story: Story, kind: str, doors: Doors) -> None:
    place = f"{kind}-{STORIES.index(story)}"
    root, outside = doors.workspace / place, doors.outside / place
    root.mkdir()
    outside.mkdir()
    settings = filled(story.settings, {"OUTSIDE": str(outside), "ROOT": str(root)})
    door = await doors.get(kind, settings)
    await Stage(story, door, str(root), str(outside)).play()


def test_titles_are_unique() -> None:
    names = [story.name for story in STORIES]
    assert len(set(names)) == len(names)
