"""The program, whose threads change places a thousand times as often as usual, and so meet in more ways."""

import sys

from fileops.cli import main

if __name__ == "__main__":
    sys.setswitchinterval(5e-6)
    sys.exit(main())
