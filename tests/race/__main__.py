"""`python tests/race`: see run.py."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from race.run import main

sys.exit(main())
