"""Compares stamps: what they can prove. Pure; used by the filesystems and the tracker.

A separate module, because the filesystems may import it, but not the tracker.
"""

from fileops.model.files import Stamp

SECOND_NS = 1_000_000_000
# FAT stores even seconds, HFS+ and some network filesystems whole ones; git and gopls use the same margin.
COARSE_WINDOW_NS = 2 * SECOND_NS
# Kernels before 6.13 stamp with the time of the last tick: up to 10 ms old at HZ=100, and doubled for safety.
TICK_WINDOW_NS = 20_000_000


def is_racy(stamp: Stamp, taken_ns: int) -> bool:
    """Return whether a later write could leave the same stamp, so that only the content proves a file unchanged.

    taken_ns: wall clock just before the stamp was taken. A time far in the future is not racy: a write would reset it
    to the current time.
    """
    is_coarse = stamp.mtime_ns % SECOND_NS == 0 and stamp.ctime_ns % SECOND_NS == 0
    window_ns = COARSE_WINDOW_NS if is_coarse else TICK_WINDOW_NS
    return abs(taken_ns - stamp.mtime_ns) <= window_ns or abs(taken_ns - stamp.ctime_ns) <= window_ns


def is_same_file(old: Stamp, new: Stamp) -> bool:
    return old.ino == new.ino and old.dev == new.dev


def same_stamp(old: Stamp, new: Stamp) -> bool:
    """Return whether nothing was written between the two, as far as stamps can show (see `is_racy`)."""
    return (
        old.ctime_ns == new.ctime_ns
        and old.mtime_ns == new.mtime_ns
        and old.size_bytes == new.size_bytes
        and old.ino == new.ino
        and old.dev == new.dev
    )
