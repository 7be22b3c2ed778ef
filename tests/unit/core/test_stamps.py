import pytest
from msgspec.structs import replace

from fileops.core.stamps import is_racy, is_same_file, same_stamp
from fileops.model.files import Stamp

SECOND = 1_000_000_000
MS = 1_000_000
NOW = 1_700_000_000 * SECOND


def stamp(mtime_ns: int, ctime_ns: int) -> Stamp:
    return Stamp(
        dev=1, ino=2, size_bytes=3, mtime_ns=mtime_ns, ctime_ns=ctime_ns, mode=0o100644, uid=0, gid=0, n_links=1
    )


@pytest.mark.parametrize(
    ("mtime_ns", "ctime_ns", "racy"),
    [
        (NOW - 1, NOW - 1, True),
        (NOW - 19 * MS - 1, NOW - 19 * MS - 1, True),
        (NOW - 21 * MS - 1, NOW - 21 * MS - 1, False),
        (NOW - SECOND, NOW - SECOND, True),  # whole seconds: a filesystem that keeps no more
        (NOW - 2 * SECOND, NOW - 2 * SECOND, True),
        (NOW - 3 * SECOND, NOW - 3 * SECOND, False),
        (NOW - SECOND, NOW - SECOND + 1, False),  # a whole mtime that a program set; ctime shows what the disk keeps
        (NOW - 60 * SECOND, NOW - 5 * MS + 1, True),  # mtime restored after a write of just now
        (NOW + 3600 * SECOND + 1, NOW - SECOND - 1, False),  # from the future: a write would bring it back
        (NOW + 5 * MS + 1, NOW + 5 * MS + 1, True),  # a clock a little behind the filesystem's
    ],
)
def test_stamp_is_racy_if_a_later_write_could_repeat_it(mtime_ns: int, ctime_ns: int, racy: bool) -> None:
    assert is_racy(stamp(mtime_ns, ctime_ns), NOW) is racy


@pytest.mark.parametrize("name", ["dev", "ino", "size_bytes", "mtime_ns", "ctime_ns"])
def test_any_of_these_fields_changes_a_stamp(name: str) -> None:
    before = stamp(NOW, NOW)
    assert same_stamp(before, replace(before, mode=0o100600, n_links=2))
    assert not same_stamp(before, replace(before, **{name: 7}))
    assert is_same_file(before, replace(before, **{name: 7})) is (name not in {"dev", "ino"})
