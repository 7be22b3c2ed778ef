"""How many folders may be watched: a share of what the system allows all of the user's programs together.

A separate module, because no watcher imports another.
"""

from contextlib import suppress

# inotify(7). The second is the limit of a user namespace (a container), see user_namespaces(7).
INOTIFY_LIMITS = ("/proc/sys/fs/inotify/max_user_watches", "/proc/sys/user/max_inotify_watches")
SHARE = 4  # editors watch whole trees; each watch costs 1 kB of kernel memory
MAX_EMITTERS = 1000  # each is a thread of watchdog's Observer


def max_inotify_folders(limit_files: tuple[str, ...] = INOTIFY_LIMITS) -> int:
    """Return the maximum number of folders to watch, as the kernel is configured now."""
    limits: list[int] = []
    for path in limit_files:
        with suppress(OSError, ValueError), open(path, encoding="ascii") as file:  # without /proc, or in a sandbox
            limits.append(int(file.read()))
    return min(limits) // SHARE if limits else MAX_EMITTERS
