"""Names of sessions, as far as values need them. service/hub/names.py explains them."""

DEFAULT_SESSION = "default"  # of a request that names none


def base_in(full_name: str) -> str:
    return full_name.partition("/")[0]


def has_host_id(full_name: str) -> bool:
    """Whether the session has an id of its host, and not the number of a connection."""
    return ":" in base_in(full_name)
