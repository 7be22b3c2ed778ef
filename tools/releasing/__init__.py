"""What a release contains, one module for each kind of file; `tools/release.py` is the command."""
