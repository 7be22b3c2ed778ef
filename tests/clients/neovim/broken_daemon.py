"""The real daemon with one lie: edits are reported as done, and the bytes stay as they were. The lane must notice."""

import sys
from collections.abc import Sequence

from fileops.cli import main
from fileops.core import splices
from fileops.model.edits import Splice


def apply_nothing(data: bytes, _splices: Sequence[Splice]) -> bytes:
    return data


if __name__ == "__main__":
    splices.apply = apply_nothing  # pyrefly: ignore[bad-assignment]
    sys.exit(main())
