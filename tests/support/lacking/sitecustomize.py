"""Takes the names from `os` that Python has on Linux only, before anything asks for them. See run.py."""

import os

for name in ("O_PATH", "O_TMPFILE", "RWF_NOWAIT", "posix_fadvise", "memfd_create", "copy_file_range", "splice"):
    if hasattr(os, name):
        delattr(os, name)
