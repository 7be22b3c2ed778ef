"""Memory in huge pages, so that a process of hundreds of megabytes is forked in a quarter of the time."""

import ctypes
import os
import sys

SIZE = 2 << 20
_MADV_COLLAPSE = 25  # since Linux 6.1; elsewhere it is refused, and all stays as it was


def collapse() -> None:
    """Move what this process has on its heap by now into huge pages.

    A fork copies the table of all pages. What is written later is copied in small pages as ever.
    """
    if sys.platform != "linux" or not os.path.exists("/proc/self/maps"):  # tests/support/lacking takes /proc away
        return
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        lines = maps.readlines()
    for line in lines:
        place, access, _, _, _, *name = line.split(maxsplit=5)
        if access == "rw-p" and (not name or name[0].strip() == "[heap]"):
            begin, end = (int(number, 16) for number in place.split("-"))
            for page in range(-(-begin // SIZE) * SIZE, end // SIZE * SIZE, SIZE):
                if madvise(page, SIZE, _MADV_COLLAPSE) != 0:
                    break
