DEFAULT_SESSION = "default"  # the session of a request that names none
