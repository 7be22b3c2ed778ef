"""Events from many threads arrive on the loop, each thread's in its order, and none is lost at the end."""

import asyncio
import threading

from fileops.events import Event, WatcherHealth
from fileops.lsp.events import LoopEvents


def health(reason: str) -> Event:
    return WatcherHealth(state="ok", reason=reason)


# R-EVENT-1
async def test_each_thread_keeps_its_order() -> None:
    seen: list[str] = []
    events = LoopEvents(
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


def test_event_after_the_end_is_harmless() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    LoopEvents(loop, lambda _: None).publish(health("late"))
