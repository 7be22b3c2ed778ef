"""What the registry asks of the monitors: which files are checked, and when."""

from typing import Protocol

from fileops.model.files import Stamp


class CheckSchedule(Protocol):
    """See FileMonitor, which explains the methods. Any thread."""

    def track(self, path: str, stamp: Stamp) -> Stamp | None: ...

    def untrack(self, path: str) -> None: ...

    def set_baseline(self, path: str, stamp: Stamp | None) -> None: ...

    def hint(self, path: str) -> None: ...
