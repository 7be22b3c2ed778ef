"""The demonstration `fileops-server demo`: a session with the daemon, step by step."""
