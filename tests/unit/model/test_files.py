"""Values that cross rooms: what they say of themselves."""

import threading
from dataclasses import replace

from fileops.model.digest import content_digest
from fileops.model.files import Snapshot


def snapshot_of(data: bytes) -> Snapshot:
    return Snapshot(path="/f", stamp=None, data=data, taken_ns=1)


def test_digest_is_that_of_the_data_for_every_caller() -> None:
    snapshot, told = snapshot_of(b"x" * 1_000_000), list[bytes]()
    threads = [threading.Thread(target=lambda: told.append(snapshot.digest)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {*told, snapshot.digest} == {content_digest(snapshot.data)}


def test_digest_is_not_copied_with_other_data() -> None:
    before = snapshot_of(b"one")
    assert before.digest == content_digest(b"one")
    after = replace(before, data=b"two")
    assert after.digest == content_digest(b"two")


def test_computed_digest_does_not_affect_equality_of_snapshots() -> None:
    asked, unasked = snapshot_of(b"one"), snapshot_of(b"one")
    assert asked.digest
    assert asked == unasked
    assert hash(asked) == hash(unasked)
