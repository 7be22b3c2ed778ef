"""Entry point of `python -m fileops`.

Python asks for this module by its name. Without -P it looks for modules in the current folder first, which is what the
user works on: from here on it does not, so that neither a module nor a plugin of a project is loaded.
"""

import sys

if not sys.flags.safe_path:
    del sys.path[0]

from fileops.cli import main

if __name__ == "__main__":
    sys.exit(main())
