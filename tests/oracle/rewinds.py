"""The rewind of the server, as the games of `rewind_games.py` call it."""

from collections.abc import Collection, Sequence

from fileops.core.merge.rewind import rewind_file
from oracle.rewind_games import Outcome, Step
from support.file_steps import to_steps


def rewind(steps: Sequence[Step], chosen: set[str], present: bytes | None, cancelled: set[str]) -> Outcome:
    """A step that is called "rewind" has undone all that is chosen, as far as it could; "redo" has undone that."""
    recorded, contents = to_steps((step.entry_id, step.before, step.after) for step in steps)
    names = [step.entry_id for step in steps]
    undoes: dict[str, Collection[str]] = {}
    if "rewind" in names:
        undoes["rewind"] = () if chosen == {"rewind"} else chosen
    if "redo" in names:
        undoes["redo"] = ("rewind",)
    rewound = rewind_file(recorded, chosen, present, contents.get, cancelled, undoes)
    left = tuple(dict.fromkeys(place.entry_id for place in rewound.left))
    return Outcome(rewound.content, rewound.undone, left, len(rewound.left))
