"""What tests of the record share."""

import pytest

from support.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()
