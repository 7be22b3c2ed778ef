"""The session of a request that names none."""

DEFAULT_SESSION = "default"
