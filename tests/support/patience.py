"""How long a test waits for what has to come.

Never waited out when all is well: each wait ends with its event. So it is generous, for machines that are busy
with something else, and below the limit that pytest sets to a test (`timeout` in pyproject.toml).
"""

import time
from collections.abc import Callable

PATIENCE_S = 90.0


def wait_until(holds: Callable[[], object]) -> None:
    """Until it holds, asked often; AssertionError after `PATIENCE_S`."""
    until = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < until, "it never came to be"
        time.sleep(0.005)
