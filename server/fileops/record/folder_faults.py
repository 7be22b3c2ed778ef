"""Folders whose recording ended by a fault or a disk that hangs: when each is retried, and what people are told."""

import math
import threading
from collections.abc import Callable, Container

from msgspec import Struct

from fileops.model.record import FaultKind


class _Fault(Struct):
    """starter: thread of the last retry. is_told: the user was warned."""

    kind: FaultKind
    n_faults: int = 0
    retry_at: float = math.inf
    starter: threading.Thread | None = None
    is_told: bool = False


class FolderFaults:
    """See the module. Belongs to the recorder's thread."""

    def __init__(self, pause_s: float, warn: Callable[[str, str | None], None], now: Callable[[], float]) -> None:
        """Args: pause_s: after a fault; each further one makes the pause longer. warn, now: see Recorder."""
        self._pause_s, self._warn, self._now = pause_s, warn, now
        self._faults: dict[str, _Fault] = {}  # by root

    def __bool__(self) -> bool:
        return bool(self._faults)

    @property
    def roots(self) -> frozenset[str]:
        """Any thread may ask."""
        return frozenset(self._faults)

    def list_off(self, recorded: Container[str]) -> list[tuple[str, FaultKind]]:
        """Return the folders that are not recorded again, with the reason."""
        return [(root, fault.kind) for root, fault in self._faults.items() if root not in recorded]

    def add(self, root: str) -> None:
        """Note that a fault has ended the recording of a folder."""
        fault = self._note(root, "fault")
        fault.retry_at = self._now() + self._pause_s * fault.n_faults
        self._tell(root, fault, "a fault ended it; see the daemon's log. It is tried again")

    def add_hang(self, root: str) -> None:
        """Note that the disk of a folder does not answer. It is retried after `note_answer`."""
        fault = self._note(root, "hangs")
        fault.retry_at = math.inf
        self._tell(root, fault, "its disk does not answer. They are recorded again once it does")

    def note_answer(self, root: str) -> None:
        fault = self._faults.get(root)
        if fault is not None:
            fault.retry_at = self._now() + self._pause_s * (fault.n_faults - 1)

    def note_recorded(self, root: str) -> None:
        """Note that a folder is recorded, perhaps again."""
        fault = self._faults.get(root)
        if fault is not None and fault.is_told:
            fault.is_told = False
            self._warn(f"Changes in {root} are recorded again.", root)

    def drop(self, root: str) -> None:
        """Forget a folder that has no clients."""
        self._faults.pop(root, None)

    def retry(self, recorded: Container[str], begin: Callable[[str], threading.Thread]) -> None:
        """Begin to record the folders whose pause is over. Args: begin: starts a thread for a folder."""
        for root, fault in self._faults.items():
            is_starting = fault.starter is not None and fault.starter.is_alive()
            if root not in recorded and not is_starting and self._now() >= fault.retry_at:
                fault.retry_at = self._now() + self._pause_s * fault.n_faults
                fault.starter = begin(root)

    def _note(self, root: str, kind: FaultKind) -> _Fault:
        fault = self._faults.setdefault(root, _Fault(kind))
        fault.kind = kind
        fault.n_faults += 1
        return fault

    def _tell(self, root: str, fault: _Fault, reason: str) -> None:
        if not fault.is_told:
            fault.is_told = True
            self._warn(
                f"Changes in {root} are not recorded at present: {reason}, and all other folders are recorded.", root
            )
