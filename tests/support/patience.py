"""How long a test waits for what must happen.

Each wait ends with its event, so the bound is generous: for machines that are busy with something else, and below the
limit that pytest sets to a test (`timeout` in pyproject.toml). A wait that runs out is a defect, and one defect may
let hundreds of waits run out. So after `MANY` in one process the bound shrinks (tests/conftest.py), and a red run ends
in minutes too. A few are no reason: on a busy machine the short bound would fail tests that have no defect.

Games that run for an hour beside other work, at idle priority, are given more by `FILEOPS_TEST_PATIENCE_S`.
"""

import os
import sys
import time
from collections.abc import Callable, Iterable
from types import ModuleType

FULL_S = float(os.environ.get("FILEOPS_TEST_PATIENCE_S", "90"))
SHRUNK_S = 10.0  # what a busy machine needs for nearly every event
PATIENCE_S = FULL_S
MANY = 5


def wait_until(holds: Callable[[], object]) -> None:
    """Until it holds, asked often; AssertionError after `PATIENCE_S`."""
    until = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < until, "it never came to be"
        time.sleep(0.005)


def shrink_patience(modules: Iterable[ModuleType] | None = None) -> None:
    """Bind `PATIENCE_S` to `SHRUNK_S` in each module that imported it, by default in all that are loaded.

    A wait reads the name when it begins, so no function may have it as the default of a parameter.
    """
    for module in list(sys.modules.values() if modules is None else modules):
        if vars(module).get("PATIENCE_S") == FULL_S:
            vars(module)["PATIENCE_S"] = SHRUNK_S
