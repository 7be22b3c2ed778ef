"""What the commands and the full screen both need for the daemon: the name they use, what can fail, and exit statuses.

It is a module of its own because the full screen is only loaded where Textual is installed.
"""

from fileops_client import AttachRefused, ConnectionLost, RequestTimeout, ResponseError, ServerMissing
from fileops_client.errors import INVALID_PARAMS

DONE, FAILED, MISUSED = 0, 1, 2  # exit statuses
HOST = "terminal"  # who decided, as people read it
DECIDE_S = 60.0  # until the edits have been written
FOLDER_IS_GONE = "The current folder was removed. Change to another one."
# What can keep a program from reaching the daemon.
UNREACHABLE = (ServerMissing, AttachRefused, ConnectionLost, RequestTimeout, ResponseError)


def reason_of(fault: ResponseError) -> str:
    """What was wrong, without the name of a parameter, which the person did not write."""
    return str(fault.data["reason"]) if fault.code == INVALID_PARAMS else fault.message
