"""Composition roots: of a private daemon, which serves one client, and of a shared one, which serves many."""
