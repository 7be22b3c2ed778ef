"""A daemon that runs out of descriptors."""

import resource
import sys


class Starved:
    """The process can open no further file inside this. Linux only: elsewhere there is no `resource.prlimit`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def __enter__(self) -> None:
        assert sys.platform == "linux"
        self.limits = resource.prlimit(self.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, (0, self.limits[1]))

    def __exit__(self, *exc: object) -> None:
        assert sys.platform == "linux"
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, self.limits)
