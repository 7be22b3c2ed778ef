"""Events from many threads arrive on the loop, each thread's in its order, and none is lost at the end."""

import asyncio
import threading
from collections.abc import Iterable

from fileops.concurrency.delivery import Delivery
from fileops.lsp.notifications import NotificationQueue
from fileops.model.events import Event, WatcherHealth
from support.patience import PATIENCE_S


def health(reason: str) -> Event:
    return WatcherHealth(state="ok", reason=reason)


# R-EVENT-1
async def test_events_of_each_thread_keep_their_order() -> None:
    seen: list[str] = []
    events = NotificationQueue(
        asyncio.get_running_loop(), lambda some: seen.extend(getattr(event, "reason", "") for event in some)
    )

    def publish(name: str) -> None:
        for number in range(200):
            events.publish(health(f"{name}{number}"))

    threads = [threading.Thread(target=publish, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    events.flush()
    for name in "abc":
        assert [one for one in seen if one[0] == name] == [f"{name}{number}" for number in range(200)]


async def test_later_event_does_not_overtake_one_that_waits_for_its_answer() -> None:
    """Else a file that became stale right after its reading would look fresh."""
    seen, told = list[str](), asyncio.Event()

    def send(some: Iterable[Event]) -> None:
        seen.extend(getattr(event, "reason", "") for event in some)
        if "stale" in seen:
            told.set()

    events = NotificationQueue(asyncio.get_running_loop(), send)
    events.publish(health("read"))
    thread = threading.Thread(target=events.publish, args=(health("stale"),))
    thread.start()
    thread.join()
    async with asyncio.timeout(PATIENCE_S):
        await told.wait()
    assert seen == ["read", "stale"]


async def test_effect_of_a_delivered_answer_is_sent_in_the_next_turn_of_the_loop() -> None:
    """It comes after its answer without waiting for a turn, and never before an event that does wait."""
    for is_settled, n_turns in ((True, 1), (False, 2)):
        seen = list[str]()
        events = NotificationQueue(
            asyncio.get_running_loop(),
            lambda some, seen=seen: seen.extend(getattr(each, "reason", "") for each in some),
        )
        with Delivery() as delivery:
            if is_settled:
                delivery.settle(is_sent=True)
            events.publish(health("effect"))
        assert not seen
        for _ in range(n_turns):
            await asyncio.sleep(0)
        assert seen == ["effect"]


async def test_event_of_a_request_is_sent_in_the_turn_after_its_answer() -> None:
    for is_sent in (True, False):
        seen = list[str]()
        events = NotificationQueue(
            asyncio.get_running_loop(),
            lambda some, seen=seen: seen.extend(getattr(each, "reason", "") for each in some),
        )
        with Delivery() as delivery:
            events.publish(health("edit"))
            delivery.settle(is_sent=is_sent)
        assert not seen
        await asyncio.sleep(0)
        assert seen == ["edit"]


async def test_effect_of_a_delivered_answer_does_not_overtake_an_event_that_waits() -> None:
    seen = list[str]()
    events = NotificationQueue(
        asyncio.get_running_loop(), lambda some: seen.extend(getattr(event, "reason", "") for event in some)
    )
    events.publish(health("waits"))
    with Delivery() as delivery:
        delivery.settle(is_sent=True)
        events.publish(health("effect"))
    events.flush()
    assert seen == ["waits", "effect"]


def test_event_after_the_end_is_harmless() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    NotificationQueue(loop, lambda _: None).publish(health("late"))
