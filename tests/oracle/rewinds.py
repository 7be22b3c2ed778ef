"""The rewind of the server, as the games of `rewind_games.py` call it."""

from collections.abc import Sequence

from fileops.core.merge.rewind import rewind_file
from oracle.rewind_games import Outcome, Step
from support.file_steps import to_steps


def rewind(steps: Sequence[Step], chosen: set[str], present: bytes | None, cancelled: set[str]) -> Outcome:
    recorded, contents = to_steps((step.entry_id, step.before, step.after) for step in steps)
    rewound = rewind_file(recorded, chosen, present, contents.get, cancelled)
    left = tuple(dict.fromkeys(place.entry_id for place in rewound.left))
    return Outcome(rewound.content, rewound.undone, left, len(rewound.left))
