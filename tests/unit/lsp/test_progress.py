"""When progress is shown, under which token, and what the cancel button finds."""

import asyncio
from typing import Any

import pytest

from fileops.lsp import progress
from fileops.lsp.client import Client, ClientRefused
from fileops.lsp.converter import to_json
from fileops.lsp.progress import ProgressTokens
from support.patience import PATIENCE_S
from support.virtual_time import VirtualTimeLoop

SHORT_S = 0.01
CREATE = "window/workDoneProgress/create"


class FakeClient(Client):
    """answer: to a request; None lets it wait."""

    def __init__(self, *, shows_progress: bool) -> None:
        self._shows_progress = shows_progress
        self._asking = set()
        self.told: asyncio.Queue[Any] = asyncio.Queue()
        self.asked: list[Any] = []
        self.refuses = False
        self.messages: list[str] = []
        self.is_outdated = False

    @property
    def lags(self) -> bool:
        return self.is_outdated

    def capability(self, dotted: str) -> object:
        return self._shows_progress if dotted == "window.workDoneProgress" else None

    async def ask(self, method: str, params: Any, *, timeout_s: float | None, withdrawal: Any = None) -> object:
        self.asked.append((method, to_json(params)))
        if self.refuses:
            raise ClientRefused("no", -32601)
        return None

    def notify(self, method: str, params: Any) -> None:
        value = params.value
        self.told.put_nowait((params.token, value.kind))
        self.messages += [value.message] if value.kind == "report" else []

    def begin_asking(self, task: "asyncio.Task[Any]") -> None:
        self._asking.add(task)

    def end_asking(self) -> None:
        self._asking.clear()


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "QUICK_S", SHORT_S)


async def next_of(client: FakeClient) -> Any:
    return await asyncio.wait_for(client.told.get(), PATIENCE_S)


@pytest.mark.parametrize("shows_progress", [True, False])
async def test_requests_own_token_is_used(shows_progress: bool):
    client = FakeClient(shows_progress=shows_progress)
    with ProgressTokens(client).report("mine", "fileops/read"):
        assert await next_of(client) == ("mine", "begin")
    assert await next_of(client) == ("mine", "end")
    assert client.asked == []


async def test_token_is_created_if_the_request_has_none():
    client = FakeClient(shows_progress=True)
    with ProgressTokens(client).report(None, "fileops/read"):
        token, kind = await next_of(client)
    assert kind == "begin"
    assert client.asked == [(CREATE, {"token": token})]
    assert await next_of(client) == (token, "end")


@pytest.mark.parametrize(
    ("shows_progress", "refuses", "method"),
    [(False, False, "fileops/read"), (True, True, "fileops/read"), (True, False, "fileops/tools")],
)
async def test_token_is_not_created_without_support_or_need(shows_progress: bool, refuses: bool, method: str):
    client = FakeClient(shows_progress=shows_progress)
    client.refuses = refuses
    with ProgressTokens(client).report(None, method):
        await asyncio.sleep(SHORT_S * 5)
    assert client.told.empty()
    assert len(client.asked) == int(refuses)


async def test_quick_work_shows_no_progress():
    client = FakeClient(shows_progress=True)
    with ProgressTokens(client).report("mine", "fileops/read"):
        pass
    await asyncio.sleep(SHORT_S * 3)
    assert client.told.empty()


async def test_progress_is_suspended_during_an_approval():
    client = FakeClient(shows_progress=True)
    task = asyncio.current_task()
    assert task is not None
    with ProgressTokens(client).report(None, "fileops/edit"):
        client.begin_asking(task)
        await asyncio.sleep(SHORT_S * 5)
        assert client.asked == []
        client.end_asking()
        assert (await next_of(client))[1] == "begin"


def test_wait_for_a_person_in_another_client_is_no_progress_and_is_said_when_progress_is_shown():
    async def wait_and_work_and_wait() -> None:
        client, waits = FakeClient(shows_progress=True), [True]
        with ProgressTokens(client).report(None, "fileops/edit", lambda: bool(waits)):
            await asyncio.sleep(5 * SHORT_S)
            assert client.asked == []
            waits.clear()
            assert (await next_of(client))[1] == "begin"
            waits.append(True)
            assert (await next_of(client))[1] == "report"
            waits.clear()
            assert (await next_of(client))[1] == "report"
            await asyncio.sleep(5 * SHORT_S)
        assert (await next_of(client))[1] == "end"
        assert (client.messages, len(client.asked)) == ([progress.WAITING, ""], 1)

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(wait_and_work_and_wait())


def test_a_moment_between_two_questions_shows_no_progress():
    async def ask_again_and_again() -> None:
        client = FakeClient(shows_progress=True)
        task = asyncio.current_task()
        assert task is not None
        with ProgressTokens(client).report(None, "fileops/edit"):
            for _ in range(3):
                client.begin_asking(task)
                await asyncio.sleep(2.5 * SHORT_S)
                client.end_asking()
                await asyncio.sleep(0.6 * SHORT_S)  # with one look at the most
            client.begin_asking(task)
            await asyncio.sleep(2 * SHORT_S)
            assert client.asked == []
            client.end_asking()
            assert (await next_of(client))[1] == "begin"

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(ask_again_and_again())


async def test_reports_to_a_lagging_client_are_merged(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(progress, "LAG_S", SHORT_S)
    client = FakeClient(shows_progress=False)
    with ProgressTokens(client).report("mine", "fileops/bash") as say:
        assert say is not None
        say("one\n")
        client.is_outdated = True
        assert [await next_of(client) for _ in range(2)] == [("mine", "begin"), ("mine", "report")]
        for number in range(3):
            say(f"{number}\n")
            await asyncio.sleep(SHORT_S * 3)
        assert client.told.empty()
        client.is_outdated = False
        assert await next_of(client) == ("mine", "report")
        say("two\n")
        assert client.messages == ["one\n", "0\n1\n2\n", "two\n"]
    assert [await next_of(client) for _ in range(2)] == [("mine", "report"), ("mine", "end")]


async def test_merged_reports_over_the_limit_keep_their_end_and_count_the_rest():
    client = FakeClient(shows_progress=False)
    client.is_outdated = True
    with ProgressTokens(client).report("mine", "fileops/bash") as say:
        assert say is not None
        say("a" * progress.MAX_REPORT_CHARS)
        say("b" * 1000)
        say("c" * 10)
    (message,) = client.messages
    assert message.startswith("... (1010 characters are left out here)\naaa")
    assert message.endswith("b" * 1000 + "c" * 10)
    assert [(await next_of(client))[1] for _ in range(3)] == ["begin", "report", "end"]


async def test_cancel_button_of_the_editor_cancels_the_work():
    client = FakeClient(shows_progress=True)
    tokens = ProgressTokens(client)

    async def work() -> None:
        with tokens.report(None, "fileops/edit"):
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    token, _ = await next_of(client)
    tokens.cancel(token)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await next_of(client) == (token, "end")
