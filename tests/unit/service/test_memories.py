"""Which files are remembered between two questions."""

from fileops.record.store import RecordStore
from fileops.service.rewind.memories import MAX_BYTES, MAX_FILES, MIN_STEPS, Memories

STORE = RecordStore(None)


def test_files_asked_about_last_are_remembered_within_a_bound() -> None:
    memories = Memories()
    first, second = memories.of(STORE, "/a", MIN_STEPS), memories.of(STORE, "/b", MIN_STEPS)
    assert first is not None
    assert second is not None
    first.keep("blame", [], bytes(MAX_BYTES // 2))
    second.keep("places", [], bytes(MAX_BYTES // 2))
    assert memories.of(STORE, "/a", MIN_STEPS) is first
    third = memories.of(STORE, "/c", MIN_STEPS)
    assert third is not None
    third.keep("blame", [], bytes(MAX_BYTES // 2))
    assert memories.of(STORE, "/b", MIN_STEPS) is not second
    assert memories.of(STORE, "/a", MIN_STEPS) is first
    first.keep("blame", [], bytes(MAX_BYTES + 1))
    assert memories.of(STORE, "/a", MIN_STEPS) is not first
    assert memories.of(STORE, "/c", MIN_STEPS) is not third


def test_no_more_files_are_remembered_than_the_limit() -> None:
    memories = Memories()
    first = memories.of(STORE, "/0", MIN_STEPS)
    for n in range(1, MAX_FILES):
        memories.of(STORE, f"/{n}", MIN_STEPS)
    assert memories.of(STORE, "/0", MIN_STEPS) is first
    second = memories.of(STORE, "/1", MIN_STEPS)
    for n in range(MAX_FILES - 1):
        memories.of(STORE, f"/new-{n}", MIN_STEPS)
    assert memories.of(STORE, "/1", MIN_STEPS) is second
    assert memories.of(STORE, "/0", MIN_STEPS) is not first


def test_short_stories_are_not_remembered_and_all_are_forgotten_at_once() -> None:
    memories = Memories()
    assert memories.of(STORE, "/a", MIN_STEPS - 1) is None
    first = memories.of(STORE, "/a", MIN_STEPS)
    memories.clear()
    assert memories.of(STORE, "/a", MIN_STEPS) is not first
