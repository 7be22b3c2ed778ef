"""What tests of the record share."""

import pytest

from support.clock import Clock
from support.in_memory import tmp_path

__all__ = ["tmp_path"]


@pytest.fixture
def clock() -> Clock:
    return Clock()
