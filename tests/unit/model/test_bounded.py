"""The bounded mapping: which entries it drops."""

from fileops.model.bounded import LruDict


def test_least_recently_used_entry_is_dropped() -> None:
    entries: LruDict[str, int] = LruDict(2)
    entries.put("a", 1)
    entries.put("b", 2)
    assert entries.use("a") == 1
    entries.put("c", 3)
    assert [entries.get(key) for key in "abc"] == [1, None, 3]
    assert list(entries.values()) == [1, 3]


def test_get_does_not_count_as_use() -> None:
    entries: LruDict[str, int] = LruDict(2)
    entries.put("a", 1)
    entries.put("b", 2)
    assert entries.get("a") == 1
    entries.put("c", 3)
    assert entries.get("a") is None


def test_entries_are_bounded_by_their_costs() -> None:
    entries: LruDict[str, bytes] = LruDict(10, len)
    entries.put("a", b"12345")
    entries.put("a", b"1234")
    entries.put("b", b"123456")
    assert len(entries) == 2
    entries.put("c", b"1")
    assert [entries.get(key) for key in "abc"] == [None, b"123456", b"1"]
    entries.drop("b")
    entries.put("d", b"123456789")
    assert len(entries) == 2


def test_missing_entry_is_none() -> None:
    entries: LruDict[str, int] = LruDict(1)
    assert entries.use("a") is None
    entries.drop("a")
