"""A clock that a test moves."""


class Clock:
    """now: seconds."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now
