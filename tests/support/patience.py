"""How long a test waits for what has to come.

Never waited out when all is well: each wait ends with its event. So it is generous, for machines that are busy
with something else, and below the limit that pytest sets to a test (`timeout` in pyproject.toml).
"""

PATIENCE_S = 90.0
