"""Entry point of `python -m fileops`."""

import sys

from fileops.cli import main

if __name__ == "__main__":
    sys.exit(main())
