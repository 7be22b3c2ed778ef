"""An agent that misspells a name, and mends what the answers tell it, in the conversation of any host."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from hosts.hosts import PROGRAMS
from hosts.scripted_model import Call, Result, Say, Step

TRIP = "def cost(days: int, price: int) -> int:\n    return days * 10\n"
RIGHT = "    return days * 10\n"
BROKEN = "    return days * prize\n"
MENDED = TRIP.replace("10", "price")
RUFF: list[dict[str, object]] = [{"name": "ruff", "command": [str(PROGRAMS / "ruff"), "server"], "globs": ["*.py"]}]
N_LOOKS = 20  # the problems are known with the first answer, or a later one where the checker starts slowly


Model = Step | Callable[[Sequence[Result]], Step]


def misspelling(path: Path, end: Say, n_before: int = 0) -> list[Model]:
    """Make the file; return the steps that misspell a name in it, and mend it. n_before: the results before them."""
    path.write_text(TRIP, encoding="utf-8")
    misspelt = {"file_path": str(path), "old_string": RIGHT, "new_string": BROKEN}
    return [
        Call("Read", {"file_path": str(path)}),
        Call("Edit", misspelt),
        *[mend_what_is_reported(path, end, n_before)] * N_LOOKS,
        end,
    ]


def mend_what_is_reported(path: Path, end: Say, n_before: int) -> Callable[[Sequence[Result]], Step]:
    """Return a model that mends a name that a result called undefined, and ends once no problem is left to hear of."""

    def step(results: Sequence[Result]) -> Step:
        said = "\n".join(result.text for result in results[n_before:])
        undefined = re.search(r"trip\.py:2:\d+: error F821: Undefined name `(\w+)`", said)
        if undefined is None and "is not known yet" in said:
            return Call("Read", {"file_path": str(path)})
        if undefined is None or "No new problems" in said:
            return end
        return Call("Edit", {"file_path": str(path), "old_string": undefined[1], "new_string": "price"})

    return step
