"""The agent of `misspelling` mends by what it is told: that it is told, and mends, is in the story of each host."""

from pathlib import Path

from hosts.misspelling import misspelling
from hosts.scripted_model import Result, Say


def test_agent_that_is_told_nothing_leaves_its_error(tmp_path: Path) -> None:
    end = Say("ALL-DONE")
    _, _, after_the_edit, *_ = misspelling(tmp_path / "trip.py", end)
    assert callable(after_the_edit)
    read, edited = (
        Result("1→def cost(days: int, price: int) -> int:", False),
        Result("The file has been updated.", False),
    )
    assert after_the_edit([read, edited]) == end
