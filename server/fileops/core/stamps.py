"""What a stamp can prove. Pure; the filesystems and the tracker decide by it alike."""

from fileops.model.files import Stamp

SECOND_NS = 1_000_000_000
# FAT keeps even seconds, HFS+ and some network filesystems whole ones; git and gopls keep the same margin.
COARSE_WINDOW_NS = 2 * SECOND_NS
# Kernels before 6.13 stamp with the time of the last tick: up to 10 ms old at HZ=100, and doubled for safety.
TICK_WINDOW_NS = 20_000_000


def is_racy(stamp: Stamp, taken_ns: int) -> bool:
    """Whether a later write could leave this very stamp: it then proves nothing, only the content does.

    taken_ns: wall clock just before the stamp was taken. A time far in the future is not racy: a write would
    bring it back to the present.
    """
    is_coarse = stamp.mtime_ns % SECOND_NS == 0 and stamp.ctime_ns % SECOND_NS == 0
    window_ns = COARSE_WINDOW_NS if is_coarse else TICK_WINDOW_NS
    return abs(taken_ns - stamp.mtime_ns) <= window_ns or abs(taken_ns - stamp.ctime_ns) <= window_ns


def is_same_file(one: Stamp, other: Stamp) -> bool:
    return one.ino == other.ino and one.dev == other.dev


def is_unmoved(one: Stamp, other: Stamp) -> bool:
    """Nothing was written between the two, as far as stamps can tell (see `is_racy`)."""
    return (
        one.ctime_ns == other.ctime_ns
        and one.mtime_ns == other.mtime_ns
        and one.size_bytes == other.size_bytes
        and one.ino == other.ino
        and one.dev == other.dev
    )
