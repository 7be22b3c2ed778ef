"""What was replaced in a settings file is put back, also where several places are far from each other."""

import pytest

from fileops.mcp.config.text_splices import MAX_GAP, reverse_in, splices_between

FAR = "a line of the user\n" * (MAX_GAP // 10)
BEFORE = f"short\n{FAR}also short\n{FAR}the end\n"
AFTER = f"a text of ours, longer than before\n{FAR}another text of ours, also longer\n{FAR}the end\n"


@pytest.mark.parametrize("theirs", ["", "what the user wrote since\n"])
def test_places_that_are_far_from_each_other_are_all_put_back(theirs: str) -> None:
    splices = splices_between(BEFORE, AFTER)
    assert len(splices) == 2
    assert reverse_in(theirs + AFTER, splices) == theirs + BEFORE
