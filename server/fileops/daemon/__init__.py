"""The shared daemon: its listener, and the connections of its clients."""
