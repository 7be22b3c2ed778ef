"""Sentences that a hook itself says. Standard library only, since a host waits for the hook's process."""


def nobody_asked_text(reason: str) -> str:
    """Return the reason of a refusal in a host in which nobody can be asked."""
    return f"{reason} Nobody could be asked. Nothing was written; ask the user to change it."


def unguarded_text(since: str) -> str:
    """Return what the model and the person are told once. Args: since: a time of the day."""
    return (
        f"fileops-server did not answer at {since}; what was read and written since then was not checked and is not"
        " recorded as the agent's."
    )
