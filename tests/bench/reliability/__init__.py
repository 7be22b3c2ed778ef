"""`python -m bench.reliability`: how reliable an edit tool is for an agent. See `__main__.py`."""
