"""Entry point of `python -m fileops`.

Python asks for this module by its name.
"""

import sys

from fileops.cli import main

if __name__ == "__main__":
    sys.exit(main())
